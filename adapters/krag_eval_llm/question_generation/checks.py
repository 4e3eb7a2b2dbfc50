"""Decide whether a question that a model wrote is kept: its form, its evidence and what it repeats."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rapidfuzz.distance import LCSseq

from krag_eval import TOKENIZERS, normalize
from krag_eval.toolkit import cached_property, group_near_duplicates, size_of
from krag_eval_llm.question_generation.chunks import Chunk
from krag_eval_llm.question_generation.languages import is_in, is_question

NEGATIVE = "negative"

LONGEST_QUESTION = 1000
# Answers of fewer words appear in any large corpus by chance.
_WORDS_TO_LOOK_FOR = 3

# Why an answer gave no question: in the words of the report, and in those for the model.
REASONS: dict[str, tuple[str, str]] = {
    "rate_limited": ("rate limit, after all retries", ""),
    "timed_out": ("time-out, after all retries", ""),
    "unreachable": ("no connection, after all retries", ""),
    "rejected": ("prompt rejected by the model", ""),
    "refused": ("refused by the model", "no question came"),
    "bad_json": ("bad JSON", "it was no JSON object with the fields that were asked for"),
    "nothing_to_ask": ("nothing worth asking, as the model said", ""),
    "no_question": ("no question", "it did not have the form of a question"),
    "too_long": ("question too long", f"the question was longer than {LONGEST_QUESTION} characters"),
    "other_language": ("another language", "the question was in another language"),
    "no_answer": ("no answer", "the answer was empty"),
    "no_evidence": ("evidence not in the chunk", "the evidence was not copied letter by letter from the passage"),
    "quotes_chunk": ("quotes the chunk", "the question copied phrases of the passage"),
    "near_duplicate": ("nearly the same as another", "nearly the same question was asked already"),
    "is_answered": ("answered by the corpus", "its answer stands in the passage, or in another one"),
}
# Asking about the same chunk again would hardly help.
FINAL = {"rate_limited", "timed_out", "unreachable", "rejected", "nothing_to_ask"}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A question that may be kept.

    Attributes:
        kind: Its type.
        chunk: What it was asked about.
        question: Its text, on one line.
        answer: Its answer; empty for a question that has none.
        evidence: Where its evidence is in the chunk; None for a question that has no answer.
        overlap: The share of its words that appear in the chunk.
    """

    kind: str
    chunk: Chunk
    question: str
    answer: str
    evidence: Span | None
    overlap: float | None


class CandidateFilter:
    """Check questions, one after the other.

    Args:
        corpus: All chunks; the answer of a negative question must not appear in any.
        near: The ROUGE-L F-measure from which two questions are near-duplicates.
        most_quoted: The share from which a question quotes its chunk.
    """

    def __init__(self, corpus: Sequence[Chunk], *, near: float, most_quoted: float) -> None:
        self._near, self._most_quoted = near, most_quoted
        self._corpus = corpus
        self._kept: list[tuple[str, Counter[str]]] = []

    def check(self, kind: str, chunk: Chunk, answer: Mapping[str, Any], script: str | None) -> Candidate | str:
        """Return the question, or the reason why it is dropped (a key of `REASONS`)."""
        question = " ".join(str(answer["question"]).split())
        given, evidence = str(answer.get("answer") or "").strip(), None
        if not question:
            return "nothing_to_ask"
        if len(question) > LONGEST_QUESTION:
            return "too_long"
        if not is_question(question) or words_of(question).total() < 2:
            return "no_question"
        if not is_in(question, script):
            return "other_language"
        if kind == NEGATIVE:
            if self._is_answered(given, chunk) or find_evidence(str(answer.get("evidence") or ""), chunk.text):
                return "is_answered"
        else:
            if not normalize(given):
                return "no_answer"
            evidence = find_evidence(str(answer.get("evidence") or ""), chunk.text)
            if evidence is None:
                return "no_evidence"
        if kind not in ("literal", NEGATIVE) and quotes_chunk(question, chunk.text, self._most_quoted):
            return "quotes_chunk"
        if self._is_known(question):
            return "near_duplicate"
        shared = overlap(question, chunk.text)
        return Candidate(kind, chunk, question, "" if kind == NEGATIVE else given, evidence, shared)

    def keep(self, candidate: Candidate) -> None:
        """Remember a question: later ones must not be near-duplicates of it."""
        self._kept.append((candidate.question, words_of(candidate.question)))

    def _is_known(self, question: str) -> bool:
        words = words_of(question)
        # ROUGE-L cannot count more common words than there are in any order, which rules out most questions.
        bounds = [(kept, self._near * (words.total() + its.total()) - 1e-9, words & its) for kept, its in self._kept]
        possible = [kept for kept, least, common in bounds if 2 * common.total() >= least]
        groups = group_near_duplicates([question, *possible], self._near) if possible else ()
        return any(group[0] == 0 for group in groups)

    def _is_answered(self, answer: str, chunk: Chunk) -> bool:
        if holds_words(chunk.text, answer):
            return True
        return words_of(answer).total() >= _WORDS_TO_LOOK_FOR and _spaced_words(answer) in self._words_of_corpus

    @cached_property
    def _words_of_corpus(self) -> str:
        return "\n".join(_spaced_words(chunk.text) for chunk in self._corpus)


# Shorter evidence proves nothing: any text has it. In letters; a Chinese character counts as three.
LEAST_EVIDENCE = 5
# From this length on, in letters, a run of words shared by question and chunk is a quotation.
LEAST_QUOTE = 24
_QUOTES = " \t\r\n\"'“”„‘’«»‹›「」『』《》…*`"
_WORDS = TOKENIZERS["words"]


@dataclass(frozen=True, slots=True)
class Span:
    """Part of a text.

    Attributes:
        start: The position of its first character.
        end: The position after its last one.
        text: Its characters.
    """

    start: int
    end: int
    text: str


def find_evidence(evidence: str, chunk: str) -> Span | None:
    """Return the first part of a chunk that equals the evidence after normalization, or None.

    Quotation marks around the evidence are ignored. `krag_eval.normalize` ignores width, case and white space.

    >>> find_evidence('"takes  TWO days"', "A parcel takes two days. Or three.")
    Span(start=9, end=23, text='takes two days')
    """
    stripped = evidence.strip(_QUOTES)
    for one in (evidence.strip(), stripped, stripped.rstrip(".。．")):
        form = normalize(one)
        if size_of(form) >= LEAST_EVIDENCE and form in normalize(chunk):
            return _span_of(form, chunk)
    return None


def _span_of(form: str, chunk: str) -> Span:
    """Return the first, shortest span whose normalized text contains the form, by bisection."""
    low, high = 0, len(chunk)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if form in normalize(chunk[:middle]) else (middle + 1, high)
    end = high
    low, high = 0, end
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if form in normalize(chunk[middle:end]) else (low, middle - 1)
    return Span(low, end, chunk[low:end])


def quotes_chunk(question: str, chunk: str, most: float) -> bool:
    """Return whether a question quotes its chunk instead of paraphrasing it.

    It does if

        words of the chunk that appear in the question, in the same order / words of the chunk >= most

    or if their longest common run of words has at least 24 letters (a Chinese character counts as three, a Korean one
    as two) and makes up the share `most` of the words of the question.

    Args:
        question: The question.
        chunk: The chunk.
        most: The share, above 0 and at most 1.

    >>> chunk = "A parcel to Jeju takes two days more than other parcels do."
    >>> quotes_chunk("Why is it that a parcel to Jeju takes two days more?", chunk, 0.5)
    True
    >>> quotes_chunk("How long do I wait on the island?", chunk, 0.5)
    False
    """
    asked, there = _WORDS.tokenize(question), _WORDS.tokenize(chunk)
    if not asked or not there:
        return False
    if LCSseq.similarity(asked, there) >= most * len(there):
        return True
    longest = difflib.SequenceMatcher(None, asked, there, autojunk=False).find_longest_match()
    run = asked[longest.a : longest.a + longest.size]
    return longest.size >= most * len(asked) and size_of("".join(run)) >= LEAST_QUOTE


def overlap(question: str, chunk: str) -> float | None:
    """Return the share of a question's words that appear in a chunk, repetitions counted; None without words.

    >>> overlap("How long does a parcel take?", "A parcel takes two days.")
    0.3333333333333333
    """
    asked, there = _WORDS.tokenize(question), set(_WORDS.tokenize(chunk))
    return sum(word in there for word in asked) / len(asked) if asked else None


def holds_words(text: str, words: str) -> bool:
    """Return whether the words appear in the text, one after the other; False without words.

    >>> holds_words("It takes two days.", "two days"), holds_words("It takes two days.", "two day")
    (True, False)
    """
    return bool(_WORDS.tokenize(words)) and _spaced_words(words) in _spaced_words(text)


def _spaced_words(text: str) -> str:
    return f" {' '.join(_WORDS.tokenize(text))} "


def words_of(text: str) -> Counter[str]:
    """Count the words of a text."""
    return Counter(_WORDS.tokenize(text))
