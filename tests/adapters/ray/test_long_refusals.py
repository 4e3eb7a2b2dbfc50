"""Which logs with one row a document are refused, where that is told, and in which words."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
import ray
from ray.data import DataContext
from ray.data.context import ShuffleStrategy

from krag_eval import InvalidInputError
from krag_eval_ray import aggregate, from_long, plain_errors, score

ROWS = pa.table({"query_id": ["q", "r", "s"], "id": ["a", "b", "c"], "rank": [1, 1, 1]})
GOLD = ROWS.drop_columns("rank")


@pytest.fixture(autouse=True)
def by_sorting(monkeypatch: pytest.MonkeyPatch) -> None:
    """By default Ray starts processes for every shuffle, which takes seconds."""
    monkeypatch.setattr(DataContext.get_current(), "shuffle_strategy", ShuffleStrategy.SORT_SHUFFLE_PULL_BASED)


def never_run(table: pa.Table) -> Any:
    """A dataset that fails when it is looked at, though its columns are known."""

    def fails(row: dict[str, Any]) -> bool:
        raise RuntimeError("this has been run")

    with pytest.warns(UserWarning, match="Use 'expr' instead of 'fn'"):
        return ray.data.from_arrow(table).filter(fails)


@pytest.mark.parametrize(
    ("logs", "kmax", "says"),
    [
        (ROWS, 0, "`kmax` must be a whole number of at least 1, got 0. Give the largest k that will be scored."),
        (ROWS, 2.0, "`kmax` must be a whole number of at least 1, got 2.0."),
        (ROWS, True, "`kmax` must be a whole number of at least 1, got True."),
        (
            ROWS.drop_columns("query_id"),
            2,
            "`logs` has no column `query_id`. Its columns are: id, rank. Rename one, or",
        ),
        (ROWS.drop_columns("id"), 2, "`logs` has no column `id` or `text`. Its columns are: query_id, rank."),
        (ROWS.drop_columns("rank"), 2, "`logs` has no column `rank` or `score`. Its columns are: query_id, id."),
        (
            ROWS.set_column(0, "query_id", pa.array([1.5, 2.5, 3.5])),
            2,
            "The column `query_id` of `logs` has the type double, and it needs a string or an integer. Cast it, or",
        ),
        (
            ROWS.set_column(1, "id", pa.array([True, False, True])),
            2,
            "The column `id` of `logs` has the type bool, and it needs a string or an integer.",
        ),
        (
            ROWS.append_column("text", pa.array([1, 2, 3])),
            2,
            "The column `text` of `logs` has the type int64, and it needs a string.",
        ),
        (
            ROWS.set_column(2, "rank", pa.array(["first", "second", "third"])),
            2,
            "The column `rank` of `logs` has the type string, and it needs a number.",
        ),
        (
            ROWS.append_column("score", pa.array([[0.5], [0.5], [0.5]])),
            2,
            "The column `score` of `logs` has the type list<item: double>, and it needs a number.",
        ),
    ],
)
def test_logs_that_cannot_be_joined_are_refused_before_anything_runs(logs: pa.Table, kmax: Any, says: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        from_long(never_run(logs), never_run(GOLD), kmax)
    assert str(refused.value).startswith(says)


@pytest.mark.parametrize(
    ("gold", "says"),
    [
        (GOLD.drop_columns("query_id"), "`gold` has no column `query_id`. Its columns are: id."),
        (GOLD.drop_columns("id"), "`gold` has no column `id` or `text`. Its columns are: query_id."),
        (
            GOLD.append_column("grade", pa.array(["high", "low", "low"])),
            "The column `grade` of `gold` has the type string, and it needs a number.",
        ),
    ],
)
def test_gold_that_cannot_be_joined_is_refused_before_anything_runs(gold: pa.Table, says: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        from_long(never_run(ROWS), never_run(gold), 2)
    assert str(refused.value).startswith(says)


def test_what_is_no_dataset_is_refused_by_its_name() -> None:
    ds: Any = ray.data.from_arrow(ROWS)
    for name, given in (("logs", (ROWS, ds)), ("gold", (ds, ROWS))):
        with pytest.raises(InvalidInputError, match=f"^`{name}` must be a Ray dataset, got Table. Make one with"):
            from_long(*given, 2)


@pytest.mark.parametrize("missing", [None, ""])
@pytest.mark.parametrize("side", ["logs", "gold"])
def test_a_row_that_no_query_is_named_in_is_refused_by_the_worker_in_our_own_words(
    side: str, missing: str | None
) -> None:
    wrong = {"logs": ROWS, "gold": GOLD}[side].set_column(0, "query_id", pa.array(["q", missing, "s"]))
    sides = {"logs": ROWS, "gold": GOLD, side: wrong}
    queries = from_long(ray.data.from_arrow(sides["logs"]), ray.data.from_arrow(sides["gold"]), 2)
    says = (
        f"^`query_id` is null or empty in a row of `{side}` \\(id 'b'\\). Every row must say to which query it "
        "belongs; leave it out if nobody knows.$"
    )

    with pytest.raises(InvalidInputError, match=says):
        aggregate(queries, 2, match_method="id")
    with pytest.raises(InvalidInputError, match=says):
        score(queries, 2, match_method="id")
    with pytest.raises(InvalidInputError, match=says), plain_errors():
        score(queries, 2, match_method="id", allow_repeated_ids=True).take_all()


def test_types_that_only_the_rows_of_pandas_tell_are_refused_by_the_worker() -> None:
    frame = ROWS.set_column(2, "rank", pa.array(["first", "second", "third"])).to_pandas()
    queries = from_long(ray.data.from_pandas(frame), ray.data.from_arrow(GOLD), 2)
    says = (
        r"^The column `rank` of `logs` has the type (large_)?string, and it needs a number\. Cast it, or name another"
    )
    with pytest.raises(InvalidInputError, match=says):
        aggregate(queries, 2, match_method="id")


def test_what_the_method_reads_must_be_in_logs_and_gold() -> None:
    queries = from_long(ray.data.from_arrow(ROWS), ray.data.from_arrow(GOLD), 2)
    with pytest.raises(InvalidInputError, match="Its documents have no field 'text'"):
        aggregate(queries, 2, match_method="text")
