"""Any tokenizer a user names or brings, and its tokens, checked."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from krag_eval.errors import InvalidInputError, did_you_mean
from krag_eval.tokenizers import TOKENIZERS, Tokenizer


class StemmingTokenizer:
    """Another tokenizer's tokens with Porter's stemmer, as `rouge_score` applies it.

    Only ASCII tokens of more than three characters are stemmed; Porter's rules are English.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._stem: Callable[[str], str] = functools.lru_cache(maxsize=100_000)(_porter().stem)

    def tokenize(self, text: str) -> list[str]:
        """The stems of the tokens of `text`, in order."""
        return next(self.tokenize_all([text]))

    def tokenize_all(self, texts: Sequence[str]) -> Iterator[list[str]]:
        """The stems of the tokens of each text."""
        for tokens in tokenize_all(self._tokenizer, texts):
            yield [self._stem(t) if len(t) > 3 and t.isascii() else t for t in tokens]


class FunctionTokenizer:
    """A function `text -> list of tokens` as a tokenizer."""

    def __init__(self, function: Callable[[str], list[str]]) -> None:
        self._function = function

    def tokenize(self, text: str) -> list[str]:
        """The tokens of `text`, in order."""
        return self._function(text)


@functools.cache
def _porter() -> Any:
    from nltk.stem.porter import PorterStemmer  # a dependency of rouge_score, and the stemmer that it uses

    return PorterStemmer()


def as_tokenizer(tokenizer: object) -> Tokenizer:
    """The tokenizer of that name, or the object or function given, as a `Tokenizer`.

    Raises:
        InvalidInputError: It is none of these.
    """
    if isinstance(tokenizer, str):
        if tokenizer not in TOKENIZERS:
            raise InvalidInputError(
                f"Unknown tokenizer {tokenizer!r}.{did_you_mean(tokenizer, TOKENIZERS)} "
                f"Known tokenizers: {', '.join(TOKENIZERS)}; or pass an object with `tokenize(text)` or a function."
            )
        return TOKENIZERS[tokenizer]
    if isinstance(tokenizer, Tokenizer) and not isinstance(tokenizer, type):
        return tokenizer
    if callable(tokenizer) and not isinstance(tokenizer, type):
        return FunctionTokenizer(tokenizer)
    raise InvalidInputError(
        f"`tokenizer` must be a name, an object with `tokenize(text)` or a function, "
        f"got {type(tokenizer).__name__}. Known names: {', '.join(TOKENIZERS)}."
    )


def tokenize_all(tokenizer: Tokenizer, texts: Sequence[str]) -> Iterator[list[str]]:
    """The tokens of each text, checked.

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
            "`tokenize_all` must return one list a text, in order."
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
