"""Ids that differ only in their spelling, on the command line."""

from __future__ import annotations

import json
from pathlib import Path

from krag_eval import fuse, read_run
from tests.adapters.formats.test_bad_files import CORPUS
from tests.support.command_line import Runner


def test_on_the_command_line_it_is_a_line_of_stderr_that_names_the_option(command: Runner) -> None:
    files = (str(CORPUS / "padded.qrels"), str(CORPUS / "padded.run"))
    outcome = command("evaluate", *files)
    assert (outcome.code, outcome.err.count("give --id-map strip_zeros.")) == (0, 1)
    outcome = command("evaluate", *files, "--id-map", "strip_zeros", "--json", "-")
    assert (outcome.code, outcome.err.count("id-map")) == (0, 0)
    assert "|idmap:strip_zeros|" in outcome.out


def test_runs_are_fused_and_verified_by_the_ids_that_are_compared(command: Runner, tmp_path: Path) -> None:
    rankings = [[{"id": "x/a"}, {"id": "b"}], [{"id": "a"}, {"id": "c"}]]
    assert [one.id for one in fuse(rankings, id_map="basename")] == ["x/a", "b", "c"]
    assert len(fuse(rankings)) == 4
    gold, runs = tmp_path / "set.jsonl", [tmp_path / "one.jsonl", tmp_path / "two.jsonl"]
    gold.write_text('{"id": "q", "question": "w", "gold_chunk_ids": ["a"]}\n')
    for path, ranking in zip(runs, rankings, strict=True):
        path.write_text(json.dumps({"query_id": "q", "retrieved": ranking}) + "\n")
    fused = tmp_path / "fused.jsonl"
    outcome = command("fuse", *map(str, runs), "--id-map", "basename", "--out", str(fused))
    assert outcome.code == 0
    assert [one.id for one in read_run(fused).rows["q"].retrieved] == ["x/a", "b", "c"]
    outcome = command("verify", str(gold), str(fused), "--id-map", "basename", "--json", "-")
    assert outcome.code == 0
    assert '"ours": 1.0' in outcome.out
