"""Pairs of a reference and an answer: their settings, texts and tokens."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from krag_eval import InvalidInputError, normalize
from krag_eval.toolkit import Settings, Tokenizer, TokenPairs, cached_property, forms_of


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
    def tokens(self) -> TokenPairs:
        """The tokens of the normalised texts, for `exact_match` and `token_f1`."""
        return TokenPairs(self.normal_references, self.normal_answers, self.settings.plain_tokenizer())

    @cached_property
    def squad(self) -> TokenPairs:
        """The tokens of SQuAD."""
        return TokenPairs(
            self.references, self.answers, Settings(match_method="rougeL", tokenizer=squad_tokens).load_tokenizer()
        )

    @cached_property
    def rouge(self) -> TokenPairs:
        """The tokens of the texts as they are, for ROUGE."""
        return TokenPairs(self.references, self.answers, self.settings.rouge_tokenizer())


def _texts(name: str, texts: Sequence[object]) -> list[str]:
    checked = [text for text in texts if isinstance(text, str)]
    if len(checked) < len(texts):
        odd = next(text for text in texts if not isinstance(text, str))
        raise InvalidInputError(
            f"`{name}` gave {odd!r:.60} where a text is expected. Texts must be strings. Give '' for an empty one."
        )
    return checked


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerSettings:
    """The settings of the answer metrics.

    Attributes:
        tokenizer: A name of `TOKENIZERS`, an object with `tokenize(text)`, or a function.
        use_stemmer: Porter's stemmer on ASCII tokens, in ROUGE alone, as in rouge_score.
        normalize: What is done to texts before `exact_match` and `token_f1` cut them into tokens; None leaves them raw.
        embeddings: The embedding model of `semantic_similarity`, or None.
        embedding_prefix: What is put before each text that is embedded.
        scoring: The same as settings of matching, checked.

    Raises:
        InvalidInputError: A value cannot be used.
    """

    tokenizer: Any = "words"
    use_stemmer: bool = False
    normalize: Callable[[str], str] | None = normalize
    embeddings: Any = None
    embedding_prefix: str = ""
    scoring: Settings = field(init=False, repr=False)

    def __post_init__(self) -> None:
        methods = ["rougeL"] if self.embeddings is None else ["rougeL", "embedding"]
        given = {name: getattr(self, name) for name in self.__slots__ if name != "scoring"}
        object.__setattr__(self, "scoring", Settings(match_method=methods, **given))

    def rouge_tokenizer(self) -> Tokenizer:
        """Return the tokenizer of ROUGE, with the stemmer where it was asked for."""
        return self.scoring.load_tokenizer()

    def plain_tokenizer(self) -> Tokenizer:
        """Return the tokenizer of `exact_match` and `token_f1`."""
        return replace(self.scoring, use_stemmer=False).load_tokenizer()

    def describe(self) -> list[str]:
        """Return the parts of the signature that the settings decide, in their fixed order."""
        said = dict(part.split(":", 1) for part in self.scoring.describe())
        names = {"tok": "tok", "stem": "stem", "norm": "norm", "emb": "emb", "embprefix": "prefix"}
        return [f"{name}:{said[part]}" for part, name in names.items() if part in said]


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
