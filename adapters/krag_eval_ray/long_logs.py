"""Retrieval logs with one row for each document, as one row for each query."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from krag_eval import InvalidInputError
from krag_eval_ray.gathering import ROWS, first_rows, gathered, gold_rows
from krag_eval_ray.long_columns import TYPES, LongColumns

if TYPE_CHECKING:
    from ray.data import DataContext, Dataset

# Ray shares the parts among its partitions by a hash of its own: few for each would share out unevenly.
_PARTS_OF_A_PARTITION = 8
# Ray's own number where it does not say one.
_PARTITIONS = 200


def from_long(
    logs: Dataset,
    gold: Dataset,
    kmax: int,
    *,
    query_id: str = "query_id",
    id_column: str = "id",
    text_column: str = "text",
    rank_column: str = "rank",
    score_column: str = "score",
    grade_column: str = "grade",
) -> Dataset:
    """Join logs to their gold documents, in the form that `score` and `aggregate` read.

    Each ranking is cut to its first `kmax` documents in every block of the logs, before Ray sends a row to another
    worker: a query with a million rows takes no more memory than any other. Then the rows of both are brought together
    in `DataContext.default_hash_shuffle_parallelism` partitions, 200 by default. A document that stands in a ranking
    twice stays there twice, since the second has a rank of its own.

    Args:
        logs: One row for each document retrieved: the id of its query, the id or the text of the document or both,
            and its rank or its score or both. Rows that have neither id nor text are left out.
        gold: One row for each gold document: the id of its query, the id or the text of the document or both, and its
            grade where there are grades. A query without gold documents is one row whose id and text are null.
        kmax: How many documents of each ranking are kept: the largest cut-off that will be scored.
        query_id: The column of the query's id, in both.
        id_column: The column of the document's id, in both.
        text_column: The column of the document's text, in both.
        rank_column: The column of `logs` that orders the rankings, lowest first.
        score_column: The column of `logs` that orders them where there is no rank or ranks are equal, highest first.
            Null and NaN come last. What is still equal is ordered by id, then by text, so that the order never changes.
        grade_column: The column of `gold` with the grades.

    Returns:
        One row for each query of `gold`: `query_id`, `actual`, `predicted`. A query that is not in `logs` has retrieved
        nothing, and its list is empty; one that is only in `logs` is left out, since nobody said what answers it. No id
        comes twice, so that `score` and `aggregate` may be told `allow_repeated_ids=True`, and compute nothing twice.

    Raises:
        InvalidInputError: `kmax` is no whole number of at least 1, or a column is missing or has another type. Where
            Ray does not know the columns yet, the first rows are computed. What only a worker sees, such as a row whose
            query id is null, is raised where the dataset is consumed: see `plain_errors`.
    """
    if type(kmax) is not int or kmax < 1:
        raise InvalidInputError(
            f"`kmax` must be a whole number of at least 1, got {kmax!r:.60}. Give the largest k that will be scored."
        )
    documents = {"query_id": query_id, "id": id_column, "text": text_column}
    ordered_by = {"rank": rank_column, "score": score_column}
    retrieved = LongColumns.of("logs", logs, {**documents, **ordered_by}, ranked_by=list(ordered_by))
    relevant = LongColumns.of("gold", gold, {**documents, "grade": grade_column})

    rows = rows_to_gather(logs, retrieved, gold, relevant, kmax)
    lists = {"actual": relevant.fields("grade"), "predicted": retrieved.fields("score")}
    nested = [(side, pa.large_list(pa.struct(fields))) for side, fields in lists.items()]
    given = {"schema": pa.schema([("query_id", TYPES["query_id"]), *nested]), "kmax": kmax}
    # A group of Ray's is a part of many queries: one call for each query would take longer than all the rest.
    return rows.groupby("part").map_groups(gathered, fn_kwargs=given, batch_format="pyarrow")


def rows_to_gather(
    logs: Dataset, logs_columns: LongColumns, gold: Dataset, gold_columns: LongColumns, kmax: int
) -> Dataset:
    """The rows that Ray sends around: of the logs, the first `kmax` documents of each query in each block."""
    from ray.data import DataContext, from_arrow

    partitions = getattr(DataContext.get_current(), "default_hash_shuffle_parallelism", _PARTITIONS)
    n_parts = _PARTS_OF_A_PARTITION * partitions

    def made(ds: Dataset, columns: LongColumns, function: Any, **given: Any) -> Dataset:
        read = ds.select_columns(list(dict.fromkeys(columns.names.values())))
        given |= {"columns": columns, "n_parts": n_parts}
        options = {"batch_format": "pyarrow", "zero_copy_batch": True, "batch_size": None}
        return read.map_batches(function, fn_kwargs=given, **options)

    none = from_arrow(ROWS.empty_table())  # what follows has its context, which is not that of the user's
    _avoid_shuffle_v2(none.context)
    return none.union(made(logs, logs_columns, first_rows, kmax=kmax), made(gold, gold_columns, gold_rows))


def _avoid_shuffle_v2(context: DataContext) -> None:
    """Have rows shuffled in Ray's older way by hash: the newer one, the default of 2.60, fails on files without a row.

    Of a block without rows Ray makes one without columns, and its shards cannot be joined to those of others there.
    """
    strategy = getattr(context, "shuffle_strategy", None)
    if strategy == "shuffle_v2":
        context.shuffle_strategy = type(strategy)("hash_shuffle")
