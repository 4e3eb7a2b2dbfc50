"""Score one row after another: what an evaluation platform, a test or a notebook calls for each of its examples."""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping, Sequence, Set
from functools import partial
from typing import Any, Unpack

from krag_eval._utils.checks import one_of
from krag_eval._utils.errors import InvalidInputError, describe_type, warn
from krag_eval.documents.readers import as_id, fields_of
from krag_eval.evaluation.pipeline import (
    MetricFunction,
    choose_metrics,
    columns_of,
    judge_batch,
    rules_if_any,
    signature_of,
    values_of,
    with_needs,
)
from krag_eval.evaluation.results import QueryResult, safe_name
from krag_eval.matching.matchability import DocumentCounts, SpellingWatch
from krag_eval.matching.settings import MatchingCriteria, ScoringSettings, make_settings
from krag_eval.metrics.cut_offs import ranks_within
from krag_eval.metrics.names import DEFAULT_CUT_OFFS

# After so many rows without any match a warning says what would match; nothing tells which row is the last one.
_ENOUGH_TO_JUDGE = 5
# Before so many rows with an id that is only spelled differently nothing is said about them.
_ENOUGH_ALIKE = 3


class RowScorer:
    """Scores one row after another, from any thread, and keeps none; the settings are read once.

    The numbers are those of `evaluate([actual], [predicted])`, to the last bit; with `match_method="id"` alone, bare
    strings, integers and UUIDs are ids, as for `evaluate_ids`, and may stand beside documents.

    Args:
        k: One cut-off or several, each at least 1, or a budget such as `"2000tok"`; None scores all ranks.
        metrics: Names of `METRICS`, or functions; all by default.
        names: `"plain"` gives `recall@5`, and None where a value is undefined; `"safe"` gives `recall_at_5`, which
            MLflow, Langfuse and SQL accept, and leaves out what is undefined, as `result.to_dict(names="safe")` does.
        **settings: The scoring settings that `evaluate` takes, such as `match_method`, `threshold`, `tokenizer`.

    Attributes:
        keys: The keys of the values, such as `recall@5`, as `names` writes them.
        signature: Every setting that can change a number, in one line.

    Raises:
        InvalidInputError: A setting cannot be used.
        UnknownMetricError: A metric is not known.

    >>> scorer = RowScorer(k=2, metrics=["recall", "mrr"], match_method="id")
    >>> scorer.score(["d1", "d2"], ["d9", "d2"])
    {'recall@2': 0.5, 'mrr@2': 0.5}
    >>> scorer.score([], ["d9"])
    {'recall@2': None, 'mrr@2': None}
    """

    def __init__(
        self,
        k: int | str | Sequence[int | str | None] | None = DEFAULT_CUT_OFFS,
        *,
        metrics: str | Sequence[str | MetricFunction] | None = None,
        names: str = "plain",
        **settings: Unpack[ScoringSettings],
    ) -> None:
        self._given: tuple[Any, dict[str, Any]] = k, {"metrics": metrics, "names": names, **settings}
        self._settings = make_settings(**settings)
        self._cut_offs, chosen = choose_metrics(metrics, self._settings, k)
        self._columns = columns_of(chosen, self._cut_offs)
        self._is_safe = one_of("names", names, ("plain", "safe")) == "safe"
        self.keys = tuple(safe_name(key) if self._is_safe else key for key in self._columns)
        self.signature = signature_of(self._settings, self._cut_offs, MatchingCriteria.PARTIAL)
        self._lock = threading.Lock()  # models and tokenizers need not be safe for threads
        self._document_counts = DocumentCounts.empty()
        self._spelling = SpellingWatch()
        self._n_unchecked = _ENOUGH_TO_JUDGE

    def __reduce__(self) -> tuple[Any, ...]:
        k, given = self._given
        return partial(RowScorer, k, **given), ()

    def score(
        self,
        actual: object,
        predicted: object,
        *,
        must_not: object = None,
        allowed: object = None,
        query_id: str | None = None,
    ) -> dict[str, float | None]:
        """Return the values of one row by key.

        Args:
            actual: Its gold documents; with `match_method="id"` alone also a mapping from id to grade.
            predicted: Its retrieved documents, best first, or what the retriever raised.
            must_not: The documents that must not be retrieved, for the metrics `leak`, `leak_share` and `first_leak`.
            allowed: What whoever asks may see, as for `evaluate`.
            query_id: The id of the query, for `exclude_self`.

        Raises:
            InvalidInputError: A side or a document cannot be read, or one side has nothing that the methods compare.
        """
        row = self.score_query(actual, predicted, must_not=must_not, allowed=allowed, query_id=query_id)
        values = row.values.values()
        return {
            key: value for key, value in zip(self.keys, values, strict=True) if value is not None or not self._is_safe
        }

    def score_query(
        self,
        actual: object,
        predicted: object,
        *,
        must_not: object = None,
        allowed: object = None,
        query_id: str | None = None,
    ) -> QueryResult:
        """Return the values of one row, under their plain keys, and the numbers of its documents; as `score`."""
        only_ids = self._settings.methods == ("id",)
        has_grades = only_ids and isinstance(actual, Mapping) and "id" not in actual
        gold: Any = _check_row("actual", actual, may_be_mapping=has_grades)
        retrieved: Any = _check_row("predicted", predicted, may_be_mapping=True)
        bare = only_ids and _are_ids(gold) and not isinstance(retrieved, Mapping) and _are_ids(retrieved)
        if only_ids and not bare:
            gold = self._as_documents(list(gold.items()) if has_grades else gold)
            retrieved = self._as_documents(retrieved)
        listed, conditions = (None if one is None else [one] for one in (must_not, allowed))
        rules = rules_if_any(listed, conditions, [gold], self._settings, is_bare=bare)
        with self._lock:
            own = None if query_id is None or not self._settings.exclude_self else [query_id]
            judged = judge_batch(
                [gold], [retrieved], self._settings, bare_ids=bare, first_query=None, query_ids=own, rules=rules
            )
            judged.document_counts.refuse_unmatchable(self._settings)
            values = values_of(judged, self._columns, ranks_within(self._cut_offs, judged.batch))
            self.signature = with_needs(self.signature, has_needs=judged.batch.actual.needs is not None)
            self._warn_if_nothing_matches(judged.document_counts)
            self._spelling.add(judged.batch, judged.matches)
            if not self._n_unchecked and self._document_counts.matched:
                self._spelling.warn(self._settings, at_least=_ENOUGH_ALIKE)
        numbers = {key: column.item(0) for key, column in values.items()}
        return QueryResult(
            index=0,
            id=None,
            query=None,
            values={key: None if math.isnan(number) else number for key, number in numbers.items()},
            n_gold=int(judged.judgments.n_gold[0]),
            n_retrieved=int(judged.judgments.n_retrieved[0]),
            error=judged.batch.predicted.errors.get(0),
        )

    def _as_documents(self, row: Any) -> Any:
        """Return a row in which bare ids stand beside documents, or alone beside documents of the other side."""
        return [self._as_document(one) for one in row] if isinstance(row, (list, tuple, Set)) else row

    def _as_document(self, document: Any) -> Any:
        if isinstance(document, tuple) and len(document) == 2:
            return self._as_document(document[0]), document[1]
        id_ = document if isinstance(document, str) else as_id(document)
        if id_ is None:
            return document
        return {"id": id_, "metadata": fields_of(id_, self._settings.id_key)} if self._settings.id_key else {"id": id_}

    def _warn_if_nothing_matches(self, counts: DocumentCounts) -> None:
        if not self._n_unchecked:
            return
        self._n_unchecked -= 1
        self._document_counts.merge(counts)
        if not self._n_unchecked:
            try:
                self._document_counts.check(self._settings)
            except InvalidInputError as error:
                warn(*error.args)


def _check_row(name: str, row: object, *, may_be_mapping: bool) -> object:
    if row is None or isinstance(row, (str, bytes, int, float)) or (isinstance(row, Mapping) and not may_be_mapping):
        nothing = "no document is relevant" if name == "actual" else "nothing was retrieved"
        raise InvalidInputError(
            f"`{name}` is {'None' if row is None else describe_type(row)}, not the list of documents of one row. "
            f"Pass a list, [] if {nothing}."
        )
    return row


def _are_ids(row: object) -> bool:
    """Return whether a row is nothing but ids, or ids with their grades."""
    is_row = isinstance(row, (list, tuple, Set, Mapping))
    return is_row and all(isinstance(one, str) or as_id(one) is not None for one in row)  # type: ignore[attr-defined]


def score_row(
    actual: object,
    predicted: object,
    k: int | str | Sequence[int | str | None] | None = DEFAULT_CUT_OFFS,
    *,
    metrics: str | Sequence[str | MetricFunction] | None = None,
    names: str = "plain",
    query_id: str | None = None,
    **settings: Unpack[ScoringSettings],
) -> dict[str, float | None]:
    """Score one row, such as one example of an evaluation platform; a `RowScorer` scores many faster.

    Args:
        actual: Its gold documents.
        predicted: Its retrieved documents, best first, or what the retriever raised.
        k: One cut-off or several, as for `RowScorer`.
        metrics: Names of `METRICS`, or functions; all by default.
        names: `"plain"` or `"safe"`, as for `RowScorer`.
        query_id: The id of the query, for `exclude_self`.
        **settings: The scoring settings that `evaluate` takes. With `match_method="id"` alone, bare strings are ids.

    Returns:
        The values by key; None where one is undefined.

    Raises:
        InvalidInputError: An argument or a document cannot be used.
        UnknownMetricError: A metric is not known.

    >>> score_row(["d1"], ["d7", "d1"], k=(1, 2), metrics="recall", match_method="id", names="safe")
    {'recall_at_1': 0.0, 'recall_at_2': 1.0}
    """
    return RowScorer(k, metrics=metrics, names=names, **settings).score(actual, predicted, query_id=query_id)


def read_field(row: object, name: str, works_with: str | None = None) -> Any:
    """Return a field of a platform's row: the value under a key of a mapping, or an attribute of another object.

    Args:
        row: What the platform passes, such as the expectations of an example.
        name: The name of the field.
        works_with: The package and version with which the caller is known to work, such as `"mlflow 3.17.2"`, for the
            message if the field is missing.

    Raises:
        InvalidInputError: There is no such field, or it is None.

    >>> read_field({"gold": ["d1"]}, "gold")
    ['d1']
    """
    value = row.get(name) if isinstance(row, Mapping) else getattr(row, name, None)
    if value is not None:
        return value
    keys = getattr(row, "keys", None)  # DSPy's examples have keys, and are no mappings
    public = (name for name in getattr(row, "__dict__", ()) if not name.startswith("_"))
    names = sorted(map(str, keys() if callable(keys) else public))
    if row is None:
        found = f"There is no row to read {name!r} from: it is None."
    elif name in names:
        found = f"The field {name!r} of the row is None."
    else:
        found = f"The row has no field {name!r}: " + (
            f"it has {', '.join(map(repr, names))}." if names else "it is empty."
        )
    known = f" This works with {works_with}; another version may name its fields differently." if works_with else ""
    raise InvalidInputError(
        f"{found} Add it to each row ([] if nothing should be found), or read another field.{known}"
    )
