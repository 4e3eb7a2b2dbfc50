"""Grades below 0, TREC's mark of a document that nobody judged: the same in every form of a set, and never gold."""

from __future__ import annotations

import json
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
)
from krag_eval_scale import ColumnarScorer

QRELS = {"q": {"n": -1, "a": 1, "b": 0, "d": 2, "m": -2}}
RANKING = ["n", "b", "x", "a", "m", "d"]
RUN = {"q": {name: float(-rank) for rank, name in enumerate(RANKING)}}
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


def test_condensed_rankings_have_none_of_them_as_in_trec_eval() -> None:
    evaluator = pytrec_eval.RelevanceEvaluator(QRELS, {"map", "recip_rank"}, judged_docs_only_flag=True)
    theirs = evaluator.evaluate(RUN)["q"]
    ours = evaluate_ids(QRELS, RUN, None, metrics=["map", "mrr"], unjudged="remove")
    assert ours.to_dict() == pytest.approx({"map": theirs["map"], "mrr": theirs["recip_rank"]}, abs=1e-12)


@pytest.mark.filterwarnings("error")
def test_a_set_of_mostly_negative_grades_is_warned_of_once() -> None:
    scores = [{"a": -0.3, "b": -0.5, "c": 0.2}, {"a": -1.5}]
    calls: list[Callable[[], Any]] = [
        lambda: evaluate_ids(scores, [["a"], ["a"]], k=(1, 2)),
        lambda: evaluate_stream(zip(scores, [["a"], ["a"]], strict=True), 1, bare_ids=True),
    ]
    for call in calls:
        with pytest.warns(KragEvalWarning, match="3 of 4 gold documents have a grade below 0") as caught:
            call()
        assert len([one for one in caught if "below 0" in str(one.message)]) == 1
    evaluate_ids([{"a": -1, "b": 1}], [["b"]], k=1)  # not more than half of them
