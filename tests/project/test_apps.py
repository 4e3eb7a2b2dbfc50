"""The applications of examples/apps, each with three lines of ours: their live scores are those of `evaluate_run`."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import json
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from examples.apps.shop import IN_OTHER_WORDS, NOTES, QUESTIONS, vector
from krag_eval import EvaluationResult, Run, RunRow, Search, evaluate_run
from tests.support.walkthrough_cases import ENVIRONMENT, ROOT

pytestmark = [
    pytest.mark.full,  # whole applications
    pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecatedSince20"),  # of LlamaIndex's agents
    pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecatedSince211"),
]

APPS = ROOT / "examples" / "apps"
MARK = "# krag_eval"


def nearest(words: str) -> list[dict[str, Any]]:
    """The two notes nearest to words, by hand."""
    asked = vector(words)

    def cosine(name: str) -> float:
        of_note = vector(NOTES[name])
        dot = sum(x * y for x, y in zip(asked, of_note, strict=True))
        return dot / math.hypot(*of_note)

    return [{"id": name} for name in sorted(NOTES, key=cosine, reverse=True)[:2]]


def by_hand(words: dict[str, str]) -> dict[str, float | None]:
    """What `evaluate_run` says of the notes that were found for each question in other words."""
    rows = [{"query_id": row.id, "retrieved": nearest(words[str(row.question)])} for row in QUESTIONS]
    return dict(evaluate_run(QUESTIONS, Run.of("by hand", [RunRow.from_dict(row) for row in rows]), 2))


def played(name: str, capsys: pytest.CaptureFixture[str]) -> tuple[Any, str]:
    """The scoring of an application after its questions, and what it printed."""
    module = importlib.import_module(f"examples.apps.{name}")
    outcome = module.main()
    scoring = asyncio.run(outcome) if inspect.iscoroutine(outcome) else module.scoring
    return scoring, capsys.readouterr().out


@pytest.mark.parametrize("path", sorted({*APPS.glob("l*.py"), *APPS.glob("fastapi*.py")} - {*APPS.glob("*parts.py")}))
def test_three_lines_are_ours(path: Path) -> None:
    assert path.read_text(encoding="utf-8").count(f"{MARK}\n") == 3


@pytest.mark.parametrize("name", ["langchain_agent", "langgraph_node", "llama_index_agent", "llama_index_workflow"])
def test_live_scores_are_those_of_evaluate(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    scoring, printed = played(name, capsys)
    assert dict(scoring.result()) == by_hand(IN_OTHER_WORDS)
    assert (scoring.counters.seen, scoring.counters.no_gold, scoring.counters.errors) == (3, 0, 0)
    assert "When do I get my money back? -> " in printed
    assert "recall            0.6667" in printed


def test_both_searches_of_the_grader_are_one_session(capsys: pytest.CaptureFixture[str]) -> None:
    scoring, _ = played("langgraph_grader", capsys)
    rows = {}
    for row in QUESTIONS:
        words = [IN_OTHER_WORDS[str(row.question)]] + ["parcels to the islands"] * (row.id == "q3")
        searches = [Search.from_dict({"query": one, "retrieved": nearest(one)}) for one in words]
        only = searches[0].retrieved if len(searches) == 1 else ()
        rows[row.id] = RunRow(query_id=row.id, retrieved=only, searches=tuple(searches))
    expected = evaluate_run(QUESTIONS, Run(name="by hand", rows=rows), 2)
    live: EvaluationResult = scoring.session_result()
    assert {key: live[key] for key in live if "seconds" not in key} == dict(expected)
    assert live["session_recall@2"] == 1.0


_SERVICE = """
import json
from examples.apps import fastapi_langfuse as app
app.main()
recalls = [score["value"] for score in app.server.scores if score["name"] == "krag.recall_at_2"]
print(json.dumps([dict(app.scoring.result()), recalls]))
"""


def test_the_service_sends_the_scores_of_each_search() -> None:
    # In a process of its own: Langfuse's clients and OpenTelemetry's contexts are those of a process.
    done = subprocess.run(
        [sys.executable, "-c", _SERVICE],
        cwd=ROOT,
        env={**os.environ, **ENVIRONMENT},
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    *printed, last = done.stdout.splitlines()
    values, recalls = json.loads(last)
    expected = by_hand(IN_OTHER_WORDS)
    assert values == expected
    assert sum(recalls) / len(recalls) == expected["recall@2"]
    assert printed[-1].endswith("scores arrived at 3 searches.")


def test_the_notebook_shows_what_a_fresh_kernel_does(tmp_path: Path) -> None:
    kept = json.loads((APPS / "notebook.ipynb").read_text(encoding="utf-8"))
    path = shutil.copy(APPS / "notebook.ipynb", tmp_path)
    homes = {name: str(tmp_path / name) for name in ("JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "IPYTHONDIR")}
    run = "from nbclient.cli import main; main()"  # what `jupyter execute` is
    done = subprocess.run(
        [sys.executable, "-c", run, "--inplace", "--startup_timeout=120", "--timeout=200", path],
        cwd=tmp_path,
        env={**os.environ, **ENVIRONMENT, **homes},
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr
    executed = json.loads((tmp_path / "notebook.ipynb").read_text(encoding="utf-8"))
    texts = [
        ["".join(one["data"]["text/plain"]) for cell in book["cells"] for one in cell.get("outputs", ())]
        for book in (kept, executed)
    ]
    assert texts[0][:1] == texts[1][:1] == ["'The help desk is open on weekdays from nine to six.'"]
    assert texts[0][-1] == texts[1][-1] == "True"
    assert [text.partition("v:")[0] for text in texts[0]] == [text.partition("v:")[0] for text in texts[1]]
    assert json.dumps(kept).count(MARK.strip()) == 4  # three lines, and the text that says so
    asked = {str(row.question): str(row.question) for row in QUESTIONS}
    recall = by_hand(asked)["recall@2"]
    assert f"{recall:.4f}" in texts[0][2]
