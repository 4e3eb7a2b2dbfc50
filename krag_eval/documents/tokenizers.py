"""Cut texts into tokens, by a tokenizer that users name or bring themselves."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, runtime_checkable

from krag_eval._utils.checks import value_of
from krag_eval._utils.errors import Argument, InvalidInputError, did_you_mean, needing, refuse
from krag_eval.documents.text import VARIATION_SELECTOR, nfkc


@runtime_checkable
class Tokenizer(Protocol):
    """What `tokenizer=` takes: an object with `tokenize(text) -> list[str]`.

    A tokenizer that is faster on many texts may also have `tokenize_all(texts) -> iterable of lists`.
    """

    def tokenize(self, text: str) -> list[str]:
        """Return the tokens of `text`, in order."""
        ...


# Scripts written without spaces: each of their characters is a token of its own. Unicode blocks, as (first, last).
_UNSPACED = [
    (0x0E00, 0x0E7F),  # Thai
    (0x0E80, 0x0EFF),  # Lao
    (0x1000, 0x109F),  # Myanmar
    (0xA9E0, 0xA9FF),  # Myanmar Extended-B
    (0xAA60, 0xAA7F),  # Myanmar Extended-A
    (0x1780, 0x17FF),  # Khmer
    (0x3005, 0x3007),  # ideographic iteration and closing marks, zero
    (0x3021, 0x3029),  # Hangzhou numerals
    (0x3038, 0x303B),
    (0x3041, 0x30FF),  # Hiragana and Katakana
    (0x31F0, 0x31FF),  # Katakana Phonetic Extensions
    (0x2E80, 0x2FDF),  # CJK and Kangxi radicals
    (0x3400, 0x4DBF),  # CJK Extension A
    (0x4E00, 0x9FFF),  # CJK Unified Ideographs
    (0xF900, 0xFAFF),  # CJK Compatibility Ideographs
    (0x1AFF0, 0x1B16F),  # Kana Extended-B, Supplement, Extended-A, Small Kana
    (0x20000, 0x3FFFF),  # the two ideographic planes
]


def _is_unspaced(point: int) -> bool:
    return any(first <= point <= last for first, last in _UNSPACED)


_RANGES = "".join(f"{chr(first)}-{chr(last)}" for first, last in _UNSPACED)
PIECES = re.compile(rf"[{_RANGES}]|[^\s{_RANGES}]+")
"""What a text may be cut between without cutting a word of `WordTokenizer`."""


class _Boundaries(dict[int, str]):
    """What each character becomes, so that splitting at white space gives the words; filled as characters are met."""

    def __missing__(self, point: int) -> str:
        character = chr(point)
        category = unicodedata.category(character)
        if VARIATION_SELECTOR.match(character):
            becomes = ""
        elif category[0] in "LM" or category == "Nd":
            becomes = f" {character} " if _is_unspaced(point) else character
        elif category == "Nl" and _is_unspaced(point):  # the Han zero and the Hangzhou numerals
            becomes = f" {character} "
        else:
            becomes = " "
        self[point] = becomes
        return becomes


_BOUNDARIES = _Boundaries()
_ASCII_BOUNDARIES = {point: " " for point in range(128) if not chr(point).isalnum()}


class WordTokenizer:
    """Words in any script (`tokenizer="words"`, the default).

    NFKC, lower case, then runs of letters, marks and digits. Han, Hiragana, Katakana, Thai, Lao, Khmer and Myanmar
    are written without spaces, so each of their characters is a token. On ASCII text these are the tokens of
    `rouge_score`'s default tokenizer.

    >>> WordTokenizer().tokenize("State-of-the-art, 2024!")
    ['state', 'of', 'the', 'art', '2024']
    >>> WordTokenizer().tokenize("서울은 Корея 首都")
    ['서울은', 'корея', '首', '都']
    """

    def tokenize(self, text: str) -> list[str]:
        """Return the tokens of `text`, in order."""
        if text.isascii():
            return text.lower().translate(_ASCII_BOUNDARIES).split()
        composed = nfkc(text)
        lower = composed.lower()
        # Small letters compose where capitals do not: there is an ΐ, and no capital of it.
        return (lower if lower == composed else nfkc(lower)).translate(_BOUNDARIES).split()


class CharacterTokenizer:
    """Every letter, mark and digit is a token (`tokenizer="characters"`), after NFKC and lower case.

    >>> CharacterTokenizer().tokenize("배송 A1!")
    ['배', '송', 'a', '1']
    """

    def tokenize(self, text: str) -> list[str]:
        """Return the tokens of `text`, in order."""
        return [character for word in WordTokenizer().tokenize(text) for character in word]


class WhitespaceTokenizer:
    """Whatever is between white space, in lower case (`tokenizer="whitespace"`, as in the package krag).

    >>> WhitespaceTokenizer().tokenize("The end.")
    ['the', 'end.']
    """

    def tokenize(self, text: str) -> list[str]:
        """Return the tokens of `text`, in order."""
        return text.lower().split()


class RougeScoreTokenizer:
    """The default tokenizer of the package `rouge_score`: ASCII letters and digits only, without stemming."""

    def tokenize(self, text: str) -> list[str]:
        """Return the tokens of `text`, in order."""
        tokens: list[str] = _rouge_score_tokenizer().tokenize(text)
        return tokens


class KiwiTokenizer:
    """Korean morphemes by Kiwi (`tokenizer="kiwi"`, extra `ko`), after NFKC and lower case, without punctuation."""

    def tokenize(self, text: str) -> list[str]:
        """Return the tokens of `text`, in order."""
        return next(self.tokenize_all([text]))

    def tokenize_all(self, texts: Sequence[str]) -> Iterator[list[str]]:
        """Yield the tokens of each text; Kiwi works on several texts at once."""
        # Kiwi takes neither lone surrogates nor NUL.
        clean = (_UNENCODABLE.sub(" ", nfkc(text).lower()) for text in texts)
        for morphemes in _kiwi().tokenize(clean):
            yield [m.form for m in morphemes if m.tag[0] != "S" or m.tag in ("SL", "SH", "SN")]


class NltkTokenizer:
    """English words by NLTK's Treebank rules (`tokenizer="nltk"`), after NFKC and lower case, without punctuation.

    >>> NltkTokenizer().tokenize("We can't open; come back at 9.30.")
    ['we', 'ca', "n't", 'open', 'come', 'back', 'at', '9.30']
    """

    def tokenize(self, text: str) -> list[str]:
        """Return the tokens of `text`, in order."""
        # The sentence model of `nltk.word_tokenize` is a download: a full stop is cut off here instead.
        tokens = (_EDGES.sub("", token) for token in _treebank().tokenize(nfkc(text).lower()))
        return [token for token in tokens if token]


_EDGES = re.compile(r"^[\W_]+|[\W_]+$")
_UNENCODABLE = re.compile("[\x00\ud800-\udfff]")


@functools.cache
def _rouge_score_tokenizer() -> Any:
    # Not at the top: rouge_score pulls in nltk, which takes seconds.
    from rouge_score.tokenizers import DefaultTokenizer

    return DefaultTokenizer(use_stemmer=False)


@functools.cache
def _kiwi() -> Any:
    with needing(Argument("tokenizer", "kiwi"), "kiwipiepy", "ko"):
        from kiwipiepy import Kiwi
    return Kiwi()


@functools.cache
def _treebank() -> Any:
    from nltk.tokenize import NLTKWordTokenizer  # a dependency of rouge_score

    return NLTKWordTokenizer()


TOKENIZERS: dict[str, Tokenizer] = {
    "words": WordTokenizer(),
    "rouge_score": RougeScoreTokenizer(),
    "characters": CharacterTokenizer(),
    "whitespace": WhitespaceTokenizer(),
    "kiwi": KiwiTokenizer(),
    "nltk": NltkTokenizer(),
}


class StemmingTokenizer:
    """Another tokenizer's tokens with Porter's stemmer, as `rouge_score` applies it.

    Only ASCII tokens of more than three characters are stemmed; Porter's rules are English.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._stem: Callable[[str], str] = functools.lru_cache(maxsize=100_000)(_porter().stem)

    def __reduce__(self) -> tuple[type[StemmingTokenizer], tuple[Tokenizer]]:
        return type(self), (self._tokenizer,)

    def tokenize(self, text: str) -> list[str]:
        """Return the stems of the tokens of `text`, in order."""
        return next(self.tokenize_all([text]))

    def tokenize_all(self, texts: Sequence[str]) -> Iterator[list[str]]:
        """Yield the stems of the tokens of each text."""
        for tokens in tokenize_all(self._tokenizer, texts):
            yield [self._stem(t) if len(t) > 3 and t.isascii() else t for t in tokens]


class FunctionTokenizer:
    """A function `text -> list of tokens` as a tokenizer."""

    def __init__(self, function: Callable[[str], list[str]]) -> None:
        self._function = function

    def tokenize(self, text: str) -> list[str]:
        """Return the tokens of `text`, in order."""
        return self._function(text)


@functools.cache
def _porter() -> Any:
    from nltk.stem.porter import PorterStemmer  # a dependency of rouge_score, and the stemmer that it uses

    return PorterStemmer()


def as_tokenizer(tokenizer: object) -> Tokenizer:
    """Return the tokenizer of that name, or the object or function given, as a `Tokenizer`.

    Raises:
        InvalidInputError: It is none of these.
    """
    tokenizer = value_of(tokenizer)
    if isinstance(tokenizer, str):
        if tokenizer not in TOKENIZERS:
            raise InvalidInputError(
                f"Unknown tokenizer {tokenizer!r}.{did_you_mean(tokenizer, TOKENIZERS)} "
                f"Known tokenizers: {', '.join(TOKENIZERS)}; or pass an object with `tokenize(text)` or a function."
            )
        return TOKENIZERS[tokenizer]
    if isinstance(tokenizer, Tokenizer) and not isinstance(tokenizer, type):
        return tokenizer
    if not callable(tokenizer) or isinstance(tokenizer, type):
        known = f"Known names: {', '.join(TOKENIZERS)}."
        refuse("tokenizer", "a name, an object with `tokenize(text)` or a function", tokenizer, known)
    return FunctionTokenizer(tokenizer)


def tokenize_all(tokenizer: Tokenizer, texts: Sequence[str]) -> Iterator[list[str]]:
    """Yield the tokens of each text, checked.

    Raises:
        InvalidInputError: The tokenizer returned something else than a list of strings for each text.
    """
    in_bulk = getattr(tokenizer, "tokenize_all", None)
    n_rows = 0
    for tokens in in_bulk(texts) if in_bulk else map(tokenizer.tokenize, texts):
        n_rows += 1
        if n_rows > len(texts):
            break
        yield _checked(tokens, type(tokenizer).__name__)
    if n_rows != len(texts):
        raise InvalidInputError(
            f"The tokenizer {type(tokenizer).__name__} returned more or fewer lists than it was given texts. "
            "`tokenize_all` must return one list per text, in order."
        )


def _checked(tokens: object, name: str) -> list[str]:
    if isinstance(tokens, (str, bytes)) or not isinstance(tokens, Sequence):
        raise InvalidInputError(
            f"The tokenizer {name} returned a {type(tokens).__name__}. It must return a list of strings."
        )
    if not set(map(type, tokens)) <= {str}:
        odd = next(t for t in tokens if type(t) is not str)
        raise InvalidInputError(
            f"The tokenizer {name} returned a token of type {type(odd).__name__}: {odd!r:.60}. Tokens must be strings."
        )
    return list(tokens)
