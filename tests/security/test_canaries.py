"""Secrets of the environment, of headers, of an address and of a retriever's error come out nowhere."""

from __future__ import annotations

import json
import logging
import time
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from krag_eval import evaluate_run, read_evalset, read_run, run_retriever
from krag_eval_langchain import RetrievalScoringHandler
from krag_eval_live import LiveScorer, RetrievalSink, ScoredRetrieval
from tests.support.bench_cases import EVALSET
from tests.support.command_line import Runner
from tests.support.marks import nothing_may_match

pytestmark = pytest.mark.full  # every command, with secrets everywhere

CANARIES = {
    "environment": "canary-env-0123456789",
    "header": "canary-head-0123456789",
    "userinfo": "canary-user-0123456789",
    "query": "canary-query-0123456789",
    "attribute": "canary-attr-0123456789",
    "cause": "canary-cause-0123456789",
}
MODULE = f"""
import os

MESSAGE = (
    "401 from https://me:{CANARIES["userinfo"]}@search.example/v1?key={CANARIES["query"]} with headers "
    "{{'Authorization': 'Bearer {CANARIES["header"]}', 'Accept': '*/*'}} and " + os.environ["SEARCH_API_KEY"]
)

def search(question):
    if "red" in question:
        raise ConnectionError(MESSAGE) from ValueError("api_key={CANARIES["cause"]}")
    return [{{"id": f"c{{n}}", "text": "The lamp costs 10 euros."}} for n in range(1, 5)]

class Model:
    api_key = "{CANARIES["attribute"]}"

    def __call__(self, prompt):
        raise ConnectionError(MESSAGE + " " + self.api_key)

def answer(question, documents):
    raise ConnectionError(MESSAGE)
"""


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEARCH_API_KEY", CANARIES["environment"])


@pytest.fixture
def module(tmp_path: Path) -> dict[str, Any]:
    (tmp_path / "leaky.py").write_text(MODULE, encoding="utf-8")
    rows = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in EVALSET)
    (tmp_path / "set.jsonl").write_text(rows, encoding="utf-8")
    made: dict[str, Any] = {}
    exec(compile(MODULE, "leaky.py", "exec"), made)
    return made


def leaks(text: str) -> list[str]:
    return [name for name, canary in CANARIES.items() if canary in text]


def files_with_leaks(folder: Path) -> dict[str, list[str]]:
    contents = {path: path.read_bytes().decode("utf-8", "replace") for path in folder.rglob("*") if path.is_file()}
    return {
        path.name: found
        for path, text in contents.items()
        if path.suffix not in (".py", ".pyc") and (found := leaks(text))
    }


COMMANDS = [
    "run set.jsonl --retriever leaky:search --k 3 --out run.jsonl --retries 0",
    "evaluate set.jsonl run.jsonl --per-query rows.jsonl --json scores.json",
    "evaluate set.jsonl run.jsonl",
    "report set.jsonl run.jsonl --out report.html",
    "report set.jsonl run.jsonl --out report.json",
    "report set.jsonl run.jsonl --out report.md",
    "report set.jsonl run.jsonl --out report.csv",
    "compare set.jsonl run.jsonl run.jsonl --json compared.json",
    "bench --evalset set.jsonl --retriever leaky:search --answer leaky:answer --out bench.md --journals kept",
    "bench --evalset set.jsonl --retriever leaky:search --llm leaky:Model --out judged.md --journals judged",
]


def test_no_command_prints_or_writes_one(
    command: Runner,
    module: dict[str, Any],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("krag_eval.retrievers.asking.LONGEST_WAIT", 0)
    monkeypatch.setattr(time, "sleep", lambda seconds: None)  # before a model is asked again
    assert leaks(module["MESSAGE"]) == ["environment", "header", "userinfo", "query"]
    failed = []
    with caplog.at_level(logging.DEBUG):
        for line in COMMANDS:
            outcome = command(line)
            assert leaks(outcome.out + outcome.err) == [], line
            failed += [line] if outcome.code not in (0, 1, 2) else []
    assert failed == []
    written = {path.name for path in tmp_path.iterdir()}
    assert {"run.jsonl", "rows.jsonl", "scores.json", "report.html", "report.csv", "bench.md"} <= written
    assert files_with_leaks(tmp_path) == {}
    assert leaks(caplog.text) == []
    assert "401 from https://search.example/v1" in (tmp_path / "run.jsonl").read_text(encoding="utf-8")


def test_nothing_that_the_library_returns_shows_one(module: dict[str, Any], tmp_path: Path) -> None:
    evalset = read_evalset(tmp_path / "set.jsonl")
    run = run_retriever(evalset, module["search"], k=3, retries=0, journal=tmp_path / "run.jsonl")
    again = read_run(tmp_path / "run.jsonl", evalset=evalset)
    result = evaluate_run(evalset, run, k=3)
    shown = [run, run.errors, run.rows, run.recorded, again, again.rows, result, result.errors, *result.per_query]
    assert leaks("".join(map(repr, shown)) + result.to_json()) == []
    assert len(result.errors) == 1
    assert files_with_leaks(tmp_path) == {}


class Leaky(BaseRetriever):
    """Raises what the module raises."""

    message: str

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        raise ConnectionError(self.message)


class Leaking(RetrievalSink):
    """Raises it too, and remembers what it was told."""

    def __init__(self, message: str) -> None:
        self.message, self.told = message, list[ScoredRetrieval]()

    def on_retrieval_scored(self, retrieval: ScoredRetrieval, target: object | None) -> None:
        self.told.append(retrieval)
        raise ConnectionError(self.message)


@nothing_may_match
def test_no_live_score_log_or_problem_shows_one(module: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    message = module["MESSAGE"]
    sink = Leaking(message)
    handler = RetrievalScoringHandler({"How much?": ["a text"]}, sinks=[sink])
    with caplog.at_level(logging.DEBUG):
        for question in ("How much?", "Who?"):
            with pytest.raises(ConnectionError):
                Leaky(message=message).invoke(question, {"callbacks": [handler]})
        assert handler.flush(30)
    assert len(sink.told) == 2
    shown = [handler, handler.problems, handler.result(), handler.result().errors, sink.told, handler.window_means()]
    assert leaks("".join(map(repr, shown)) + caplog.text) == []
    assert "401 from" in sink.told[0].error  # type: ignore[operator]


def test_no_live_scorer_shows_one_in_its_repr(module: dict[str, Any]) -> None:
    scorer = LiveScorer({"q": ["a"]}, match_method="id")
    scorer.report("a sink", ConnectionError(module["MESSAGE"]))
    assert leaks(repr(scorer) + repr(scorer.problems) + repr(scorer.counters)) == []
