"""Where evidence stands in a chunk, how much a question quotes, and how many of its words it took from there."""

from __future__ import annotations

import difflib
from collections import Counter
from dataclasses import dataclass

from rapidfuzz.distance import LCSseq

from krag_eval.evalset.shared_text import size_of
from krag_eval.text import normalize
from krag_eval.tokenizers import WordTokenizer

# Shorter evidence shows nothing: it stands in any text. In letters; a Chinese character counts as three.
LEAST_EVIDENCE = 5
# A run of words that a question and a chunk share counts as a quotation from this length on, in letters.
LEAST_QUOTE = 24
_QUOTES = " \t\r\n\"'“”„‘’«»‹›「」『』《》…*`"
_WORDS = WordTokenizer()


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of a text.

    Attributes:
        start: The place of its first character.
        end: The place behind its last one.
        text: The characters themselves.
    """

    start: int
    end: int
    text: str


def find_evidence(evidence: str, chunk: str) -> Span | None:
    """The first stretch of a chunk that says the same as the evidence after normalising, or None.

    Quotation marks around the evidence are no part of it. Normalising is that of `krag_eval.normalize`: width, case and
    white space make no difference.

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
    """The shortest first stretch whose normalised text holds the form, found by halving."""
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
    """Whether a question quotes its chunk: that is no paraphrase.

    It does if

        words of the chunk that stand in the question, in the same order / words of the chunk >= most

    or if the longest run of words that both have is at least 24 letters long (a Chinese character counts as three, a
    Korean one as two) and makes up the share `most` of the words of the question.

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
    """The share of a question's words that stand in a chunk, each occurrence counted; None without words.

    >>> overlap("How long does a parcel take?", "A parcel takes two days.")
    0.3333333333333333
    """
    asked, there = _WORDS.tokenize(question), set(_WORDS.tokenize(chunk))
    return sum(word in there for word in asked) / len(asked) if asked else None


class WordSearch:
    """Finds runs of words in many texts; made when it is first asked."""

    def __init__(self, texts: list[str]) -> None:
        self._texts, self._joined = texts, ""

    def holds(self, text: str) -> bool:
        """Whether the words of a text stand in one of the texts, one after the other."""
        if not self._joined:
            self._joined = "".join(f"\n {' '.join(_WORDS.tokenize(one))} " for one in self._texts)
        return f" {' '.join(_WORDS.tokenize(text))} " in self._joined


def holds_words(text: str, words: str) -> bool:
    """Whether the words stand in the text, one after the other; False without words.

    >>> holds_words("It takes two days.", "two days"), holds_words("It takes two days.", "two day")
    (True, False)
    """
    looked_for = _WORDS.tokenize(words)
    return bool(looked_for) and f" {' '.join(looked_for)} " in f" {' '.join(_WORDS.tokenize(text))} "


def words_of(text: str) -> Counter[str]:
    """How often each word stands in a text."""
    return Counter(_WORDS.tokenize(text))
