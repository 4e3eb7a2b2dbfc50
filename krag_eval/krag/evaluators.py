"""What krag has in `krag.evaluators`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np

from krag_eval._utils.checks import one_of
from krag_eval._utils.errors import InvalidInputError, warn
from krag_eval._utils.formatting import number_of
from krag_eval._utils.plugins import load
from krag_eval.documents.tokenizers import as_tokenizer
from krag_eval.evaluation import krag as engine
from krag_eval.krag import load_class
from krag_eval.krag.document import Document
from krag_eval.matching import Batch, Matches, find_matches
from krag_eval.matching.settings import (
    DEFAULT_SIMILARITY_THRESHOLD,
    DEFAULT_THRESHOLD,
    AveragingMethod,
    MatchingCriteria,
    TokenizerType,
)

__all__ = [
    "AveragingMethod",
    "Document",
    "EmbeddingRougeOfflineRetrievalEvaluators",
    "MatchingCriteria",
    "OfflineRetrievalEvaluators",
    "RougeOfflineRetrievalEvaluators",
    "TokenizerConfig",
    "TokenizerType",
]

# By embedding type: the package, the class, and what krag passes to it.
_MODELS: Mapping[str, tuple[str, str, Mapping[str, object]]] = {
    "huggingface": (
        "langchain-huggingface",
        "langchain_huggingface:HuggingFaceEmbeddings",
        {
            "model_name": "jhgan/ko-sroberta-multitask",
            "model_kwargs": {"device": "cpu"},
            "encode_kwargs": {"normalize_embeddings": False},
        },
    ),
    "openai": ("langchain-openai", "langchain_openai:OpenAIEmbeddings", {"model": "text-embedding-3-small"}),
    "ollama": ("langchain-ollama", "langchain_ollama:OllamaEmbeddings", {"model": "bge-m3"}),
}


@dataclass
class TokenizerConfig:
    """What `evaluator.tokenizer` holds.

    Attributes:
        type: The tokenizer as given.
        tokenize_fn: A function from a text to its tokens, joined by spaces.
    """

    type: TokenizerType
    tokenize_fn: Callable[[str], str]


def warn_where_krag_would_match(batch: Batch, matches: Matches) -> bool:
    """Warn if texts were compared for equality and krag, which asks for containment, would match more.

    Args:
        batch: The input.
        matches: What matched in it.

    Returns:
        Whether it was so.
    """
    if batch.settings.methods != ("text",):
        return False
    as_in_krag = replace(batch.settings, match_method="containment", containment="gold_in_retrieved", normalize=None)
    contained = find_matches(Batch(batch.actual, batch.predicted, as_in_krag))
    n_gold = max(int(batch.actual.offsets[-1]), 1)
    further = np.setdiff1d(contained.predicted * n_gold + contained.actual, matches.predicted * n_gold + matches.actual)
    if not len(further):
        return False
    queries = np.unique(batch.predicted.query_of(further // n_gold))
    warn(
        "krag's match_method='text' looks for the gold text inside the retrieved text; here the two must be equal. "
        f"krag would match more in {len(queries):,} of {number_of(len(batch), 'query')}. For that, pass "
        "match_method='containment', containment='gold_in_retrieved'. To compare for equality without this warning, "
        "import from `krag_eval`."
    )
    return True


class OfflineRetrievalEvaluators(engine.OfflineRetrievalEvaluators):
    """`krag_eval.OfflineRetrievalEvaluators`, with a warning where krag's `match_method="text"` would match more."""

    __init__ = engine.OfflineRetrievalEvaluators.__init__
    _is_checked = False

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if "text_match" in vars(cls):
            raise InvalidInputError(
                f"{cls.__qualname__} defines `text_match`, which krag_eval does not call: it matches all documents at "
                "once. Remove it, and pass `match_method`, `tokenizer` or `normalize` instead."
            )

    def _values(self, names: Sequence[str], k: int | None) -> engine.Values:
        if not self._is_checked:
            warn_where_krag_would_match(self.judged.batch, self.judged.matches)
            self._is_checked = True
        return super()._values(names, k)

    def visualize_results(self, k: int | None = None) -> None:  # type: ignore[override]  # as in krag
        """Show a bar chart of all values at `k` in a notebook; `krag_eval`'s evaluators return it as a figure."""
        load("krag_eval.reports", "charts").show(super().visualize_results(k))


class _WithTokenizer(OfflineRetrievalEvaluators):
    @property
    def tokenizer(self) -> TokenizerConfig:
        """The tokenizer as given, with a function that applies it."""
        given = self._settings.tokenizer
        return TokenizerConfig(given, lambda text: " ".join(as_tokenizer(given).tokenize(text)))


class RougeOfflineRetrievalEvaluators(engine.RougeOfflineRetrievalEvaluators, _WithTokenizer):
    """`krag_eval.RougeOfflineRetrievalEvaluators` with krag's defaults: Kiwi's tokens (extra `ko`), with a stemmer."""

    def __init__(
        self,
        actual_docs: object,
        predicted_docs: object,
        match_method: str = "rouge1",
        averaging_method: str = AveragingMethod.BOTH,
        matching_criteria: str = MatchingCriteria.ALL,
        threshold: float = DEFAULT_THRESHOLD,
        tokenizer: Any = TokenizerType.KIWI,
        **options: Unpack[engine.EvaluatorSettings],
    ) -> None:
        options.setdefault("use_stemmer", True)
        common = actual_docs, predicted_docs, match_method, averaging_method, matching_criteria
        super().__init__(*common, threshold, tokenizer, **options)

    @property
    def threshold(self) -> float:
        """The ROUGE from which two texts match."""
        return next(iter(self._settings.thresholds.values()))


class EmbeddingRougeOfflineRetrievalEvaluators(engine.EmbeddingRougeOfflineRetrievalEvaluators, _WithTokenizer):
    """`krag_eval.EmbeddingRougeOfflineRetrievalEvaluators` with krag's arguments and defaults.

    `embedding_type` and `embedding_config` name a LangChain model, as in krag: it is loaded from langchain-huggingface,
    langchain-openai or langchain-ollama. `embeddings`, a model of your own, takes their place.
    """

    def __init__(
        self,
        actual_docs: object,
        predicted_docs: object,
        match_method: str = "rouge1",
        averaging_method: str = AveragingMethod.BOTH,
        matching_criteria: str = MatchingCriteria.ALL,
        rouge_threshold: float = 0.7,
        similarity_threshold: float = DEFAULT_SIMILARITY_THRESHOLD,
        embedding_type: str = "huggingface",
        embedding_config: Mapping[str, Any] | None = None,
        tokenizer: Any = TokenizerType.KIWI,
        *,
        embeddings: Any = None,
        **options: Unpack[engine.CommonEvaluatorSettings],
    ) -> None:
        options.setdefault("use_stemmer", True)
        if embeddings is None:
            embeddings = _load_model(embedding_type, embedding_config or {})
        common = actual_docs, predicted_docs, match_method, averaging_method, matching_criteria
        thresholds = rouge_threshold, similarity_threshold
        super().__init__(*common, *thresholds, tokenizer, embeddings=embeddings, **options)

    @property
    def rouge_threshold(self) -> float:
        """The ROUGE from which two texts match."""
        return next(iter(self._settings.thresholds.values()))

    @property
    def similarity_threshold(self) -> float | None:
        """The cosine that their embeddings must also have."""
        return self._settings.similarity_threshold

    @property
    def embeddings(self) -> Any:
        """The model."""
        return self._settings.embeddings


def _load_model(embedding_type: str, config: Mapping[str, Any]) -> Any:
    package, place, usual = _MODELS[one_of("embedding_type", embedding_type, list(_MODELS))]
    needed_by = f"embedding_type={embedding_type!r}"
    model = load_class(needed_by, package, place, instead="pass a model of your own as `embeddings`")
    return model(**{**usual, **config})
