"""Rows of Hugging Face `datasets` with the columns of SQuAD, and with any others."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from krag_eval import Document, InvalidInputError, Question, read_evalset
from krag_eval.datasets.rows import evalset_from_rows
from krag_eval_formats.narrow import made_id

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
