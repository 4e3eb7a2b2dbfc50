"""Columns of tables: under their own names, under those that `columns` gives, and numbered ones."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

import pytest

from krag_eval import EvalSet, InvalidInputError, KragEvalWarning, read_corpus, read_evalset, read_run
from krag_eval.datasets.formats.registry import Format
from krag_eval.datasets.formats.source import Source
from krag_eval.documents.document import Document
from krag_eval_labels import validate

pytestmark = pytest.mark.filterwarnings("ignore:.*numbered from 0")
BY_TEXT = EvalSet([{"id": "q1", "question": "When?", "gold": [{"text": "In three days."}]}])
BY_ID = EvalSet([{"id": "q1", "question": "When?", "gold_chunk_ids": ["c1"]}])
BY_BOTH = EvalSet([{"id": "q1", "question": "When?", "gold": [{"id": "c1", "text": "In three days."}]}])


@pytest.fixture
def table(tmp_path: Path) -> Any:
    def write(*lines: str) -> Path:
        path = tmp_path / "x.csv"
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return path

    return write


def refused(path: Path, *, evalset: EvalSet | None = None, is_run: bool = False, **settings: Any) -> str:
    def read() -> object:
        return read_run(path, evalset=evalset, **settings) if is_run else read_evalset(path, **settings)

    with pytest.raises(InvalidInputError) as error:
        read()
    return str(error.value).replace(str(path), path.name)


def texts(documents: Any) -> list[str | None]:
    return [document.text for document in documents]


def ids(documents: Any) -> list[str | None]:
    return [document.id for document in documents]


def test_a_column_of_passages_may_be_called_gold(table: Any) -> None:
    path = table("question,gold", '"When, please?","In three days; ask us."', "Where?,")
    with pytest.warns(KragEvalWarning, match=r"x\.csv: has no column of ids, so its rows are numbered from 0\.$"):
        first, second = read_evalset(path)
    assert read_evalset(path, columns={"gold": "gold"}) == EvalSet([first, second])
    assert (first.id, first.question, first.gold) == ("0", "When, please?", (Document(text="In three days; ask us."),))
    assert (second.id, second.is_negative) == ("1", True)


@pytest.mark.parametrize("cell", ["c1", "17", "refunds.md", "doc-3"])
def test_a_cell_that_may_be_an_id_or_a_text_is_asked_about(table: Any, cell: str) -> None:
    path = table("question,gold", f"When?,{cell}")
    said = refused(path)
    assert said.startswith(f"x.csv:2: '{cell}' may be an id or a text. Say what 'gold' holds: columns=")
    read = [read_evalset(path, columns=ast.literal_eval(one))["0"] for one in re.findall(r"columns=(\{.*?\})", said)]
    assert [read[0].gold_chunk_ids, read[1].gold_doc_ids, read[2].gold] == [(cell,), (cell,), (Document(text=cell),)]


def test_a_list_or_an_object_in_a_cell_is_still_json(table: Any) -> None:
    path = table("id,gold", '1,"[{""id"": ""a""}]"', '2,"{""id"": ""b""}"', '3,"[""In three days.""]"')
    assert [ids(question.gold) for question in read_evalset(path)] == [["a"], ["b"], [None]]


@pytest.mark.parametrize(
    "names",
    ["retrieved_1,retrieved_2", "Retrieved 1,Retrieved 2", "doc1,doc2", "rank0,rank1", "result[1],result[2]"],
)
def test_numbered_columns_are_a_ranking(table: Any, names: str) -> None:
    path = table(f"query_id,{names}", "q1,c2,c1", "q2,c3,", "q3,,")
    rows = read_run(path).rows
    assert [ids(row.retrieved) for row in rows.values()] == [["c2", "c1"], ["c3"], []]


def test_numbered_columns_are_in_the_order_of_their_numbers(table: Any) -> None:
    names = [f"retrieved_{number}" for number in (2, 10, 1, *range(3, 10))]
    path = table(",".join(["query_id", *names]), ",".join(["q1", *(name[10:] for name in names)]))
    assert ids(read_run(path).rows["q1"].retrieved) == [str(number) for number in range(1, 11)]


def test_the_gold_says_whether_numbered_columns_hold_ids_or_texts(table: Any) -> None:
    path = table("query_id,retrieved_1,retrieved_2", "q1,c2,In three days.")
    assert texts(read_run(path, evalset=BY_TEXT).rows["q1"].retrieved) == ["c2", "In three days."]
    assert ids(read_run(path, evalset=BY_ID).rows["q1"].retrieved) == ["c2", "In three days."]
    for evalset in (None, BY_BOTH):
        said = refused(path, evalset=evalset, is_run=True)
        assert "x.csv:2: 'In three days.' may be an id or a text. Say what 'retrieved' holds: columns=" in said
        as_texts, as_ids = (ast.literal_eval(one) for one in re.findall(r"columns=(\{.*?\})", said))
        assert texts(read_run(path, evalset=evalset, columns=as_texts).rows["q1"].retrieved) == ["c2", "In three days."]
        assert ids(read_run(path, evalset=evalset, columns=as_ids).rows["q1"].retrieved) == ["c2", "In three days."]


def test_ids_and_texts_of_one_ranking_may_stand_beside_each_other(table: Any) -> None:
    path = table("query_id,doc_id_1,doc_text_1,doc_id_2,doc_text_2", "q1,c1,One.,c2,Two.")
    assert [(d.id, d.text) for d in read_run(path).rows["q1"].retrieved] == [("c1", "One."), ("c2", "Two.")]


def test_one_column_of_ids_is_read_as_before(table: Any) -> None:
    path = table("query_id,retrieved", "q1,c2; c1")
    assert ids(read_run(path).rows["q1"].retrieved) == ["c2", "c1"]
    assert ids(read_run(path, evalset=BY_ID).rows["q1"].retrieved) == ["c2", "c1"]
    assert texts(read_run(path, evalset=BY_TEXT).rows["q1"].retrieved) == ["c2; c1"]


def test_fields_that_say_what_they_hold_are_taken_unless_there_is_the_plain_one(table: Any) -> None:
    path = table("query_id,retrieved_ids,retrieved_texts", 'q1,c2; c1,"[""Two; three."", ""One.""]"')
    assert [(d.id, d.text) for d in read_run(path).rows["q1"].retrieved] == [("c2", "Two; three."), ("c1", "One.")]
    row = read_run(table("query_id,retrieved,retrieved_ids", "q1,c2,mine")).rows["q1"]
    assert (ids(row.retrieved), row.further) == (["c2"], {"retrieved_ids": ["mine"]})
    (question,) = read_evalset(table("id,gold_texts", "q1,c1"))
    assert question.gold == (Document(text="c1"),)


def test_gold_may_be_numbered_too(table: Any) -> None:
    path = table("id,question,gold_1,gold_2", "a,When?,In three days.,Soon.", "b,Where?,,")
    first, second = read_evalset(path)
    assert (texts(first.gold), second.is_negative) == (["In three days.", "Soon."], True)
    path = table("id,gold_chunk_id_1,gold_chunk_id_2", "a,c1,c2")
    assert read_evalset(path)["a"].gold_chunk_ids == ("c1", "c2")
    path = table("id,근거1,근거2", "a,사흘 안에.,곧.")
    assert texts(read_evalset(path, columns={"gold": "근거"})["a"].gold) == ["사흘 안에.", "곧."]


def test_a_table_with_gold_holds_a_run_too_only_where_its_columns_say_so(table: Any) -> None:
    assert Format.detect(Source(table("id,gold,document 1,document 2", "q,a b,x,y")))[1] == ("evalset",)
    assert Format.detect(Source(table("id,gold,retrieved_1,retrieved_2", "q,a b,x,y")))[1] == ("evalset", "run")
    assert Format.detect(Source(table("query_id,document 1,document 2", "q,x,y")))[1] == ("run",)


def test_a_ranking_without_an_id_belongs_to_the_question_with_its_text(table: Any) -> None:
    path = table("질문,결과 1", "When?,c1")
    columns = {"question": "질문", "retrieved": "결과"}
    assert list(read_run(path, evalset=BY_ID, columns=columns).rows) == ["q1"]
    assert list(read_run(path, columns=columns).rows) == ["0"]
    other = EvalSet([{"id": "q", "question": "Why?", "gold_chunk_ids": ["c1"]}])
    assert "x.csv:2: the question 'When?' is no question of the" in refused(
        path, evalset=other, is_run=True, columns=columns
    )
    twice = EvalSet([{"id": n, "question": "When?", "gold_chunk_ids": ["c1"]} for n in range(2)])
    assert "'When?' appears several times" in refused(path, evalset=twice, is_run=True, columns=columns)


def test_a_run_may_call_its_ids_id(table: Any) -> None:
    assert list(read_run(table("id,retrieved", "q1,c1")).rows) == ["q1"]
    assert list(read_run(table("nr,retrieved", "q1,c1"), columns={"id": "nr"}).rows) == ["q1"]
    assert list(read_run(table("nr,retrieved", "q1,c1"), columns={"query_id": "nr"}).rows) == ["q1"]


def test_columns_hold_for_runs_in_every_container(tmp_path: Path) -> None:
    rows = [{"qid": "q1", "hits": [{"id": "c1", "text": "One."}]}]
    columns = {"query_id": "qid", "retrieved": "hits"}
    (tmp_path / "x.jsonl").write_text(json.dumps(rows[0]))
    (tmp_path / "x.json").write_text(json.dumps(rows))
    for name in ("x.jsonl", "x.json"):
        assert read_run(tmp_path / name, columns=columns).rows["q1"].retrieved == (Document(id="c1", text="One."),)
    wide = {"query_id": "q1", "retrieved_1": "c2", "retrieved_2": "c1", "retrieved_3": None}
    (tmp_path / "x.jsonl").write_text(json.dumps(wide))
    assert ids(read_run(tmp_path / "x.jsonl").rows["q1"].retrieved) == ["c2", "c1"]


def test_one_mapping_serves_the_set_its_runs_and_its_corpus(table: Any) -> None:
    columns = {"question": "질문", "gold": "정답 문서", "retrieved": "검색 결과"}
    path = table("질문,정답 문서,검색 결과 1,검색 결과 2", "언제?,사흘 안에 됩니다.,곧 됩니다.,사흘 안에 됩니다.")
    questions = read_evalset(path, columns=columns)
    assert texts(read_run(path, evalset=questions, columns=columns).rows["0"].retrieved) == [
        "곧 됩니다.",
        "사흘 안에 됩니다.",
    ]
    assert validate(path, columns=columns).ok
    assert (
        read_corpus(table("chunk,본문", "c1,하나"), columns=columns | {"id": "chunk", "text": "본문"})[0].text == "하나"
    )


@pytest.mark.parametrize(
    ("header", "row"),
    [
        ("질문,정답 문서", "언제?,사흘 안에 됩니다."),
        ("frage,quelle", "Wann?,refunds.md"),
        ("query,chunk_id", "When?,c7"),
    ],
)
def test_a_table_with_names_of_its_own_is_read_if_it_is_certain_what_they_mean(
    table: Any, header: str, row: str
) -> None:
    (question,) = read_evalset(table(header, row))
    assert (question.question, question.is_negative) == (row.partition(",")[0], False)


@pytest.mark.parametrize("header", ["вопрос,эталон", "question,expected"])
def test_what_is_suggested_for_a_table_with_two_readings_reads_it(table: Any, header: str) -> None:
    path = table(header, "Когда?,doc-7")
    (columns,) = re.findall(r"columns=(\{.*?\})", refused(path))
    assert read_evalset(path, columns=ast.literal_eval(columns))["0"].gold_chunk_ids == ("doc-7",)


@pytest.mark.parametrize("header", ["Question,Answer text", "a,b"])
def test_for_a_table_without_gold_nothing_is_suggested(table: Any, header: str) -> None:
    assert "columns={" not in refused(table(header, "When?,In three days."))


@pytest.mark.parametrize("header", ["질문,검색 결과 1,검색 결과 2", "qid,ranking"])
def test_a_table_with_a_ranking_under_another_name_is_read(table: Any, header: str) -> None:
    path = table(header, "q,c1,c2"[: 3 * header.count(",") + 1])
    (row,) = read_run(path).rows.values()
    assert ids(row.retrieved) == ["c1", "c2"][: header.count(",")]


@pytest.mark.parametrize("header", ["query,x", "a,b"])
def test_a_table_without_a_ranking_is_refused_with_its_columns(table: Any, header: str) -> None:
    said = refused(table(header, "c,c"), is_run=True)
    assert said.startswith("x.csv: has no column `retrieved`. The columns are: ")
    assert "columns={" not in said


def test_a_column_that_is_not_there_is_named_with_those_that_are_and_the_one_that_is_meant(table: Any) -> None:
    path = table("Frage,Quelle", "Wann?,d1")
    said = refused(path, columns={"question": "frage", "gold_doc_ids": "Quelle"})
    assert said == (
        "x.csv: has no column 'frage'. It has: Frage, Quelle. "
        "Did you mean columns={'question': 'Frage', 'gold_doc_ids': 'Quelle'}?"
    )
    assert "must be one of 'id', 'question'" in refused(path, columns={"questions": "Frage"})


@pytest.mark.parametrize(
    ("header", "row", "message"),
    [
        ("query_id,retrieved_1,retrieved_3", "q1,a,b", "x.csv: of numbered columns some are missing: retrieved_1, "),
        ("query_id,retrieved_1,retrieved_2", "q1,,b", "x.csv:2: `retrieved_1` is empty, but a column after it is not."),
        (
            "query_id,doc1,rank1",
            "q1,a,b",
            "x.csv: several groups of numbered columns may hold `retrieved`: 'doc', 'rank'",
        ),
        ("query_id,doc_id_1,doc_text_1,doc_text_2", "q1,a,b,c", "x.csv:2: has not as many retrieved ids as texts."),
    ],
)
def test_numbered_columns_that_could_be_read_in_two_ways_are_refused(
    table: Any, header: str, row: str, message: str
) -> None:
    path = table(header, row)
    said = refused(path, is_run=True)
    assert said.startswith(message)
    for columns in re.findall(r"columns=(\{.*?\})", said):
        assert len(read_run(path, columns=ast.literal_eval(columns))) == 1


@pytest.mark.parametrize("first", ["sep=;", '"sep=;"', "sep=;;"])
def test_the_first_line_by_which_excel_names_the_separator_is_followed(table: Any, first: str) -> None:
    path = table(first, "id;a,b,c,d;gold_doc_ids", "q;x;d1")
    assert read_evalset(path)["q"].gold_doc_ids == ("d1",)


@pytest.mark.filterwarnings("ignore:.*bad line skipped")
def test_bad_rows_of_a_table_are_still_skipped_by_line(table: Any) -> None:
    path = table("query_id,retrieved_1,retrieved_2", "q1,a,b", "q2,,b", "q3,c,")
    with pytest.warns(KragEvalWarning, match=r"x\.csv:3: `retrieved_1` is empty.* skipped"):
        run = read_run(path, max_bad_rows=1)
    assert (list(run.rows), run.n_rejected) == (["q1", "q3"], 1)


@pytest.mark.parametrize("text", ['[\n {"id": "q", "gold": []}\n]\n', '{\n "id": "q",\n "gold": []\n}\n'])
def test_json_over_several_lines_may_be_called_jsonl(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.jsonl").write_text(text)
    assert read_evalset(tmp_path / "x.jsonl").ids == ["q"]
