"""Logs with one row a document, joined to their gold: the same queries as one process makes of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import ray
from ray.data import DataContext
from ray.data.context import ShuffleStrategy

from krag_eval_ray import aggregate, from_long, score
from krag_eval_ray.long_logs import ROWS, LongColumns, first_rows, rows_to_gather
from tests.support.arrow_cases import as_batch
from tests.support.engine_logs import bits, collected, scored_here
from tests.support.long_logs import GOLD, GOLD_OF_NONE, LOGS, Row, plain_join, random_logs

N_QUERIES, N_ROWS, KMAX = 20_000, 1_000_000, 10
RANKED = {name: name for name in ("query_id", "id", "rank")}


@pytest.fixture(autouse=True)
def by_sorting(monkeypatch: pytest.MonkeyPatch) -> None:
    """By default Ray starts processes for every shuffle, which takes seconds."""
    monkeypatch.setattr(DataContext.get_current(), "shuffle_strategy", ShuffleStrategy.SORT_SHUFFLE_PULL_BASED)


def dataset(rows: pa.Table | Sequence[Row], n_blocks: int = 1) -> Any:
    """Rows in so many blocks, of which each has rows of all queries."""
    table = rows if isinstance(rows, pa.Table) else pa.Table.from_pylist(list(rows))
    return ray.data.from_arrow([table.take(np.arange(n, len(table), n_blocks)) for n in range(n_blocks)])


def joined(logs: pa.Table | Sequence[Row], gold: pa.Table | Sequence[Row], kmax: int = 9, **columns: Any) -> list[Row]:
    """The rows of the queries, by their ids."""
    rows = from_long(dataset(logs, 2), dataset(gold), kmax, **columns).take_all()
    return sorted(rows, key=lambda row: str(row["query_id"]))


def found(logs: Sequence[Row], field: str = "id", **columns: Any) -> list[Any]:
    """What was retrieved for a query of which these are the logs, best first."""
    rows = joined([{"query_id": "q", **row} for row in logs], [{"query_id": "q", field: "a"}], **columns)
    return [document[field] for document in rows[0]["predicted"]]


@pytest.mark.parametrize("strategy", [ShuffleStrategy.SHUFFLE_V2, ShuffleStrategy.SORT_SHUFFLE_PULL_BASED])
def test_numbers_and_rows_are_those_of_a_plain_join_however_ray_shuffles(
    strategy: ShuffleStrategy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DataContext.get_current(), "shuffle_strategy", strategy)
    logs, gold = random_logs(seed=3)
    plain = plain_join(logs, gold, kmax=3)
    lists = as_batch(*zip(*plain.values(), strict=True)).set_column(0, "query_id", pa.array(list(plain)))
    rows, result = scored_here(pa.Table.from_batches([lists]), k=(1, 3))

    queries = from_long(dataset(logs, 5), dataset(gold, 2), 3).materialize()
    assert collected(score(queries, (1, 3), match_method="id")).equals(rows)
    assert bits(aggregate(queries, (1, 3), match_method="id", intervals=True)) == bits(result)


def test_logs_are_joined_as_spark_joins_them() -> None:
    logs = pa.table([list(column) for column in zip(*LOGS, strict=True)], ["query_id", "id", "rank", "score"])
    gold = pa.table([list(column) for column in zip(*GOLD, *GOLD_OF_NONE, strict=True)], ["query_id", "id", "grade"])
    rows = {row["query_id"]: row for row in joined(logs, gold, kmax=2)}

    assert {id_: [(d["id"], d["score"]) for d in row["predicted"]] for id_, row in rows.items()} == {
        "q1": [("b", 0.4), ("a", 0.5)],
        "q2": [("c", 0.1), ("b", None)],
        "q3": [("a", 0.5), ("b", 0.5)],
        "q4": [],
        "q5": [],
        "q6": [],
    }
    assert rows["q1"]["actual"] == [{"id": "a", "grade": 1.0}, {"id": "b", "grade": 2.0}]
    assert rows["q3"]["actual"] == [{"id": "a", "grade": None}]
    assert rows["q6"]["actual"] == []


def test_a_document_that_stands_in_a_ranking_twice_stays_there_twice() -> None:
    assert found([{"id": "a", "rank": 2}, {"id": "b", "rank": 1}, {"id": "a", "rank": 1}]) == ["a", "b", "a"]


def test_without_ranks_the_highest_scores_come_first_and_nan_with_null_last() -> None:
    scores = {"a": -1.0, "d": None, "b": float("nan"), "e": 0.25, "c": 0.5}
    assert found([{"id": id_, "score": score} for id_, score in scores.items()]) == ["c", "e", "a", "b", "d"]
    # The cut inside a block leaves the same ones.
    assert found([{"id": id_, "score": score} for id_, score in scores.items()], kmax=4) == ["c", "e", "a", "b"]


@pytest.mark.parametrize("number", [float, Decimal])
def test_ranks_may_be_any_numbers(number: Callable[[str], Any]) -> None:
    ranks = {"a": "2.5", "b": "10", "c": "1", "d": "2.25"}
    assert found([{"id": id_, "rank": number(rank)} for id_, rank in ranks.items()]) == ["c", "d", "a", "b"]


def test_documents_without_ids_are_ordered_by_text_and_those_without_either_left_out() -> None:
    texts = ["tie b", None, "tie a", "first"]
    logs = [{"text": text, "rank": rank} for text, rank in zip(texts, [2, 0, 2, 1], strict=True)]
    assert found(logs, field="text") == ["first", "tie a", "tie b"]


def test_ids_may_be_integers_on_one_side_and_dictionaries_on_the_other_under_names_of_their_own() -> None:
    logs = pa.table(
        {
            "asked": pa.array([7, 7, 8]),
            "document": pa.array(["a", "b", "a"]).dictionary_encode(),
            "place": pa.array([2, 1, 1], pa.uint8()),
            "similarity": [0.5, 0.5, 0.25],
            "rank": ["not", "a", "number"],
        }
    )
    gold = pa.table({"asked": pa.array(["7", "8"], pa.large_string()), "document": ["a", "b"], "relevance": [3, 2]})
    names: dict[str, Any] = {
        "query_id": "asked",
        "id_column": "document",
        "rank_column": "place",
        "score_column": "similarity",
    }

    assert joined(logs, gold, grade_column="relevance", **names) == [
        {
            "query_id": "7",
            "actual": [{"id": "a", "grade": 3.0}],
            "predicted": [{"id": "b", "score": 0.5}, {"id": "a", "score": 0.5}],
        },
        {"query_id": "8", "actual": [{"id": "b", "grade": 2.0}], "predicted": [{"id": "a", "score": 0.25}]},
    ]


def test_one_column_may_be_the_id_and_the_text() -> None:
    rows = joined([{"query_id": "q", "text": "a", "rank": 1}], [{"query_id": "q", "text": "b"}], id_column="text")
    assert rows == [
        {"query_id": "q", "actual": [{"id": "b", "text": "b"}], "predicted": [{"id": "a", "text": "a"}]},
    ]


def test_blocks_of_pandas_and_columns_that_ray_has_to_look_for_are_read() -> None:
    logs, gold = random_logs(seed=4)
    queries = from_long(dataset(logs), dataset(gold), 2).take_all()
    tables = [pa.Table.from_pylist(rows) for rows in (logs, gold)]
    of_pandas = [ray.data.from_pandas(table.to_pandas(types_mapper=pd_types)) for table in tables]
    looked_for = [dataset(table).map_batches(unchanged, batch_format="pyarrow") for table in tables]

    for logs_given, gold_given in (of_pandas, looked_for):
        assert by_id(from_long(logs_given, gold_given, 2).take_all()) == by_id(queries)


@pytest.mark.parametrize("strategy", [ShuffleStrategy.SHUFFLE_V2, ShuffleStrategy.SORT_SHUFFLE_PULL_BASED])
def test_logs_without_a_row_have_retrieved_nothing(strategy: ShuffleStrategy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DataContext.get_current(), "shuffle_strategy", strategy)
    logs, gold = (pa.Table.from_pylist(rows) for rows in random_logs(seed=5))
    empty = dataset(logs.slice(0, 0))
    queries = from_long(empty, dataset(gold), 3)
    rows = queries.take_all()
    assert len(rows) == 310
    assert all(row["predicted"] == [] for row in rows)
    # The newer way by hash fails on empty blocks or not, as the blocks happen to come: it is never used.
    assert queries.context.shuffle_strategy != ShuffleStrategy.SHUFFLE_V2
    assert empty.context.shuffle_strategy == DataContext.get_current().shuffle_strategy == strategy


def test_gold_without_a_row_asks_nothing() -> None:
    logs, gold = (pa.Table.from_pylist(rows) for rows in random_logs(seed=5))
    assert from_long(dataset(logs), dataset(gold.slice(0, 0)), 3).take_all() == []
    emptied_later = dataset(logs).map_batches(emptied, batch_format="pyarrow")
    assert len(from_long(emptied_later, dataset(gold), 3).take_all()) == 310
    # Where a block is empty Ray may leave its columns out as well.
    assert first_rows(pa.table({}), LongColumns("logs", RANKED), n_parts=1, kmax=3).equals(ROWS.empty_table())


def test_a_query_with_a_million_rows_is_cut_before_its_rows_are_gathered() -> None:
    numbers = np.arange(3 * N_QUERIES)
    ids = np.append(numbers % N_QUERIES, np.full(N_ROWS, 7)).astype(str)
    documents = np.concatenate([np.char.add("d", numbers.astype(str)), np.char.add("x", np.arange(N_ROWS).astype(str))])
    ranks = np.concatenate([numbers // N_QUERIES, np.arange(N_ROWS) + 3])
    order = np.random.default_rng(2).permutation(len(ids))
    table = pa.table({"query_id": ids[order], "id": documents[order], "rank": ranks[order]})
    size = len(table) // 4
    logs = ray.data.from_arrow([table.slice(start, size) for start in range(0, len(table), size)])
    wanted = np.char.add("d", (np.arange(N_QUERIES) + N_QUERIES).astype(str)).astype(object)
    wanted[7] = "x5"
    gold = dataset(pa.table({"query_id": np.arange(N_QUERIES).astype(str), "id": wanted}))

    sides = (LongColumns("logs", RANKED), gold, LongColumns("gold", {"query_id": "query_id", "id": "id"}))
    # Of the long one as many in each block as are kept of it in the end.
    assert rows_to_gather(logs, *sides, KMAX).count() == 3 * (N_QUERIES - 1) + 4 * KMAX + N_QUERIES

    rows = collected(
        score(from_long(logs, gold, KMAX), KMAX, metrics="mrr", match_method="id", allow_repeated_ids=True)
    )
    counted = rows.group_by(["n_retrieved", "mrr@10"]).aggregate([([], "count_all")]).sort_by("n_retrieved")
    # The second of three documents everywhere, and in the long one the ninth: three, and x0 to x6 of a million.
    assert [tuple(row.values()) for row in counted.to_pylist()] == [(3, 0.5, N_QUERIES - 1), (KMAX, 1 / 9, 1)]


def unchanged(table: pa.Table) -> pa.Table:
    return table


def emptied(table: pa.Table) -> pa.Table:
    return table.slice(0, 0)


def pd_types(type_: pa.DataType) -> Any:
    import pandas as pd

    return pd.ArrowDtype(type_)


def by_id(rows: list[Row]) -> dict[str, Row]:
    return {row["query_id"]: row for row in rows}
