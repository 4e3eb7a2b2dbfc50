"""Where nothing matches, the command line says with which option it would, and it does with this option."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli_evaluate_cases import jsonl
from tests.support.command_line import Runner

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

GOLD = "환불은 사흘 안에 처리됩니다."
# Gold of the question, the retrieved document, the options, and the options that the advice has.
CAUSES: dict[str, tuple[dict[str, Any], dict[str, Any], str, str]] = {
    "longer chunks": ({"gold": [{"id": "a", "text": GOLD}]}, {"id": "x", "text": f"네. {GOLD} 끝."}, "", "containment"),
    "equal texts": ({"gold": [{"id": "a", "text": GOLD}]}, {"id": "x", "text": GOLD}, "", "--match text"),
    "by text": ({"gold": [GOLD]}, {"text": f"네. {GOLD} 끝."}, "--match text", "--match containment"),
    "raw": ({"gold": ["A B"]}, {"text": "a b"}, "--match text --raw-text", "no `--raw-text`"),
    "a key": ({"gold_chunk_ids": ["a"]}, {"id": "x", "metadata": {"원본 id": "a"}}, "", "--id-key '원본 id'"),
    "a wrong key": ({"gold": [{"id": "a"}]}, {"id": "a", "metadata": {"n": 2}}, "--id-key n", "no `--id-key`"),
    "an error": ({"gold": [GOLD]}, {"id": "u", "text": f"네. {GOLD} 끝."}, "", "--match containment"),
    "a threshold": ({"gold": ["a b c d e f"]}, {"text": "a b c x y z"}, "--match rougeL --threshold 0.6", "0.5"),
}


def prepare(gold: dict[str, Any], found: dict[str, Any]) -> None:
    Path("set.jsonl").write_bytes(jsonl([{"id": 1, "question": "?", **gold}]))
    Path("run.jsonl").write_bytes(jsonl([{"query_id": 1, "retrieved": [found]}]))


@pytest.mark.sample(3)
@pytest.mark.parametrize("cause", CAUSES)
def test_the_option_of_the_advice_makes_the_query_match(command: Runner, cause: str) -> None:
    gold, found, options, named = CAUSES[cause]
    prepare(gold, found)
    outcome = command(f"evaluate set.jsonl run.jsonl -k 1 --metrics mrr {options}")
    assert outcome.code == (2 if cause == "an error" else 0)
    assert (outcome.err.count("would match"), outcome.err.count("\n")) == (1, 1)
    advice = re.search(r"With (.*?), 1 of 1 query would match", outcome.err)
    assert advice is not None
    assert named in advice[1]
    words = shlex.split(options)
    for step in advice[1].split(" and "):
        if step.startswith("no `"):
            place = words.index(step[4:-1])
            del words[place : place + (1 if step == "no `--raw-text`" else 2)]
        else:
            option, value = shlex.split(step)
            words = [*words, option, value]
    outcome = command("evaluate set.jsonl run.jsonl -k 1 --metrics mrr", *words)
    assert (outcome.code, outcome.err, "mrr     1.0000" in outcome.out) == (0, "", True)


def test_each_run_has_its_own_line_and_compare_names_the_run(command: Runner) -> None:
    prepare({"gold": [GOLD]}, {"text": f"네. {GOLD} 끝."})
    Path("fine.jsonl").write_bytes(jsonl([{"query_id": 1, "retrieved": [{"text": GOLD}]}]))
    for line in ("evaluate set.jsonl run.jsonl fine.jsonl", "compare set.jsonl run.jsonl fine.jsonl -k 1"):
        (said,) = [one for one in command(f"{line} --match text").err.splitlines() if "Not one" in one]
        assert said.startswith("run: Not one text matches.")
        assert "With --match containment, 1 of 1 query would match" in said


def test_gold_strings_that_are_ids_are_named_as_such(command: Runner) -> None:
    prepare({"gold": ["d1"]}, {"id": "d1", "text": "hello"})
    error = command("evaluate set.jsonl run.jsonl --match text").err
    assert "With --match id and the gold strings as `gold_chunk_ids`" in error
    prepare({"gold_chunk_ids": ["d1"]}, {"id": "d1", "text": "hello"})
    assert command("evaluate set.jsonl run.jsonl --match id").err == ""


def test_ids_that_are_spelled_differently_are_named_without_python_lists(command: Runner) -> None:
    prepare({"gold_chunk_ids": ["7"]}, {"id": "faq-7"})
    error = command("evaluate set.jsonl run.jsonl").err
    assert 'With the retrieved ids without the prefix "faq-", 1 of 1 query would match.' in error


def test_logs_are_read_again_with_all_fields(command: Runner) -> None:
    rows = [
        {
            "query_id": "q",
            "actual": [{"id": "a", "text": GOLD, "src": "s"}],
            "predicted": [{"id": "x", "text": f"네. {GOLD}", "src": "t"}],
        }
    ]
    pq.write_table(pa.Table.from_pylist(rows), "logs.parquet", write_page_checksum=True)
    line = "score-logs logs.parquet --out out.parquet --metrics mrr -k 1 --workers 1 --force --match"
    outcome = command(f"{line} id")
    assert "Not one id matches. Gold ids look like 'a', retrieved ids like 'x'." in outcome.err
    assert "With --match containment, 1 of 1 query would match" in outcome.err
    outcome = command(f"{line} containment")
    assert (outcome.code, outcome.err) == (0, "")


def test_a_run_without_any_result_is_reported_once_with_the_first_error(command: Runner) -> None:
    prepare({"gold": ["a"]}, {"id": "x"})
    Path("run.jsonl").write_bytes(jsonl([{"query_id": 1, "error": "no route"}]))
    lines = command("evaluate set.jsonl run.jsonl --match text").err.splitlines()
    (said,) = [line for line in lines if "Nothing was retrieved for 1 query" in line]
    assert (
        "so every score is 0. 1 retrieval failed. The first error: no route. Fix the cause and retrieve again" in said
    )
