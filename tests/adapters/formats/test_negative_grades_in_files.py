"""Grades below 0 in files, and the same in every form of a set."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
import pytrec_eval

from krag_eval import (
    Document,
    EvalSet,
    KragEvalWarning,
    evaluate,
    evaluate_ids,
    evaluate_run,
    evaluate_stream,
    read_evalset,
    read_run,
    write_evalset,
)
from krag_eval_scale import ColumnarScorer
from tests.metrics.test_negative_grades import QRELS, RANKING, RUN

METRICS = ["infap", "bpref", "map", "judged@4", "recall@4", "ndcg@4"]

THEIRS = pytrec_eval.RelevanceEvaluator(QRELS, {"infAP", "bpref", "map", "recall.4", "ndcg_cut.4"}).evaluate(RUN)["q"]

EXPECTED = {
    **{ours: THEIRS[name] for ours, name in (("infap", "infAP"), ("bpref", "bpref"), ("map", "map"))},
    "judged@4": 3 / 4,
    "recall@4": THEIRS["recall_4"],
    "ndcg@4": THEIRS["ndcg_cut_4"],
}

SETTINGS: dict[str, Any] = {"metrics": METRICS, "gain": "linear"}


def of_file(name: str, text: str) -> Callable[[Path], Any]:
    def score(folder: Path) -> Any:
        (folder / name).write_text(text, encoding="utf-8")
        return evaluate_run(read_evalset(folder / name), of_run(folder), None, **SETTINGS)

    return score


def of_run(folder: Path) -> Any:
    (folder / "run.json").write_text(json.dumps(RUN))
    return read_run(folder / "run.json")


def of_lists(make: Callable[[str, int], Any]) -> Callable[[Path], Any]:
    gold = [[make(name, grade) for name, grade in QRELS["q"].items()]]
    found = [[{"id": name} for name in RANKING]]
    return lambda _: evaluate(gold, found, None, match_method="id", **SETTINGS)


def of_frame(_: Path) -> Any:
    qrels = [("q", name, grade) for name, grade in QRELS["q"].items()]
    run = [("q", name, score) for name, score in RUN["q"].items()]
    gold, found = (
        pd.DataFrame(rows, columns=["query_id", "doc_id", name])
        for rows, name in ((qrels, "relevance"), (run, "score"))
    )
    return evaluate(gold, found, None, **SETTINGS)


def of_arrow(_: Path) -> Any:
    gold = [{"id": name, "grade": float(grade)} for name, grade in QRELS["q"].items()]
    rows = [{"query_id": "q", "actual": gold, "predicted": [{"id": name} for name in RANKING]}]
    scorer = ColumnarScorer(None, match_method="id", **SETTINGS)
    (batch,) = pa.Table.from_pylist(rows).to_batches()
    return scorer.finalize(scorer.score_with_state(batch)[1])


TREC = "".join(f"q 0 {name} {grade}\n" for name, grade in QRELS["q"].items())

ROWS = [{"id": name, "grade": grade} for name, grade in QRELS["q"].items()]

FORMS: dict[str, Callable[[Path], Any]] = {
    "mapping by query": lambda _: evaluate(QRELS, RUN, None, **SETTINGS),
    "bare ids": lambda _: evaluate_ids([QRELS["q"]], [RANKING], None, **SETTINGS),
    "pairs": of_lists(lambda name, grade: ({"id": name}, grade)),
    "mappings": of_lists(lambda name, grade: {"id": name, "grade": grade}),
    "documents": of_lists(lambda name, grade: Document(id=name, grade=grade)),
    "metadata": of_lists(lambda name, grade: {"id": name, "metadata": {"relevance": grade}}),
    "data frames": of_frame,
    "Arrow": of_arrow,
    "a stream": lambda _: evaluate_stream([(QRELS["q"], RANKING)], None, bare_ids=True, **SETTINGS),
    "TREC": of_file("set.qrels", TREC),
    "JSON of qrels": of_file("set.json", json.dumps(QRELS)),
    "JSONL": of_file("set.jsonl", json.dumps({"id": "q", "gold": ROWS}) + "\n"),
    "rows": lambda folder: evaluate_run(EvalSet([{"id": "q", "gold": ROWS}]), of_run(folder), None, **SETTINGS),
}


@pytest.mark.parametrize("form", FORMS)
def test_grades_below_0_mean_the_same_in_every_form(form: str, tmp_path: Path) -> None:
    found = FORMS[form](tmp_path)
    assert {key: found[key] for key in EXPECTED} == pytest.approx(EXPECTED, abs=1e-12)


@pytest.mark.parametrize("ending", ["qrels", "jsonl", "scores.json"])
def test_files_keep_them(ending: str, tmp_path: Path) -> None:
    questions = EvalSet([{"id": "q", "question": "?", "gold": ROWS}])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KragEvalWarning)  # a TREC file has no texts of questions
        write_evalset(questions, tmp_path / f"set.{ending}")
    (question,) = read_evalset(tmp_path / f"set.{ending}")
    assert {document.id: document.grade for document in question.gold} == QRELS["q"]
