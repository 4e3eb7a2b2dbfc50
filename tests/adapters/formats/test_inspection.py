"""What `inspect_file` says of a file, and that files are read at once where it is certain what they hold."""

from __future__ import annotations

import json
import random
import warnings
from pathlib import Path
from typing import Any

import pytest

import krag_eval
from krag_eval import (
    EvalSet,
    InvalidInputError,
    KragEvalWarning,
    Question,
    evalset_from_rows,
    read_corpus,
    read_evalset,
    read_run,
    write_evalset,
)
from krag_eval.datasets.question import alternatives_in
from krag_eval_formats import inspect_file
from krag_eval_labels import validate

pytestmark = pytest.mark.filterwarnings("ignore:.*numbered from 0")
KINDS = {"ids": "evalset", "texts": "evalset", "pairs": "evalset", "no_gold": "answers"}


def gold_of(question: Question) -> list[Any]:
    """Return the gold of a question: its texts if it has any, else its ids; of several parts, a list."""
    texts = [document.text for document in question.gold if document.text is not None]
    ids = [*question.gold_chunk_ids, *question.gold_doc_ids, *(document.id for document in question.gold)]
    return texts or [json.loads(one) if one[:1] == "[" else one for one in ids]


def test_each_layout_is_read_as_it_is_meant(shared_data: Path) -> None:
    layouts = shared_data / "layouts"
    for name, expected in json.loads((layouts / "expected.json").read_text()).items():
        found = inspect_file(layouts / name)
        assert found.kind == KINDS.get(expected["kind"], expected["kind"]), name
        if found.kind in ("answers", "log"):
            with pytest.raises(InvalidInputError, match="no gold documents"):
                read_evalset(layouts / name)
        if found.kind in ("run", "log"):
            rankings = read_run(layouts / name).rows
            assert read_run(layouts / name, **found.options).rows == rankings
            wanted = expected.get("rankings", {query: [d.id for d in row.retrieved] for query, row in rankings.items()})
            assert {query: [d.id for d in row.retrieved] for query, row in rankings.items()} == wanted
        if found.kind == "evalset":
            questions = read_evalset(layouts / name)
            assert read_evalset(layouts / name, **found.options) == questions
            wanted = json.loads(json.dumps(expected["gold"]), parse_int=str)
            assert {one.id: gold_of(one) for one in questions} == wanted, name
            assert all(question.question for question in questions), name
            forbidden = {one.id: [document.id for document in one.must_not] for one in questions if one.must_not}
            assert forbidden == expected.get("must_not", {}), name
            if "columns" in expected:
                assert {
                    one.id: gold_of(one) for one in read_evalset(layouts / name, columns=expected["columns"])
                } == wanted


QUESTION, SENTENCE = "How long is a boat lent?", "A boat is lent for two days."
# Rows, and what their gold is; None where they hold none, and "?" where two readings are possible.
ROWS: list[tuple[dict[str, Any], Any]] = [
    ({"frage": QUESTION, "erwartete_dokumente": ["boote.md"], "antwort": "Zwei Tage."}, ["boote.md"]),
    ({"pregunta": QUESTION, "documentos_esperados": ["barcos.pdf"], "respuesta": "Dos."}, ["barcos.pdf"]),
    ({"问题": QUESTION, "标准答案": "两天。", "参考文档": ["船-3"]}, ["船-3"]),
    ({"質問": QUESTION, "正解文書": ["船.md"], "回答": "二日です。"}, ["船.md"]),
    ({"вопрос": QUESTION, "ответ": "Два дня.", "релевантные_фрагменты": ["b-1", "b-2"]}, ["b-1", "b-2"]),
    ({"question": QUESTION, "réponse": "Deux.", "documents_pertinents": ["b.md"]}, ["b.md"]),
    ({"user_query": QUESTION, "goldDocIds": [4, 7], "is_answerable": True}, ["4", "7"]),
    ({"prompt": QUESTION, "expectedContexts": [SENTENCE], "expectedAnswer": "Two days."}, [SENTENCE]),
    ({"q": QUESTION, "question": QUESTION, "ground_truth_docs": {"b1": 2, "b2": 1}}, ["b1", "b2"]),
    ({"query": QUESTION, "evidence": [{"file": "boats.pdf", "page": 3}]}, [["boats.pdf", "3"]]),
    ({"query": QUESTION, "relevant_chunks": [{"chunk_id": "b#1", "score": 0.5}]}, ["b#1"]),
    ({"query": QUESTION, "citations": [{"url": "https://x/b", "quote": SENTENCE}], "reference": "Two."}, [SENTENCE]),
    ({"query": QUESTION, "expected": ["b.md"], "tags": ["a", "b"]}, ["b.md"]),
    ({"inputs": {"q": QUESTION, "question": QUESTION}, "expected": {"doc_id": "b-1", "answer": "Two."}}, ["b-1"]),
    (
        {
            "question": QUESTION,
            "paragraphs": [
                {"idx": 0, "title": "Boats", "paragraph_text": SENTENCE, "is_supporting": True},
                {"idx": 1, "title": "Ink", "paragraph_text": "Ink is black.", "is_supporting": False},
            ],
            "answer": "two",
            "answerable": True,
        },
        [SENTENCE],
    ),
    (
        {
            "query": QUESTION,
            "passages": [
                {"is_selected": 0, "passage_text": "Ink.", "url": "u0"},
                {"is_selected": 1, "passage_text": SENTENCE, "url": "u1"},
            ],
            "answers": ["two"],
        },
        [SENTENCE],
    ),
    ({"question": QUESTION, "supporting_facts": {"title": ["Boats"], "sent_id": [0]}, "answer": "2"}, ["Boats"]),
    (
        {"vars": {"question": QUESTION, "expected_source": "b.md"}, "assert": [{"type": "contains", "value": "2"}]},
        ["b.md"],
    ),
    # No gold: an answer, a flag, a metric, what was retrieved, the id of the question.
    ({"question": QUESTION, "expected_answer": "Two days.", "answerable": True}, None),
    ({"question": QUESTION, "retrieval_context": [SENTENCE], "actual_output": "Two.", "expected_output": "Two."}, None),
    ({"query": QUESTION, "result": "Two days, says the steward.", "source_documents": [SENTENCE]}, None),
    ({"question": QUESTION, "response": "Two.", "retrieved_contexts": [SENTENCE], "faithfulness": 0.5}, None),
    ({"question": QUESTION, "answer": "Two days.", "answer_relevancy": 0.9, "context_precision": 1}, None),
    ({"question_id": "b-1", "question": QUESTION, "model_answer": "Two."}, None),
    # Two readings.
    ({"question": QUESTION, "ground_truth": "Two", "contexts": [SENTENCE]}, [SENTENCE]),
    ({"question": QUESTION, "retrieval_gt": [["b-1", "b-2"], ["c-1"]]}, ["needs"]),
    ({"question": QUESTION, "gold_passages": [["law", "art-3"], ["law", "art-4"]]}, "?"),
    ({"question": QUESTION, "title": "Boats"}, "?"),
    ({"question": QUESTION, "gold_passages": [["law", 3]]}, [["law", "3"]]),
    ({"question": QUESTION, "contexts": [SENTENCE]}, "?"),
    ({"question": QUESTION, "expected": "b-1"}, "?"),
    ({"question": QUESTION, "answer": "Two.", "source": "b.md"}, "?"),
    ({"question": QUESTION, "expected_file": "b.md", "gold_article": "lending-2"}, "?"),
]


@pytest.mark.parametrize(("row", "gold"), ROWS, ids=[",".join(row) for row, _ in ROWS])
def test_rows_with_names_of_any_kind_are_read_or_refused(tmp_path: Path, row: dict[str, Any], gold: Any) -> None:
    path = tmp_path / "set.jsonl"
    path.write_text(json.dumps(row, ensure_ascii=False) + "\n")
    found = inspect_file(path)
    assert len(str(found).splitlines()) <= 12
    if isinstance(gold, list):
        (question,) = read_evalset(path)
        if gold == ["needs"]:
            assert [[document.id for document in alternatives_in([one])] for one in question.gold] == row[
                "retrieval_gt"
            ]
            return
        assert (question.question, gold_of(question)) == (QUESTION, gold)
        assert read_evalset(path, **found.options) == read_evalset(path)
        assert eval(found.call, vars(krag_eval).copy(), {"read_evalset": read_evalset}) == read_evalset(path)
        return
    assert found.kind == "unknown" if gold == "?" else found.kind in ("answers", "log")
    with pytest.raises(InvalidInputError, match=r"several ways\." if gold == "?" else "no gold documents"):
        read_evalset(path)
    if gold == "?":
        assert len(found.readings) == 2
        assert found.command == ""


@pytest.mark.parametrize(
    "text",
    [
        "version: 1\nitems:\n- {question: When?, expected_sources: [b.md]}\n",
        '{"meta": {"n": 1}, "data": {"items": [{"question": "When?", "expected_sources": ["b.md"]}]}}',
        '{"question": ["When?"], "expected_sources": [["b.md"]]}',
        '{"question": {"0": "When?"}, "expected_sources": {"0": ["b.md"]}}',
        '{"columns": ["question", "expected_sources"], "index": [0], "data": [["When?", ["b.md"]]]}',
        '{"0": {"question": "When?", "expected_sources": ["b.md"]}, "1": {"question": "Who?", "expected_sources": []}}',
        "question,expected_sources\nWhen?,['b.md']\n",
        'question\texpected_sources\nWhen?\t"[""b.md""]"\n',
    ],
    ids=["yaml", "nested", "by column", "pandas", "split", "by id", "python list", "json list"],
)
def test_rows_are_found_wherever_a_file_has_them(tmp_path: Path, text: str) -> None:
    endings = {"v": "yaml", "{": "json", "q": "tsv" if "\t" in text else "csv"}
    path = tmp_path / f"set.{endings[text[0]]}"
    path.write_text(text)
    question = read_evalset(path)[0]
    assert (question.id, question.question, question.gold_doc_ids) == ("0", "When?", ("b.md",))
    assert validate(path).n_questions == len(read_evalset(path))


def test_rows_in_two_places_are_asked_about(tmp_path: Path) -> None:
    path = tmp_path / "set.json"
    rows = [{"question": "When?", "gold_doc_ids": ["a"]}]
    path.write_text(
        json.dumps(
            {"train": rows, "dev": [*rows, {"question": "Who?", "gold_doc_ids": ["b"]}], "models": [{"name": "m"}]}
        )
    )
    with pytest.raises(InvalidInputError, match=r"'train' \(1\), 'dev' \(2\)\. Choose one, such as rows='train'\."):
        read_evalset(path)
    assert len(read_evalset(path, rows="dev")) == 2
    assert inspect_file(path, rows="dev").options["rows"] == "dev"


def test_the_ids_of_the_run_say_what_is_one_id(tmp_path: Path) -> None:
    path, run = tmp_path / "set.csv", tmp_path / "run.jsonl"
    path.write_text('question,relevant documents\nWhen?,"lending rules, opening hours"\n')
    retrieved = [{"id": "lending rules"}, {"id": "opening hours"}]
    run.write_text(json.dumps({"query_id": "0", "retrieved": retrieved}))
    assert read_evalset(path)[0].gold_doc_ids == ("lending rules, opening hours",)
    found = inspect_file(path, run)
    assert found.options["separator"] == ","
    assert read_evalset(path, **found.options)[0].gold_chunk_ids == ("lending rules", "opening hours")


def test_the_sessions_of_a_conversation_are_documents_with_their_dates(tmp_path: Path) -> None:
    talk = {
        "session_1": [{"speaker": "Ann", "dia_id": "D1:1", "text": "I moved in."}],
        "session_1_date_time": "1 May",
        "session_2": [{"speaker": "Bo", "dia_id": "D2:1", "text": "Nice."}],
    }
    asked = [{"question": "When did Ann move?", "answer": 2023, "evidence": ["D1:1; D2:1"], "category": 2}]
    path = tmp_path / "locomo.json"
    path.write_text(json.dumps([{"sample_id": "c1", "conversation": talk, "qa": asked}]))
    (question,) = read_evalset(path)
    assert (question.id, question.answer, question.type) == ("c1/0", "2023", "2")
    assert question.gold_doc_ids == ("c1/session_1", "c1/session_2")
    first, second = read_corpus(path)
    assert (first.id, first.text, first.metadata) == ("c1/session_1", "Ann: I moved in.", {"date": "1 May"})
    assert second.id == "c1/session_2"
    rows: list[dict[str, Any]] = [
        {"question_id": "q", "question": "When?", "answer_session_ids": ["s1"], "haystack_session_ids": ["s1"]}
    ]
    rows[0] |= {"haystack_dates": ["2 May"], "haystack_sessions": [[{"role": "user", "content": "Hello."}]]}
    path.write_text(json.dumps(rows * 2))
    (only,) = read_corpus(path)
    assert (only.id, only.text, only.metadata) == ("s1", "user: Hello.", {"date": "2 May"})


def test_files_of_ms_marco_have_no_header(tmp_path: Path) -> None:
    run, passages = tmp_path / "run.tsv", tmp_path / "collection.tsv"
    run.write_text("7\t30\t2\n7\t31\t1\n8\t30\t1\n")
    assert [[d.id for d in row.retrieved] for row in read_run(run).rows.values()] == [["31", "30"], ["30"]]
    run.write_text("7\t30\t1\n7\t31\t1\n")
    with pytest.raises(InvalidInputError):
        read_run(run)
    passages.write_text("30\tA boat.\n31\tInk, mostly.\n")
    assert [(d.id, d.text) for d in read_corpus(passages)] == [("30", "A boat."), ("31", "Ink, mostly.")]


def test_the_results_of_a_node_of_autorag_are_a_set_and_a_run(tmp_path: Path) -> None:
    path = tmp_path / "best.json"
    row = {"qid": "q", "query": "When?", "retrieval_gt": [["a", "b"]], "generation_gt": ["Now."]}
    found = {"retrieved_ids": ["b", "x"], "retrieved_contents": ["B", "X"], "retrieve_scores": [2.0, 1.0]}
    path.write_text(json.dumps([row | found]))
    questions = read_evalset(path)
    assert inspect_file(path).kind == "both"
    (document, _) = read_run(path, evalset=questions).rows["q"].retrieved
    assert (document.id, document.text, document.score) == ("b", "B", 2.0)
    assert [one.id for one in questions["q"].gold[0].any_of] == ["a", "b"]
    assert read_evalset(path, columns={"retrieved": "retrieved_ids"}) == questions


@pytest.mark.parametrize(
    ("column", "value", "kind", "says"),
    [
        ("expected_sources", ["b.md"], "gold", "The gold is in `expected_sources`: 1 document, such as the id 'b.md'."),
        ("expected_context", f"{SENTENCE} {SENTENCE}", "gold", "1 document, such as 'A boat is lent"),
        ("remark", SENTENCE, "gold", "Each is one sentence: if these are answers, they are no gold documents."),
        ("answer", SENTENCE, "answers_as_gold", "an answer is no document."),
    ],
)
def test_validate_says_what_the_gold_is(tmp_path: Path, column: str, value: Any, kind: str, says: str) -> None:
    path = tmp_path / "set.jsonl"
    path.write_text(json.dumps({"question": QUESTION, column: value}))
    is_named = column in ("answer", "remark")
    report = validate(path, columns={"gold_texts": column} if is_named else None)
    (message,) = [finding.message for finding in report.findings if finding.kind == kind]
    assert says in message
    assert report.ok == (kind == "gold")


def test_documents_that_must_not_be_retrieved_are_kept_and_named_where_they_are_lost(tmp_path: Path) -> None:
    row = {"id": 1, "question": "When?", "gold": ["b"], "must_not": ["old", {"id": "x", "metadata": {"reason": "old"}}]}
    questions = EvalSet([row, {"id": 2, "question": "Who?", "must_not": ["secret"]}])
    assert [[one.id for one in question.must_not] for question in questions] == [["old", "x"], ["secret"]]
    assert questions[1].is_negative
    for name in ("set.jsonl", "set.csv", "set.parquet"):
        write_evalset(questions, tmp_path / name)
        assert read_evalset(tmp_path / name) == questions
    with pytest.warns(KragEvalWarning, match="`must_not`: 2"):
        write_evalset(questions, tmp_path / "set.llama_index.json")
    assert EvalSet([{"id": 1, "question": "When?", "gold": ["b"]}]).fingerprint != questions.fingerprint


def test_the_json_of_llama_index_may_be_a_dict(tmp_path: Path) -> None:
    parts = {"queries": {"q": "When?"}, "corpus": {"c": "Now."}, "relevant_docs": {"q": ["c"]}, "mode": "text"}
    (tmp_path / "qa.json").write_text(json.dumps(parts))
    assert EvalSet(parts) == read_evalset(tmp_path / "qa.json")


def test_paths_hold_for_rows_in_memory_and_in_files(tmp_path: Path) -> None:
    row = {"in": {"q": "When?"}, "docs": [{"id": "b"}], "out": {"hits": ["b"]}, "old": "x", "secret": ["y"]}
    columns = {"question": "in.q", "gold_chunk_ids": "docs.id"}
    assert evalset_from_rows([row], columns=columns)[0].gold_chunk_ids == ("b",)
    (tmp_path / "set.jsonl").write_text(json.dumps(row))
    with pytest.raises(InvalidInputError, match=r"has no column 'in\.x'"):
        read_evalset(tmp_path / "set.jsonl", columns=columns | {"question": "in.x"})


def test_ids_of_questions_that_repeat_are_refused_and_not_replaced_by_numbers(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    for name in ("id", "question_id", "qid"):
        path.write_text(f"{name},question,relevant_doc\nq1,When?,a.md\nq1,When?,b.md\n")
        with pytest.raises(InvalidInputError, match="'q1' appears twice"):
            read_evalset(path)
    path.write_text("question,relevant_doc\nWhen?,a.md\nWhen?,b.md\nWho?,a.md\n")
    with pytest.warns(KragEvalWarning, match="has no ids, and 1 question in several rows, such as 'When"):
        assert len(read_evalset(path)) == 3


@pytest.mark.parametrize("format", ["beir", "trec", "llama_index", "squad", "ragas", "parquet", "csv"])
def test_a_file_in_a_known_format_is_named_by_it(tmp_path: Path, format: str) -> None:  # noqa: A002
    questions = EvalSet([{"id": "q1", "question": "When?", "gold": [{"id": "c1", "text": "Now."}]}])
    endings = {"beir": "", "trec": ".qrels", "parquet": ".parquet", "csv": ".csv", "ragas": ".ragas.jsonl"}
    path = tmp_path / f"set{endings.get(format, '.json')}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KragEvalWarning)  # what a format cannot hold
        write_evalset(questions, path, format=format)
    found = inspect_file(path)
    assert (found.kind, found.format, found.options) == ("evalset", format, {})
    assert str(found).startswith(f"{path}: an evaluation set ({format}")
    assert [question.id for question in read_evalset(path)] == ["q1"]


def test_graded_documents_keep_their_grades_under_any_names(tmp_path: Path) -> None:
    path = tmp_path / "set.jsonl"
    for gold in (
        {"relevant_docs": {"a": 2, "b": 0}},
        {"relevant_documents": [{"document_id": "a", "relevance": 2}, {"document_id": "b", "relevance": 0}]},
        {"ground_truth": {"docs": [{"doc_id": "a", "relevance_score": 2}, {"doc_id": "b", "relevance_score": 0}]}},
    ):
        path.write_text(json.dumps({"query": QUESTION, **gold}))
        assert [(one.id, one.grade) for one in read_evalset(path)[0].gold] == [("a", 2), ("b", 0)]


QUESTIONS = [
    "question",
    "query",
    "질문",
    "вопрос",
    "问题",
    "質問",
    "frage",
    "pregunta",
    "domanda",
    "pytanie",
    "fråga",
    "ερώτηση",
    "kérdés",
]
GOLD = [
    "expected_sources",
    "relevant_doc_ids",
    "gold_chunks",
    "정답_문서",
    "ожидаемые_документы",
    "标准文档",
    "正解文書",
    "erwarteteQuellen",
    "fuentes_esperadas",
    "documenti_attesi",
    "oczekiwane_dokumenty",
    "förväntade_dokument",
    "groundTruthDocIds",
]
OTHERS: dict[str, Any] = {
    "answer": "In May it opens.",
    "reference_answer": "In May.",
    "답변": "오월입니다.",
    "ответ": "В мае.",
    "antwort": "Mai.",
    "answerable": True,
    "is_valid": False,
    "faithfulness": 0.8,
    "recall_at_5": 1.0,
    "latency_ms": 12,
    "retrieved_docs": ["x.md", "y.md"],
    "검색_결과": ["x.md"],
    "hard_negatives": ["z.md"],
    "tags": ["a", "b"],
    "difficulty": "easy",
    "question_type": "fact",
    "author": "ann",
    "created_at": "2026-01-01",
}


@pytest.mark.parametrize("seed", range(60))
def test_among_fields_of_any_names_the_gold_is_found_and_nothing_else_is_taken_for_it(
    tmp_path: Path, seed: int
) -> None:
    chosen = random.Random(seed)
    gold = [f"{chosen.choice('abc')}-{number}.md" for number in range(chosen.randint(1, 3))]
    others = {name: OTHERS[name] for name in chosen.sample(list(OTHERS), chosen.randint(1, 5))}
    items = [(chosen.choice(QUESTIONS), QUESTION), (chosen.choice(GOLD), gold), *others.items()]
    path = tmp_path / "set.jsonl"
    path.write_text(json.dumps(dict(chosen.sample(items, len(items))), ensure_ascii=False))
    (question,) = read_evalset(path)
    assert (question.question, gold_of(question)) == (QUESTION, gold)
    path.write_text(json.dumps(dict([items[0], *items[2:]]), ensure_ascii=False))
    with pytest.raises(InvalidInputError):
        read_evalset(path)
