"""Small files as people and other programs write them, and what they mean."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from krag_eval import (
    Document,
    EvalSet,
    KragEvalWarning,
    Question,
    RunRow,
    read_evalset,
    read_run,
    write_evalset,
    write_run,
)

TEXT = "보림 마을의 녹차는 사월 중순에 처음으로 수확한다."


def write(path: Path, *lines: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    texts = [line if isinstance(line, str) else json.dumps(line, ensure_ascii=False) for line in lines]
    path.write_text("\n".join(texts) + "\n", encoding="utf-8")
    return path


def chunks(*ids: str) -> tuple[Document, ...]:
    return tuple(Document(id=one) for one in ids)


def test_a_table_from_a_spreadsheet_is_read_with_ids_between_semicolons(tmp_path: Path) -> None:
    path = write(
        tmp_path / "set.csv",
        "\ufeffid;question;gold_chunk_ids;gold_doc_ids;type;team",
        'q1;"Wann; und wie?";"c1; c2";d1;fact;A',
        "q2;Нет?;;;negative;",
        ";;;;;",
        'q3;"Zwei\nZeilen";"[""c;3""]";;;B',
    )
    assert list(read_evalset(path)) == [
        Question(
            id="q1",
            question="Wann; und wie?",
            gold_chunk_ids=("c1", "c2"),
            gold_doc_ids=("d1",),
            type="fact",
            further={"team": "A"},
        ),
        Question(id="q2", question="Нет?", type="negative"),
        Question(id="q3", question="Zwei\nZeilen", gold_chunk_ids=("c;3",), further={"team": "B"}),
    ]


def test_a_table_of_rankings_has_ids_or_documents_in_its_cells(tmp_path: Path) -> None:
    path = write(
        tmp_path / "run.csv",
        "query_id,retrieved,seconds,error",
        "q1,c1; c2,0.5,",
        'q2,"[{""id"": ""c3"", ""score"": 2}]",,',
        "q3,,,Timeout: 30 s",
        "q4,,,",
    )
    assert list(read_run(path).rows.values()) == [
        RunRow(query_id="q1", retrieved=chunks("c1", "c2"), seconds=0.5),
        RunRow(query_id="q2", retrieved=(Document(id="c3", score=2.0),)),
        RunRow(query_id="q3", error="Timeout: 30 s"),
        RunRow(query_id="q4"),
    ]


def test_formulas_are_data_and_stay_as_they_are(tmp_path: Path) -> None:
    evalset = EvalSet([{"id": "q1", "question": "=SUM(A1)", "answer": "+82", "notes": "@x", "gold": []}])
    write_evalset(evalset, tmp_path / "set.csv")
    assert "=SUM(A1)" in (tmp_path / "set.csv").read_text()
    assert read_evalset(tmp_path / "set.csv") == evalset


def beir(folder: Path) -> Path:
    write(
        folder / "corpus.jsonl",
        {"_id": "d1", "title": "Tee", "text": TEXT, "metadata": {"url": "u"}},
        {"_id": "d2", "title": "", "text": "Kaffee"},
        {"_id": "d3", "text": "not judged"},
    )
    write(
        folder / "queries.jsonl",
        {"_id": "1", "text": "언제?", "metadata": {}},
        {"_id": "2", "text": "Was?", "metadata": {"query": "long"}, "type": "fact"},
        {"_id": "3", "text": "of another split"},
    )
    header = "query-id\tcorpus-id\tscore"
    write(folder / "qrels" / "test.tsv", header, "2\td2\t0", "2\td1\t2", "1\td1\t1", "2\td1\t2")
    write(folder / "qrels" / "dev.tsv", header, "3\td2\t1")
    return folder


TEA = {"url": "u", "title": "Tee"}
BEIR = [
    Question(
        id="2",
        question="Was?",
        type="fact",
        metadata={"query": "long"},
        gold=(Document(id="d2", text="Kaffee", grade=0.0), Document(id="d1", text=TEXT, grade=2.0, metadata=TEA)),
    ),
    Question(id="1", question="언제?", gold=(Document(id="d1", text=TEXT, grade=1.0, metadata=TEA),)),
]


def test_a_beir_folder_is_its_test_split_with_the_texts_of_the_corpus(tmp_path: Path) -> None:
    evalset = read_evalset(beir(tmp_path / "nano"))
    assert (list(evalset), evalset.name) == (BEIR, "nano")
    assert read_evalset(tmp_path / "nano" / "qrels") == evalset
    write_evalset(evalset, tmp_path / "again", format="beir")
    assert read_evalset(tmp_path / "again") == evalset
    assert sorted(path.name for path in (tmp_path / "again").iterdir()) == ["corpus.jsonl", "qrels", "queries.jsonl"]


def test_another_split_of_a_beir_folder_is_read_by_its_path(tmp_path: Path) -> None:
    assert read_evalset(beir(tmp_path) / "qrels" / "dev.tsv").ids == ["3"]
    (tmp_path / "qrels" / "test.tsv").unlink()
    assert read_evalset(tmp_path).ids == ["3"]


def test_judged_documents_that_the_corpus_lacks_are_counted_and_kept_by_their_ids(tmp_path: Path) -> None:
    write(beir(tmp_path) / "qrels" / "test.tsv", "query-id\tcorpus-id\tscore", "1\td0007\t1", "9\td1\t1")
    with pytest.warns(KragEvalWarning) as caught:
        evalset = read_evalset(tmp_path)
    split = tmp_path / "qrels" / "test.tsv"
    assert [str(warning.message).partition(". ")[0] for warning in caught] == [
        f"{split}: of 2 queries, 1 are not in queries.jsonl, for example '9'",
        f"{split}: of 2 judged documents, 1 are not in corpus.jsonl, for example 'd0007'",
    ]
    assert (evalset["1"].gold[0].text, evalset["9"].question) == (None, None)


def test_the_json_of_llama_index_is_queries_with_their_chunks(tmp_path: Path) -> None:
    document = {
        "queries": {"q1": "언제?", "q2": "Nothing?"},
        "corpus": {"n1": TEXT, "n2": "never relevant"},
        "relevant_docs": {"q1": ["n1"], "q2": []},
        "mode": "text",
    }
    path = write(tmp_path / "qa.json", document)
    expected = [
        Question(id="q1", question="언제?", gold=(Document(id="n1", text=TEXT),)),
        Question(id="q2", question="Nothing?"),
    ]
    assert list(read_evalset(path)) == expected
    write_evalset(EvalSet(expected), tmp_path / "x.llama_index.json")
    again = json.loads((tmp_path / "x.llama_index.json").read_text(encoding="utf-8"))
    assert again == {**document, "corpus": {"n1": TEXT}}


RAGAS: list[dict[str, Any]] = [
    {
        "user_input": "언제?",
        "retrieved_contexts": ["Kaffee", TEXT],
        "retrieved_context_ids": [7, "n1"],
        "reference_contexts": [TEXT],
        "response": "In April.",
        "reference": "사월",
        "persona_name": "guest",
    },
    {"user_input": "Nothing?", "retrieved_context_ids": ["n2"], "reference_context_ids": [], "type": "negative"},
]


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.json"])
def test_rows_of_ragas_are_questions_and_rankings_at_once(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name, *RAGAS) if name.endswith("l") else write(tmp_path / name, RAGAS)
    assert list(read_evalset(path)) == [
        Question(
            id="0", question="언제?", gold=(Document(text=TEXT),), answer="사월", further={"persona_name": "guest"}
        ),
        Question(id="1", question="Nothing?", type="negative"),
    ]
    assert list(read_run(path).rows.values()) == [
        RunRow(
            query_id="0",
            retrieved=(Document(id="7", text="Kaffee"), Document(id="n1", text=TEXT)),
            further={"response": "In April."},
        ),
        RunRow(query_id="1", retrieved=chunks("n2")),
    ]


def test_a_run_is_written_for_ragas_with_the_questions_that_it_answers(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.jsonl", *RAGAS)
    run, evalset = read_run(path), read_evalset(path)
    write_run(run, tmp_path / "both.ragas.jsonl", evalset=evalset)
    assert read_run(tmp_path / "both.ragas.jsonl").rows == run.rows
    assert read_evalset(tmp_path / "both.ragas.jsonl") == evalset
    with pytest.warns(KragEvalWarning, match=r"`user_input`, which ragas needs \(name the evaluation set\): 2"):
        write_run(run, tmp_path / "run.ragas.jsonl")
    assert read_run(tmp_path / "run.ragas.jsonl").rows == run.rows
