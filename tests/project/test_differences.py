"""Every row of `benchmarks/differences.md`: our number by krag_eval, the other one by the other program."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest
from rapidfuzz.distance import Levenshtein

from tests.support.chunking_evaluation_by_hand import chunking_evaluation
from tests.support.differences import PAGE, WORDS, Outcome, Row, is_shown_as, outcome, parse_call, read_rows
from tests.support.torchmetrics_by_hand import by_hand_for_torchmetrics

TEXT = PAGE.read_text(encoding="utf-8")
ROWS = read_rows(TEXT)
IN_PEERS = {"krag", "ranx", "AutoRAG"}  # tests/peers asks these


def anchor(row: Row) -> str:
    return row.anchor


def mean(values: list[float]) -> float:
    """Of the values that are numbers; NaN where none is."""
    numbers = [value for value in values if not math.isnan(value)]
    return sum(numbers) / len(numbers) if numbers else math.nan


def by_llama_index(row: Row) -> float:
    from llama_index.core.evaluation.retrieval import metrics

    name, settings = parse_call(row.their_call)
    metric = getattr(metrics, name)(**settings)
    pairs = zip(row.gold, row.retrieved, strict=True)
    return mean([metric.compute(expected_ids=gold, retrieved_ids=found).score for gold, found in pairs])


def by_haystack(row: Row) -> float:
    from haystack import Document
    from haystack.components import evaluators

    def document(value: object) -> Document:
        content, score = value if isinstance(value, tuple) else (value, None)
        return Document(content=content, score=score)

    name, settings = parse_call(row.their_call)
    gold, retrieved = ([[document(value) for value in query] for query in side] for side in (row.gold, row.retrieved))
    result = getattr(evaluators, name)(**settings).run(ground_truth_documents=gold, retrieved_documents=retrieved)
    return float(result["score"])


def by_pytrec_eval(row: Row) -> float:
    import pytrec_eval

    run = {query: found for query, found in row.run().items() if found}  # nothing retrieved is no line in a run file
    values = pytrec_eval.RelevanceEvaluator(row.qrels(), {row.their_call}).evaluate(run)
    return mean([value[row.their_call] for value in values.values()])


def by_pytrec_eval_in_a_process(row: Row) -> Outcome:
    """As `by_pytrec_eval`, for a measure that ends the process."""
    code = (
        "from tests.project import test_differences as t; t.by_pytrec_eval(next(r for r in t.ROWS if r.anchor == {!r}))"
    )
    command = [sys.executable, "-c", code.format(row.anchor)]
    done = subprocess.run(command, cwd=PAGE.parent.parent, capture_output=True, text=True, check=False)
    return "abort" if done.returncode < 0 and "Negative cutoff" in done.stderr else f"{done.returncode}: {done.stderr}"


def by_rouge_score(row: Row) -> float:
    from rouge_score.rouge_scorer import RougeScorer

    [[gold]], [[retrieved]] = row.gold, row.retrieved
    return float(RougeScorer([row.their_call]).score(gold, retrieved)[row.their_call].fmeasure)


def by_hand_for_ragas(row: Row) -> float:
    """The formulas of ragas 0.4.3, metrics/_context_precision.py and _context_recall.py; a failed row is NaN."""
    formula = {
        "NonLLMContextPrecisionWithReference": ragas_text_precision,
        "NonLLMContextRecall": ragas_text_recall,
        "IDBasedContextPrecision": lambda gold, found: ragas_share(found, gold),
        "IDBasedContextRecall": ragas_share,
    }[parse_call(row.their_call)[0]]
    return mean([formula(gold, found) for gold, found in zip(row.gold, row.retrieved, strict=True)])


def ragas_text_precision(gold: list[str], found: list[str]) -> float:
    best = [max((Levenshtein.normalized_similarity(f, g) for g in gold), default=math.nan) for f in found]
    if any(math.isnan(similarity) for similarity in best):
        return math.nan
    verdicts = [int(similarity >= 0.5) for similarity in best]
    precisions = [sum(verdicts[: i + 1]) / (i + 1) * verdict for i, verdict in enumerate(verdicts)]
    return sum(precisions) / (sum(verdicts) + 1e-10)


def ragas_text_recall(gold: list[str], found: list[str]) -> float:
    if not gold or not found:
        return math.nan
    best = [max(Levenshtein.normalized_similarity(f, g) for f in found) for g in gold]
    return sum(similarity > 0.5 for similarity in best) / len(best)


def ragas_share(of: list[object], among: list[object]) -> float:
    ids, others = {str(i) for i in of}, {str(i) for i in among}
    return len(ids & others) / len(ids) if ids else math.nan


def by_hand_for_mlflow(row: Row) -> float:
    name, settings = parse_call(row.their_call)

    def ndcg(gold: list[str], found: list[str]) -> float:
        if not gold or not found:
            return float(gold == found)
        n_gold = len(set(gold)) + sum(one in gold and one in found[:rank] for rank, one in enumerate(found))
        discounts = [1 / math.log2(rank + 2) for rank in range(len(found))]
        reached = sum(discount for one, discount in zip(found, discounts, strict=True) if one in gold)
        return reached / sum(discounts[:n_gold])

    def recall(gold: list[str], found: list[str]) -> float:
        return len({*gold} & {*found}) / len({*gold}) if gold else float(not found)

    def precision(gold: list[str], found: list[str]) -> float:
        return sum(one in gold for one in found) / len(found) if found else 0.0

    metric = {"ndcg_at_k": ndcg, "recall_at_k": recall, "precision_at_k": precision}[name]
    return mean([metric(gold, found[: settings["k"]]) for gold, found in zip(row.gold, row.retrieved, strict=True)])


def by_hand_for_phoenix(row: Row) -> float:
    """The formulas of Phoenix's `RetrievalMetrics`, which takes whether each retrieved document is relevant."""
    name, settings = parse_call(row.their_call)

    def value(gold: list[str], found: list[str]) -> float:
        relevant = [float(one in gold) for one in found]
        k = settings.get("k", len(found))
        if name == "precision":
            return float(sum(relevant[:k]) / k)
        if name == "reciprocal_rank":
            return 1 / (relevant.index(1) + 1) if any(relevant) else 0.0
        gain, ideal = (
            sum(grade / math.log2(rank + 2) for rank, grade in enumerate(grades[:k]))
            for grades in (relevant, sorted(relevant, reverse=True))
        )
        return float(gain / ideal) if ideal else 0.0

    return mean([value(gold, found) for gold, found in zip(row.gold, row.retrieved, strict=True)])


def by_hand_for_the_notebook(row: Row) -> float:
    """The second query's gain, to two decimals as the notebook has it, where its nDCG should stand."""
    ndcg_of_the_first, dcg_of_the_second = 1.0, round(1 / math.log2(3), 2)
    return (ndcg_of_the_first + dcg_of_the_second) / 2


def by_hand_for_the_readme(row: Row) -> float:
    """Each rank's best similarity as its grade, and for the ideal the same grades in the best order."""
    # With its full stop each text has five pairs of tokens; the first retrieved one shares three with a gold one.
    first = {"ndcg": 0.0, 'ndcg(match_method="rouge2")': 3 / 5}[row.their_call]
    gains = [2**grade - 1 for grade in (first, 1.0)]
    discounts = [1 / math.log2(rank + 1) for rank in (1, 2)]
    return float(np.dot(gains, discounts) / np.dot(sorted(gains, reverse=True), discounts))


def by_hand_for_chunking_evaluation(row: Row) -> float:
    [gold], [retrieved] = row.gold, row.retrieved
    return float(chunking_evaluation(gold, retrieved)[row.their_call])


PROGRAMS: dict[str, Callable[[Row], float]] = {
    "LlamaIndex": by_llama_index,
    "Haystack": by_haystack,
    "pytrec_eval": by_pytrec_eval,
    "rouge_score": by_rouge_score,
    "ragas": by_hand_for_ragas,
    "torchmetrics": by_hand_for_torchmetrics,
    "MLflow": by_hand_for_mlflow,
    "Phoenix": by_hand_for_phoenix,
    "notebook": by_hand_for_the_notebook,
    "chunking_evaluation": by_hand_for_chunking_evaluation,
    "README": by_hand_for_the_readme,
}


@pytest.mark.full
@pytest.mark.parametrize("row", ROWS, ids=anchor)
def test_our_number_is_the_one_on_the_page(row: Row) -> None:
    ours = row.our_outcome(row.our_call)
    assert is_shown_as(ours, row.our_number), f"krag_eval gives {ours}"


@pytest.mark.full
@pytest.mark.peer
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("row", [row for row in ROWS if row.program in PROGRAMS], ids=anchor)
def test_the_other_number_is_the_one_on_the_page(row: Row) -> None:
    if row.their_number == "abort":
        theirs = by_pytrec_eval_in_a_process(row)
    else:
        theirs = outcome(lambda: PROGRAMS[row.program](row))
    assert is_shown_as(theirs, row.their_number), f"{row.program} gives {theirs}"


@pytest.mark.sample(7)
@pytest.mark.parametrize("row", [row for row in ROWS if row.their_number_by], ids=anchor)
def test_the_settings_that_the_page_names_give_the_other_number(row: Row) -> None:
    assert row.their_number_by
    assert is_shown_as(row.our_outcome(row.their_number_by), row.their_number)


@pytest.mark.sample(23)
@pytest.mark.parametrize("row", ROWS, ids=anchor)
def test_the_numbers_of_a_row_differ_where_the_page_says_so(row: Row) -> None:
    ours = row.our_number if row.our_number in WORDS else float(row.our_number)
    theirs = row.their_number if row.their_number in WORDS else float(row.their_number)
    assert (ours != theirs) == row.is_difference


def test_no_row_of_the_page_goes_untested() -> None:
    assert {row.program for row in ROWS} == {*PROGRAMS, *IN_PEERS}
    assert len(ROWS) == TEXT.count("\n| <a id=")


def test_anchors_are_unique_and_every_link_within_the_page_leads_somewhere() -> None:
    anchors = re.findall(r'<a id="([^"]+)"></a>', TEXT)
    assert len(set(anchors)) == len(anchors)
    assert set(re.findall(r"\]\(#([^)]+)\)", TEXT)) <= set(anchors)


@pytest.mark.parametrize(
    "line", ["| a | b |", "| difference | gold | retrieved | krag | krag_eval | notes |"], ids=["short", "other"]
)
def test_a_table_of_another_form_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match=r"not (six cells|the head)"):
        read_rows(line)


def test_settings_and_numbers_of_the_short_page_are_those_of_rows() -> None:
    page = (PAGE.parents[1] / "docs" / "differences.md").read_text(encoding="utf-8").partition("\n## Our rules")[2]
    settings = re.findall(r'`(\w+=(?:"[^"]+"|None|True))`', page)
    numbers = re.findall(r"(?<![\w@.#])\d\.\d{2,}(?![\d.])", page)
    assert len(settings) > 15
    assert len(numbers) > 10
    without_a_row = {'level="document"'}
    assert {shown for shown in (*settings, *numbers) if shown not in TEXT} == without_a_row
