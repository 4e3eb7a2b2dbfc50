"""Detect refusals: the phrases of five languages, the test of an answer, and the two metrics."""

from __future__ import annotations

import hashlib
import tomllib
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import resources
from itertools import chain

import numpy as np

from krag_eval import normalize
from krag_eval.toolkit import BoolArray, FloatArray, qualified_name, refuse

Refusals = Callable[[str], object] | Iterable[str] | None


class _Bare(dict[int, int | None]):
    """What each character becomes: itself if it is a letter, mark or digit, else nothing; filled as they are met."""

    def __missing__(self, point: int) -> int | None:
        self[point] = becomes = point if unicodedata.category(chr(point))[0] in "LMN" else None
        return becomes


_BARE = _Bare()
# Nobody refuses at greater length by phrases that somebody could list.
_LONGEST = 400
# What is looked at before a whole text is normalised to see whether it is empty.
_BEGINNING = 40


class RefusalTest:
    """Tells refusals from answers.

    A text is a refusal if it is one of the phrases of `REFUSALS` or several of them, with nothing around it but
    phrases of `FILLERS`; case, punctuation and spaces do not count. "Sorry, I don't know." is one, "I don't know the
    exact day, but it was in May." is not. It is meant to miss rather than to accuse: name the phrases of your system.

    Args:
        refusals: More phrases; or a function that decides alone, true for a refusal; None for the phrases we know.

    Raises:
        InvalidInputError: It is none of these.

    >>> is_refusal = RefusalTest(["ask the help desk"])
    >>> [is_refusal(text) for text in ("Sorry, I don't know.", "Ask the help desk!", "Three days")]
    [True, True, False]
    """

    def __init__(self, refusals: Refusals = None) -> None:
        self._own: tuple[str, ...] = ()
        self._function: Callable[[str], object] | None = None
        if callable(refusals):
            self._function = refusals
        elif refusals is not None:
            self._own = _phrases(refusals)
        refused = {_bare(phrase) for phrase in chain(chain.from_iterable(REFUSALS.values()), self._own)}
        fillers = {_bare(phrase) for phrase in chain.from_iterable(FILLERS.values())}
        self._parts: dict[str, list[tuple[str, bool]]] = {}
        for phrase in refused | fillers:
            self._parts.setdefault(phrase[0], []).append((phrase, phrase in refused))

    def __call__(self, text: str) -> bool:
        """Return whether the text is a refusal; an empty one is."""
        if is_empty(text):
            return True
        if self._function is not None:
            return bool(self._function(text))
        return len(text) <= _LONGEST and self._is_made_of_phrases(_bare(text))

    def _is_made_of_phrases(self, text: str) -> bool:
        """Return whether the whole text is a sequence of phrases, at least one of them a refusal."""
        waiting = [(0, False)]
        seen = set(waiting)
        while waiting:
            place, is_refusal = waiting.pop()
            for part, refuses in self._parts.get(text[place : place + 1], ()):
                if text.startswith(part, place):
                    state = (place + len(part), is_refusal or refuses)
                    if state not in seen:
                        seen.add(state)
                        waiting.append(state)
        return (len(text), True) in seen

    def of(self, texts: Sequence[str]) -> BoolArray:
        """Return which of the texts are refusals; each different text is looked at once."""
        known = {text: self(text) for text in dict.fromkeys(texts)}
        return np.fromiter((known[text] for text in texts), bool, len(texts))

    def describe(self) -> str:
        """Return the part of the signature that says what counts as a refusal."""
        if self._function is not None:
            return f"refuse:{qualified_name(self._function)}"
        if not self._own:
            return "refuse:known"
        digest = hashlib.sha256("\0".join(sorted(self._own)).encode("utf-8", "surrogatepass")).hexdigest()
        return f"refuse:known+{len(self._own)}({digest[:8]})"


def is_empty(text: str) -> bool:
    r"""Return whether a text is nothing but white space and characters without a width.

    >>> is_empty(" \u200b\n"), is_empty(".")
    (True, False)
    """
    seen = text.lstrip()[:_BEGINNING]
    return not seen or (not seen.isascii() and not normalize(seen) and not normalize(text))


def _bare(text: str) -> str:
    """Return the text normalised, without anything but letters, marks and digits."""
    return normalize(text).translate(_BARE)


def _phrases(given: object) -> tuple[str, ...]:
    phrases = None if isinstance(given, (str, bytes)) or not isinstance(given, Iterable) else tuple(given)
    if phrases is None or not all(isinstance(phrase, str) and _bare(phrase) for phrase in phrases):
        cure = 'Write refusals=["ask the help desk"], or leave it out for the phrases that are known.'
        refuse("refusals", "a list of phrases or a function of an answer", given, cure)
    return tuple(dict.fromkeys(phrases))


def _read_phrases() -> Iterator[dict[str, tuple[str, ...]]]:
    tables = tomllib.loads((resources.files(__package__) / "refusals.toml").read_text(encoding="utf-8"))
    for table in (tables["refusals"], tables["fillers"]):
        yield {language: tuple(map(str.strip, text.split("/"))) for language, text in table.items()}


REFUSALS, FILLERS = _read_phrases()
"""Phrases by language. An answer of phrases of both refuses; one of `FILLERS` alone does not."""


def negative_rejection(is_negative: BoolArray, is_refusal: BoolArray) -> FloatArray:
    """Return whether a question that nothing in the corpus answers was refused; its mean is the share of these.

    Shape: (n_answers,), float64. Values: 0 and 1, higher is better; NaN where an answer is expected.

    Source: the "negative rejection" of Chen et al. (2024), doi:10.1609/aaai.v38i16.29728.

    >>> negative_rejection(np.array([True, True, False]), np.array([True, False, False])).tolist()
    [1.0, 0.0, nan]
    """
    return np.where(is_negative, is_refusal, np.nan)


def false_refusal(is_negative: BoolArray, is_refusal: BoolArray) -> FloatArray:
    """Return whether a question that has an answer was refused; its mean is the share of these.

    Shape: (n_answers,), float64. Values: 0 and 1, lower is better; NaN where no answer is expected.

    >>> false_refusal(np.array([True, True, False]), np.array([True, False, False])).tolist()
    [nan, nan, 0.0]
    """
    return np.where(is_negative, np.nan, is_refusal)
