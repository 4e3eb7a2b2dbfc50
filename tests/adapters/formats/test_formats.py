"""Question sets and runs in every format: read as they are meant, and the same again after writing and reading."""

from __future__ import annotations

import gzip
import warnings
from dataclasses import replace
from pathlib import Path

import pytest

from krag_eval import (
    Document,
    EvalSet,
    KragEvalWarning,
    Question,
    Run,
    RunRow,
    evaluate,
    read_evalset,
    read_run,
    write_evalset,
    write_run,
)
from krag_eval.datasets.formats.registry import Format, formats
from krag_eval.datasets.formats.source import Source
from tests.metrics.test_trec_eval import OF_ALL_RANKS, our_key, read_expected

LOSSLESS = ("x.jsonl", "x.json", "x.csv", "x.tsv", "x.parquet")
XQUAD = [f"xquad/xquad.{language}.json" for language in ("ar", "en", "ru", "th", "zh")]
SQUAD = {**dict.fromkeys(XQUAD, (1190, 240)), "korquad1/KorQuAD_v1.0_dev.json": (5774, 960)}
QRELS = ["qrels.test", "qrels.test.with-comments", "qrels.rel_level", "qrels.123", "qrels-302.test"]
RESULTS = ["results.test", "results.trunc", "results-302.test"]


def by_id(evalset: EvalSet) -> dict[str, Question]:
    return {question.id: question for question in evalset}


def gold_ids(evalset: EvalSet) -> dict[str, list[str | None]]:
    return {question.id: [document.id for document in question.gold] for question in evalset}


@pytest.mark.parametrize("name", SQUAD)
def test_a_real_question_set_is_the_same_after_every_format_that_holds_it(
    shared_data: Path, tmp_path: Path, name: str
) -> None:
    evalset = read_evalset(shared_data / name)
    n_questions, n_paragraphs = SQUAD[name]
    assert len(evalset) == n_questions
    assert len({document.id for question in evalset for document in question.gold}) == n_paragraphs
    assert len({document.text for question in evalset for document in question.gold}) == n_paragraphs
    assert all(str(question.answer) in str(question.gold[0].text) for question in evalset)
    for ending in (*LOSSLESS, "x.squad.json"):
        write_evalset(evalset, tmp_path / ending)
        assert by_id(read_evalset(tmp_path / ending)) == by_id(evalset)


@pytest.mark.parametrize("name", [*XQUAD[1:4:2], "korquad1/KorQuAD_v1.0_dev.json"])
def test_a_real_question_set_keeps_what_narrower_formats_have_a_place_for(
    shared_data: Path, tmp_path: Path, name: str
) -> None:
    evalset = read_evalset(shared_data / name)
    for ending in ("x.llama_index.json", "x.ragas.jsonl", "x.ragas.json", "x.qrels"):
        with pytest.warns(KragEvalWarning, match="`metadata` of documents: "):
            write_evalset(evalset, tmp_path / ending)
        read = read_evalset(tmp_path / ending)
        assert gold_ids(read) == gold_ids(evalset)
        if ending != "x.qrels":
            assert read.texts == evalset.texts
            assert [q.gold[0].text for q in read] == [q.gold[0].text for q in evalset]
    write_evalset(evalset, tmp_path / "beir", format="beir")
    read = read_evalset(tmp_path / "beir")
    # The one thing that qrels cannot say is that no grade was given, which means 1.
    assert {document.grade for question in read for document in question.gold} == {1.0}
    assert [(q.question, q.answer, q.metadata, [(d.id, d.text, d.metadata) for d in q.gold]) for q in read] == [
        (q.question, q.answer, q.metadata, [(d.id, d.text, d.metadata) for d in q.gold]) for q in evalset
    ]


@pytest.mark.parametrize("name", QRELS)
def test_real_qrels_are_the_same_after_every_format_that_holds_them(
    shared_data: Path, tmp_path: Path, name: str
) -> None:
    path = shared_data / "trec_eval" / name
    evalset = read_evalset(path)
    columns = [line.split() for line in path.read_text().splitlines() if not line.startswith("#")]
    assert sum(len(question.gold) for question in evalset) == len(columns)
    assert [(q.id, d.id, d.metadata.get("qrels_grade", d.grade)) for q in evalset for d in q.gold] == [
        (query, doc_id, float(grade)) for query, _, doc_id, grade in sorted(columns, key=lambda c: int(c[0]))
    ]
    for ending in (*LOSSLESS, "x.qrels"):
        write_evalset(evalset, tmp_path / ending)
        assert read_evalset(tmp_path / ending) == evalset
    written = [line.split() for line in (tmp_path / "x.qrels").read_text().splitlines()]
    assert sorted(written) == sorted(columns)


@pytest.mark.parametrize("name", RESULTS)
def test_a_real_run_is_the_same_after_every_format_that_holds_it(shared_data: Path, tmp_path: Path, name: str) -> None:
    path = shared_data / "trec_eval" / name
    run = read_run(path)
    columns = [line.split()[:6] for line in path.read_text().splitlines()]
    found = {(q, d.id, d.score) for q, row in run.rows.items() for d in row.retrieved}
    assert found == {(query, doc_id, float(score)) for query, _, doc_id, _, score, _ in columns}
    for ending in (*LOSSLESS, "x.run"):
        write_run(run, tmp_path / ending)
        assert read_run(tmp_path / ending).rows == run.rows


# Their expected output, and the qrels, the run and the depth (-M) that it was made from.
OUTPUTS = {
    "out.test.a": ("qrels.test", "results.test", None),
    "out.test.aq": ("qrels.test.with-comments", "results.test", None),
    "out.test.aqc": ("qrels.test", "results.trunc", None),
    "out.test.aqcM": ("qrels.test", "results.trunc", 100),
}


@pytest.mark.peer
@pytest.mark.parametrize("output", OUTPUTS)
def test_trec_evals_own_expected_output_comes_out_of_its_own_files(shared_data: Path, output: str) -> None:
    folder = shared_data / "trec_eval"
    qrels, results, depth = OUTPUTS[output]
    expected = read_expected(folder / output)
    evalset = read_evalset(folder / qrels)
    rankings = read_run(folder / results, evalset=evalset if "comments" not in qrels else None).rankings(evalset)
    k = (*{int(m.rpartition("_")[2]) for m, _, _ in expected if m not in OF_ALL_RANKS}, None)
    result = evaluate(
        evalset.gold(),
        [list(ranking)[:depth] for ranking in rankings if not isinstance(ranking, Exception)],
        k,
        match_method="id",
        precision_denominator="k",
        gain="linear",
        query_ids=evalset.ids,
    )
    values = {str(row.id): row.values for row in result.per_query} | {"all": result.to_dict()}
    printed = [(m, query, f"{values[query][str(our_key(m))]:.4f}") for m, query, _ in expected]
    assert expected == printed
    assert len(expected) >= 45


GOLD = (
    Document(id="a", text="Fees, all of them.\n«Да»", grade=2.0, metadata={"doc_id": "A", "page": 3}),
    Document(id="b"),
)
FULL = EvalSet(
    [
        Question(
            id="q1",
            question='Wie? "Ja", 왜; "?"\r\nЧто',
            gold=GOLD,
            gold_doc_ids=("A",),
            gold_chunk_ids=("a", "c;d"),
            answer="[so]",
            type="fact",
            notes="=1+1",
            source="faq",
            metadata={"tags": ["x", {"y": None}], "n": 1.5},
            further={"lang": "ko", "year": 2024},
        ),
        Question(id="2", question="없음?", type="negative"),
        Question(id="q3", gold_doc_ids=("B",)),
    ]
)
RUN = Run.of(
    "bm25",
    [
        RunRow(query_id="q1", retrieved=(*(Document(id=d.id, text=d.text, score=1 / 3) for d in GOLD),), seconds=0.25),
        RunRow(query_id="2", error="Timeout: 30 s"),
        RunRow(query_id="q3", retrieved=(Document(id="c", metadata={"doc_id": "B"}),), further={"trace": "t7"}),
    ],
)


@pytest.mark.parametrize("ending", ["x.jsonl", "x.json", "x.parquet"])
def test_every_field_of_a_question_and_of_a_ranking_comes_back(tmp_path: Path, ending: str) -> None:
    write_evalset(FULL, tmp_path / ending)
    assert read_evalset(tmp_path / ending) == FULL
    assert read_evalset(tmp_path / ending).fingerprint == FULL.fingerprint
    write_run(RUN, tmp_path / f"run.{ending}")
    assert read_run(tmp_path / f"run.{ending}").rows == RUN.rows


@pytest.mark.parametrize("ending", ["x.csv", "x.tsv"])
def test_in_a_table_everything_comes_back_but_numbers_without_a_meaning_are_text(tmp_path: Path, ending: str) -> None:
    with pytest.warns(KragEvalWarning, match=r"`year` that is not text \(it is read back as text\): 1\."):
        write_evalset(FULL, tmp_path / ending)
    as_text = replace(FULL["q1"], further={"lang": "ko", "year": "2024"})
    assert read_evalset(tmp_path / ending) == EvalSet([as_text, *FULL[1:]])
    write_run(RUN, tmp_path / f"run.{ending}")
    assert read_run(tmp_path / f"run.{ending}").rows == RUN.rows


@pytest.mark.parametrize("ending", ["x.jsonl", "x.parquet"])
def test_what_was_recorded_of_a_run_comes_back(tmp_path: Path, ending: str) -> None:
    run = replace(RUN, parameters={"chunk_size": 500, "model": "한국어"}, recorded={"k": 20, "fingerprint": "ab12"})
    write_run(run, tmp_path / ending)
    assert read_run(tmp_path / ending) == run
    assert read_run(tmp_path / ending, name="other").name == "other"
    with pytest.warns(KragEvalWarning, match="`parameters` and `recorded` of the run: 1"):
        write_run(run, tmp_path / "x.csv")


def test_a_journal_that_was_cut_short_is_read_up_to_its_last_whole_row(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    write_run(replace(RUN, parameters={"k": 1}), path)
    path.write_bytes(path.read_bytes()[:-30])
    assert list(read_run(path).rows) == ["q1", "2"]


def test_jsonl_is_read_packed_too(tmp_path: Path) -> None:
    write_evalset(FULL, tmp_path / "x.jsonl")
    (tmp_path / "set.v2.jsonl.gz").write_bytes(gzip.compress((tmp_path / "x.jsonl").read_bytes()))
    read = read_evalset(tmp_path / "set.v2.jsonl.gz")
    assert (read, read.name) == (FULL, "set.v2")


def test_scores_that_do_not_give_the_order_are_replaced_by_ones_that_do(tmp_path: Path) -> None:
    rows = {"rising": (1.0, 2.0, 3.0), "tied": (1.0, 1.0, 1.0), "none": (None, None, None), "falling": (3.0, 2.5, 2.0)}
    ids = ("a", "c", "b")
    run = Run.of(
        "my run",
        [
            RunRow(query_id=name, retrieved=tuple(Document(id=i, score=s) for i, s in zip(ids, scores, strict=True)))
            for name, scores in rows.items()
        ],
    )
    with pytest.warns(KragEvalWarning, match=r"scores do not give their order \(replaced\): 2\. "):
        write_run(run, tmp_path / "x.run")
    read = read_run(tmp_path / "x.run")
    assert {name: tuple(d.id for d in row.retrieved) for name, row in read.rows.items()} == dict.fromkeys(rows, ids)
    assert [document.score for document in read.rows["falling"].retrieved] == [3.0, 2.5, 2.0]
    assert {row.further["tag"] for row in read.rows.values()} == {"my_run"}


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", [name for name, its in formats().items() if its.endings])
def test_what_is_written_by_its_ending_is_recognised_as_that_format(tmp_path: Path, name: str) -> None:
    for ending in formats()[name].endings:
        path = tmp_path / f"x{ending}"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            write_evalset(FULL, path)
        found, kinds = Format.detect(Source(path))
        assert (found, kinds[0]) == (name, "evalset")
        if name not in ("csv", "tsv"):  # the others show in their beginning too
            path.rename(tmp_path / "x.bak")
            assert Format.detect(Source(tmp_path / "x.bak")) == (name, kinds)
