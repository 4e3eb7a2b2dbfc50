"""The golden example of the scoring contract, through every door of the package."""

from __future__ import annotations

from math import log2
from typing import Any

import pytest

from krag_eval import (
    MatchingCriteria,
    OfflineRetrievalEvaluators,
    RAGEvaluator,
    RougeOfflineRetrievalEvaluators,
    evaluate,
    evaluate_all,
)

GOLD = [["1", "2", "5"], ["3", "4"]]
RETRIEVED = [["1", "2", "5"], ["6", "4", "5"]]
CUT_OFFS = (1, 2, 3, 10)
MICRO_AND_MACRO = ("recall", "precision", "f1")


def harmonic(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall)


# By hand. The second query finds "4" at rank 2; "5" is gold of the first query alone.
IDEAL_OF_2 = 1 + 1 / log2(3)
EXACT: dict[str, tuple[float, ...]] = {
    "hit_rate_all": (0, 0, (1 + 0) / 2, (1 + 0) / 2),
    "hit_rate": ((1 + 0) / 2, 1, 1, 1),
    "mrr": ((1 + 0) / 2, (1 + 1 / 2) / 2, (1 + 1 / 2) / 2, (1 + 1 / 2) / 2),
    "micro_recall": (1 / 5, 3 / 5, 4 / 5, 4 / 5),
    "macro_recall": ((1 / 3 + 0) / 2, (2 / 3 + 1 / 2) / 2, (1 + 1 / 2) / 2, (1 + 1 / 2) / 2),
    "micro_precision": (1 / 2, 3 / 4, 4 / 6, 4 / 6),
    "macro_precision": ((1 + 0) / 2, (1 + 1 / 2) / 2, (1 + 1 / 3) / 2, (1 + 1 / 3) / 2),
    "micro_f1": (harmonic(1 / 2, 1 / 5), harmonic(3 / 4, 3 / 5), harmonic(4 / 6, 4 / 5), harmonic(4 / 6, 4 / 5)),
    "macro_f1": (
        (harmonic(1, 1 / 3) + 0) / 2,
        (harmonic(1, 2 / 3) + 1 / 2) / 2,
        (1 + harmonic(1 / 3, 1 / 2)) / 2,
        (1 + harmonic(1 / 3, 1 / 2)) / 2,
    ),
    "map": ((1 / 3 + 0) / 2, (2 / 3 + 1 / 2 / 2) / 2, (1 + 1 / 2 / 2) / 2, (1 + 1 / 2 / 2) / 2),
    "ndcg": ((1 + 0) / 2, *[(1 + 1 / log2(3) / IDEAL_OF_2) / 2] * 3),
}
# As the contract prints them.
PRINTED: dict[str, tuple[float, ...]] = {
    "hit_rate_all": (0, 0, 0.5, 0.5),
    "hit_rate": (0.5, 1, 1, 1),
    "mrr": (0.5, 0.75, 0.75, 0.75),
    "micro_recall": (0.2, 0.6, 0.8, 0.8),
    "macro_recall": (0.1667, 0.5833, 0.75, 0.75),
    "micro_precision": (0.5, 0.75, 0.6667, 0.6667),
    "macro_precision": (0.5, 0.75, 0.6667, 0.6667),
    "micro_f1": (0.2857, 0.6667, 0.7273, 0.7273),
    "macro_f1": (0.25, 0.65, 0.7, 0.7),
    "map": (0.1667, 0.4583, 0.625, 0.625),
    "ndcg": (0.5, 0.6934, 0.6934, 0.6934),
}


def as_mappings(rows: list[list[str]]) -> list[list[dict[str, str]]]:
    return [[{"id": name} for name in row] for row in rows]


DOORS: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "as strings": (GOLD, RETRIEVED, {}),
    "as ids in mappings": (as_mappings(GOLD), as_mappings(RETRIEVED), {"match_method": "id"}),
}
through_both_doors = pytest.mark.parametrize(("gold", "retrieved", "settings"), DOORS.values(), ids=DOORS)
at_every_k = pytest.mark.parametrize("k", CUT_OFFS)
under_both_criteria = pytest.mark.parametrize("criteria", ["all", "partial", *MatchingCriteria])


def column(k: int, criteria: str) -> dict[str, Any]:
    """The dict that the evaluators return at one cut-off."""
    hit_rate = "hit_rate_all" if criteria == "all" else "hit_rate"
    cells = {name: row[CUT_OFFS.index(k)] for name, row in EXACT.items() if not name.startswith("hit_rate")}
    # Which of two equal formulas was used shows in the last bit of a harmonic mean, and nowhere above 1e-15.
    return {
        name: pytest.approx(value, abs=1e-15)
        for name, value in {"hit_rate": EXACT[hit_rate][CUT_OFFS.index(k)], **cells}.items()
    }


def test_the_formulas_give_the_numbers_that_the_contract_prints() -> None:
    assert {name: tuple(round(cell, 4) for cell in row) for name, row in EXACT.items()} == PRINTED


@through_both_doors
@pytest.mark.parametrize("name", EXACT)
def test_evaluate_gives_every_cell_of_the_table(gold: Any, retrieved: Any, settings: dict[str, Any], name: str) -> None:
    result = evaluate(gold, retrieved, k=CUT_OFFS, **settings)
    assert pytest.approx(EXACT[name], abs=1e-15) == [result[f"{name}@{k}"] for k in CUT_OFFS]


@through_both_doors
def test_evaluate_prints_every_cell_of_the_table(gold: Any, retrieved: Any, settings: dict[str, Any]) -> None:
    values = evaluate(gold, retrieved, k=CUT_OFFS, **settings).to_dict()
    expected = {
        f"{name.removeprefix('macro_')}@{k}": cell
        for name, row in PRINTED.items()
        for k, cell in zip(CUT_OFFS, row, strict=True)
    }
    assert expected == {key: round(value or 0, 4) for key, value in values.items()}


@pytest.mark.sample(7)
@through_both_doors
@at_every_k
@under_both_criteria
def test_evaluate_all_gives_a_column_of_the_table(
    gold: Any, retrieved: Any, settings: dict[str, Any], k: int, criteria: str
) -> None:
    assert column(k, criteria) == evaluate_all(gold, retrieved, k, matching_criteria=criteria, **settings)


@through_both_doors
@at_every_k
def test_evaluate_all_wants_all_gold_documents_for_a_hit_unless_told_otherwise(
    gold: Any, retrieved: Any, settings: dict[str, Any], k: int
) -> None:
    assert column(k, "all") == evaluate_all(gold, retrieved, k, **settings)


@pytest.mark.sample(7)
@through_both_doors
@at_every_k
@under_both_criteria
def test_the_evaluator_gives_a_column_of_the_table_at_once_and_piece_by_piece(
    gold: Any, retrieved: Any, settings: dict[str, Any], k: int, criteria: str
) -> None:
    evaluator = OfflineRetrievalEvaluators(gold, retrieved, matching_criteria=criteria, **settings)
    assert column(k, criteria) == evaluator.evaluate_all(k)
    pieces = [
        evaluator.calculate_hit_rate(k),
        evaluator.calculate_mrr(k),
        evaluator.calculate_recall(k),
        evaluator.calculate_precision(k),
        evaluator.calculate_f1_score(k),
        evaluator.calculate_map(k),
        evaluator.calculate_ndcg(k),
    ]
    assert column(k, criteria) == {key: value for piece in pieces for key, value in piece.items()}
    assert [len(piece) for piece in pieces] == [1, 1, 2, 2, 2, 1, 1]


@pytest.mark.sample(7)
@at_every_k
@under_both_criteria
@pytest.mark.parametrize("method", ["rouge1", "rougeL"])
def test_one_word_texts_give_the_same_table_by_rouge(k: int, criteria: str, method: str) -> None:
    rouge = RougeOfflineRetrievalEvaluators(GOLD, RETRIEVED, method, matching_criteria=criteria, threshold=1.0)
    assert column(k, criteria) == rouge.evaluate_all(k)
    rag = RAGEvaluator(method, matching_criteria=criteria, rouge_threshold=1.0)
    assert column(k, criteria) == rag.evaluate_all(GOLD, RETRIEVED, k)


@pytest.mark.sample(3)
@through_both_doors
@at_every_k
def test_the_reusable_evaluator_gives_a_column_of_the_table(
    gold: Any, retrieved: Any, settings: dict[str, Any], k: int
) -> None:
    rag = RAGEvaluator(matching_criteria="partial", **settings)
    assert column(k, "partial") == rag.evaluate_all(gold, retrieved, k)
    assert column(k, "partial") == rag.get_evaluator().evaluate_all(k)


@pytest.mark.parametrize(
    ("averaging", "kept"), [("micro", ["micro"]), ("macro", ["macro"]), ("both", ["micro", "macro"])]
)
def test_the_averaging_method_chooses_among_the_same_numbers(averaging: str, kept: list[str]) -> None:
    wanted = {
        key: value
        for key, value in column(2, "all").items()
        if "_" not in key or key == "hit_rate" or key.partition("_")[0] in kept
    }
    assert wanted == evaluate_all(GOLD, RETRIEVED, 2, averaging_method=averaging)
    assert wanted == OfflineRetrievalEvaluators(GOLD, RETRIEVED, averaging_method=averaging).evaluate_all(2)
    assert 4 + len(kept) * len(MICRO_AND_MACRO) == len(wanted)


def test_without_a_cut_off_all_ranks_count() -> None:
    assert column(10, "all") == evaluate_all(GOLD, RETRIEVED)
    assert column(10, "all") == OfflineRetrievalEvaluators(GOLD, RETRIEVED).evaluate_all()
