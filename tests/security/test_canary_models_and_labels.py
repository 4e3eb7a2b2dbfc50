"""Credentials of every shape that a language model or a run lets out, through `generate`, judging and the doctor."""

from __future__ import annotations

import itertools
import json
import logging
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from krag_eval import Run, RunRow
from krag_eval_labels import write_queue
from krag_eval_labels.audit import audit_labels
from krag_eval_llm import NoAnswerError, as_language_model
from krag_eval_llm.context_judge.judge import judge_contexts
from tests.support.generation_cases import generate
from tests.support.language_model_cases import scripted
from tests.support.secret_shapes import SHAPES, leaked

TEXTS = [text for text, _ in SHAPES.values()]


def failing() -> Callable[[str], str]:
    """A model that raises the shapes one after the other, each time but the third, as who never answers is let be."""
    texts, calls = itertools.cycle(TEXTS), itertools.count(1)

    def ask(prompt: str) -> str:
        if next(calls) % 3 == 0:
            return "I cannot."
        text = next(texts)
        raise ConnectionError(text) from ValueError(text)

    return ask


def talking() -> Callable[[str], str]:
    """A model that says the shapes one after the other, instead of JSON."""
    texts = itertools.cycle(TEXTS)
    return lambda prompt: f"I cannot: {next(texts)}"


def in_files(folder: Path) -> list[str]:
    return leaked("".join(path.read_bytes().decode("utf-8", "replace") for path in folder.rglob("*") if path.is_file()))


@pytest.mark.full
def test_no_message_of_a_model_shows_one() -> None:
    for text in TEXTS:
        said: list[str | Exception] = [] if "{" in text else [f"I cannot. {text}"]  # JSON would be an answer
        for step in [ConnectionError(text), *said]:
            with pytest.raises(NoAnswerError) as error:
                as_language_model(scripted(step, step), retries=0).ask("capital?", {"type": "object"})
            assert leaked(str(error.value) + repr(error.value) + str(error.value.answer)) == []


@pytest.mark.full
@pytest.mark.parametrize("model", [failing, talking])
def test_generated_questions_and_their_journal_show_none(
    model: Callable[[], Callable[[str], str]], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    chunks = [
        {"id": f"c{number}", "text": f"The desk number {number} answers letters within {number + 2} working days."}
        for number in range(len(TEXTS))
    ]
    with caplog.at_level(logging.DEBUG), pytest.warns(match="Only 0 of") as told:
        made = generate(
            as_language_model(model(), retries=0), chunks, n=len(TEXTS), attempts=1, journal=tmp_path / "journal"
        )
    assert len((tmp_path / "journal").read_text(encoding="utf-8").splitlines()) > len(TEXTS)
    assert leaked(repr(made) + str(told[0].message) + caplog.text) == []
    assert in_files(tmp_path) == []


@pytest.mark.full
@pytest.mark.parametrize("model", [failing, talking])
def test_judged_contexts_and_their_cache_show_none(
    model: Callable[[], Callable[[str], str]], caplog: pytest.LogCaptureFixture
) -> None:
    ids = [f"q{number}" for number in range(len(TEXTS))]
    cache: dict[str, Any] = {}
    with caplog.at_level(logging.DEBUG):
        result = judge_contexts(
            {key: f"three days, {key}" for key in ids},
            {key: [f"three days for {key}"] for key in ids},
            as_language_model(model(), retries=0),
            questions={key: f"How long, {key}?" for key in ids},
            cache=cache,
        )
    shown = json.dumps([row.to_dict() for row in result.rows], default=repr) + repr(result) + repr(cache) + caplog.text
    assert leaked(shown) == []
    assert leaked(pickle.dumps(result.rows).decode("latin-1")) == []


@pytest.mark.filterwarnings("ignore")
def test_the_doctor_shows_none_of_the_errors_of_a_run(tmp_path: Path) -> None:
    evalset = [{"id": f"q{n}", "question": f"Question {n}?", "gold_chunk_ids": ["c1"]} for n in range(len(TEXTS) + 1)]
    rows = [RunRow.from_dict({"query_id": f"q{n}", "error": text}) for n, text in enumerate(TEXTS)]
    found = RunRow.from_dict({"query_id": f"q{len(TEXTS)}", "retrieved": [{"id": "c2"}]})
    runs = [Run.of(name, [*rows, found], parameters={"dsn": TEXTS}) for name in ("one", "two")]
    report = audit_labels(evalset, runs)
    write_queue(report, tmp_path / "queue.csv")
    assert len(report.candidates) == 1
    assert leaked(repr(runs) + repr(report) + json.dumps(report.to_dict(), default=repr)) == []
    assert in_files(tmp_path) == []
