"""How answers are scored: everything that can change a number, checked once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from krag_eval.embeddings import check_embeddings, describe_embeddings
from krag_eval.errors import InvalidInputError
from krag_eval.settings import Settings
from krag_eval.text import Normalizer, normalize
from krag_eval.tokenizers import Tokenizer
from krag_eval.tokenizing import as_tokenizer

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
            check_embeddings(self.embeddings)
        if not isinstance(self.embedding_prefix, str):
            raise InvalidInputError(
                f"`embedding_prefix` must be a string such as 'passage: ', got {self.embedding_prefix!r:.60}. "
                "Leave it out if the model needs none."
            )

    def rouge_tokenizer(self) -> Tokenizer:
        """The tokenizer of ROUGE, with the stemmer where it was asked for."""
        return self._rouge.load_tokenizer()

    def plain_tokenizer(self) -> Tokenizer:
        """The tokenizer of `exact_match` and `token_f1`."""
        return as_tokenizer(self.tokenizer)

    def describe(self) -> list[str]:
        """The parts of the signature that the settings decide, in their fixed order."""
        parts = [part for part in self._rouge.describe() if part.partition(":")[0] in _OF_TEXT]
        if self.embeddings is not None:
            parts.append(f"emb:{describe_embeddings(self.embeddings)}")
            parts += [f"prefix:{self.embedding_prefix!r}"] if self.embedding_prefix else []
        return parts
