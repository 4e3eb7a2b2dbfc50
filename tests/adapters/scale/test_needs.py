"""Needs in Arrow batches and Parquet logs: a column `any_of`, and the numbers of `evaluate` to the last bit."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from krag_eval import InvalidInputError, evaluate
from krag_eval_scale import ColumnarScorer, PartialState, score_logs

SETTINGS: dict[str, Any] = {"k": [1, 3], "metrics": ["recall", "map", "ndcg", "complete_rank", "hit_rate_all"]}


def rows(name: str, n: int = 200) -> list[dict[str, Any]]:
    rng = Random(f"arrow {name}")

    def entry() -> dict[str, Any]:
        documents = [{name: one} for one in rng.choices("abcde", k=rng.choice((1, 1, 2, 3)))]
        if len(documents) == 1 and rng.random() < 0.5:
            return documents[0]
        return {"any_of": documents} | ({"grade": float(rng.randrange(3))} if rng.random() < 0.5 else {})

    return [
        {
            "query_id": f"q{number}",
            "actual": [entry() for _ in range(rng.randrange(4))],
            "predicted": [{name: one} for one in rng.choices("abcdefg", k=rng.randrange(5))],
        }
        for number in range(n)
    ]


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", ["id", "text"])
def test_batches_score_as_lists_do(name: str, tmp_path: Path) -> None:
    given = rows(name)
    expected = evaluate(
        [row["actual"] for row in given], [row["predicted"] for row in given], match_method=name, **SETTINGS
    )
    batch = pa.RecordBatch.from_pylist(given)
    scorer = ColumnarScorer(match_method=name, by=None, **SETTINGS)
    columns = scorer.score_batch(batch)
    for key in scorer.keys:
        assert columns.column(key).to_pylist() == [row.values[key] for row in expected.per_query]
    parts = [scorer.partial_state(batch.slice(start, 30)) for start in range(0, len(given), 30)]
    result = scorer.finalize(PartialState.from_json(scorer.merge(parts).to_json()))
    assert (result.to_dict(), result.signature) == (expected.to_dict(), expected.signature)
    pq.write_table(pa.Table.from_batches([batch]), tmp_path / "logs.parquet", row_group_size=50)
    logged = score_logs(tmp_path / "logs.parquet", tmp_path / "out", match_method=name, **SETTINGS)
    assert (logged.to_dict(), logged.signature) == (expected.to_dict(), expected.signature)


def test_alternatives_may_be_bare_and_of_other_types() -> None:
    item = pa.struct([("any_of", pa.large_list(pa.dictionary(pa.int32(), pa.string()))), ("id", pa.string())])
    actual = pa.array([[{"any_of": ["a", "b"], "id": None}, {"any_of": None, "id": "c"}]], pa.list_(item))
    predicted = pa.array([[{"id": "b"}]])
    batch = pa.record_batch([pa.array(["q"]), actual, predicted], ["query_id", "actual", "predicted"])
    scorer = ColumnarScorer(match_method="id", **SETTINGS)
    assert scorer.score_batch(batch).column("recall@1").to_pylist() == [0.5]


def test_logs_without_needs_keep_their_signature() -> None:
    alone = [{"query_id": "q", "actual": [{"any_of": [{"id": "a"}], "grade": 2.0}], "predicted": [{"id": "a"}]}]
    scorer = ColumnarScorer(match_method="id", **SETTINGS)
    result = scorer.finalize(scorer.partial_state(pa.RecordBatch.from_pylist(alone)))
    assert (result["recall@1"], result.signature) == (1.0, scorer.signature)


BAD: list[tuple[list[Any], str]] = [
    ([{"any_of": [{"id": "a"}], "id": "b"}], "document 1: `id` stands beside `any_of`"),
    ([{"id": "z"}, {"any_of": [], "id": None}, {"any_of": [{"id": "a"}]}], "document 2: `any_of` is empty"),
    (
        [{"id": "z"}, {"any_of": [{"id": "a", "grade": 1.0}, {"id": "b", "grade": 2.0}]}],
        "document 2, `any_of[1]`: the alternatives of a need have different grades, 1 and 2",
    ),
    ([{"any_of": [{"id": "a", "grade": 1.0}], "grade": 2.0}], "different grades, 1 and 2"),
    ([{"any_of": [{"id": "a"}, None]}], "`any_of[1]`: the document is null"),
]


@pytest.mark.parametrize(("actual", "message"), BAD)
def test_bad_needs_are_refused_with_query_and_place(actual: list[Any], message: str) -> None:
    given = [{"query_id": "q7", "actual": actual, "predicted": [{"id": "a"}]}]
    with pytest.raises(InvalidInputError) as caught:
        ColumnarScorer(match_method="id", **SETTINGS).score_batch(pa.RecordBatch.from_pylist(given))
    assert "`actual` of query 'q7', " in str(caught.value)
    assert message in str(caught.value)
