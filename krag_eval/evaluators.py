"""The familiar evaluator classes, a thin face over the pipeline: match once, then ask for any metric at any k."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack

from krag_eval.callbacks import EvaluationCallback, check_callbacks
from krag_eval.checks import check_cut_offs, check_threshold, one_of
from krag_eval.familiar import FAMILIAR_METRICS, Familiar, check_one_cut_off
from krag_eval.measurement import choose_metrics, measure
from krag_eval.pipeline import Judged, match_and_judge
from krag_eval.results import EvaluationResult
from krag_eval.settings import AveragingMethod, CommonSettings, FurtherSettings, MatchingCriteria, make_settings
from krag_eval.thresholds import DEFAULT_SIMILARITY_THRESHOLD, DEFAULT_THRESHOLD, ROUGE_METHODS, USUAL_THRESHOLDS
from krag_eval.wrong_names import TellsAttributes, tell_names

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Values = dict[str, float | None]


@tell_names
class OfflineRetrievalEvaluators(TellsAttributes):
    """Scores fixed lists of gold and retrieved documents; matching is done once, when the evaluator is made.

    Args:
        actual_docs: The gold documents of each query: a list of lists.
        predicted_docs: The retrieved documents of each query, best first.
        match_method: A method or a list of methods of which the first that holds wins.
        averaging_method: `"micro"`, `"macro"` or `"both"`, for recall, precision and F1.
        matching_criteria: When a query is a hit: `"all"` of its gold documents are found, or `"partial"`.
        threshold: The similarity from which two texts match, 0 to 1; a mapping gives one a method. By default 0.5 for
            ROUGE and 0.7 for embeddings.
        tokenizer: A name, a `TokenizerType`, an object with `tokenize(text)`, or a function.
        callbacks: Receivers of scores; each call below is an evaluation of its own to them.
        raise_errors: Let an error of a callback through.
        **settings: Further scoring settings that `evaluate` takes.

    Attributes:
        judged: The input, matched and judged.

    Raises:
        InvalidInputError: Something given cannot be used; the message names the place.

    >>> ev = OfflineRetrievalEvaluators([["a", "b"]], [["b", "x"]])
    >>> ev.calculate_recall(k=1)
    {'micro_recall': 0.5, 'macro_recall': 0.5}
    """

    def __init__(
        self,
        actual_docs: object,
        predicted_docs: object,
        match_method: str | Sequence[str] = "text",
        averaging_method: str = AveragingMethod.BOTH,
        matching_criteria: str = MatchingCriteria.ALL,
        *,
        threshold: float | Mapping[str, float] = USUAL_THRESHOLDS,
        tokenizer: Any = "words",
        callbacks: Sequence[EvaluationCallback] = (),
        raise_errors: bool = False,
        **settings: Unpack[FurtherSettings],
    ) -> None:
        self._face = Familiar(averaging_method, matching_criteria)
        self._callbacks = callbacks
        self._raise_errors = raise_errors
        check_callbacks(callbacks)  # a mistake is reported before anything is matched
        checked = make_settings(match_method=match_method, threshold=threshold, tokenizer=tokenizer, **settings)
        self.judged: Judged = match_and_judge(actual_docs, predicted_docs, checked)

    def calculate_hit_rate(self, k: int | None = None) -> Values:
        """`{"hit_rate"}`: the share of queries that are hits under the matching criteria."""
        return self._values(["hit_rate"], k)

    def calculate_mrr(self, k: int | None = None) -> Values:
        """`{"mrr"}`: the mean reciprocal rank."""
        return self._values(["mrr"], k)

    def calculate_recall(self, k: int | None = None) -> Values:
        """`{"micro_recall", "macro_recall"}`, or the one asked for."""
        return self._values(["recall"], k)

    def calculate_precision(self, k: int | None = None) -> Values:
        """`{"micro_precision", "macro_precision"}`, or the one asked for."""
        return self._values(["precision"], k)

    def calculate_f1_score(self, k: int | None = None) -> Values:
        """`{"micro_f1", "macro_f1"}`, or the one asked for."""
        return self._values(["f1"], k)

    def calculate_map(self, k: int | None = None) -> Values:
        """`{"map"}`: the mean average precision."""
        return self._values(["map"], k)

    def calculate_ndcg(self, k: int | None = None) -> Values:
        """`{"ndcg"}`: the mean normalised discounted cumulative gain."""
        return self._values(["ndcg"], k)

    def evaluate_all(self, k: int | None = None) -> Values:
        """All of the above in one dict."""
        return self._values(FAMILIAR_METRICS, k)

    def result(self, k: int | Sequence[int | None] | None = None) -> EvaluationResult:
        """The full result, with rows by query, `explain` and the signature; no callbacks are called."""
        table = choose_metrics(None, self.judged.batch.settings)
        return measure(self.judged, check_cut_offs(k), table, criteria=MatchingCriteria.PARTIAL)

    def visualize_results(self, k: int | None = None) -> Figure:
        """A bar chart of all values at `k`, as a matplotlib figure; nothing is opened.

        Raises:
            MissingDependencyError: matplotlib is not installed.
        """
        from krag_eval.charts import bar_chart

        title = "Retrieval metrics" + (f" at k = {k}" if k is not None else "")
        return bar_chart(self.evaluate_all(k), title)

    def _values(self, names: Sequence[str], k: int | None) -> Values:
        check_one_cut_off(k)
        result = measure(
            self.judged,
            (k,),
            choose_metrics(self._face.metrics(names), self.judged.batch.settings),
            criteria=self._face.criteria,
            callbacks=self._callbacks,
            raise_errors=self._raise_errors,
        )
        return self._face.values(result, k, names)


@tell_names
class RougeOfflineRetrievalEvaluators(OfflineRetrievalEvaluators):
    """`OfflineRetrievalEvaluators` that match by ROUGE.

    Args:
        actual_docs: The gold documents of each query: a list of lists.
        predicted_docs: The retrieved documents of each query, best first.
        match_method: `"rouge1"`, `"rouge2"` or `"rougeL"`.
        averaging_method: `"micro"`, `"macro"` or `"both"`, for recall, precision and F1.
        matching_criteria: When a query is a hit: `"all"` of its gold documents are found, or `"partial"`.
        threshold: The ROUGE from which two texts match, 0 to 1.
        tokenizer: A name, a `TokenizerType`, an object with `tokenize(text)`, or a function.
        callbacks: Receivers of scores.
        raise_errors: Let an error of a callback through.
        **settings: Further scoring settings that `evaluate` takes, such as `use_stemmer`.
    """

    def __init__(
        self,
        actual_docs: object,
        predicted_docs: object,
        match_method: str = "rouge1",
        averaging_method: str = AveragingMethod.BOTH,
        matching_criteria: str = MatchingCriteria.ALL,
        threshold: float = DEFAULT_THRESHOLD,
        tokenizer: Any = "words",
        *,
        callbacks: Sequence[EvaluationCallback] = (),
        raise_errors: bool = False,
        **settings: Unpack[FurtherSettings],
    ) -> None:
        super().__init__(
            actual_docs,
            predicted_docs,
            one_of("match_method", match_method, ROUGE_METHODS),
            averaging_method,
            matching_criteria,
            threshold=threshold,
            tokenizer=tokenizer,
            callbacks=callbacks,
            raise_errors=raise_errors,
            **settings,
        )


@tell_names
class EmbeddingRougeOfflineRetrievalEvaluators(RougeOfflineRetrievalEvaluators):
    """`OfflineRetrievalEvaluators` that match by embeddings and ROUGE: both conditions must hold.

    Args:
        actual_docs: The gold documents of each query: a list of lists.
        predicted_docs: The retrieved documents of each query, best first.
        match_method: `"rouge1"`, `"rouge2"` or `"rougeL"`.
        averaging_method: `"micro"`, `"macro"` or `"both"`, for recall, precision and F1.
        matching_criteria: When a query is a hit: `"all"` of its gold documents are found, or `"partial"`.
        rouge_threshold: The ROUGE from which two texts match, 0 to 1.
        similarity_threshold: The cosine that their embeddings must have besides, 0 to 1.
        tokenizer: A name, a `TokenizerType`, an object with `tokenize(text)`, or a function.
        embeddings: The model: a LangChain `Embeddings`, a LlamaIndex embedding model, an object with `encode(texts)`,
            or a function from a list of texts to vectors. Texts that ROUGE tells apart are not embedded.
        callbacks: Receivers of scores.
        raise_errors: Let an error of a callback through.
        **settings: Further scoring settings that `evaluate` takes, such as `embedding_prefix` or `use_stemmer`.

    >>> def embed(texts):  # a model of your own
    ...     return [[1.0, 0.0] if "Monday" in text else [0.0, 1.0] for text in texts]
    >>> gold = [["we open at nine on Monday"]]
    >>> retrieved = [["we open at nine on Sunday", "we open at nine on Monday morning"]]
    >>> EmbeddingRougeOfflineRetrievalEvaluators(gold, retrieved, embeddings=embed).calculate_mrr()
    {'mrr': 0.5}
    >>> RougeOfflineRetrievalEvaluators(gold, retrieved, threshold=0.7).calculate_mrr()
    {'mrr': 1.0}
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
        tokenizer: Any = "words",
        *,
        embeddings: Any,
        callbacks: Sequence[EvaluationCallback] = (),
        raise_errors: bool = False,
        **settings: Unpack[CommonSettings],
    ) -> None:
        super().__init__(
            actual_docs,
            predicted_docs,
            match_method,
            averaging_method,
            matching_criteria,
            check_threshold(rouge_threshold, "rouge_threshold"),
            tokenizer,
            callbacks=callbacks,
            raise_errors=raise_errors,
            embeddings=embeddings,
            similarity_threshold=check_threshold(similarity_threshold, "similarity_threshold"),
            **settings,
        )
