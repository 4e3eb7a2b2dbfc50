"""The pairs that the answer metrics are computed over: a reference and an answer."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence

from krag_eval.answers.settings import AnswerSettings
from krag_eval.answers.squad_text import squad_tokens
from krag_eval.answers.token_pairs import TokenPairs
from krag_eval.errors import InvalidInputError
from krag_eval.text import normalize, normalize_all
from krag_eval.tokenizing import FunctionTokenizer


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
        """The pairs, `size` at a time, in order."""
        for start in range(0, len(self), size):
            some = slice(start, start + size)
            yield AnswerPairs(self.references[some], self.answers[some], self.settings)

    @functools.cached_property
    def normal_references(self) -> list[str]:
        """The references, normalised."""
        return self._normal(self.references)

    @functools.cached_property
    def normal_answers(self) -> list[str]:
        """The answers, normalised."""
        return self._normal(self.answers)

    @functools.cached_property
    def tokens(self) -> TokenPairs:
        """The tokens of the normalised texts, for `exact_match` and `token_f1`."""
        return TokenPairs(self.normal_references, self.normal_answers, self.settings.plain_tokenizer())

    @functools.cached_property
    def squad(self) -> TokenPairs:
        """The tokens of SQuAD."""
        return TokenPairs(self.references, self.answers, FunctionTokenizer(squad_tokens))

    @functools.cached_property
    def rouge(self) -> TokenPairs:
        """The tokens of the texts as they are, for ROUGE."""
        return TokenPairs(self.references, self.answers, self.settings.rouge_tokenizer())

    def _normal(self, texts: list[str]) -> list[str]:
        normalizer = self.settings.normalize
        if normalizer is None:
            return texts
        if normalizer is normalize:
            return normalize_all(texts)
        forms = [normalizer(text) for text in texts]
        return _texts("normalize", forms)


def _texts(name: str, texts: Sequence[object]) -> list[str]:
    checked = [text for text in texts if isinstance(text, str)]
    if len(checked) < len(texts):
        odd = next(text for text in texts if not isinstance(text, str))
        raise InvalidInputError(
            f"`{name}` gave {odd!r:.60} for a text. Pairs are of strings. Give a string for each, empty ones too."
        )
    return checked
