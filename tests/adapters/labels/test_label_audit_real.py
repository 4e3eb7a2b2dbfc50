"""Mistakes planted into real question sets in four languages are found, and stand first in the queue."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from krag_eval import Document, EvalSet, Run, RunRow, read_evalset
from krag_eval.datasets.corpus import read_corpus
from krag_eval.documents.tokenizers import TOKENIZERS
from krag_eval_chunkers import local as retrievers
from krag_eval_labels.audit import audit_labels
from krag_eval_labels.files import apply_labels, write_queue
from krag_eval_labels.report import DoctorReport

N_QUESTIONS, N_PLANTED, DEPTH = 240, 12, 20
SETS = ["xquad/xquad.en.json", "xquad/xquad.ru.json", "xquad/xquad.zh.json", "korquad1/KorQuAD_v1.0_dev.json"]


def run(name: str, evalset: EvalSet, corpus: list[Document], tokenize: Any) -> Run:
    rows = [{"id": document.id, "text": document.text} for document in corpus]
    retrieve = retrievers._retriever(rows, retrievers._bm25([row["text"] or "" for row in rows], tokenize))
    rankings = retrieve(evalset.texts, DEPTH)
    return Run.of(
        name,
        [
            RunRow.from_dict({"query_id": id_, "retrieved": ranking})
            for id_, ranking in zip(evalset.ids, rankings, strict=True)
        ],
    )


def edited(document: Document) -> Document:
    """The passage with some words left out, as another id."""
    text = document.text or ""
    return Document(id=f"copy of {document.id}", text=text[: len(text) * 9 // 20] + text[len(text) // 2 :])


@pytest.fixture(scope="module", params=SETS)
def planted(request: pytest.FixtureRequest, shared_data: Path) -> tuple[EvalSet, DoctorReport, set[str], set[str]]:
    """A set, its report, the ids of gold that was copied into the corpus, and of gold that was taken out of it."""
    evalset = read_evalset(shared_data / request.param)[:N_QUESTIONS]
    gold = list(dict.fromkeys(question.gold[0].id or "" for question in evalset))
    copied, gone = set(gold[:N_PLANTED]), set(gold[-N_PLANTED:])
    corpus = [document for document in read_corpus(shared_data / request.param) if document.id not in gone]
    corpus += [edited(document) for document in corpus if document.id in copied]
    runs = [
        run("words", evalset, corpus, TOKENIZERS["words"].tokenize),
        run("characters", evalset, corpus, retrievers._bigrams),
    ]
    return evalset, audit_labels(evalset, runs, corpus=corpus), copied, gone


def test_edited_copies_of_gold_passages_are_found_and_stand_first(planted: Any) -> None:
    evalset, report, copied, _ = planted
    expected = {(q.id, f"copy of {q.gold[0].id}") for q in evalset if q.gold[0].id in copied}
    likely = [one for one in report.candidates if "near_duplicate" in one.reasons]
    found = {(one.query_id, one.document.id) for one in likely}
    # A copy is reported for its question if a system retrieved it at all: nearly always, beside the original.
    assert len(expected - found) <= len(expected) // 20
    with_answer = [one for one in likely if "holds_answer" in one.reasons]
    assert len(with_answer) > len(expected) // 2
    first = report.candidates[: len(with_answer)]
    assert sum((one.query_id, one.document.id) in expected for one in first) >= 0.9 * len(with_answer)


def test_gold_that_the_corpus_does_not_have_is_found_and_nothing_else_is_said_to_be_gone(planted: Any) -> None:
    evalset, report, _, gone = planted
    expected = {q.id for q in evalset if q.gold[0].id in gone}
    assert {one.query_id for one in report.lost_gold if one.in_corpus is False} == expected
    assert {one.query_id for one in report.lost_gold[: len(expected)]} == expected


def test_each_pair_stands_in_the_queue_once_and_labels_take_it_out(planted: Any, tmp_path: Path) -> None:
    evalset, report, *_ = planted
    pairs = [(one.query_id, one.document.id) for one in report.candidates]
    assert len(set(pairs)) == len(pairs) > N_QUESTIONS
    assert not {(q.id, d.id) for q in evalset for d in q.gold} & set(pairs)
    strengths = [one.strength for one in report.candidates]
    assert strengths == sorted(strengths, reverse=True)
    write_queue(report, tmp_path / "queue.jsonl", limit=5)
    text = (tmp_path / "queue.jsonl").read_text(encoding="utf-8").replace('"label": null', '"label": true')
    (tmp_path / "queue.jsonl").write_text(text, encoding="utf-8")
    labelled = apply_labels(evalset, tmp_path / "queue.jsonl")
    assert {(q.id, d.id) for q in labelled for d in q.gold} >= set(pairs[:5])
