"""What is refused, where it is told, and in which words."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import ray

from krag_eval import InvalidInputError, MissingDependencyError
from krag_eval_ray import aggregate, plain_errors, score
from tests.support.engine_logs import bits, collected, logs, scored_here

BOTH = pytest.mark.parametrize("front", [score, aggregate])


@BOTH
def test_repeated_query_ids_are_refused_and_three_of_them_named(front: Any) -> None:
    table = logs(5000)
    again = pa.concat_tables([table.slice(start, 1) for start in (4000, 17, 4321, 4321, 99)])
    ds = ray.data.from_arrow([table.slice(0, 2500), table.slice(2500), again])

    with pytest.raises(InvalidInputError) as raised:
        front(ds, 5, match_method="id")
    assert str(raised.value) == (
        "4 query ids are repeated, for example 'query-17', 'query-4000', 'query-4321'. Each query must be one "
        "row: group the rows of a query, give every row a unique id, or allow repeats with "
        "allow_repeated_ids=True."
    )


def test_repeated_query_ids_are_so_many_queries_where_they_are_allowed() -> None:
    table = logs(300)
    ds, twice = ray.data.from_arrow([table, table]), pa.concat_tables([table, table])
    _, result = scored_here(twice, k=5, allow_repeated_ids=True)

    found = aggregate(ds, 5, match_method="id", intervals=True, allow_repeated_ids=True)
    assert bits(found) == bits(result)
    assert score(ds, 5, match_method="id", allow_repeated_ids=True).count() == 600


def broken() -> Any:
    """Among good rows one without a list, which no schema shows."""
    lists = pa.array([[{"id": "a"}], [{"id": "b"}]])
    nothing = pa.array([[{"id": "a"}], None])
    good = pa.table({"query_id": ["q1", "q2"], "actual": lists, "predicted": lists})
    bad = pa.table({"query_id": ["q3", "q4"], "actual": lists, "predicted": nothing})
    return ray.data.from_arrow([good, bad])


def test_a_row_that_fails_in_a_worker_is_named_by_its_query() -> None:
    says = "^`predicted` is null for query 'q4'"
    with pytest.raises(InvalidInputError, match=says):
        aggregate(broken(), 5, match_method="id")

    scored = score(broken(), 5, match_method="id")
    with pytest.raises(InvalidInputError, match=says) as raised, plain_errors():
        scored.take_all()
    assert "Failed" not in str(raised.value)
    assert isinstance(raised.value.__cause__, ray.exceptions.RayTaskError)
    with pytest.raises(ray.exceptions.RayTaskError, match="InvalidInputError: `predicted` is null for query 'q4' "):
        scored.take_all()


def test_errors_that_are_not_ours_stay_as_they_are() -> None:
    def fails(row: dict[str, Any]) -> dict[str, Any]:
        raise ZeroDivisionError

    with pytest.raises(ray.exceptions.RayTaskError, match="ZeroDivisionError"), plain_errors():
        ray.data.range(1).map(fails).take_all()
    with pytest.raises(KeyError, match="mine"), plain_errors():
        raise KeyError("mine")


@BOTH
@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"k": 0}, "^`k` must be"),
        ({"match_method": "ids"}, "^`match_method` must be|^Unknown"),
        ({"metrics": "ndgc"}, "^Unknown metric 'ndgc'"),
    ],
)
def test_settings_are_refused_before_anything_runs(front: Any, settings: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidInputError, match=says):
        front(never_run(), **{"match_method": "id", **settings})


@pytest.mark.parametrize(
    ("front", "settings", "says"),
    [
        (aggregate, {"intervals": 1.5}, "^`intervals` must be a number between 0 and 1, got 1.5."),
        (aggregate, {"max_bad_rows": -1}, "^`max_bad_rows` must be an integer of at least 0, got -1."),
        (aggregate, {"by": ""}, "^`by` must be"),
        (aggregate, {"by": "recall@5"}, "^`by` cannot group by 'recall@5'"),
        (score, {"bad_rows": "skip"}, "^`bad_rows` must be 'raise' or 'keep', got 'skip'."),
        (score, {"names": "sql"}, "^`names`"),
        (score, {"keep": 3}, "^`keep` must be the names of columns"),
        (score, {"keep": "n_gold"}, "^The output would have two columns 'n_gold'"),
    ],
)
def test_arguments_are_refused_before_anything_runs(front: Any, settings: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidInputError, match=says):
        front(never_run(), 5, match_method="id", **settings)


def test_intervals_without_scipy_are_refused_before_anything_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.raises(MissingDependencyError, match="scipy"):
        aggregate(never_run(), 5, match_method="id", intervals=True)


@pytest.mark.parametrize(
    ("front", "settings", "says"),
    [
        (aggregate, {"by": ["model"]}, "'model', which `by` names"),
        (score, {"keep": ["model"]}, "^`keep` names the column 'model', and the input has none"),
    ],
)
def test_columns_to_group_by_or_to_keep_are_looked_for_before_anything_runs(
    front: Any, settings: dict[str, Any], says: str
) -> None:
    with pytest.raises(InvalidInputError, match=says):
        front(ray.data.from_arrow(logs(3)), 5, match_method="id", **settings)


@BOTH
def test_columns_that_are_missing_or_of_another_type_are_refused_before_anything_runs(front: Any) -> None:
    table = logs(3)
    for wrong, says in (
        (table.drop_columns("actual"), "^The input has no column `actual`"),
        (table.set_column(0, "query_id", pa.array([1.5, 2.5, 3.5])), "^The column `query_id` has the type double"),
    ):
        with pytest.raises(InvalidInputError, match=says):
            front(ray.data.from_arrow(wrong), 5, match_method="id")


def test_columns_that_ray_does_not_know_are_refused_by_the_worker() -> None:
    unknown = ray.data.from_arrow(logs(3)).map_batches(dropped, batch_format="pyarrow")
    with pytest.raises(InvalidInputError, match=r"^The input has no column `actual`"):
        aggregate(unknown, 5, match_method="id")


@BOTH
def test_what_is_no_dataset_is_refused(front: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"^`ds` must be a Ray dataset, got a Table. Make one with"):
        front(logs(3), 5, match_method="id")


def test_a_dataset_without_a_row_has_nothing_to_aggregate() -> None:
    with pytest.raises(InvalidInputError, match=r"^The dataset has no row, so there is nothing to aggregate"):
        aggregate(ray.data.from_arrow(logs(0)), 5, match_method="id")


def dropped(table: pa.Table) -> pa.Table:
    return table.drop_columns("actual")


def never_run() -> Any:
    """A dataset that fails when it is looked at."""

    def fails(batch: pa.Table) -> pa.Table:
        raise RuntimeError("this has been run")

    return ray.data.from_arrow(logs(3)).map_batches(fails, batch_format="pyarrow")


def fails_on_seven(judged: Any, k: Any = None) -> Any:
    if (judged.n_gold == 7).any():
        raise ZeroDivisionError("seven")
    return np.zeros(len(judged))


@BOTH
def test_a_query_that_a_metric_of_the_user_fails_on_is_named(front: Any) -> None:
    lists = pa.array([[{"id": f"{n}"} for n in range(length)] for length in (1, 2, 3, 7, 4)])
    ds = ray.data.from_arrow(pa.table({"query_id": list("abcde"), "actual": lists, "predicted": lists}))
    told = "Query 'd' could not be scored: ZeroDivisionError: seven"
    with pytest.raises((InvalidInputError, ray.exceptions.RayTaskError), match=told):
        collected(front(ds, 5, match_method="id", metrics=[fails_on_seven]))
