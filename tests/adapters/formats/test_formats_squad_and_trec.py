"""The kin of SQuAD and the files of TREC, written by hand down to their oddities."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from krag_eval import (
    Document,
    EvalSet,
    InvalidInputError,
    KragEvalWarning,
    Question,
    Run,
    RunRow,
    read_evalset,
    read_run,
    write_evalset,
    write_run,
)
from krag_eval.datasets.formats.source import Source
from krag_eval_formats.squad import passages
from krag_eval_formats.topics import read_queries
from krag_eval_formats.trec import questions_in_order

TEXT, OTHER = "보림 마을의 녹차는 사월에 수확한다.", "A ferry leaves at noon."


def dump_text(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def dump(path: Path, document: object) -> Path:
    path.write_text(json.dumps(document, ensure_ascii=False), encoding="utf-8")
    return path


def document(paragraph_id: str, text: str, doc_id: str, **metadata: Any) -> Document:
    return Document(id=paragraph_id, text=text, metadata={"doc_id": doc_id, **metadata})


def qa(question_id: str, question: str, **fields: Any) -> dict[str, Any]:
    return {"id": question_id, "question": question, **fields}


SQUAD_2 = {
    "version": "v2.0",
    "data": [
        {
            "title": "Tea",
            "paragraphs": [
                {
                    "context": TEXT,
                    "qas": [
                        qa("q1", "언제?", answers=[{"text": "사월", "answer_start": 11}], is_impossible=False),
                        qa("q2", "Who?", answers=[], is_impossible=True, plausible_answers=[{"text": "보림"}]),
                        qa("q3", "Not annotated?", answers=[], is_impossible=False),
                    ],
                },
                {"context": OTHER, "id": "own", "page": 3, "qas": [qa("q4", "When?", answers=[], level="hard")]},
            ],
        },
        {"paragraphs": [{"context": TEXT, "qas": [qa("q5", "Repeated?")]}]},
    ],
}


def test_impossible_questions_have_no_gold_and_keep_their_paragraph(tmp_path: Path) -> None:
    evalset = read_evalset(dump(tmp_path / "dev.json", SQUAD_2))
    tea = document("0-0", TEXT, "Tea")
    kept = {"id": "0-0", "text": TEXT, "doc_id": "Tea"}
    assert list(evalset) == [
        Question(
            id="q1",
            question="언제?",
            gold=(tea,),
            answer="사월",
            metadata={"answers": [{"text": "사월", "answer_start": 11}]},
        ),
        Question(
            id="q2",
            question="Who?",
            metadata={"is_impossible": True, "paragraph": kept},
            further={"plausible_answers": [{"text": "보림"}]},
        ),
        Question(id="q3", question="Not annotated?", gold=(tea,)),
        Question(
            id="q4",
            question="When?",
            metadata={
                "is_impossible": True,
                "paragraph": {"id": "own", "text": OTHER, "doc_id": "Tea", "page": 3},
            },
            further={"level": "hard"},
        ),
        # The text has come up before, so it is that document; only its article is another one.
        Question(id="q5", question="Repeated?", gold=(document("0-0", TEXT, "1"),)),
    ]
    assert [question.id for question in evalset if question.is_negative] == ["q2", "q4"]
    write_evalset(evalset[:4], tmp_path / "x.squad.json")
    assert read_evalset(tmp_path / "x.squad.json") == evalset[:4]


CMRC = [
    {
        "context_id": "TRIAL_800",
        "context_text": "生命数耗完即算为踢爆。",
        "title": "泡泡战士",
        "qas": [{"query_text": "什么？", "query_id": "TRIAL_800_QUERY_0", "answers": ["踢爆", "算为踢爆"]}],
    }
]
KORQUAD_2 = {
    "version": "KorQuAD_2.0",
    "data": [
        {
            "title": "임종석",
            "url": "u",
            "context": TEXT,
            "qas": [qa("9_2", "언제?", answer={"text": "사월", "answer_start": 11, "html_answer_text": "<b>사월</b>"})],
        }
    ],
}


def test_cmrc_2018_is_read_in_its_own_layout(tmp_path: Path) -> None:
    assert list(read_evalset(dump(tmp_path / "trial.json", CMRC))) == [
        Question(
            id="TRIAL_800_QUERY_0",
            question="什么？",
            gold=(document("TRIAL_800", "生命数耗完即算为踢爆。", "泡泡战士"),),
            answer="踢爆",
            metadata={"answers": [{"text": "踢爆"}, {"text": "算为踢爆"}]},
        )
    ]


def test_korquad_2_is_read_with_an_article_as_its_paragraph(tmp_path: Path) -> None:
    (question,) = read_evalset(dump(tmp_path / "2.json", KORQUAD_2))
    assert (question.answer, question.gold) == ("사월", (document("0", TEXT, "임종석", url="u"),))
    assert question.metadata["answers"][0]["html_answer_text"] == "<b>사월</b>"


def test_an_answer_that_its_paragraph_lacks_and_further_gold_are_named(tmp_path: Path) -> None:
    gold = [{"id": "a", "text": OTHER}, {"id": "b", "text": TEXT}]
    evalset = EvalSet([{"id": "q", "gold": gold, "answer": "Monday"}, {"id": "r", "gold_chunk_ids": ["c"]}])
    with pytest.warns(KragEvalWarning) as caught:
        write_evalset(evalset, tmp_path / "x.squad.json")
    message = str(caught[0].message)
    for words in ("its start is -1): 1", "further gold documents of a question: 1", "that has a text: 1"):
        assert words in message


def qrels(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_qrels_have_grades_comments_and_any_white_space(tmp_path: Path) -> None:
    path = qrels(
        tmp_path / "judged", "# year 2024", "2 0  d1\t3", "", "1 Q0 d1 0", "2 0 d2 -2", "2 0 d1 3", "1 7 d1 1.5"
    )
    assert list(read_evalset(path)) == [
        Question(id="2", gold=(Document(id="d1", grade=3.0), Document(id="d2", grade=-2.0))),
        Question(
            id="1", gold=(Document(id="d1", grade=0.0), Document(id="d1", grade=1.5, metadata={"qrels_iteration": "7"}))
        ),
    ]
    with pytest.warns(KragEvalWarning, match=r"grades that are not whole numbers .*: 1\."):
        write_evalset(read_evalset(path), tmp_path / "x.qrels")
    expected = ["2 0 d1 3", "2 0 d2 -2", "1 0 d1 0", "1 7 d1 1.5"]
    assert (tmp_path / "x.qrels").read_text().splitlines() == expected
    assert read_evalset(tmp_path / "x.qrels") == read_evalset(path)


def test_packed_qrels_are_read_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "x.qrels.gz"
    path.write_bytes(gzip.compress(b"q1 0 d1 1\nq2 0 d2 2\n"))
    assert [question.gold[0] for question in read_evalset(path)] == [
        Document(id="d1", grade=1.0),
        Document(id="d2", grade=2.0),
    ]


def test_a_run_is_ranked_by_score_in_single_precision_then_by_id_both_descending(tmp_path: Path) -> None:
    rows = ["q Q0 a 1 2.00000001 t", "q Q0 б 2 2 t more junk", "q Q0 z 3 2 t", "q Q0 b 4 5e-1 t", "p Q0 x 1 -3 t"]
    run = read_run(qrels(tmp_path / "run.txt", *rows))
    assert {name: [d.id for d in row.retrieved] for name, row in run.rows.items()} == {
        "q": ["б", "z", "a", "b"],
        "p": ["x"],
    }


def test_ranks_that_contradict_the_scores_are_told_once(tmp_path: Path) -> None:
    path = qrels(tmp_path / "run.txt", "q Q0 near 1 0.1 t", "q Q0 far 2 0.9 t")  # distances, not similarities
    with pytest.warns(KragEvalWarning, match="the ranks of 1 queries contradict their scores, for example 'q'"):
        run = read_run(path)
    assert [document.id for document in run.rows["q"].retrieved] == ["far", "near"]


def test_tables_of_pytrec_eval_and_ranx_are_qrels_and_runs(tmp_path: Path) -> None:
    judged = dump(tmp_path / "qrels.json", {"1": {"a": 2, "b": 0, "c": -1}, "2": {"a": 1}})
    negative = Document(id="c", grade=-1.0)
    assert list(read_evalset(judged)) == [
        Question(id="1", gold=(Document(id="a", grade=2.0), Document(id="b", grade=0.0), negative)),
        Question(id="2", gold=(Document(id="a", grade=1.0),)),
    ]
    run = read_run(dump(tmp_path / "run.json", {"1": {"x": 0.5, "a": 0.75, "y": 0.5}, "2": {}}))
    assert {name: [d.id for d in row.retrieved] for name, row in run.rows.items()} == {"1": ["a", "y", "x"], "2": []}
    write_evalset(read_evalset(judged), tmp_path / "x.scores.json")
    assert json.loads((tmp_path / "x.scores.json").read_text()) == json.loads(judged.read_text())
    with pytest.raises(InvalidInputError, match=r"run\.json: not valid JSON: a number is too large for a float"):
        read_run(dump_text(tmp_path / "run.json", '{"q": {"a": 1e999, "b": 0.5}}'))


def test_a_table_has_the_score_of_the_first_of_documents_with_one_id(tmp_path: Path) -> None:
    ranked = (Document(id="a", score=0.9), Document(id="b", score=0.5), Document(id="a", score=0.1))
    run = Run(name="r", rows={"q": RunRow(query_id="q", retrieved=ranked)})
    with pytest.warns(KragEvalWarning, match="documents that repeat an id"):
        write_run(run, tmp_path / "run.scores.json")
    assert json.loads((tmp_path / "run.scores.json").read_text()) == {"q": {"a": 0.9, "b": 0.5}}


TOPICS = """<top>
<num> Number: 301
<title> International Organized Crime

<desc> Description:
Identify organizations.
</top>
<top><num>302</num><title>Topic: Polio
again</title></top>
"""


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("topics.txt", TOPICS),
        ("topics.tsv", "301\tInternational Organized Crime\n302\tPolio again\n"),
        ("topics", "301\tInternational Organized Crime\r\n302\tPolio again"),
        (
            "queries.jsonl",
            '{"_id": "301", "text": "International Organized Crime"}\n{"qid": 302, "query": "Polio again"}',
        ),
        ("topics.csv", "query_id,text\n301,International Organized Crime\n302,Polio again\n"),
    ],
)
def test_the_texts_of_queries_may_stand_in_a_file_of_their_own(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content)
    judged = qrels(tmp_path / "judged", "301 0 a 1", "302 0 a 1")
    assert read_evalset(judged, queries=tmp_path / name).texts == ["International Organized Crime", "Polio again"]
    more = qrels(tmp_path / "more", "303 0 a 1", "301 0 a 1")
    with pytest.warns(KragEvalWarning, match="has no text for 1 of 2 questions, for example '303'"):
        assert read_evalset(more, queries=tmp_path / name).texts == ["", "International Organized Crime"]


@pytest.mark.parametrize(
    ("name", "content", "place"),
    [
        ("topics.tsv", "301\tcrime\n\tpolio\n", ":2"),
        ("topics.tsv", "301\tcrime\n \tpolio\n", ":2"),
        ("topics.tsv", "301 crime\n", ":1"),
        (
            "topics.txt",
            "<top><num>301</num><title>crime</title></top>\n<top><num> </num><title>polio</title></top>",
            ":2",
        ),
        ("topics.txt", "<top>\n<num> Number:\n<title> polio\n</top>", ":1"),
        ("topics.txt", "<top><num>301</num></top>", ":1"),
        ("topics.csv", "query_id,text\n301,crime\n,polio\n", ":3"),
        ("topics.jsonl", '{"_id": "", "text": "polio"}', ":1"),
        ("topics.jsonl", '{"_id": "301", "text": 5}', ":1"),
    ],
)
def test_a_query_without_an_id_or_a_text_is_refused_at_its_line(
    tmp_path: Path, name: str, content: str, place: str
) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(InvalidInputError, match=rf"{re.escape(name)}{place}: "):
        list(read_queries(tmp_path / name))


def test_a_query_that_has_two_texts_is_refused_and_one_that_stands_twice_is_not(tmp_path: Path) -> None:
    judged = qrels(tmp_path / "judged", "301 0 a 1")
    (tmp_path / "same.tsv").write_text("301\tcrime\n301\tcrime\n")
    assert read_evalset(judged, queries=tmp_path / "same.tsv").texts == ["crime"]
    (tmp_path / "other.tsv").write_text("301\tcrime\n301\tpolio\n")
    with pytest.raises(InvalidInputError, match=r"other\.tsv:2: the query '301' appears twice"):
        read_evalset(judged, queries=tmp_path / "other.tsv")


def test_paragraphs_stand_under_the_document_that_they_come_from_and_are_passages_once(tmp_path: Path) -> None:
    gold = document("p1", TEXT, "tea"), document("p2", OTHER, "ferry")
    questions = [Question(id=f"q{n}", question="?", answer="a", gold=(gold[n % 2],)) for n in range(3)]
    with pytest.warns(KragEvalWarning):
        write_evalset(EvalSet(questions), tmp_path / "s.squad.json")
    data = json.loads((tmp_path / "s.squad.json").read_text(encoding="utf-8"))["data"]
    assert [(article["title"], [p["id"] for p in article["paragraphs"]]) for article in data] == [
        ("tea", ["p1"]),
        ("ferry", ["p2"]),
    ]
    dump(tmp_path / "twice.json", {"data": data * 2})
    assert [one.id for _, one in passages(Source(tmp_path / "twice.json"))] == ["p1", "p2"]


@pytest.mark.parametrize(("name", "tag"), [("my run", "my_run"), ("bm25", "bm25"), (" ", "run")])
def test_a_result_file_has_the_name_of_the_run_as_its_tag(tmp_path: Path, name: str, tag: str) -> None:
    run = Run(name=name, rows={"q": RunRow(query_id="q", retrieved=(Document(id="a", score=1.0),))})
    write_run(run, tmp_path / "x.trec")
    assert (tmp_path / "x.trec").read_text().split() == ["q", "Q0", "a", "1", "1.0", tag]


def test_qrels_have_four_columns_and_no_fifth(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r":2: has 5 columns, and a line of qrels is"):
        read_evalset(qrels(tmp_path / "x.qrels", "1 0 a 1", "1 0 b 1 z"))


def test_a_query_may_have_as_many_lines_as_a_row_may_have_values(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("krag_eval_formats.trec.limit", lambda name: {"values": 8}[name])
    assert len(read_evalset(qrels(tmp_path / "x.qrels", "1 0 a 1", "2 0 a 1", "1 0 b 1"))) == 2
    path = qrels(tmp_path / "x.qrels", "1 0 a 1", "1 0 b 1", "1 0 c 1")
    with pytest.raises(InvalidInputError, match=r":3: the query '1' has 3 lines or more"):
        read_evalset(path)
    with pytest.raises(InvalidInputError, match=r":3: the query '1' has 3 lines or more"):
        list(questions_in_order(Source(path)))
