"""One file in every command, and `--ties bounds`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.command_line import Runner

BOTH = 'id,question,gold_chunk_ids,retrieved_ids\n1,When?,a1,"a1, b2"\n2,Who?,b1,"b2, b1"\n'


@pytest.fixture(autouse=True)
def both(command: Runner) -> None:
    Path("both.csv").write_text(BOTH, encoding="utf-8")
    rows = [("1", ["x", "a1"]), ("2", ["b1"])]
    run = [{"query_id": query, "retrieved": [{"id": one, "score": 0.5} for one in found]} for query, found in rows]
    Path("run.jsonl").write_text("".join(json.dumps(row) + "\n" for row in run), encoding="utf-8")


def test_the_bounds_of_ties_are_printed_beside_the_values(command: Runner) -> None:
    done = command("evaluate both.csv run.jsonl --k 1,2 --metrics recall --ties bounds")
    assert done.code == 0, done.err
    assert "recall@1 lies between 0.5000 and 1.0000" in " ".join(done.out.split())
    assert "recall@2 lies" not in done.out


def test_a_file_with_gold_and_results_is_named_once(command: Runner) -> None:
    planned = command("plan both.csv --metrics mrr --k 2 --json -")
    assert json.loads(planned.out)["runs"] == ["both"], planned.err
    compared = command("compare both.csv run.jsonl --metrics mrr --k 2 --json -")
    written = json.loads(compared.out)
    assert (written["baseline"], [*written["systems"]]) == ("both", ["run"]), compared.err
    audited = command("doctor both.csv --json -")
    assert audited.code == 0, audited.err
    assert json.loads(audited.out)["systems"] == ["both"]


@pytest.mark.parametrize("given", ["compare run.jsonl run.jsonl", "doctor other.csv", "plan other.csv"])
def test_a_file_without_results_asks_for_a_run(command: Runner, given: str) -> None:
    Path("other.csv").write_text("id,question,gold_chunk_ids\n1,When?,a1\n", encoding="utf-8")
    assert command(given).code == 2
