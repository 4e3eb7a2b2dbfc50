"""Matching by embeddings through every front: batches, streams, runs, sweeps, calibration, explanations."""

from __future__ import annotations

import pytest

from krag_eval import (
    InvalidInputError,
    KragEvalWarning,
    OfflineRetrievalEvaluators,
    Run,
    RunRow,
    Scorer,
    as_evalset,
    calibrate,
    compare,
    diagnose,
    evaluate,
    evaluate_all,
    evaluate_run,
    evaluate_stream,
    sweep,
)
from tests.support.encoders import COMPASS, Recorder, compass
from tests.support.marks import nothing_may_match


@nothing_may_match
def test_each_text_is_embedded_once_in_a_call_and_in_all_batches_of_a_stream() -> None:
    pairs = [(["east"], ["west", "north"]), (["north"], ["east", "west"])] * 5
    model = Recorder(COMPASS)
    evaluate(*map(list, zip(*pairs, strict=True)), **compass(embeddings=model))
    assert model.batches == [["east", "north", "west"]]
    model = Recorder(COMPASS)
    evaluate_stream(pairs, batch_size=1, **compass(embeddings=model))
    assert model.batches == [["east", "west", "north"]]


@nothing_may_match
def test_explaining_a_result_asks_the_model_nothing_more() -> None:
    model = Recorder(COMPASS)
    result = evaluate([["east"], ["north"]], [["north-east"], ["west"]], k=1, **compass(embeddings=model))
    asked = len(model.batches)
    assert "missed, the nearest is rank 1 (0.600)" in str(result.explain(0))
    assert result.explain(1).missed[0].nearest is None
    assert diagnose(result).counts == {"in_longer_text": 1, "never_retrieved": 1}
    assert len(model.batches) == asked


@nothing_may_match
def test_a_near_miss_carries_the_method_that_measured_it() -> None:
    model = Recorder({"a b c d": [3, 4], "a x y z": [1, 0], "q": [0, -1]})
    given = compass(match_method=["rouge1", "embedding", "id"], threshold={"embedding": 0.7, "rouge1": 0.4})
    explained = evaluate([["a b c d"]], [["q", "a x y z"]], k=2, **given | {"embeddings": model}).explain(0)
    near = explained.missed[0].nearest
    assert near is not None
    assert (near.rank, near.method, near.similarity) == (2, "embedding", 0.6)


def test_one_model_that_changes_its_dimension_between_batches_is_refused() -> None:
    scorer = Scorer(k=1, **compass(embeddings=lambda texts: [[1.0] * len(text) for text in texts[:1]] * len(texts)))
    scorer.score(["aa"], ["bb"])
    with pytest.raises(InvalidInputError, match=r"of dimension 3 for texts 1 to .*, and of 2 before"):
        scorer.score(["ccc"], ["ddd"])


def test_the_model_is_asked_once() -> None:
    gold, retrieved = [["east"]] * 50 + [["north"]] * 50, [["west", "east-north-east"]] * 100
    model = Recorder(COMPASS)
    evaluate(gold, retrieved, **compass(embeddings=model))
    assert model.batches == [["east", "north", "west", "east-north-east"]]


def test_vectors_that_find_no_room_are_asked_for_again_and_the_numbers_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["east", "north-east", "north", "west", "east-north-east"]
    pairs = [([one], [other, "nothing"]) for one in names for other in names]
    with pytest.warns(KragEvalWarning, match="vector of zeros for 25 of 50 retrieved documents"):
        expected = evaluate_stream(pairs, k=2, batch_size=1, **compass(threshold=0.6))
    monkeypatch.setattr("krag_eval.documents.embeddings._KEPT", 6)
    model = Recorder(COMPASS)
    with pytest.warns(KragEvalWarning, match="vector of zeros for 25 of 50 retrieved documents"):
        actual = evaluate_stream(pairs, k=2, batch_size=1, **compass(threshold=0.6, embeddings=model))
    assert actual.to_json() == expected.to_json()
    assert len(model.asked) > len(set(model.asked))
    assert max(map(len, model.batches)) <= 3


def test_every_front_gives_the_same_numbers() -> None:
    gold, retrieved = [["east"], ["north"]], [["west", "east-north-east"], ["north-east"]]
    expected = evaluate(gold, retrieved, k=2, **compass())
    assert (expected["recall@2"], expected["mrr@2"], expected["micro_recall@2"]) == (1, 0.75, 1)

    assert evaluate_all(gold, retrieved, 2, **compass())["mrr"] == 0.75
    assert evaluate_stream(zip(gold, retrieved, strict=True), k=2, **compass()).to_dict() == expected.to_dict()
    assert OfflineRetrievalEvaluators(gold, retrieved, **compass()).calculate_mrr(k=2) == {"mrr": 0.75}
    scorer = Scorer(k=2, **compass())
    for one, other in zip(gold, retrieved, strict=True):
        scorer.score(one, other)
    assert scorer.result().to_dict() == expected.to_dict()


def test_runs_are_scored_and_compared() -> None:
    questions = as_evalset(
        [{"id": n, "gold": [{"id": f"g{n}", "text": text}]} for n, text in enumerate(["east", "north"])]
    )

    def run(name: str, texts: list[str]) -> Run:
        rows = [{"query_id": n, "retrieved": [{"id": "x", "text": text}]} for n, text in enumerate(texts)]
        return Run.of(name, [RunRow.from_dict(row) for row in rows])

    good, bad = run("good", ["east-north-east", "north-east"]), run("bad", ["west", "north-east"])
    assert evaluate_run(questions, good, k=1, **compass())["recall@1"] == 1
    found = compare(questions, {"bad": bad, "good": good}, baseline="bad", k=1, metrics=["recall"], **compass())
    assert found.to_dict()["signature"].startswith("match:embedding>=0.7|emb:tests.support.encoders.Recorder")


@nothing_may_match
def test_a_sweep_embeds_once_and_gives_at_each_threshold_what_evaluate_gives() -> None:
    gold, retrieved = [["east"], ["north"]], [["north-east", "east-north-east"], ["north-east", "west"]]
    model = Recorder(COMPASS)
    swept = sweep(gold, retrieved, [0.5, 0.6, 0.8, 0.9], k=2, **compass(embeddings=model))
    assert swept.in_use == 0.7
    for threshold in swept.thresholds:
        expected = evaluate(gold, retrieved, k=2, threshold=threshold, **compass()).to_dict()
        assert swept.at(threshold) == expected
    assert len(model.asked) == len(set(model.asked))


def test_a_threshold_is_calibrated_from_labelled_pairs() -> None:
    pairs = [("east", "east-north-east", True), ("east", "north-east", False), ("north", "north-east", True)] * 15
    found = calibrate(pairs, precision=0.9, method="embedding", embeddings=Recorder(COMPASS))
    assert (found.threshold, found.n_matched, found.recall) == (0.8, 30, 1)
    with pytest.raises(InvalidInputError, match="a cosine above 0"):
        calibrate([("east", "west", True)], method="embedding", embeddings=Recorder(COMPASS))
