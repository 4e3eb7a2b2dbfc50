"""Pairs of a reference and an answer: their settings, texts and tokens."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from krag_eval._utils.arrays import BoolArray, FloatArray, IntArray
from krag_eval._utils.errors import Argument, InvalidInputError
from krag_eval._utils.objects import cached_property
from krag_eval.documents.embeddings import EmbeddedTexts, describe_embeddings
from krag_eval.documents.text import Normalizer, forms_of, normalize
from krag_eval.documents.tokenizers import FunctionTokenizer, Tokenizer, as_tokenizer
from krag_eval.matching.batch import number
from krag_eval.matching.overlap import UNIT_OF, overlap
from krag_eval.matching.rouge import score
from krag_eval.matching.settings import Settings
from krag_eval.matching.tokens import NumberedTexts


class AnswerPairs:
    """Pairs of a reference and an answer; what several metrics need of them is computed once.

    Args:
        references: The references.
        answers: The answers, as many.
        settings: How they are scored.

    Raises:
        InvalidInputError: There are not as many answers as references, or a text is no string.

    >>> pairs = AnswerPairs(["within three days"], ["three days"])
    >>> len(pairs)
    1
    """

    def __init__(
        self, references: Sequence[str], answers: Sequence[str], settings: AnswerSettings | None = None
    ) -> None:
        if len(references) != len(answers):
            raise InvalidInputError(
                f"There are {len(references)} references and {len(answers)} answers. A pair needs one of each: repeat "
                "the answer for each of its references, or call `evaluate_answers`, which does."
            )
        self.references = _texts("references", references)
        self.answers = _texts("answers", answers)
        self.settings = settings or AnswerSettings()

    def __len__(self) -> int:
        return len(self.references)

    def blocks(self, size: int) -> Iterator[AnswerPairs]:
        """Return the pairs, `size` at a time, in order."""
        for start in range(0, len(self), size):
            some = slice(start, start + size)
            yield AnswerPairs(self.references[some], self.answers[some], self.settings)

    @cached_property
    def normal_references(self) -> list[str]:
        """The references, normalised."""
        return forms_of(self.references, self.settings.normalize)

    @cached_property
    def normal_answers(self) -> list[str]:
        """The answers, normalised."""
        return forms_of(self.answers, self.settings.normalize)

    @cached_property
    def tokens(self) -> _TokenPairs:
        """The tokens of the normalised texts, for `exact_match` and `token_f1`."""
        return _TokenPairs(self.normal_references, self.normal_answers, self.settings.plain_tokenizer())

    @cached_property
    def squad(self) -> _TokenPairs:
        """The tokens of SQuAD."""
        return _TokenPairs(self.references, self.answers, FunctionTokenizer(squad_tokens))

    @cached_property
    def rouge(self) -> _TokenPairs:
        """The tokens of the texts as they are, for ROUGE."""
        return _TokenPairs(self.references, self.answers, self.settings.rouge_tokenizer())


def _texts(name: str, texts: Sequence[object]) -> list[str]:
    checked = [text for text in texts if isinstance(text, str)]
    if len(checked) < len(texts):
        odd = next(text for text in texts if not isinstance(text, str))
        raise InvalidInputError(
            f"`{name}` gave {odd!r:.60} where a text is expected. Texts must be strings. Give '' for an empty one."
        )
    return checked


class _TokenPairs:
    """Pairs of a reference and an answer under one tokenizer.

    Args:
        references: The references.
        answers: The answers, one for each reference.
        tokenizer: What makes their tokens; each different text is cut once.
    """

    def __init__(self, references: Sequence[str], answers: Sequence[str], tokenizer: Tokenizer) -> None:
        codes, texts = number(references, answers)
        self._reference, self._answer = codes.actual, codes.predicted
        self._table = NumberedTexts(texts, tokenizer)

    @cached_property
    def _lengths(self) -> IntArray:
        return np.diff(self._table.everything.offsets)

    def shared(self, kind: str) -> IntArray:
        """Count the units that each pair shares: tokens (`rouge1`), two neighbours (`rouge2`), in order (`rougeL`)."""
        nothing_needed = np.zeros(len(self._reference), dtype=np.int64)
        return overlap(self._table, kind, self._reference, self._answer, self._lengths, nothing_needed)

    def f_measure(self, kind: str) -> FloatArray:
        """Return the harmonic mean of the shares that each pair shares, in rouge_score's order of operations.

        Shape: (n_pairs,), from 0 to 1; 0 where one of the two has no units.
        """
        lengths = np.maximum(self._lengths - (UNIT_OF[kind] - 1), 0)
        return score(self.shared(kind), lengths[self._reference], lengths[self._answer], "fmeasure")

    def has_tokens(self) -> BoolArray:
        """Return whether the reference or the answer of each pair has any token; shape (n_pairs,)."""
        some: BoolArray = (self._lengths[self._reference] > 0) | (self._lengths[self._answer] > 0)
        return some

    def same(self) -> BoolArray:
        """Return whether reference and answer have the same tokens in the same order; shape (n_pairs,)."""
        numbers, offsets, _ = self._table.everything
        same: BoolArray = self._reference == self._answer
        undecided = ~same & (self._lengths[self._reference] == self._lengths[self._answer])
        for pair in np.flatnonzero(undecided).tolist():
            one, other = (int(offsets[text[pair]]) for text in (self._reference, self._answer))
            length = int(self._lengths[self._reference[pair]])
            same[pair] = np.array_equal(numbers[one : one + length], numbers[other : other + length])
        return same


_OF_TEXT = ("tok", "stem", "norm")


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerSettings:
    """The settings of the answer metrics.

    Attributes:
        tokenizer: A name of `TOKENIZERS`, an object with `tokenize(text)`, or a function.
        use_stemmer: Porter's stemmer on ASCII tokens, in ROUGE alone, as in rouge_score.
        normalize: What is done to texts before `exact_match` and `token_f1` cut them into tokens; None leaves them raw.
        embeddings: The embedding model of `semantic_similarity`, or None.
        embedding_prefix: What is put before each text that is embedded.

    Raises:
        InvalidInputError: A value cannot be used.
    """

    tokenizer: Any = "words"
    use_stemmer: bool = False
    normalize: Normalizer | None = normalize
    embeddings: Any = None
    embedding_prefix: str = ""
    _rouge: Settings = field(init=False, repr=False)

    def __post_init__(self) -> None:
        rouge = Settings(
            match_method="rougeL", tokenizer=self.tokenizer, use_stemmer=self.use_stemmer, normalize=self.normalize
        )
        object.__setattr__(self, "_rouge", rouge)
        if self.embeddings is not None:
            EmbeddedTexts(self.embeddings, self.embedding_prefix, Argument("semantic_similarity"))  # checks both

    def rouge_tokenizer(self) -> Tokenizer:
        """Return the tokenizer of ROUGE, with the stemmer where it was asked for."""
        return self._rouge.load_tokenizer()

    def plain_tokenizer(self) -> Tokenizer:
        """Return the tokenizer of `exact_match` and `token_f1`."""
        return as_tokenizer(self.tokenizer)

    def describe(self) -> list[str]:
        """Return the parts of the signature that the settings decide, in their fixed order."""
        parts = [part for part in self._rouge.describe() if part.partition(":")[0] in _OF_TEXT]
        if self.embeddings is not None:
            parts.append(f"emb:{describe_embeddings(self.embeddings)}")
            parts += [f"prefix:{self.embedding_prefix!r}"] if self.embedding_prefix else []
        return parts


_WITHOUT_PUNCTUATION = {ord(character): None for character in string.punctuation}
_ARTICLES = re.compile(r"\b(a|an|the)\b")


def squad_tokens(text: str) -> list[str]:
    """Split a text as SQuAD does: lower case, without ASCII punctuation and English articles, at white space.

    In this order, so that removing a hyphen joins its two sides. Two answers are the same to SQuAD if their tokens are.

    Source: Rajpurkar et al. (2016), doi:10.18653/v1/D16-1264, and the evaluation script of SQuAD v1.1.

    >>> squad_tokens("The state-of-the-art, 2024!")
    ['stateoftheart', '2024']
    """
    return _ARTICLES.sub(" ", text.lower().translate(_WITHOUT_PUNCTUATION)).split()
