"""Metrics for LlamaIndex's `RetrieverEvaluator`."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import chain
from typing import Any

from llama_index.core.bridge.pydantic import ConfigDict
from llama_index.core.evaluation.retrieval.metrics_base import BaseRetrievalMetric, RetrievalMetricResult

from krag_eval import METRICS, Document, InvalidInputError, RowScorer
from krag_eval.toolkit import refuse


class KragRetrievalMetric(BaseRetrievalMetric):
    """One metric of krag_eval at one cut-off, for `RetrieverEvaluator(metrics=[...])`.

    An empty retrieval scores 0, and duplicates never raise a value above 1. A query without gold documents has no
    value: its score is NaN, which `pandas` leaves out of a mean, while a mean of `numpy` becomes NaN.

    Args:
        metric: A name of `krag_eval.METRICS`, or a function as `krag_eval.evaluate` takes them.
        k: The cut-off; None scores all ranks.
        prefix: The prefix of `metric_name`. Use different prefixes for metrics that differ only in their settings:
            LlamaIndex stores results by name.
        **settings: The scoring settings that `krag_eval.evaluate` takes, such as `threshold`. `match_method` is
            `"id"` by default; methods that compare texts need `expected_texts`.

    Raises:
        InvalidInputError: A setting is invalid.
        UnknownMetricError: The metric is unknown.

    >>> from krag_eval_llama_index import KragRetrievalMetric
    >>> recall = KragRetrievalMetric("recall", k=2)
    >>> recall.metric_name, recall.compute(expected_ids=["a", "b"], retrieved_ids=["x", "b", "a"]).score
    ('krag_recall@2', 0.5)
    """

    # Settings are stored as extra fields, so that a dump contains them and can be loaded.
    model_config = ConfigDict(extra="allow")

    metric: Any
    k: Any = None
    prefix: str = "krag_"

    def __init__(self, metric: Any, k: int | None = None, *, prefix: str = "krag_", **settings: Any) -> None:
        fields: dict[str, Any] = {"metric": metric, "k": k, "prefix": prefix, **settings}
        super().__init__(**fields)
        keys = self._scorer().keys
        if len(keys) != 1:
            raise InvalidInputError(
                f"Expected one metric at one cut-off, got {', '.join(keys)}. Use `krag_metrics` for several."
            )
        if settings.get("id_key") is not None:
            raise InvalidInputError(
                f"`id_key` is {settings['id_key']!r:.60}, but RetrieverEvaluator passes node ids and texts without "
                "metadata. Leave it out, or score documents with `evaluate_retriever(..., level='document')`."
            )

    @property
    def metric_name(self) -> str:  # type: ignore[override]  # a class variable there, which one class for all cannot have
        """The prefix and the key of the value, such as `krag_recall@5`."""
        return self.prefix + self._scorer().keys[0]

    def compute(
        self,
        query: str | None = None,  # noqa: ARG002 - LlamaIndex passes it
        expected_ids: list[str] | None = None,
        retrieved_ids: list[str] | None = None,
        expected_texts: list[str] | None = None,
        retrieved_texts: list[str] | None = None,
        **kwargs: Any,  # noqa: ARG002 - LlamaIndex's own metrics take arguments here
    ) -> RetrievalMetricResult:
        """Score one query.

        Args:
            query: Its text; not used.
            expected_ids: The ids of its gold nodes.
            retrieved_ids: The ids of the retrieved nodes, best first.
            expected_texts: The texts of its gold nodes; if both ids and texts are compared, one for each id.
            retrieved_texts: The texts of the retrieved nodes.
            **kwargs: Not used.

        Returns:
            The score, from 0 to 1, or NaN without gold nodes. The metadata holds the numbers of documents and the
            signature of the settings.

        Raises:
            InvalidInputError: The ids or texts that the matching method compares are missing.
        """
        scorer = self._scorer()
        row = scorer.score_query(
            self._documents("expected", expected_ids, expected_texts),
            self._documents("retrieved", retrieved_ids, retrieved_texts),
        )
        value = row.values[scorer.keys[0]]
        return RetrievalMetricResult(
            score=math.nan if value is None else value,
            metadata={"n_gold": row.n_gold, "n_retrieved": row.n_retrieved, "signature": scorer.signature},
        )

    def _scorer(self) -> RowScorer:
        """Return a scorer of the settings, which are fields that may be assigned."""
        return RowScorer(self.k, metrics=self.metric, **{"match_method": "id", **(self.model_extra or {})})

    def _documents(self, side: str, ids: object, texts: object) -> list[Document]:
        """Return one side as documents with what the methods compare."""
        given = (self.model_extra or {}).get("match_method", "id")
        methods = [given] if isinstance(given, str) else list(given)
        if methods == ["id"]:
            return [Document(id=id_) for id_ in _listed(f"{side}_ids", ids, given)]
        all_texts = _listed(f"{side}_texts", texts, given)
        if "id" not in methods:
            return [Document(text=text) for text in all_texts]
        all_ids = _listed(f"{side}_ids", ids, given)
        if len(all_ids) != len(all_texts):
            raise InvalidInputError(
                f"Got {len(all_ids)} `{side}_ids` but {len(all_texts)} `{side}_texts`, and match_method={given!r} "
                f"compares both. Pass one text for each id, in the same order."
            )
        return [Document(id=id_, text=text) for id_, text in zip(all_ids, all_texts, strict=True)]


_ONE_NAME = re.compile(r"(?:\([^()]*\)|[^\s,;])+")


def krag_metrics(
    metrics: str | Sequence[Any] | None = None,
    *,
    k: int | Sequence[int | None] | None = None,
    prefix: str = "krag_",
    **settings: Any,
) -> list[BaseRetrievalMetric]:
    """Return several metrics with the same settings, for `RetrieverEvaluator(metrics=krag_metrics(...))`.

    Args:
        metrics: Names with a cut-off, such as `"recall@5"`, or without, such as `"recall"`; functions; all by default.
            A string may hold several: `"nDCG@10 R@5"`.
        k: The cut-offs of metrics without one in their name; None scores all ranks.
        prefix: The prefix of each `metric_name`.
        **settings: As for `KragRetrievalMetric`.

    Raises:
        InvalidInputError: A setting or a cut-off is invalid.
        UnknownMetricError: A metric is unknown.

    >>> from krag_eval_llama_index import krag_metrics
    >>> [metric.metric_name for metric in krag_metrics(["recall@5", "ndcg"], k=(3, 10), match_method="id")]
    ['krag_recall@5', 'krag_ndcg@3', 'krag_ndcg@10']
    """
    given: Any = list(METRICS) if metrics is None else [metrics] if isinstance(metrics, str) else metrics
    if not isinstance(given, Sequence) or not given:
        refuse("metrics", "a list of names such as 'recall@5'", metrics, f"Known metrics: {', '.join(METRICS)}.")
    cut_offs: Sequence[Any] = k if isinstance(k, (list, tuple, range)) else [k]
    chosen: list[BaseRetrievalMetric] = []
    separate = [_ONE_NAME.findall(one) or [one] if isinstance(one, str) else [one] for one in given]
    for metric in chain.from_iterable(separate):
        name, at, cut_off = metric.partition("@") if isinstance(metric, str) else (metric, "", "")
        if at and not (cut_off.isascii() and cut_off.isdigit()):
            raise InvalidInputError(
                f"{metric!r} has an invalid cut-off. Write an integer of at least 1 after the @, as in 'recall@5', "
                "or leave both out to score all ranks."
            )
        chosen += [
            KragRetrievalMetric(name, each, prefix=prefix, **settings) for each in ([int(cut_off)] if at else cut_offs)
        ]
    return chosen


def _listed(name: str, values: object, match_method: object) -> list[Any]:
    if values is None:
        raise InvalidInputError(
            f"`{name}` is missing, but match_method={match_method!r} compares it. "
            f"Pass `{name}=[...]`, or choose another method."
        )
    if isinstance(values, (str, bytes)) or not isinstance(values, Sequence):
        refuse(name, "a list of strings", values)
    return list(values)
