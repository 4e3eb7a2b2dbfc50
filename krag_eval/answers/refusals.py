"""Which answers say that there is no answer."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from itertools import chain

import numpy as np

from krag_eval.answers.refusal_phrases import FILLERS, REFUSALS
from krag_eval.columns import BoolArray
from krag_eval.errors import InvalidInputError
from krag_eval.naming import qualified_name
from krag_eval.text import normalize

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
        """Whether the text is a refusal; an empty one is."""
        if is_empty(text):
            return True
        if self._function is not None:
            return bool(self._function(text))
        return len(text) <= _LONGEST and self._is_made_of_phrases(_bare(text))

    def _is_made_of_phrases(self, text: str) -> bool:
        """Whether phrases, at least one of them a refusal, follow each other from the first character to the last."""
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
        """Which of the texts are refusals; each different text is looked at once."""
        known = {text: self(text) for text in dict.fromkeys(texts)}
        return np.fromiter((known[text] for text in texts), bool, len(texts))

    def describe(self) -> str:
        """The part of the signature that says what counts as a refusal."""
        if self._function is not None:
            return f"refuse:{qualified_name(self._function)}"
        if not self._own:
            return "refuse:known"
        digest = hashlib.sha256("\0".join(sorted(self._own)).encode("utf-8", "surrogatepass")).hexdigest()
        return f"refuse:known+{len(self._own)}({digest[:8]})"


def is_empty(text: str) -> bool:
    r"""Whether a text is nothing but white space and characters without a width.

    >>> is_empty(" \u200b\n"), is_empty(".")
    (True, False)
    """
    seen = text.lstrip()[:_BEGINNING]
    return not seen or (not seen.isascii() and not normalize(seen) and not normalize(text))


def _bare(text: str) -> str:
    """The text normalised, without anything but letters, marks and digits."""
    return normalize(text).translate(_BARE)


def _phrases(given: object) -> tuple[str, ...]:
    phrases = None if isinstance(given, (str, bytes)) or not isinstance(given, Iterable) else tuple(given)
    if phrases is None or not all(isinstance(phrase, str) and _bare(phrase) for phrase in phrases):
        raise InvalidInputError(
            f"`refusals` must be a list of phrases or a function of an answer, got {given!r:.60}. "
            'Write refusals=["ask the help desk"], or leave it out for the phrases that are known.'
        )
    return tuple(dict.fromkeys(phrases))
