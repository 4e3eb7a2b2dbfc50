"""Arrow batches give the numbers of `evaluate`, to the last bit, however they are split, merged and encoded."""

from __future__ import annotations

import itertools
import multiprocessing.reduction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from krag_eval import EvaluationResult, InvalidInputError, evaluate
from krag_eval_scale import ColumnarScorer, PartialState
from tests.support.arrow_cases import as_batch, random_queries
from tests.support.marks import nothing_may_match

KS = (1, 3, "8tok", None)
METHODS: list[dict[str, Any]] = [
    {"match_method": "id"},
    {"match_method": "text"},
    {"match_method": "containment", "containment": "gold_in_retrieved"},
    {"match_method": "rougeL", "threshold": 0.6},
    {"match_method": ["id", "rouge1"], "precision_denominator": "k", "gain": "linear"},
    {"match_method": "rouge2", "tokenizer": "characters", "metrics": ["recall", "ndcg", "rbp(p=0.5)", "redundancy"]},
]
ACTUAL, PREDICTED = random_queries(400, seed=1)


def whole(**settings: Any) -> EvaluationResult:
    return evaluate(ACTUAL, PREDICTED, KS, intervals=True, cluster="id", **settings)


def test_documents_with_the_id_of_their_query_and_unjudged_ones_are_left_out_as_by_evaluate() -> None:
    ids = [f"q{number}" for number in range(len(ACTUAL))]
    found = [[*row[:1], {"id": id_, "text": "its own"}, *row[1:]] for id_, row in zip(ids, PREDICTED, strict=True)]
    for method in ("id", ["id", "rougeL"]):
        for more in ({"exclude_self": True}, {"unjudged": "remove"}, {"exclude_self": True, "unjudged": "remove"}):
            how: dict[str, Any] = {"match_method": method, "metrics": ["recall", "ndcg", "bpref"], **more}
            own: dict[str, Any] = {"query_ids": ids} if "exclude_self" in more else {}
            expected, scorer = evaluate(ACTUAL, found, 3, **how, **own), ColumnarScorer(3, **how)
            rows, state = scorer.score_with_state(as_batch(ACTUAL, found))
            assert scorer.finalize(state).to_dict() == expected.to_dict()
            assert [row["ndcg@3"] for row in rows.to_pylist()] == [one.values["ndcg@3"] for one in expected.per_query]
    with pytest.raises(InvalidInputError) as refused:
        ColumnarScorer(3, match_method="text", exclude_self=True)
    assert refused.value.argument == "exclude_self"


def everything(result: EvaluationResult) -> dict[str, Any]:
    return {
        "values": result.to_dict(),
        "undefined": result.undefined,
        "intervals": result.intervals,
        "signature": result.signature,
        "no_answer": [result.no_answer.n_queries, result.no_answer.empty_share, result.no_answer.mean_retrieved],
        "unmatchable": result.unmatchable,
        "n_queries": result.n_queries,
    }


@pytest.mark.sample(3)
@pytest.mark.parametrize("how", METHODS, ids=lambda how: str(how["match_method"]))
def test_rows_and_aggregates_are_those_of_evaluate_to_the_last_bit(how: dict[str, Any]) -> None:
    expected, scorer = whole(**how), ColumnarScorer(KS, **how)
    rows, state = scorer.score_with_state(as_batch(ACTUAL, PREDICTED))
    assert rows.schema == scorer.schema
    assert rows.column("query_id").to_pylist() == [f"q{number}" for number in range(400)]
    for row, values in zip(rows.to_pylist(), expected.per_query, strict=True):
        assert {key: row[key] for key in scorer.keys} == dict(values.values)
        assert (row["n_gold"], row["n_retrieved"]) == (values.n_gold, values.n_retrieved)
    assert everything(scorer.finalize(state, intervals=True)) == everything(expected)


@pytest.mark.full
@nothing_may_match
@settings(max_examples=settings().max_examples // 4)
@given(st.lists(st.integers(0, 400), max_size=6), st.randoms(use_true_random=False))
def test_any_split_merged_in_any_order_gives_the_same_bits(cuts: list[int], rng: Any) -> None:
    scorer = ColumnarScorer(KS, match_method=["id", "text"])
    batch = as_batch(ACTUAL, PREDICTED)
    bounds = sorted({0, 400, *cuts})
    states = [scorer.partial_state(batch.slice(a, b - a)) for a, b in itertools.pairwise(bounds)]
    rng.shuffle(states)
    half = len(states) // 2
    nested = [scorer.merge(states[:half]), scorer.merge(states[half:])]
    stored = [PartialState.from_json(state.to_json()) for state in nested]
    expected = everything(whole(match_method=["id", "text"]))
    assert everything(scorer.finalize(scorer.merge(stored), intervals=True)) == expected


def test_merging_leaves_the_states_as_they_are() -> None:
    scorer = ColumnarScorer(2, match_method="id")
    state = scorer.partial_state(as_batch(ACTUAL[:5], PREDICTED[:5]))
    before = state.to_json()
    assert scorer.merge([state, state]).n_queries == 10
    assert scorer.finalize(state).n_queries == 5
    assert state.to_json() == before


@pytest.mark.full
def test_more_queries_than_are_scored_at_once_change_nothing() -> None:
    actual, predicted = (side * 50 for side in (ACTUAL, PREDICTED))
    scorer = ColumnarScorer((1, 5), match_method="id")
    rows, state = scorer.score_with_state(as_batch(actual, predicted))
    expected = evaluate(actual, predicted, (1, 5), match_method="id", intervals=True, cluster="id")
    assert expected.detail is not None
    for key in scorer.keys:
        values = rows.column(key).to_numpy(zero_copy_only=False)
        assert np.array_equal(values, expected.detail.values[key], equal_nan=True)
    assert everything(scorer.finalize(state, intervals=True)) == everything(expected)


ENCODINGS = {
    "large_string": lambda string: pa.large_string(),
    "string_view": lambda string: pa.string_view(),
    "dictionary": lambda string: pa.dictionary(pa.int32(), string),
}


@pytest.mark.sample(4)
@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("list_kind", [pa.list_, pa.large_list, pa.list_view])
def test_strings_and_lists_of_any_encoding_give_the_same_rows(encoding: str, list_kind: Any) -> None:
    plain = as_batch(ACTUAL, PREDICTED)
    string = ENCODINGS[encoding](pa.string())
    document = pa.struct([("id", string), ("text", string), ("grade", pa.float32())])
    schema = pa.schema([("query_id", string), ("actual", list_kind(document)), ("predicted", list_kind(document))])
    encoded = as_batch(ACTUAL, PREDICTED, schema)
    scorer = ColumnarScorer(KS, match_method=["id", "rougeL"])
    assert scorer.score_batch(encoded).equals(scorer.score_batch(plain))
    assert scorer.score_batch(encoded.slice(7, 90)).equals(scorer.score_batch(plain).slice(7, 90))


def test_integers_are_ids_and_lists_of_one_size_are_lists() -> None:
    document = pa.list_(pa.struct([("id", pa.int64())]), 2)
    schema = pa.schema([("query_id", pa.int32()), ("actual", document), ("predicted", document)])
    rows = [{"query_id": 7, "actual": [{"id": 1}, {"id": 2}], "predicted": [{"id": 2}, {"id": 3}]}]
    scored = ColumnarScorer(2, metrics="recall", match_method="id").score_batch(
        pa.RecordBatch.from_pylist(rows, schema=schema)
    )
    assert scored.to_pylist() == [{"query_id": "7", "n_gold": 2, "n_retrieved": 2, "recall@2": 0.5}]


def test_fields_that_keys_name_are_read_in_place_of_the_usual_ones() -> None:
    rows = [
        {
            "query_id": "q",
            "actual": [{"id": "x", "doc_id": "a", "stars": 3}, {"id": "y", "doc_id": "b", "stars": 1}],
            "predicted": [{"id": "1", "doc_id": "b", "stars": None}, {"id": "2", "doc_id": "a", "stars": None}],
        }
    ]
    how: dict[str, Any] = {"match_method": "id", "id_key": "doc_id", "grade_key": "stars"}
    scored = ColumnarScorer(2, metrics="ndcg", **how).score_batch(pa.RecordBatch.from_pylist(rows)).to_pylist()
    expected = evaluate([rows[0]["actual"]], [rows[0]["predicted"]], 2, metrics="ndcg", **how)["ndcg@2"]
    assert expected is not None
    assert 0.5 < expected < 1
    assert scored[0]["ndcg@2"] == expected


def test_of_two_grades_the_one_counts_that_counts_elsewhere() -> None:
    gold = [
        {"id": "a", "grade": 1.0, "stars": 3.0},
        {"id": "b", "grade": 3.0, "stars": 1.0},
        {"id": "c", "grade": None, "stars": 2.0},
    ]
    found = [{"id": "c"}, {"id": "b"}, {"id": "a"}]
    batch = pa.RecordBatch.from_pylist([{"query_id": "q", "actual": gold, "predicted": found}])
    how: dict[str, Any] = {"metrics": "ndcg", "match_method": "id", "grade_key": "stars"}
    assert ColumnarScorer(3, **how).score_batch(batch).column("ndcg@3").to_pylist() == [
        evaluate([gold], [found], 3, **how)["ndcg@3"]
    ]


def test_a_batch_without_queries_gives_no_rows_and_a_state_that_changes_nothing() -> None:
    scorer = ColumnarScorer(KS)
    empty, some = as_batch([], []), as_batch(ACTUAL[:9], PREDICTED[:9])
    rows, state = scorer.score_with_state(empty)
    assert (rows.num_rows, rows.schema) == (0, scorer.schema)
    both = scorer.merge([state, scorer.partial_state(some)])
    assert both.to_json() == scorer.partial_state(some).to_json()


def test_lists_that_are_all_empty_may_have_no_type() -> None:
    rows = [{"query_id": "q", "actual": [], "predicted": []}]
    scored = ColumnarScorer(1, metrics="recall").score_batch(pa.RecordBatch.from_pylist(rows))
    assert scored.to_pylist() == [{"query_id": "q", "n_gold": 0, "n_retrieved": 0, "recall@1": None}]


def test_a_scorer_that_was_sent_to_another_process_is_the_same() -> None:
    scorer = ColumnarScorer(KS, metrics=["mrr", "rbp(p=0.5)"], match_method="rougeL", threshold=0.7)
    sent: ColumnarScorer = multiprocessing.reduction.ForkingPickler.loads(
        multiprocessing.reduction.ForkingPickler.dumps(scorer)
    )
    batch = as_batch(ACTUAL, PREDICTED)
    assert (sent.signature, sent.keys, sent.schema) == (scorer.signature, scorer.keys, scorer.schema)
    assert sent.score_batch(batch).equals(scorer.score_batch(batch))


def test_no_document_becomes_a_python_object_where_ids_are_matched(monkeypatch: pytest.MonkeyPatch) -> None:
    from krag_eval_scale.batch import ArrowSide

    def refuse(side: ArrowSide) -> Any:
        raise AssertionError("documents were made")

    monkeypatch.setattr(ArrowSide, "documents", property(refuse))
    monkeypatch.setattr(ArrowSide, "texts", property(refuse))
    rows = ColumnarScorer(3, match_method="id").score_batch(as_batch(ACTUAL, PREDICTED))
    assert rows.num_rows == 400
