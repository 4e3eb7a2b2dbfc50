"""Files as teams keep them, in their own words and languages, each with what it certainly means; and what is uncertain."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from krag_eval import InvalidInputError, evaluate, evaluate_run, read_evalset, read_run
from krag_eval_formats import inspect_file

# ruff: noqa: E501
GOLD: dict[str, tuple[str, list[list[str]]]] = {
    "ko.csv": ("번호,질문,정답_문서,모범답변\n1,배송은?,faq-12;faq-13,이틀\n2,환불은?,faq-20,앱에서\n", [["faq-12", "faq-13"], ["faq-20"]]),
    "de.yaml": ("fragen:\n- frage: Wann?\n  erwartete_dokumente: [versand.md, agb.md]\n  musterantwort: Morgen.\n", [["versand.md", "agb.md"]]),
    "es.csv": ("pregunta;documentos_esperados;respuesta\n¿Cuándo?;envio.pdf;Mañana\n¿Cómo?;a.pdf|b.pdf;Así\n", [["envio.pdf"], ["a.pdf", "b.pdf"]]),
    "zh.json": (json.dumps({"数据": [{"问题": "什么时候？", "相关文档": ["d1", "d2"], "答案": "两天"}]}), [["d1", "d2"]]),
    "ja.jsonl": (json.dumps({"質問": "配送は？", "正解ドキュメントID": ["d1"], "正解": "二日"}), [["d1"]]),
    "ru.jsonl": (json.dumps({"вопрос": "Когда?", "ожидаемые_документы": ["a.md"], "ответ": "Завтра"}), [["a.md"]]),
    "pairs.json": (json.dumps([["When does it ship?", "doc-1"], ["Who is it?", "doc-2"]]), [["doc-1"], ["doc-2"]]),
    "map.json": (json.dumps({"When does it ship?": "doc-1", "Who?": "doc-2"}), [["doc-1"], ["doc-2"]]),
    "columns.json": (json.dumps({"question": ["When?", "Who?"], "relevant_docs": [["a"], ["b", "c"]]}), [["a"], ["b", "c"]]),
    "file and page.csv": ("question,gold_file,gold_page,answer\nHow?,manual.pdf,12,So.\nWhere?,guide.pdf,3,Here.\n", [['["manual.pdf", "12"]'], ['["guide.pdf", "3"]']]),
    "쪽.jsonl": (json.dumps({"질문": "휴가는?", "정답_문서": "규칙.pdf", "정답_페이지": 4, "답변": "15일"}), [['["규칙.pdf", "4"]']]),
    "two lists.jsonl": (json.dumps({"query": "Who?", "gold_docs": ["a.pdf", "b.pdf"], "gold_pages": [1, 2]}), [['["a.pdf", "1"]', '["b.pdf", "2"]']]),
    "within.jsonl": (json.dumps({"query": "Who?", "golden_context": {"doc": "a.pdf", "page": 3, "text": "At nine it opens."}}), [['["a.pdf", "3"]']]),
    "no page.csv": ("question,gold_file,gold_page\nHow?,manual.pdf,12\nWhere?,guide.pdf,\n", [["manual.pdf"], ["guide.pdf"]]),
    "by id.json": (json.dumps({"q1": {"question": "When?", "expected_docs": ["a"]}, "q2": {"question": "Who?", "expected_docs": ["b", "c"]}}), [["a"], ["b", "c"]]),
    "beside what came.jsonl": (json.dumps({"question": "When?", "expected": ["a.md"], "got": ["b.md", "a.md"]}), [["a.md"]]),
    "tests.yml": ("tests:\n- ask: When do you ship?\n  must_retrieve: [s1]\n  must_not_retrieve: [s0]\n", [["s1"]]),
}  # fmt: skip


@pytest.mark.parametrize("name", GOLD)
def test_what_is_certain_is_read_at_once(name: str, tmp_path: Path) -> None:
    text, gold = GOLD[name]
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    assert inspect_file(path).kind == ("both" if "got" in text else "evalset")
    found = [[*question.gold_chunk_ids, *question.gold_doc_ids] for question in read_evalset(path)]
    assert found == gold


JUDGED = {
    "texts.csv": "query,document,relevance\nHow?,Press it.,1\nHow?,Open the door.,0\nWhere?,Beside it.,2\n",
    "flags.jsonl": "\n".join(
        json.dumps({"question": asked, "text": text, "is_relevant": good})
        for asked, text, good in (("How?", "Press it.", True), ("How?", "Open the door.", False), ("Where?", "Beside it.", True))
    ),
    "words.csv": "query,passage,label\nHow?,Press it.,relevant\nHow?,Open the door.,not relevant\nWhere?,Beside it.,relevant\n",
    "질문.tsv": "질문\t문서\t등급\nHow?\tPress it.\t1\nHow?\tOpen the door.\t0\nWhere?\tBeside it.\t1\n",
}  # fmt: skip


@pytest.mark.parametrize("name", JUDGED)
def test_rows_of_a_question_a_document_and_its_grade_are_judgments(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(JUDGED[name], encoding="utf-8")
    assert (inspect_file(path).kind, inspect_file(path).format) == ("evalset", "judgments")
    how, where = read_evalset(path)
    assert (how.question, where.question) == ("How?", "Where?")
    grades = [(one.text, bool(one.grade)) for one in how.gold]
    assert grades == [("Press it.", True), ("Open the door.", False)]
    with pytest.raises(InvalidInputError):
        read_run(path)


def test_judgments_with_ids_are_those_of_trec(tmp_path: Path) -> None:
    path = tmp_path / "qrels.csv"
    path.write_text("query_id,doc_id,rel\nq1,a,1\nq1,b,0\nq2,c,2\nq1,b,0\n")
    (tmp_path / "same.qrels").write_text("q1 0 a 1\nq1 0 b 0\nq2 0 c 2\n")
    judged, same = read_evalset(path), read_evalset(tmp_path / "same.qrels")
    assert [(one.id, one.gold) for one in judged] == [(one.id, one.gold) for one in same]
    path.write_text("query_id,doc_id,rel\nq1,a,1\nq1,a,2\n")
    with pytest.raises(InvalidInputError, match=r"qrels\.csv:3"):
        read_evalset(path)


@pytest.mark.parametrize("key", ["relevance", "grade", "rating", "등급"])
def test_documents_with_grades_are_gold_whatever_the_grade_is_called(key: str, tmp_path: Path) -> None:
    path = tmp_path / "graded.jsonl"
    path.write_text(json.dumps({"query": "When?", "docs": [{"id": "a", key: 2}, {"id": "b", key: 0}]}))
    (question,) = read_evalset(path)
    assert evaluate([question.gold], [[{"id": "b"}, {"id": "a"}]], 1, match_method="id")["precision@1"] == 0


def test_a_label_that_is_no_verdict_makes_no_document_gold(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("query,passage,label\nWhen?,At nine it opens.,fine\nWhen?,The moon is far.,awful\n")
    with pytest.raises(InvalidInputError):
        read_evalset(path)


def test_actual_and_predicted_are_what_they_are_in_evaluate(tmp_path: Path) -> None:
    path = tmp_path / "both.jsonl"
    path.write_text(json.dumps({"question": "When?", "actual": ["a", "b"], "predicted": ["a", "c"]}))
    assert inspect_file(path).kind == "both"
    assert read_evalset(path)[0].gold_chunk_ids == ("a", "b")


@pytest.mark.parametrize("text", ["question,actual\nWhen?,a.md\n", "question,actual,-\nWhen?,a.md,b.md\n"])
def test_actual_alone_may_be_anything(text: str, tmp_path: Path) -> None:
    path = tmp_path / "alone.csv"
    path.write_text(text)
    assert inspect_file(path).kind == "unknown"
    with pytest.raises(InvalidInputError):
        read_evalset(path)


def test_numbers_with_a_comma_are_no_grades(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text('query_id;doc_id;relevance\nq1;a;"0,93"\n', encoding="utf-8")
    assert inspect_file(path).format == "csv"


def test_rows_with_scores_or_ranks_are_no_judgments(tmp_path: Path) -> None:
    path = tmp_path / "run.csv"
    for text in ("query_id,doc_id,rank,relevance\nq1,a,1,0.5\nq1,b,2,0.1\n", "query_id,doc_id,relevance\nq1,a,0.93\n"):
        path.write_text(text)
        assert inspect_file(path).format != "judgments"


def test_queries_beside_grades_and_a_corpus_are_one_set(tmp_path: Path) -> None:
    path = tmp_path / "all.json"
    queries, corpus = {"q1": "How?", "q2": "Where?"}, {"a": {"title": "T", "text": "Press it."}, "b": "Beside it."}
    path.write_text(json.dumps({"queries": queries, "corpus": corpus, "qrels": {"q1": {"a": 2, "b": 0}, "q2": ["b"]}}))
    for wrong in ([["a"]], [{"a": 1}], {"a": "much"}, "a"):
        path.with_name("wrong.json").write_text(json.dumps({"queries": queries, "corpus": {}, "qrels": {"q1": wrong}}))
        with pytest.raises(InvalidInputError, match=r"wrong\.json"):
            read_evalset(path.with_name("wrong.json"))
    first, second = read_evalset(path)
    assert [(one.id, one.text, one.grade) for one in first.gold] == [("a", "Press it.", 2), ("b", "Beside it.", 0)]
    assert [(one.id, one.text) for one in second.gold] == [("b", "Beside it.")]


def test_numbered_columns_that_some_rows_leave_empty_are_one_field(tmp_path: Path) -> None:
    path = tmp_path / "three.csv"
    path.write_text("question,gold_chunk_id_1,gold_chunk_id_2\nHow?,c1,c5\nWhere?,c2,\n")
    assert [one.gold_chunk_ids for one in read_evalset(path)] == [("c1", "c5"), ("c2",)]
    path.write_text("question,chunk_id_1,chunk_id_2\nHow?,c1,c5\nWhere?,c2,\n")
    assert inspect_file(path).kind == "unknown"
    with pytest.raises(InvalidInputError):
        read_evalset(path)


def test_the_context_of_deepeval_is_what_should_be_retrieved(tmp_path: Path) -> None:
    row = {"input": "How?", "actual_output": "So.", "expected_output": "Press it.", "context": ["Press it twice."]}
    path = tmp_path / "cases.json"
    path.write_text(json.dumps([row | {"retrieval_context": ["Open it.", "Press it twice."]}]))
    assert inspect_file(path).kind == "both"
    assert [one.text for one in read_evalset(path)[0].gold] == ["Press it twice."]
    assert [one.text for one in next(iter(read_run(path).rows.values())).retrieved] == ["Open it.", "Press it twice."]


def test_a_page_and_its_file_score_against_the_metadata_of_a_run(tmp_path: Path) -> None:
    (tmp_path / "set.csv").write_text("id,question,gold_file,gold_page\n1,How?,manual.pdf,12\n2,Where?,guide.pdf,3\n")
    found = [{"text": "x", "metadata": {"source": "manual.pdf", "page": page}} for page in (11, 12)]
    (tmp_path / "run.jsonl").write_text("".join(json.dumps({"query_id": q, "retrieved": found}) + "\n" for q in "12"))
    run = read_run(tmp_path / "run.jsonl")
    result = evaluate_run(read_evalset(tmp_path / "set.csv"), run, id_key=("source", "page"), k=2)
    assert result["recall@2"] == 0.5


@pytest.mark.parametrize(
    "document",
    [
        {"When does it ship?": ["d1", "d4"], "Who is it?": ["d2"]},
        {"When does it ship?": ["d1", "d4"], "Who is it?": ["d2", "d3"]},  # no table by column
        [["When does it ship?", ["d1", "d4"]], ["Who is it?", ["d2"]]],
    ],
)
def test_questions_with_lists_may_be_a_set_or_a_run_and_both_are_shown(document: Any, tmp_path: Path) -> None:
    path = tmp_path / "lists.json"
    path.write_text(json.dumps(document))
    with pytest.raises(InvalidInputError, match="several ways") as refused:
        read_evalset(path)
    assert "columns={'gold_doc_ids': 'documents'}" in str(refused.value)
    assert "columns={'retrieved_ids': 'documents'}" in str(refused.value)
    read = read_evalset(path, columns={"gold_doc_ids": "documents"})
    assert (read[0].question, read[0].gold_doc_ids) == ("When does it ship?", ("d1", "d4"))


@pytest.mark.parametrize(
    "document", [[["a", "b"], ["c"]], [["When?", {"x": 1}]], [[1, 2]], {"when": ["a"], "who": ["b"]}]
)
def test_other_lists_are_no_pairs_of_questions_and_ids(document: Any, tmp_path: Path) -> None:
    path = tmp_path / "lists.json"
    path.write_text(json.dumps(document))
    with pytest.raises(InvalidInputError):
        read_evalset(path)


def test_rankings_of_ids_belong_to_the_questions_with_the_same_text(tmp_path: Path) -> None:
    (tmp_path / "run.jsonl").write_text(json.dumps({"question": "When?", "retrieved_ids": ["a", "b"]}))
    (tmp_path / "set.jsonl").write_text(json.dumps({"id": "q7", "question": "When?", "gold_chunk_ids": ["a"]}))
    run = read_run(tmp_path / "run.jsonl", evalset=read_evalset(tmp_path / "set.jsonl"))
    assert [document.id for document in run.rows["q7"].retrieved] == ["a", "b"]


def test_hits_of_elasticsearch_keep_their_ids_beside_their_texts(tmp_path: Path) -> None:
    hits = [{"_id": f"d{n}", "_score": 1 / n, "_source": {"text": f"text {n}"}} for n in (1, 2)]
    path = tmp_path / "hits.jsonl"
    path.write_text(json.dumps({"query": "When?", "hits": hits}))
    (row,) = read_run(path).rows.values()
    assert [(one.id, one.text) for one in row.retrieved] == [("d1", "text 1"), ("d2", "text 2")]
