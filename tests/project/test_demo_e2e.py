"""`make demo-e2e`: its command, with fewer questions, and what the stand-in for a language model says of itself."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path

import pytest

from examples import stand_in_model
from krag_eval.cli import main

ROOT = Path(__file__).parents[2]


@pytest.mark.full
def test_its_command_makes_a_report_of_every_stage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "path", list(sys.path))
    recipe = (ROOT / "Makefile").read_text(encoding="utf-8").replace("\\\n", "").replace("$(DEMO_E2E)", str(tmp_path))
    (line,) = re.findall(r"krag-eval (bench .*--output \S+)", recipe)
    monkeypatch.setattr(sys, "argv", ["krag-eval", *shlex.split(line), "--samples", "8", "--e2e-limit", "4"])
    with pytest.raises(SystemExit) as exit_:
        main()
    out, err = capsys.readouterr()
    assert exit_.value.code == 0, err
    report = json.loads((tmp_path / "bench.json").read_text(encoding="utf-8"))
    assert len(report["queries"]) == 8
    assert {"questions", "answers", "context"} <= {section["key"] for section in report["sections"]}
    assert "stand_in" in out
    assert "a stand-in" in (tmp_path / "bench.html").read_text(encoding="utf-8")


def test_the_stand_in_says_that_it_is_one() -> None:
    assert (stand_in_model.__doc__ or "").startswith("NOT A LANGUAGE MODEL")
    recipe = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "are a stand-in" in recipe


def test_the_stand_in_knows_no_other_prompts_and_says_the_same_each_time() -> None:
    with pytest.raises(ValueError, match="Name a real model"):
        stand_in_model.stand_in("Write a poem.")
    prompt = "You answer questions\n-----BEGIN QUESTION 1-----\nWhen is it open?\n-----END QUESTION 1-----\n"
    assert stand_in_model.stand_in(prompt) == stand_in_model.stand_in(prompt) == "I don't know"
