"""Every metric of `evaluate` can be computed by hand from an explanation, with nothing else at hand."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import pytest

from krag_eval import evaluate
from krag_eval.evaluation.explanation import Explanation
from tests.support.marks import nothing_may_match

Value = float | None
CUT_OFFS = (1, 2, 3, 5)
WORDS = ["alpha", "beta", "gamma", "delta"]
METHODS: list[dict[str, Any]] = [
    {"match_method": "id"},
    {"match_method": "text"},
    {"match_method": "containment"},
    {"match_method": "rouge1", "threshold": 0.6},
    {"match_method": "rouge2", "threshold": 0.4},
    {"match_method": "rougeL", "threshold": 0.5},
    {"match_method": "embedding", "threshold": 0.7},
    {"match_method": ["id", "text", "containment"]},
]


def embed(texts: list[str]) -> list[list[float]]:
    return [[1e-3 + text.casefold().split().count(word) for word in WORDS] for text in texts]


def by_hand(explained: Explanation, k: int, settings: dict[str, Any]) -> dict[str, Value]:
    """All metrics of one query at one cut-off."""
    gold = [outcome for outcome in explained.gold if outcome.is_counted and outcome.repeat_of is None]
    ranks = explained.ranks[:k]
    names = [*HAND, "precision", "f1", "map", "ndcg", "r_precision", "rbp", "alpha_ndcg"]
    if not gold:
        return dict.fromkeys(names)
    simple = {name: of(explained, k) for name, of in HAND.items()}
    divisor = k if settings.get("precision_denominator") == "k" else len(ranks)
    precision, recall = sum(rank.is_relevant for rank in ranks) / max(divisor, 1), simple["recall"]
    credited = [rank.rank for rank in ranks if rank.is_credited]
    ideal = sorted((outcome.gain for outcome in gold), reverse=True)[:k]
    return {
        **simple,
        "precision": precision,
        "f1": 2 * precision * recall / (precision + recall) if precision + recall else 0.0,
        "map": sum(n / rank for n, rank in enumerate(credited, 1)) / len(gold),
        "ndcg": sum(rank.gain / math.log2(rank.rank + 1) for rank in ranks)
        / sum(gain / math.log2(rank + 1) for rank, gain in enumerate(ideal, 1)),
        "r_precision": sum(rank.is_relevant for rank in explained.ranks[: len(gold)]) / len(gold),
        "rbp": 0.2 * sum(0.8 ** (rank - 1) for rank in credited),
        "alpha_ndcg": alpha_ndcg(explained, k),
    }


def _covered(explained: Explanation, k: int) -> list[bool]:
    gold = [outcome for outcome in explained.gold if outcome.is_counted and outcome.repeat_of is None]
    return [outcome.match is not None and outcome.match.rank <= k for outcome in gold]


HAND: dict[str, Callable[[Explanation, int], float]] = {
    "hit_rate": lambda explained, k: float(any(_covered(explained, k))),
    "hit_rate_all": lambda explained, k: float(all(_covered(explained, k))),
    "recall": lambda explained, k: sum(_covered(explained, k)) / len(_covered(explained, k)),
    "mrr": lambda explained, k: next((1 / rank.rank for rank in explained.ranks[:k] if rank.is_relevant), 0.0),
}


def alpha_ndcg(explained: Explanation, k: int) -> float:
    counted = {place: g.repeat_of if g.repeat_of is not None else place for place, g in enumerate(explained.gold)}
    nuggets = {place for place, g in enumerate(explained.gold) if g.is_counted and g.repeat_of is None}
    rows = [
        {counted[match.gold] for match in rank.matches if explained.gold[match.gold].is_counted}
        if rank.is_relevant
        else set()
        for rank in explained.ranks
    ]
    seen: dict[int, int] = {}
    reached = sum(_gain(row, seen) / math.log2(rank + 1) for rank, row in enumerate(rows[:k], 1))
    pool = [row for row in rows if row] + [{nugget} for nugget in nuggets.difference(*rows)]
    seen, ideal = {}, 0.0
    for rank in range(1, k + 1):
        if not pool or not any(rows):
            break
        best = max(pool, key=lambda row: sum(0.5 ** seen.get(nugget, 0) for nugget in row))
        pool.remove(best)
        ideal += _gain(best, seen) / math.log2(rank + 1)
    return min(1.0, reached / ideal) if ideal else 0.0


def _gain(row: set[int], seen: dict[int, int]) -> float:
    gain = sum(0.5 ** seen.get(nugget, 0) for nugget in row)
    for nugget in row:
        seen[nugget] = seen.get(nugget, 0) + 1
    return gain


def drawn(rng: random.Random) -> tuple[list[Any], list[Any]]:
    """A query with mixed grades, grade 0, repeats on both sides, and documents that match several."""

    def document() -> dict[str, Any]:
        words = [rng.choice([word, word.upper()]) for word in rng.choices(WORDS, k=rng.randint(1, 3))]
        return {"id": rng.choice("abcdef"), "text": " ".join(words)}

    gold = [{**document(), "grade": rng.choice([0, 0.5, 1, 1, 2, 3])} for _ in range(rng.randint(0, 4))]
    return gold, [document() for _ in range(rng.randint(0, 6))]


@pytest.mark.sample(5)
@nothing_may_match
@pytest.mark.parametrize("scoring", [{}, {"gain": "linear", "precision_denominator": "k"}], ids=["default", "trec"])
@pytest.mark.parametrize("method", METHODS, ids=lambda method: str(method["match_method"]))
def test_every_metric_can_be_computed_from_the_explanation(method: dict[str, Any], scoring: dict[str, Any]) -> None:
    rng = random.Random(str(method) + str(scoring))
    gold, retrieved = zip(*(drawn(rng) for _ in range(60)), strict=True)
    given = dict(method) | ({"embeddings": embed} if method["match_method"] == "embedding" else {})
    names = [*HAND, "precision", "f1", "map", "ndcg", "r_precision", "rbp", "alpha_ndcg"]
    result = evaluate(gold, retrieved, CUT_OFFS, metrics=names, **given, **scoring)
    for row in result.per_query:
        for k in CUT_OFFS:
            explained = result.explain(row.index, k)
            expected = by_hand(explained, k, scoring)
            shown = {name: row.values[name if name == "r_precision" else f"{name}@{k}"] for name in names}
            assert shown == {n: None if v is None else pytest.approx(v, abs=1e-12) for n, v in expected.items()}


def test_a_credited_rank_that_ndcg_gives_nothing_says_so() -> None:
    gold, retrieved = [[("a b", 3), ("c", 1)]], [["c a b", "a b"]]
    result = evaluate(gold, retrieved, k=(1, 2), match_method="containment", containment="gold_in_retrieved")
    first, second = result.explain(0).ranks
    assert (first.assigned, first.gain, second.is_credited, second.assigned, second.gain) == (0, 7.0, True, None, 0.0)
    assert [outcome.gain for outcome in result.explain(0).gold] == [7.0, 1.0]
    lines = str(result.explain(0)).splitlines()
    assert lines[2].startswith("    [0] 'a b' (grade 3, gain 7): found at rank 1")
    assert lines[-2].endswith("; gain 7 of [0]")
    assert lines[-1].endswith("credited: matches [0] by containment (1.000); no gain in ndcg")
    assert result["ndcg@2"] == pytest.approx(7 / (7 + 1 / math.log2(3)), abs=1e-15)


def test_another_cut_off_may_assign_gold_documents_otherwise() -> None:
    gold, retrieved = [[("a", 3), ("b", 2)]], [["a b", "a x", "b x"]]
    result = evaluate(gold, retrieved, k=(2, 3), match_method="containment", containment="gold_in_retrieved")
    assert [rank.assigned for rank in result.explain(0, 2).ranks] == [1, 0, None]
    assert [rank.assigned for rank in result.explain(0, 3).ranks] == [0, None, 1]
    assert (result.explain(0).k, result.explain(0)) == (3, result.explain(0, 3))


def test_gains_of_extreme_grades_are_shown() -> None:
    result = evaluate([[("a", 5000), ("b", 0.5)]], [["a", "b"]], k=2)
    assert [outcome.gain for outcome in result.explain(0).gold] == [math.inf, pytest.approx(2**0.5 - 1, abs=1e-15)]


@nothing_may_match
def test_gold_that_was_judged_not_relevant_alone_is_explained() -> None:
    result = evaluate([[("a", 0)]], [["a"]], k=1)
    assert "    [0] a 'a': not counted, its grade is 0" in str(result.explain(0)).splitlines()
    assert (result.explain(0).gold[0].grade, result.explain(0).missed) == (0.0, ())


@nothing_may_match
def test_what_was_judged_not_relevant_lends_its_matches_to_no_other() -> None:
    gold = [[({"id": "a", "text": "x"}, 1), ({"id": "b", "text": "x"}, 0)]]
    settings: dict[str, Any] = {"k": 1, "match_method": ["id", "text"], "metrics": ["recall", "ndcg"]}
    assert evaluate(gold, [[{"id": "b", "text": "y"}]], **settings)["recall@1"] == 0
    assert evaluate(gold, [[{"id": "b", "text": "x"}]], **settings)["recall@1"] == 1, "it has the text of a"
    assert evaluate([[("a", 0), ("a", 2)]], [["a"]], **settings)["recall@1"] == 1, "the same one, judged twice"
    linked = [[({"id": "a", "text": "x"}, 1), ({"id": "b", "text": "x"}, 0), ({"id": "b", "text": "z"}, 1)]]
    assert evaluate(linked, [[{"id": "a"}]], **settings)["recall@1"] == 1 / 2, "it joins no two others either"
