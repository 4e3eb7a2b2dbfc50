"""The calls and keys of the package krag: `evaluate_all` and the evaluator classes, on the pipeline of this package."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, TypedDict, Unpack

from krag_eval._utils.checks import check_number, one_of
from krag_eval._utils.errors import InvalidInputError, refuse
from krag_eval._utils.plugins import load
from krag_eval._utils.suggestions import check_names
from krag_eval.evaluation.pipeline import (
    EvaluationCallback,
    Judged,
    check_callbacks,
    choose_metrics,
    judge_batch,
    match_and_judge,
    measure,
    rules_if_any,
)
from krag_eval.evaluation.results import EvaluationResult
from krag_eval.matching.fronts import LISTS, Front
from krag_eval.matching.settings import (
    DEFAULT_SIMILARITY_THRESHOLD,
    DEFAULT_THRESHOLD,
    ROUGE_METHODS,
    SIMILARITY,
    USUAL_THRESHOLDS,
    AveragingMethod,
    CommonSettings,
    FurtherSettings,
    MatchingCriteria,
    TextSettings,
    TokenizerType,
    make_settings,
)
from krag_eval.metrics import ALL_METRICS
from krag_eval.metrics.aggregation import CountState, key_of
from krag_eval.metrics.cut_offs import GivenCutOff, check_cut_offs, ranks_within
from krag_eval.metrics.names import AskedMetrics, at_level

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class _CallSettings(TypedDict, total=False):
    callbacks: Sequence[EvaluationCallback]
    raise_errors: bool
    must_not: object
    allowed: object


class EvaluatorSettings(FurtherSettings, _CallSettings, total=False):
    """What every evaluator takes by its name."""


class CommonEvaluatorSettings(CommonSettings, _CallSettings, total=False):
    """The same without the settings of embeddings."""


Values = dict[str, float | None]

KRAG_METRICS = {
    "hit_rate": "Hit Rate",
    "mrr": "MRR",
    "recall": "Recall",
    "precision": "Precision",
    "f1": "F1 Score",
    "map": "MAP",
    "ndcg": "NDCG",
}
"""With the titles that krag prints."""
_LEAK_TITLES = {"leak": "Leak", "leak_share": "Leak Share", "first_leak": "First Leak"}


def evaluate_all(
    actual: object,
    predicted: object,
    k: int | None = None,
    *,
    averaging_method: str = AveragingMethod.BOTH,
    matching_criteria: str = MatchingCriteria.ALL,
    callbacks: Sequence[EvaluationCallback] = (),
    raise_errors: bool = False,
    must_not: object = None,
    allowed: object = None,
    **settings: Unpack[TextSettings],
) -> Values:
    """Score hit rate, MRR, recall, precision, F1, MAP and nDCG at one cut-off, as a dict.

    Args:
        actual: The gold documents of each query: a list of lists.
        predicted: The retrieved documents of each query, best first.
        k: The cut-off, at least 1; None scores all ranks.
        averaging_method: `"micro"`, `"macro"` or `"both"`, for recall, precision and F1.
        matching_criteria: When a query is a hit: `"all"` of its gold documents are found, or `"partial"`.
        callbacks: Callbacks that receive the scores.
        raise_errors: Raise errors of callbacks instead of collecting them.
        must_not: The documents that must not be retrieved for each query, a list of lists; as for `evaluate`.
        allowed: What whoever asks may see, for each query; as for `evaluate`.
        **settings: The scoring settings that `evaluate` takes, such as `match_method`, `threshold`, `tokenizer`.

    Returns:
        `hit_rate`, `mrr`, `micro_recall`, `macro_recall`, `micro_precision`, `macro_precision`, `micro_f1`,
        `macro_f1`, `map`, `ndcg`; with `must_not` or `allowed` also `leak`, `leak_share`, `first_leak`. A
        key is never missing; a value is None where it is undefined for every query.

    Raises:
        InvalidInputError: An argument or a document cannot be used; the message says which.

    >>> evaluate_all([["a", "b"]], [["b", "x"]], k=1)["macro_recall"]
    0.5
    """
    _check_one_cut_off(k)  # a mistake is reported before anything is matched
    return OfflineRetrievalEvaluators(
        actual,
        predicted,
        averaging_method=averaging_method,
        matching_criteria=matching_criteria,
        callbacks=callbacks,
        raise_errors=raise_errors,
        must_not=must_not,
        allowed=allowed,
        **settings,
    ).evaluate_all(k)


class OfflineRetrievalEvaluators:
    """Scores fixed lists of gold and retrieved documents; matching is done once, when the evaluator is made.

    Args:
        actual_docs: The gold documents of each query: a list of lists.
        predicted_docs: The retrieved documents of each query, best first.
        match_method: A method or a list of methods of which the first that holds wins.
        averaging_method: `"micro"`, `"macro"` or `"both"`, for recall, precision and F1.
        matching_criteria: When a query is a hit: `"all"` of its gold documents are found, or `"partial"`.
        threshold: The similarity from which two texts match, 0 to 1; a mapping gives one per method. By default 0.5 for
            ROUGE and 0.7 for embeddings.
        tokenizer: A name, a `TokenizerType`, an object with `tokenize(text)`, or a function.
        callbacks: Callbacks that receive the scores; each call below is an evaluation of its own.
        raise_errors: Raise errors of callbacks instead of collecting them.
        must_not: The documents that must not be retrieved for each query; as for `evaluate`.
        allowed: What whoever asks may see, for each query; as for `evaluate`.
        **settings: Further scoring settings that `evaluate` takes.

    Attributes:
        averaging_method: As given; it may be changed between two calls.
        matching_criteria: The same.

    Raises:
        InvalidInputError: An argument or a document cannot be used; the message says which.

    >>> ev = OfflineRetrievalEvaluators([["a", "b"]], [["b", "x"]])
    >>> ev.calculate_recall(k=1)
    {'micro_recall': 0.5, 'macro_recall': 0.5}
    """

    _front: ClassVar[Front] = LISTS

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
        must_not: object = None,
        allowed: object = None,
        **settings: Unpack[FurtherSettings],
    ) -> None:
        self.averaging_method: str
        self.matching_criteria: str
        self.averaging_method, self.matching_criteria = check_options(averaging_method, matching_criteria)
        self._callbacks = callbacks
        self._raise_errors = raise_errors
        check_callbacks(callbacks)
        self._settings = make_settings(match_method=match_method, threshold=threshold, tokenizer=tokenizer, **settings)
        self._docs = actual_docs, predicted_docs
        self._rules = must_not, allowed
        self._judged: Judged | None = self._match()

    @property
    def judged(self) -> Judged:
        """The input, matched and judged."""
        if self._judged is None:
            self._judged = self._match()
        return self._judged

    def _match(self) -> Judged:
        gold, retrieved = self._docs
        rules = rules_if_any(*self._rules, gold, self._settings)
        return match_and_judge(gold, retrieved, self._settings, front=self._front, rules=rules)

    @property
    def actual_docs(self) -> Any:
        """The gold documents as given. Others that are assigned here are matched before they are scored."""
        return self._docs[0]

    @actual_docs.setter
    def actual_docs(self, documents: object) -> None:
        if documents is not self._docs[0]:
            self._docs, self._judged = (documents, self._docs[1]), None

    @property
    def predicted_docs(self) -> Any:
        """The retrieved documents, likewise."""
        return self._docs[1]

    @predicted_docs.setter
    def predicted_docs(self, documents: object) -> None:
        if documents is not self._docs[1]:
            self._docs, self._judged = (self._docs[0], documents), None

    @property
    def match_method(self) -> str | Sequence[str]:
        """The method or methods as given."""
        return self._settings.match_method

    def text_match(self, actual_text: str, predicted_text: str | Sequence[str]) -> bool:
        """Return whether a gold text matches a retrieved one, or any of several, under the same settings."""
        retrieved = [predicted_text] if isinstance(predicted_text, str) else predicted_text
        return len(judge_batch([[actual_text]], [retrieved], self._settings).matches) > 0

    def calculate_hit_rate(self, k: int | None = None) -> Values:
        """Return `{"hit_rate"}`: the share of queries that are hits under the matching criteria."""
        return self._values(["hit_rate"], k)

    def calculate_mrr(self, k: int | None = None) -> Values:
        """Return `{"mrr"}`: the mean reciprocal rank."""
        return self._values(["mrr"], k)

    def calculate_recall(self, k: int | None = None) -> Values:
        """Return `{"micro_recall", "macro_recall"}`, or the one asked for."""
        return self._values(["recall"], k)

    def calculate_precision(self, k: int | None = None) -> Values:
        """Return `{"micro_precision", "macro_precision"}`, or the one asked for."""
        return self._values(["precision"], k)

    def calculate_f1_score(self, k: int | None = None) -> Values:
        """Return `{"micro_f1", "macro_f1"}`, or the one asked for."""
        return self._values(["f1"], k)

    def calculate_map(self, k: int | None = None) -> Values:
        """Return `{"map"}`: the mean average precision."""
        return self._values(["map"], k)

    def calculate_ndcg(self, k: int | None = None) -> Values:
        """Return `{"ndcg"}`: the mean normalised discounted cumulative gain."""
        return self._values(["ndcg"], k)

    def evaluate_all(self, k: int | None = None) -> Values:
        """Return all of the above in one dict."""
        return self._values(tuple(self._titles), k)

    @property
    def _titles(self) -> Mapping[str, str]:
        return KRAG_METRICS if self.judged.leaks is None else KRAG_METRICS | _LEAK_TITLES

    def get_metrics_by_averaging_method(self, k: int | None = None) -> str:
        """Return all of the above as text, one line per metric."""
        values = self.evaluate_all(k)
        of_metric = {
            name: {key: value for key, value in values.items() if key in (name, f"micro_{name}", f"macro_{name}")}
            for name in self._titles
        }
        return "\n".join(f"{title} @{k}: {of_metric[name]}" for name, title in self._titles.items())

    def result(self, k: int | Sequence[int | None] | None = None) -> EvaluationResult:
        """Return the full result, with rows by query, `explain` and the signature; no callbacks are called."""
        cut_offs, table = choose_metrics(None, self.judged.batch.settings, k, with_leaks=self.judged.leaks is not None)
        return measure(self.judged, cut_offs, table, criteria=MatchingCriteria.PARTIAL)

    def visualize_results(self, k: int | None = None) -> Figure:
        """Return a bar chart of all values at `k`, as a matplotlib figure; nothing is opened.

        Raises:
            MissingDependencyError: matplotlib is not installed.
        """
        title = "Retrieval metrics" + (f" at k = {k}" if k is not None else "")
        figure: Figure = load("krag_eval.reports", "charts").bar_chart(self.evaluate_all(k), title)
        return figure

    def _values(self, names: Sequence[str], k: int | None) -> Values:
        """Compute these metrics, under the keys of krag."""
        cut_off = _check_one_cut_off(k)
        averaging, criteria = check_options(self.averaging_method, self.matching_criteria)
        keys = krag_keys(names, averaging, criteria)
        settings = self.judged.batch.settings
        asked = AskedMetrics((cut_off,), {key.removeprefix("micro_"): (cut_off,) for key in keys.values()})
        tally = measure(
            self.judged,
            (cut_off,),
            choose_metrics(asked, settings, cut_off)[1],
            criteria=criteria,
            callbacks=self._callbacks,
            raise_errors=self._raise_errors,
        ).tally
        level = settings.relevance_level
        if level is None:
            return {name: tally.value(_key_at(key, cut_off)) for name, key in keys.items()}
        counts, ranks = CountState(), ranks_within((cut_off,), self.judged.batch)[cut_off]
        counts.add(self.judged.judgments.at_level(level), ranks, settings.precision_denominator)
        return {
            name: getattr(counts, key.removeprefix("micro_"))
            if key.startswith("micro_")
            else tally.value(_key_at(at_level(key, level), cut_off))
            for name, key in keys.items()
        }


class RougeOfflineRetrievalEvaluators(OfflineRetrievalEvaluators):
    """`OfflineRetrievalEvaluators` that match by ROUGE.

    Args:
        actual_docs: The gold documents of each query: a list of lists.
        predicted_docs: The retrieved documents of each query, best first.
        match_method: `"rouge1"` to `"rouge9"`, `"rougeL"` or `"rougeLsum"`.
        averaging_method: `"micro"`, `"macro"` or `"both"`, for recall, precision and F1.
        matching_criteria: When a query is a hit: `"all"` of its gold documents are found, or `"partial"`.
        threshold: The ROUGE from which two texts match, 0 to 1.
        tokenizer: A name, a `TokenizerType`, an object with `tokenize(text)`, or a function.
        callbacks: Callbacks that receive the scores.
        raise_errors: Raise errors of callbacks instead of collecting them.
        **options: Further scoring settings that `evaluate` takes, such as `use_stemmer`.
    """

    _front = replace(LISTS, names={"match_method": "OfflineRetrievalEvaluators and match_method"})

    def __init__(
        self,
        actual_docs: object,
        predicted_docs: object,
        match_method: str = "rouge1",
        averaging_method: str = AveragingMethod.BOTH,
        matching_criteria: str = MatchingCriteria.ALL,
        threshold: float = DEFAULT_THRESHOLD,
        tokenizer: Any = "words",
        **options: Unpack[EvaluatorSettings],
    ) -> None:
        method = one_of("match_method", match_method, ROUGE_METHODS)
        common = actual_docs, predicted_docs, method, averaging_method, matching_criteria
        super().__init__(*common, threshold=threshold, tokenizer=tokenizer, **options)


class EmbeddingRougeOfflineRetrievalEvaluators(RougeOfflineRetrievalEvaluators):
    """`OfflineRetrievalEvaluators` that match by embeddings and ROUGE: both conditions must hold.

    Args:
        actual_docs: The gold documents of each query: a list of lists.
        predicted_docs: The retrieved documents of each query, best first.
        match_method: `"rouge1"` to `"rouge9"`, `"rougeL"` or `"rougeLsum"`.
        averaging_method: `"micro"`, `"macro"` or `"both"`, for recall, precision and F1.
        matching_criteria: When a query is a hit: `"all"` of its gold documents are found, or `"partial"`.
        rouge_threshold: The ROUGE from which two texts match, 0 to 1.
        similarity_threshold: The cosine that their embeddings must also have, 0 to 1.
        tokenizer: A name, a `TokenizerType`, an object with `tokenize(text)`, or a function.
        embeddings: The model: a LangChain `Embeddings`, a LlamaIndex embedding model, an object with `encode(texts)`,
            or a function from a list of texts to vectors. Texts that ROUGE tells apart are not embedded.
        callbacks: Callbacks that receive the scores.
        raise_errors: Raise errors of callbacks instead of collecting them.
        **options: Further scoring settings that `evaluate` takes, such as `embedding_prefix` or `use_stemmer`.

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
        embeddings: Any = None,
        **options: Unpack[CommonEvaluatorSettings],
    ) -> None:
        check_names(options, CommonEvaluatorSettings.__annotations__)
        common = actual_docs, predicted_docs, match_method, averaging_method, matching_criteria
        rouge = check_number("rouge_threshold", rouge_threshold, SIMILARITY, least=0, most=1)
        cosine = check_number("similarity_threshold", similarity_threshold, SIMILARITY, least=0, most=1)
        super().__init__(*common, rouge, tokenizer, embeddings=embeddings, similarity_threshold=cosine, **options)


class _OfRAGEvaluator(OfflineRetrievalEvaluators):
    _front = replace(LISTS, names={"threshold": "rouge_threshold"})


class RAGEvaluator:
    """Settings once, then the documents of each call.

    Args:
        match_method: A method or a list of methods of which the first that holds wins.
        averaging_method: `"micro"`, `"macro"` or `"both"`, for recall, precision and F1.
        matching_criteria: When a query is a hit: `"all"` of its gold documents are found, or `"partial"`.
        rouge_threshold: The similarity from which two texts match, 0 to 1; by default 0.5 of ROUGE, 0.7 of embeddings.
        tokenizer: A name, a `TokenizerType`, an object with `tokenize(text)`, or a function.
        callbacks: Callbacks that receive the scores.
        raise_errors: Raise errors of callbacks instead of collecting them.
        **settings: Further scoring settings that `evaluate` takes.

    >>> rag = RAGEvaluator(match_method="rouge1", rouge_threshold=0.6)
    >>> rag.evaluate_all([["Refunds take three days."]], [["Refunds take three working days."]], k=1)["hit_rate"]
    1.0
    """

    def __init__(
        self,
        match_method: str | Sequence[str] = "text",
        averaging_method: str = AveragingMethod.BOTH,
        matching_criteria: str = MatchingCriteria.ALL,
        rouge_threshold: float | Mapping[str, float] = USUAL_THRESHOLDS,
        tokenizer: str | TokenizerType | Any = "words",
        *,
        callbacks: Sequence[EvaluationCallback] = (),
        raise_errors: bool = False,
        **settings: Unpack[FurtherSettings],
    ) -> None:
        # A mistake is reported here, not at the first call.
        check_names(settings, FurtherSettings.__annotations__)
        make_settings(match_method=match_method, threshold=rouge_threshold, tokenizer=tokenizer, **settings)
        check_callbacks(callbacks)
        check_options(averaging_method, matching_criteria)
        self._make = functools.partial(
            _OfRAGEvaluator,
            match_method=match_method,
            averaging_method=averaging_method,
            matching_criteria=matching_criteria,
            threshold=rouge_threshold,
            tokenizer=tokenizer,
            callbacks=callbacks,
            raise_errors=raise_errors,
            **settings,
        )
        self._evaluator: OfflineRetrievalEvaluators | None = None

    def evaluate_all(
        self,
        actual_docs: object,
        predicted_docs: object,
        k: int | None = None,
        visualize: bool = False,
        *,
        must_not: object = None,
        allowed: object = None,
    ) -> Values:
        """Score these documents; earlier ones are forgotten.

        Args:
            actual_docs: The gold documents of each query: a list of lists.
            predicted_docs: The retrieved documents of each query, best first.
            k: The cut-off, at least 1; None scores all ranks.
            visualize: Also draw the chart of `visualize_results` and show it in a notebook.
            must_not: The documents that must not be retrieved for each query; as for `evaluate`.
            allowed: What whoever asks may see, for each query; as for `evaluate`.
        """
        self._evaluator = self._make(actual_docs, predicted_docs, must_not=must_not, allowed=allowed)
        values = self._evaluator.evaluate_all(k)
        if visualize:
            load("krag_eval.reports", "charts").show(self._evaluator.visualize_results(k))
        return values

    def get_evaluator(self) -> OfflineRetrievalEvaluators:
        """Return the evaluator of the last call.

        Raises:
            InvalidInputError: There was no call yet.
        """
        if self._evaluator is None:
            raise InvalidInputError("There is no evaluator yet. Call evaluate_all(actual_docs, predicted_docs) first.")
        return self._evaluator


def krag_keys(names: Iterable[str], averaging: AveragingMethod, criteria: MatchingCriteria) -> dict[str, str]:
    """Return krag's keys of some metrics with ours, both without a cut-off."""
    keys: dict[str, str] = {}
    for name in names:
        if not ALL_METRICS[name].has_micro:
            keys[name] = "hit_rate_all" if name == "hit_rate" and criteria == MatchingCriteria.ALL else name
            continue
        if averaging != AveragingMethod.MACRO:
            keys[f"micro_{name}"] = f"micro_{name}"
        if averaging != AveragingMethod.MICRO:
            keys[f"macro_{name}"] = name
    return keys


def _key_at(key: str, cut_off: GivenCutOff) -> str:
    return key if key == "first_leak" else key_of(key, cut_off)


def _check_one_cut_off(k: object) -> GivenCutOff:
    """Return the only cut-off: keys without cut-offs can hold the values of one.

    Raises:
        InvalidInputError: `k` is not a single cut-off.
    """
    cut_offs = check_cut_offs(k)
    if len(cut_offs) != 1 or isinstance(k, (list, tuple, range)):
        refuse("k", "one integer here", k, f"For several use `evaluate(..., k={k})`.")
    return cut_offs[0]


def check_options(averaging_method: object, matching_criteria: object) -> tuple[AveragingMethod, MatchingCriteria]:
    """Return the two options, given as names or as members of any enum.

    Raises:
        InvalidInputError: One is unknown.
    """
    return (
        AveragingMethod(one_of("averaging_method", averaging_method, list(AveragingMethod))),
        MatchingCriteria(one_of("matching_criteria", matching_criteria, list(MatchingCriteria))),
    )
