"""Ids in columns of Arrow are compared as those of lists."""

from __future__ import annotations

import pytest

from krag_eval import evaluate_ids
from tests.documents.test_unicode_ids import _pairs


def test_the_own_id_of_a_row_of_arrow_is_its_field_id() -> None:
    from krag_eval.matching.settings import make_settings
    from krag_eval_scale.batch import Fields

    assert Fields.of(make_settings(match_method="id", id_key=".id")).id == "id"


@pytest.mark.filterwarnings("ignore:.*differs from a retrieved id")
def test_arrow_columns_agree_with_lists() -> None:
    pa = pytest.importorskip("pyarrow")
    from krag_eval_scale import ColumnarScorer  # needs pyarrow

    pairs = _pairs(2_000)
    rows = [
        {
            "query_id": str(n),
            "actual": [{"id": one}],
            "predicted": [{"id": other}, {"id": None, "text": "t"}, {"id": "a"}],
        }
        for n, (one, other) in enumerate(pairs)
    ]
    expected = evaluate_ids([[one] for one, _ in pairs], [[other] for _, other in pairs], k=1)
    scorer = ColumnarScorer(k=1, metrics="recall", match_method="id")
    found = scorer.score_batch(pa.RecordBatch.from_pylist(rows)).column("recall@1").to_pylist()
    assert found == [row.values["recall@1"] for row in expected.per_query]
