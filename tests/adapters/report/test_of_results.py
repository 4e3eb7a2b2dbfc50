"""What reports, tables and summaries show of funnels, gates and comparisons that are tested in their own rooms."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from krag_eval import EvalSet, Policy, Run, RunRow, check_gate, compare, evaluate, evaluate_ids
from krag_eval_report import build_report
from krag_eval_report.sections import sections_of
from krag_eval_report.sections.comparison import comparison_section
from tests.support.gate_cases import SET, make_run
from tests.support.marks import nothing_may_match


def ids(*names: str) -> list[dict[str, str]]:
    return [{"id": name} for name in names]


STAGES: list[dict[str, Any]] = [
    {"name": "bm25", "retrieved": ids("a", "b")},
    {"name": "dense", "retrieved": ids("c", "d", "e")},
    {"name": "fusion", "inputs": ["bm25", "dense"], "retrieved": ids("a", "c", "d", "e")},
    {"name": "rerank", "inputs": ["fusion"], "retrieved": ids("e", "d", "c")},
]


def run_of(*rows: dict[str, Any], name: str = "pipeline") -> Run:
    return Run.of(name, [RunRow.from_dict(row) for row in rows])


def test_a_report_has_the_funnel_of_each_run_with_stages() -> None:
    questions = [{"id": "q", "question": "?", "gold_chunk_ids": ["a", "b"], "type": "x"}]
    staged = run_of({"query_id": "q", "stages": STAGES})
    plain = run_of({"query_id": "q", "retrieved": ids("a")}, name="plain")
    report = build_report(questions, {"staged": staged, "plain": plain}, k=[1, 3], by="type")
    (found,) = report.funnels
    assert (found.name, found.k, found.counts) == ("staged", "3", {"lost_in:fusion": 1, "lost_in:rerank": 1})
    assert "stages" in [section.key for section in sections_of(report)]
    session = run_of({"query_id": "q", "searches": [{"stages": STAGES}, {"retrieved": ids("b")}]}, name="agent")
    (found,) = build_report(questions, {"agent": session}, k=3).funnels
    assert found.counts == {"lost_in:rerank": 1, "kept": 1}
    assert build_report(questions, {"plain": plain}, k=3).funnels == ()


def test_the_summary_for_a_pull_request_puts_failures_first_and_is_inert() -> None:
    policy = Policy.from_dict({"gate": {"require": ["recall@1 >= 0.5", "recall@1 >= 0.9"]}})
    report = check_gate(SET, make_run("new|`<b>\n", SET, range(20)), policy)
    lines = report.to_markdown().splitlines()
    assert lines[0] == "### Retrieval gate: FAIL"
    assert lines[2] == "`new\\|'<b>` on 100 questions."
    assert [line.split(" | ")[0] for line in lines[6:8]] == ["| ❌ fail", "| ✅ pass"]
    assert json.loads(json.dumps(report.to_dict()))["exit_code"] == 1


def test_the_summary_of_a_gate_names_the_first_leak_in_its_first_line_and_is_inert() -> None:
    rule = {"id": "<b>y|", "reason": "`old`|<i>"}
    evalset = EvalSet([{"id": n, "question": f"q{n}", "gold_chunk_ids": ["a"], "must_not": [rule]} for n in range(9)])
    rows = [{"query_id": n, "retrieved": [{"id": "a"}, *[{"id": "<b>y|"}] * (n in (3, 7))]} for n in range(9)]
    report = check_gate(evalset, run_of(*rows), Policy.from_dict({"gate": {"never": ["leak@10"]}}))
    first, *rest = report.to_markdown().splitlines()
    assert first.endswith(r"leaked: `3: <b>y\| at rank 2: 'old'\|<i>`")  # inside of code nothing is HTML
    table = [line for line in rest if line.startswith("| ❌")]
    assert len(table) == 1
    assert table[0].replace(r"\|", "").count("|") == 5


def four() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    hard = rng.uniform(0.2, 0.6, size=80)
    shifts = {"a": 0.0, "b": 0.3, "c": 0.01, "d": 0.31}
    values = {name: hard + shift + rng.normal(size=80) * 0.05 for name, shift in shifts.items()}
    gold = [[n] for n in range(80)]

    def scored(column: Any) -> Any:
        def score(judged: Any, k: Any) -> Any:
            return column

        return evaluate_ids(gold, gold, k=1, metrics=[score])

    return {name: scored(column) for name, column in values.items()}


def test_all_pairs_have_a_table_of_letters_and_one_of_effect_sizes() -> None:
    rounds: dict[str, Any] = {"n_bootstrap": 200, "n_randomisation": 200}
    found = compare(four(), baseline=None, **rounds)
    section = comparison_section(found)
    assert (section.title, [table.key for table in section.tables][:3]) == (
        "All pairs compared",
        ["comparison-letters-1", "comparison-pairs-1", "comparison-1"],
    )
    letters, pairs = ([[cell.text for cell in row] for row in table.rows] for table in section.tables[:2])
    assert [(row[0], row[2]) for row in letters] == [("d", "a"), ("b", "a"), ("c", "b"), ("a", "b")]
    assert [(row[0], row[-1]) for row in pairs] == [
        (f"{row.system} - {row.baseline}", f"{row.effect_size:+.2f}") for row in found.pairs
    ]
    assert comparison_section(compare(four(), **rounds)).title == "Compared with a"


@nothing_may_match
def test_gold_that_was_judged_not_relevant_alone_is_reported(tmp_path: Path) -> None:
    evaluate([[("a", 0)]], [["a"]], k=1).report(tmp_path / "report.html")
    assert (tmp_path / "report.html").stat().st_size


def test_the_report_names_alternatives_in_the_signature(tmp_path: Path) -> None:
    gold = [[{"any_of": [{"id": "a"}, {"id": "b"}]}], [{"id": "c"}]]
    path = evaluate(gold, [[{"id": "b"}], [{"id": "c"}]], k=2, match_method="id").report(tmp_path / "r.json")
    assert "needs:any_of" in json.dumps(json.loads(path.read_text()))
