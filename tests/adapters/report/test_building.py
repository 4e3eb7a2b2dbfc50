"""`build_report`: what a report is made of."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from krag_eval import EvalSet, InvalidInputError, Run, RunRow, compare, evaluate, evaluate_ids, evaluate_stream
from krag_eval_report import build_report

SET = EvalSet(
    [
        {
            "id": i,
            "question": f"질문 {i}",
            "gold_chunk_ids": [f"g{i}"] if i else [],
            "type": "literal" if i % 2 else None,
        }
        for i in range(12)
    ],
    name="faq",
)


def run(name: str, rank: int) -> Run:
    rows: list[dict[str, Any]] = [
        {"query_id": i, "retrieved": [{"id": f"g{i}" if place == rank else f"x{place}"} for place in range(1, 6)]}
        for i in range(12)
    ]
    return Run.of(name, map(RunRow.from_dict, rows), parameters={"chunk_size": 100 * rank})


def test_the_baseline_stands_first_and_everything_else_in_its_order() -> None:
    report = build_report(SET, {"a": run("a", 1), "b": run("b", 2), "c": run("c", 3)}, baseline="b")
    assert [system.name for system in report.systems] == ["b", "a", "c"]
    assert report.comparison is not None
    assert (report.comparison.baseline, report.comparison.systems) == ("b", ("a", "c"))
    assert report.title == "b, a, c on faq"
    assert [system.run.parameters for system in report.systems if system.run] == [
        {"chunk_size": 200},
        {"chunk_size": 100},
        {"chunk_size": 300},
    ]


def test_recall_mrr_and_ndcg_at_the_largest_cut_off_decide() -> None:
    report = build_report(SET, {"a": run("a", 1), "b": run("b", 2)}, k=[1, 5])
    assert report.comparison is not None
    assert report.comparison.keys == ("mrr@5", "recall@5", "ndcg@5")


def test_every_value_has_an_interval_and_every_miss_a_cause() -> None:
    (system,) = build_report(SET, {"a": run("a", 4)}, k=3).systems
    assert system.result.intervals is not None
    assert system.result.intervals.keys() == set(system.result.keys())
    assert system.diagnosis.counts == {"never_retrieved": 11} or system.diagnosis.counts == {"ranked_below_k": 11}


def test_slices_follow_the_types_of_the_questions() -> None:
    slices = build_report(SET, {"a": run("a", 1)}).slices
    assert [(part.field, part.value, len(part.chosen)) for part in slices] == [
        ("type", None, 6),
        ("type", "literal", 6),
    ]


def test_a_comparison_reports_itself_with_its_own_keys_and_slices() -> None:
    made = compare(SET, {"a": run("a", 1), "b": run("b", 2)}, k=1, metrics="recall", by="type")
    report = build_report(made.evalset, made.results, comparison=made)
    assert report.comparison is made
    assert [system.name for system in report.systems] == ["a", "b"]


def test_the_causes_of_a_comparison_are_not_looked_for_again() -> None:
    made = compare(SET, {"a": run("a", 1), "b": run("b", 2)}, k=1, metrics="recall")
    report = build_report(made.evalset, made.results, comparison=made)
    assert [system.diagnosis for system in report.systems] == [made.diagnoses["a"], made.diagnoses["b"]]
    assert made.diagnoses["b"].counts == {"ranked_below_k": 11}


def test_the_comparison_of_other_systems_is_refused() -> None:
    made = compare(SET, {"a": run("a", 1), "b": run("b", 2)})
    for systems in ({"a": run("a", 1), "c": run("c", 2)}, {"a": run("a", 1), "b": run("b", 2)}):
        with pytest.raises(InvalidInputError, match="`comparison` compares other systems"):
            build_report(SET, systems, comparison=made)


def test_a_name_turns_nothing_of_the_title_round() -> None:
    assert build_report(SET, {"a\u202eb": run("a", 1), "밀집": run("b", 2)}).title == "ab, 밀집 on faq"


def test_a_result_alone_needs_no_set() -> None:
    report = build_report({"result": evaluate([["a"]], [["a"]])})
    assert (report.evalset, report.comparison, report.slices, report.n_queries) == (None, None, (), 1)
    assert report.title == "result on 1 question"


def test_without_scipy_the_rest_is_there_and_a_note_says_what_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)
    report = build_report(SET, {"a": run("a", 1), "b": run("b", 2)})
    assert report.comparison is None
    assert [system.result.intervals for system in report.systems] == [None, None]
    (note,) = report.notes
    assert "no intervals and no comparison" in note
    assert "krag-eval[stats]" in note


def test_warnings_become_notes() -> None:
    late = Run.of("b", [RunRow.from_dict({"query_id": 1, "retrieved": [{"id": "g1"}]})])
    report = build_report(SET, {"b": late})
    assert len(report.notes) == 1
    assert "11 of 12 questions have no row" in report.notes[0]


def test_systems_on_other_questions_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="cannot be compared query by query"):
        build_report({"a": evaluate_ids([["a"]], [["a"]]), "b": evaluate_ids([["a"], ["b"]], [["a"], ["b"]])})


def test_a_streamed_result_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="streamed and kept no queries"):
        build_report({"a": evaluate_stream([(["a"], ["a"])], match_method="text")})


@pytest.mark.parametrize("systems", [{}, [], {"a": 1}, {1: None}])
def test_what_is_no_system_is_refused(systems: Any) -> None:
    with pytest.raises(InvalidInputError, match="system"):
        build_report(systems)
