"""Rows under any names, from data sets, files and memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from krag_eval import Document, EvalSet, KragEvalWarning
from krag_eval.datasets.rows import evalset_from_rows, evalset_to_rows

TEXT = "보림 마을의 녹차는 사월 중순에 처음으로 수확한다."


def test_rows_for_datasets_all_have_the_same_keys() -> None:
    evalset = EvalSet([{"id": 1, "gold": [], "lang": "ko"}, {"id": 2, "question": "?", "gold_chunk_ids": ["c"]}])
    rows = evalset_to_rows(evalset)
    assert len({tuple(row) for row in rows}) == 1
    assert [question.id for question in evalset_from_rows(rows)] == ["1", "2"]
    assert evalset_from_rows(rows)["2"].gold_chunk_ids == ("c",)


def test_arrays_and_gaps_of_pandas_are_lists_and_nothing() -> None:
    frame = pd.DataFrame({"qid": [1, 2], "gold_chunk_ids": [np.array(["a", "b"]), None], "answer": [float("nan"), "x"]})
    rows: list[Any] = frame.to_dict("records")
    evalset = evalset_from_rows(rows, columns={"id": "qid"})
    assert [(question.gold_chunk_ids, question.answer) for question in evalset] == [(("a", "b"), None), ((), "x")]


def test_one_document_or_id_may_stand_without_a_list() -> None:
    rows: list[dict[str, Any]] = [{"gold": TEXT}, {"gold": {"id": "a"}}, {"gold_doc_ids": 7}]
    with pytest.warns(KragEvalWarning, match=r"^The questions have no `id`, so they are numbered from 0"):
        questions = list(evalset_from_rows(rows))
    assert [question.id for question in questions] == ["0", "1", "2"]
    assert [question.gold for question in questions[:2]] == [(Document(text=TEXT),), (Document(id="a"),)]
    assert questions[2].gold_doc_ids == ("7",)
