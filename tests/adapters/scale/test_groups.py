"""The result of each group is that of `evaluate` on its queries alone, to the last bit, however they were split."""

from __future__ import annotations

import datetime as dt
import itertools
import json
import multiprocessing.reduction
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from krag_eval import EvaluationResult, InvalidInputError, evaluate
from krag_eval._utils.arrays import FloatArray
from krag_eval.metrics.judgments import Judgments
from krag_eval.statistics.distributions import MOST_DRAWN
from krag_eval_scale import ColumnarScorer, PartialState
from krag_eval_scale import groups as groups_module
from tests.adapters.scale.test_batch_same_numbers import ACTUAL, KS, METHODS, PREDICTED
from tests.support.arrow_cases import as_batch
from tests.support.marks import nothing_may_match

pytestmark = nothing_may_match

N = len(ACTUAL)
DAY = dt.date(2026, 11, 1)
RANDOM = np.random.default_rng(5)
MODELS = [["a", "b", "", None][number] for number in RANDOM.integers(0, 4, N)]
DAYS = [DAY + dt.timedelta(days=int(number)) for number in RANDOM.integers(0, 2, N)]
BATCH = as_batch(ACTUAL, PREDICTED).append_column("model", pa.array(MODELS)).append_column("day", pa.array(DAYS))
BY = ["model", "day"]
GROUPS = set(zip(MODELS, DAYS, strict=True))


def told(result: EvaluationResult) -> dict[str, Any]:
    return {**json.loads(result.to_json()), "keys": list(result.to_dict())}


def scores_alone(labels: Sequence[Any], **how: Any) -> dict[Any, dict[str, Any]]:
    """What `evaluate` says of the queries of each group alone."""
    alone = {}
    if how.get("intervals"):
        how = {**how, "cluster": "id"}
    for label in set(labels):
        mine = [number for number in range(len(labels)) if labels[number] == label]
        actual, predicted = ([side[number] for number in mine] for side in (ACTUAL, PREDICTED))
        alone[label] = told(evaluate(actual, predicted, **how))
    return alone


def by_group(scorer: ColumnarScorer, states: Sequence[PartialState], **options: Any) -> dict[Any, dict[str, Any]]:
    groups = scorer.finalize(scorer.merge(states), **options).groups
    assert groups is not None
    return {key: told(result) for key, result in groups.items()}


def custom(judged: Judgments, k: Any) -> FloatArray:
    """Values outside 0 to 1, some of them -0.0 or undefined."""
    values = judged.n_retrieved * np.pi - judged.covered_within(k) / 3 - 5
    values[judged.n_retrieved == 0] = -0.0
    return np.where(judged.n_gold == 2, np.nan, values)


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    "how", [*METHODS, {"match_method": "id", "metrics": [custom, "map"]}], ids=lambda how: str(how["match_method"])
)
def test_every_group_has_the_bits_of_its_queries_alone(how: dict[str, Any]) -> None:
    scorer, whole = ColumnarScorer(KS, by=BY, **how), ColumnarScorer(KS, **how)
    state, intervals = scorer.partial_state(BATCH), how["match_method"] == "id"  # they depend on the values alone
    expected = scores_alone(list(zip(MODELS, DAYS, strict=True)), k=KS, intervals=intervals, **how)
    assert by_group(scorer, [state], intervals=intervals) == expected
    together = whole.finalize(whole.partial_state(BATCH), intervals=intervals)
    assert told(scorer.finalize(state, intervals=intervals)) == told(together)


HOW: dict[str, Any] = {"k": (1, 3, "8tok"), "match_method": ["id", "text"]}
EXPECTED = scores_alone(MODELS, **HOW)


@settings(max_examples=settings().max_examples // 4)
@given(
    st.lists(st.integers(0, N), max_size=6),
    st.randoms(use_true_random=False),
    st.sampled_from([1, 100, 1 << 18]),
    st.sampled_from([1, 100, 1 << 18]),
)
def test_any_split_merged_in_any_order_gives_the_same_bits(
    cuts: list[int], rng: Any, most_waiting: int, most_outcomes: int
) -> None:
    scorer = ColumnarScorer(by="model", **HOW)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(groups_module, "_MOST_WAITING", most_waiting)
        patch.setattr(groups_module, "_MOST_OUTCOMES", most_outcomes)
        patch.setattr(groups_module, "_MANY", 50)
        bounds = sorted({0, N, *cuts})
        states = [scorer.partial_state(BATCH.slice(a, b - a)) for a, b in itertools.pairwise(bounds)]
        rng.shuffle(states)
        half = len(states) // 2
        nested = [scorer.merge(states[:half]), scorer.merge(states[half:])]
        stored = [PartialState.from_json(state.to_json()) for state in nested]
        assert by_group(scorer, stored) == by_group(scorer, states) == EXPECTED


@pytest.mark.full
def test_large_groups_have_the_bits_of_their_queries_alone() -> None:
    times = 120  # more queries in a group than have a table of their values
    scorer = ColumnarScorer(5, by="model", match_method="id", metrics=["ndcg", "f1", custom], allow_repeated_ids=True)
    state = scorer.merge([scorer.partial_state(BATCH)] * times)
    mine = [number for number in range(N) if MODELS[number] == "a"]
    actual, predicted = ([side[number] for number in mine] * times for side in (ACTUAL, PREDICTED))
    expected = evaluate(
        actual, predicted, 5, match_method="id", metrics=["ndcg", "f1", custom], intervals=True, cluster="id"
    )
    assert expected.n_queries > MOST_DRAWN
    groups = scorer.finalize(state, intervals=True).groups
    assert groups is not None
    assert told(groups["a"]) == told(expected)


@pytest.mark.full
def test_groups_with_many_outcomes_are_summarized_so_that_states_stay_small(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_MOST_WAITING", "_MOST_OUTCOMES", "_MANY"):
        monkeypatch.setattr(groups_module, name, 10)
    scorer = ColumnarScorer(by="model", **HOW)
    state = scorer.merge([scorer.partial_state(BATCH.slice(first, 40)) for first in range(0, N, 40)])
    assert state.groups is not None
    assert set(state.groups.summaries) == {(model,) for model in EXPECTED}
    assert sum(len(part.group) for part in (state.groups.counted, *state.groups.waiting)) < 100
    assert by_group(scorer, [PartialState.from_json(state.to_json())]) == by_group(scorer, [state]) == EXPECTED


def test_outcomes_with_the_same_hash_stay_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups_module, "_hashes", lambda columns: np.zeros(columns.shape[1], dtype=np.uint64))
    scorer = ColumnarScorer(by="model", **HOW)
    states = [scorer.partial_state(BATCH.slice(0, 150)), scorer.partial_state(BATCH.slice(150))]
    assert by_group(scorer, states) == EXPECTED


def test_bad_rows_are_in_no_group() -> None:
    rows = BATCH.slice(0, 60).to_pylist()
    good, models = list(range(60)), MODELS[:60]
    for number in (0, 7, 8, 31, 59):
        rows[number]["actual"] = None
        good.remove(number)
    scorer = ColumnarScorer(3, by="model", match_method="id")
    found: list[Any] = []
    groups = by_group(scorer, [scorer.partial_state(pa.RecordBatch.from_pylist(rows, schema=BATCH.schema), found)])
    assert len(found) == 5
    for model in set(models):
        mine = [number for number in good if models[number] == model]
        alone = evaluate([ACTUAL[n] for n in mine], [PREDICTED[n] for n in mine], 3, match_method="id")
        assert groups[model] == told(alone)


@pytest.mark.full
def test_every_query_may_be_a_group_of_its_own() -> None:
    n = 5_000
    ids = [f"q{number}" for number in range(n)]
    found = [[{"id": f"d{number % 3}"}, {"id": "d0"}] for number in range(n)]
    rows = {"query_id": ids, "actual": [[{"id": "d0"}]] * n, "predicted": found, "name": ids}
    batch = pa.RecordBatch.from_pydict(rows)
    scorer = ColumnarScorer(1, by="name", metrics="mrr", match_method="id")
    groups = scorer.finalize(scorer.merge([scorer.partial_state(batch.slice(a, 700)) for a in range(0, n, 700)])).groups
    assert groups is not None
    assert len(groups) == n
    assert [groups[f"q{number}"]["mrr@1"] for number in range(n)] == [float(number % 3 == 0) for number in range(n)]
    assert "... and 4,970 more: .to_pandas() has all" in repr(groups)


NOON = dt.datetime(2026, 11, 1, 12, tzinfo=dt.UTC)
COLUMNS: dict[str, tuple[Any, list[Any]]] = {
    "integers": (pa.int8(), [3, 1, None]),
    "large integers": (pa.uint64(), [2**64 - 1, 0, None]),
    "booleans": (pa.bool_(), [True, False, None]),
    "days": (pa.date32(), [DAY, DAY + dt.timedelta(days=1), None]),
    "days in milliseconds": (pa.date64(), [DAY, DAY + dt.timedelta(days=1), None]),
    "times": (pa.timestamp("s"), [NOON.replace(tzinfo=None), dt.datetime(2026, 1, 1), None]),  # noqa: DTZ001
    "times of a zone": (pa.timestamp("ns", "UTC"), [NOON, NOON + dt.timedelta(hours=1), None]),
    "a dictionary": (pa.dictionary(pa.int8(), pa.string()), ["b", "a", None]),
    "a dictionary of integers": (pa.dictionary(pa.int8(), pa.int64()), [7, 5, None]),
    "views": (pa.string_view(), ["b", "a", None]),
    "nothing": (pa.null(), [None, None, None]),
}


@pytest.mark.sample(3)
@pytest.mark.parametrize("kind", COLUMNS)
def test_values_of_any_comparable_type_are_groups(kind: str) -> None:
    type_, values = COLUMNS[kind]
    column = [values[number] for number in np.random.default_rng(7).integers(0, 3, N)]
    batch = BATCH.append_column("kind", pa.array(column, type_))
    scorer = ColumnarScorer(by="kind", **HOW)
    states = [scorer.partial_state(batch.slice(0, 130)), scorer.partial_state(batch.slice(130))]
    groups = scorer.finalize(scorer.merge(states)).groups
    assert groups is not None
    alone = scores_alone(column, **HOW)
    assert list(groups) == [*sorted({one for one in column if one is not None}), None]
    assert {key: told(result) for key, result in groups.items()} == alone


def test_batches_whose_group_is_null_merge_with_others() -> None:
    scorer = ColumnarScorer(2, by="kind", metrics="mrr", match_method="id")
    kinds = [pa.nulls(5), pa.array(["a"] * 5), pa.array(["a"] * 5).dictionary_encode()]
    states = [scorer.partial_state(BATCH.slice(5 * n, 5).append_column("kind", kind)) for n, kind in enumerate(kinds)]
    groups = scorer.finalize(scorer.merge(states)).groups
    assert groups is not None
    assert {key: result.n_queries for key, result in groups.items()} == {"a": 10, None: 5}


REFUSED: list[tuple[Any, str]] = [
    ("team", "The input has no column 'team', which `by` names. Its columns are: query_id, actual, predicted, model"),
    (
        "score",
        "The column 'score' has the type double, and `by` needs strings, integers, booleans, dates or timestamps.",
    ),
    ("tags", "The column 'tags' has the type list<item: string>, and `by` needs"),
    ("twice", "The input has two columns 'twice', which `by` names."),
    ("fine", "The column 'fine' cannot be grouped by (Casting from timestamp[ns] to timestamp[us] would lose data"),
]


@pytest.mark.parametrize(("by", "message"), REFUSED, ids=lambda one: str(one)[:12])
def test_columns_that_cannot_be_compared_are_refused(by: str, message: str) -> None:
    batch = BATCH.slice(0, 2)
    others = {
        "score": pa.array([0.1, float("nan")]),
        "tags": pa.array([["a"], []]),
        "twice": pa.array([1, 2]),
        "fine": pa.array([1, 2], pa.timestamp("ns")),
    }
    for name, column in [*others.items(), ("twice", others["twice"])]:
        batch = batch.append_column(name, column)
    with pytest.raises(InvalidInputError) as caught:
        ColumnarScorer(1, by=by, match_method="id").partial_state(batch)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("by", "message"),
    [
        ([], "`by` must be the name of a column or a list of names, got []."),
        (["model", 3], "`by` must be the name of a column or a list of names, got ['model', 3]."),
        ("", "`by` must be the name of a column or a list of names, got ''."),
        (["model", "day", "model"], "`by` names a column twice: model, day, model. Name each once."),
        ("query_id", "`by` cannot group by 'query_id': the result has a column of that name."),
        (["model", "micro_recall@5"], "`by` cannot group by 'micro_recall@5': the result has a column of that name."),
    ],
)
def test_names_that_cannot_be_group_columns_are_refused(by: Any, message: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        ColumnarScorer(5, by=by)
    assert str(caught.value).startswith(message)


def test_states_of_other_groups_or_types_do_not_merge() -> None:
    one, other, none = (ColumnarScorer(1, by=by, match_method="id") for by in ("model", BY, None))
    for scorer in (other, none):
        with pytest.raises(InvalidInputError, match="States of different groups or metrics do not merge"):
            one.merge([scorer.partial_state(BATCH)])
    numbers = BATCH.set_column(BATCH.schema.get_field_index("model"), "model", pa.array(range(N)))
    with pytest.raises(InvalidInputError, match="A column that `by` names has different types in different places"):
        one.finalize(one.merge([one.partial_state(BATCH), one.partial_state(numbers)]))


def test_keys_are_values_of_one_name_and_tuples_of_a_list_of_names() -> None:
    batch = BATCH.slice(0, 50)
    for by, key in (("model", "a"), (["model"], ("a",)), (BY, ("a", DAY))):
        scorer = ColumnarScorer(1, by=by, metrics="mrr", match_method="id")
        groups = scorer.finalize(scorer.partial_state(batch)).groups
        assert groups is not None
        assert key in groups
        assert groups.by == tuple([by] if isinstance(by, str) else by)
        assert groups.to_pandas().index.names == list(groups.by)
        with pytest.raises(KeyError):
            groups["z"]


@pytest.mark.full
def test_results_are_exported_in_order_and_survive_pickling() -> None:
    scorer = ColumnarScorer((1, 3), by=BY, metrics=["mrr", "recall"], match_method="id")
    result = scorer.finalize(scorer.partial_state(BATCH), intervals=0.9)
    groups = multiprocessing.reduction.ForkingPickler.loads(
        multiprocessing.reduction.ForkingPickler.dumps(result)
    ).groups
    assert list(groups) == sorted(GROUPS, key=lambda key: (key[0] is None, key))
    records = groups.to_records()
    ends = [f"{key}_{end}" for key in result.to_dict() for end in ("low", "high")]
    assert list(records[0]) == ["model", "day", "n_queries", *result.to_dict(), *ends]
    for record, (key, one) in zip(records, groups.items(), strict=True):
        assert (record["model"], record["day"]) == key
        assert record["n_queries"] == one.n_queries
        assert {name: record[name] for name in one.to_dict()} == one.to_dict() == groups.to_dict()[key]
        assert (record["mrr@3_low"], record["mrr@3_high"]) == one.intervals["mrr@3"]
    assert json.loads(groups.to_json())[0]["day"] == "2026-11-01"
    frame = groups.to_pandas()
    assert frame.loc[("a", DAY), "recall@3"].item() == groups["a", DAY]["recall@3"]
    lines = repr(groups).splitlines()
    assert lines[0] == "8 groups by model, day"
    assert lines[1].split() == ["model", "day", "queries", "mrr@3", "recall@3"]
    assert "  8 groups by model, day: .groups has them" in repr(result).splitlines()


def test_a_scorer_that_was_sent_to_another_process_groups_the_same() -> None:
    scorer = ColumnarScorer(2, by="model", match_method="id")
    sent: ColumnarScorer = multiprocessing.reduction.ForkingPickler.loads(
        multiprocessing.reduction.ForkingPickler.dumps(scorer)
    )
    assert by_group(sent, [sent.partial_state(BATCH)]) == by_group(scorer, [scorer.partial_state(BATCH)])


def test_a_state_whose_groups_were_changed_is_refused() -> None:
    scorer = ColumnarScorer(2, by="model", match_method="id")
    stored, fewer = (json.loads(scorer.partial_state(batch).to_json()) for batch in (BATCH, BATCH.slice(0, 1)))
    few, tables = fewer["groups"]["tables"], stored["groups"]["tables"]
    for changed in ([few[0], *tables[1:]], [tables[0], few[1], tables[2]], [*tables[:2], "AAAA"]):
        with pytest.raises(InvalidInputError, match=r"The groups of the state (cannot be read|do not fit together)"):
            groups_module.GroupCounts.from_dict({**stored["groups"], "tables": changed})
    del stored["groups"]["keys"][0]
    with pytest.raises(InvalidInputError, match="The groups of the state do not fit together"):
        groups_module.GroupCounts.from_dict(stored["groups"])


@pytest.mark.parametrize("intervals", [1.5, 0, "yes", None])
def test_intervals_that_finalize_refuses_are_refused_before_any_work(intervals: Any) -> None:
    with pytest.raises(InvalidInputError, match="`intervals` must be a number between 0 and 1"):
        ColumnarScorer(1).check_intervals(intervals)
