"""May a question that a model wrote be kept? If not, why not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from krag_eval.evalset.near_duplicates import group_near_duplicates
from krag_eval.generation.asking_form import is_question
from krag_eval.generation.chunks import Chunk
from krag_eval.generation.evidence import Span, WordSearch, find_evidence, holds_words, overlap, quotes_chunk, words_of
from krag_eval.generation.languages import is_in
from krag_eval.generation.prompting import NEGATIVE
from krag_eval.text import normalize

LONGEST_QUESTION = 1000
# An answer of so few words stands in any large corpus by chance.
_WORDS_TO_LOOK_FOR = 3

# Why an answer of the model gave no question, in the words of the report, and as the model is told.
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
# Where another attempt with the same chunk would hardly go better.
FINAL = {"rate_limited", "timed_out", "unreachable", "rejected", "nothing_to_ask"}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A question that may be kept.

    Attributes:
        kind: Its type.
        chunk: What it was asked about.
        question: Its text, on one line.
        answer: Its answer; empty for a question that has none.
        evidence: Where its evidence stands; None for a question that has no answer.
        overlap: The share of its words that stand in the chunk.
    """

    kind: str
    chunk: Chunk
    question: str
    answer: str
    evidence: Span | None
    overlap: float | None


class Keeper:
    """Decides on questions, one after the other.

    Args:
        corpus: All chunks, to look for the answers of questions that should have none.
        near: From which F-measure of ROUGE-L two questions are nearly the same.
        most_quoted: The share from which a question quotes its chunk.
    """

    def __init__(self, corpus: Sequence[Chunk], *, near: float, most_quoted: float) -> None:
        self._near, self._most_quoted = near, most_quoted
        self._corpus = WordSearch([chunk.text for chunk in corpus])
        self._kept: list[tuple[str, Counter[str]]] = []

    def judge(self, kind: str, chunk: Chunk, answer: Mapping[str, Any], script: str | None) -> Candidate | str:
        """The question, or the reason why it is not kept."""
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
        """Questions that come later must not be nearly the same as this one."""
        self._kept.append((candidate.question, words_of(candidate.question)))

    def _is_known(self, question: str) -> bool:
        words = words_of(question)
        # No more words can be common in the same order than are common at all: that leaves hardly any to compare.
        possible = [
            kept
            for kept, its in self._kept
            if 2 * (words & its).total() >= self._near * (words.total() + its.total()) - 1e-9
        ]
        return bool(possible) and any(
            group[0] == 0 for group in group_near_duplicates([question, *possible], self._near)
        )

    def _is_answered(self, answer: str, chunk: Chunk) -> bool:
        if holds_words(chunk.text, answer):
            return True
        return words_of(answer).total() >= _WORDS_TO_LOOK_FOR and self._corpus.holds(answer)
