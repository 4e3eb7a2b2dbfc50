"""Rows under any names, from data sets, files and memory."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from krag_eval import Document, EvalSet, InvalidInputError, KragEvalWarning, Question, read_evalset
from krag_eval.datasets.formats.writing import made_id
from krag_eval.datasets.rows import evalset_from_rows, evalset_to_rows

TEXT = "보림 마을의 녹차는 사월 중순에 처음으로 수확한다."


def write(path: Path, *lines: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    texts = [line if isinstance(line, str) else json.dumps(line, ensure_ascii=False) for line in lines]
    path.write_text("\n".join(texts) + "\n", encoding="utf-8")
    return path


SQUAD_ROWS = [
    {
        "id": "q1",
        "title": "Tea",
        "context": TEXT,
        "question": "언제?",
        "answers": {"text": ["사월", "중순"], "answer_start": [12, 15]},
    },
    {"id": "q2", "title": "", "context": TEXT, "question": "Who?", "answers": {"text": [], "answer_start": []}},
]


def squad_questions(questions: Sequence[Question]) -> None:
    first, second = questions
    gold = Document(id=made_id(TEXT), text=TEXT, metadata={"doc_id": "Tea"})
    assert (first.id, first.gold, first.answer) == ("q1", (gold,), "사월")
    assert first.metadata["answers"] == [{"text": "사월", "answer_start": 12}, {"text": "중순", "answer_start": 15}]
    assert (second.is_negative, second.metadata["paragraph"]["id"]) == (True, made_id(TEXT))


def test_rows_of_datasets_in_the_manner_of_squad_are_read_as_they_are(tmp_path: Path) -> None:
    squad_questions(list(evalset_from_rows(SQUAD_ROWS)))
    squad_questions(list(read_evalset(write(tmp_path / "rows.jsonl", *SQUAD_ROWS))))
    pq.write_table(pa.Table.from_pylist(SQUAD_ROWS), tmp_path / "rows.parquet")
    squad_questions(list(read_evalset(tmp_path / "rows.parquet")))


def test_columns_may_have_any_name(tmp_path: Path) -> None:
    columns = {"id": "nr", "question": "query", "gold": "pos", "gold_doc_ids": "Quelle"}
    rows = [
        {"nr": 7, "query": "언제?", "pos": [TEXT, {"id": "n2", "text": "x"}], "Quelle": "d;1", "neg": ["Kaffee"]},
        {"nr": 8, "query": "Who?", "pos": None, "Quelle": None, "neg": None},
    ]
    expected = [
        Question(
            id="7",
            question="언제?",
            gold=(Document(text=TEXT), Document(id="n2", text="x")),
            gold_doc_ids=("d;1",),
            further={"neg": ["Kaffee"]},
        ),
        Question(id="8", question="Who?", further={"neg": None}),
    ]
    assert list(evalset_from_rows(rows, columns=columns)) == expected
    assert list(read_evalset(write(tmp_path / "rows.jsonl", *rows), columns=columns)) == expected
    table = write(tmp_path / "rows.csv", "nr,query,pos,Quelle", f"7,언제?,{TEXT},d1; d2", "8,Who?,,")
    first, second = read_evalset(table, columns=columns)
    assert (first.gold, first.gold_doc_ids, second.is_negative) == ((Document(text=TEXT),), ("d1", "d2"), True)


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


@pytest.mark.parametrize(
    ("rows", "columns", "message"),
    [
        ([{"gold": []}, 5], None, "row 1: is an int. Each row must be a mapping of its columns."),
        ([{"id": 1, "gold": []}] * 2, None, "question 1: the id '1' appears twice. Ids must be unique."),
        ([{"query": "?"}], {"question": "querry"}, "row 0: has no column 'querry'. It has: query."),
        ([{"query": "?"}], {"query": "question"}, "`columns` must be one of 'id', 'question', 'gold'"),
        ([{"question": "?"}], None, "row 0: `gold` is missing"),
        ([{"question": "?", "context": 5}], None, "row 0: `context` must be the text"),
        ([{"question": "?", "context": TEXT, "answers": [5]}], None, "row 0: `answers` has an int. It must be"),
    ],
)
def test_a_row_that_cannot_be_read_is_named_by_its_number(
    rows: list[Any], columns: dict[str, str] | None, message: str
) -> None:
    with pytest.raises(InvalidInputError) as error:
        evalset_from_rows(rows, columns=columns)
    assert str(error.value).startswith(message)
