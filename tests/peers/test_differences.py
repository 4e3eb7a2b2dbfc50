"""The numbers of krag, ranx and AutoRAG on `benchmarks/differences.md`, by the programs themselves."""

from __future__ import annotations

import sys
import types
from typing import Any

import pytest

from tests.support.differences import PAGE, Row, is_shown_as, outcome, parse_call, read_rows

pytestmark = [pytest.mark.peer, pytest.mark.filterwarnings("ignore")]

ROWS = read_rows(PAGE.read_text(encoding="utf-8"))
# krag imports these at the top, for an evaluator that the page is not about.
MODEL_CLIENTS = {
    "langchain_openai": "OpenAIEmbeddings",
    "langchain_huggingface": "HuggingFaceEmbeddings",
    "langchain_ollama": "OllamaEmbeddings",
}
FUNCTIONS = {"f1": "f1_score"}


def rows_of(program: str) -> list[Row]:
    return [row for row in ROWS if row.program == program]


def anchor(row: Row) -> str:
    return row.anchor


@pytest.fixture
def krag(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("MPLBACKEND", "agg")
    for module, name in MODEL_CLIENTS.items():
        stub = types.ModuleType(module)
        setattr(stub, name, type(name, (), {}))
        monkeypatch.setitem(sys.modules, module, stub)
    import krag.evaluators

    return krag.evaluators


def by_krag(krag: Any, row: Row) -> float:
    from krag.document import KragDocument

    key, settings = parse_call(row.their_call)
    k = settings.pop("k", None)
    gold, retrieved = (
        [[KragDocument(page_content=text) for text in query] for query in side] for side in (row.gold, row.retrieved)
    )
    evaluator = krag.RougeOfflineRetrievalEvaluators if settings else krag.OfflineRetrievalEvaluators
    metric = key.removeprefix("micro_").removeprefix("macro_")
    calculate = getattr(evaluator(gold, retrieved, **settings), f"calculate_{FUNCTIONS.get(metric, metric)}")
    return float(calculate(k)[key])


def by_ranx(row: Row) -> float:
    from ranx import Qrels, Run, evaluate

    return float(evaluate(Qrels(row.qrels()), Run(row.run()), row.their_call))


@pytest.mark.parametrize("row", rows_of("krag"), ids=anchor)
def test_krag_gives_the_number_on_the_page(krag: Any, row: Row) -> None:
    theirs = outcome(lambda: by_krag(krag, row))
    assert is_shown_as(theirs, row.their_number), f"krag gives {theirs}"


@pytest.mark.full
@pytest.mark.parametrize("row", rows_of("ranx"), ids=anchor)
def test_ranx_gives_the_number_on_the_page(row: Row) -> None:
    theirs = outcome(lambda: by_ranx(row))
    assert is_shown_as(theirs, row.their_number), f"ranx gives {theirs}"


@pytest.mark.parametrize("row", rows_of("AutoRAG"), ids=anchor)
def test_autorag_gives_the_number_on_the_page(autorag: Any, row: Row) -> None:
    name, _ = parse_call(row.their_call)
    gold = [[document] for document in row.gold[0]]
    theirs = outcome(lambda: autorag(name, gold, row.retrieved[0]))
    assert is_shown_as(theirs, row.their_number), f"AutoRAG gives {theirs}"


def test_krag_gives_our_number_for_the_example_of_the_notebook(krag: Any) -> None:
    gold, retrieved = [["1", "2", "5"], ["3", "4"]], [["1", "2", "5"], ["6", "4", "5"]]
    row = Row("", "krag", gold, retrieved, "ndcg(k=2)", "0.6934", "ndcg(k=2)", "0.6934", None)
    assert is_shown_as(by_krag(krag, row), "0.6934")
    assert is_shown_as(row.our_outcome(row.our_call), "0.6934")
