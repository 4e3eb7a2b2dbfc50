"""What a report says: its sections, their tables, and every cell."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from krag_eval import InvalidInputError, evaluate, evaluate_ids, evaluate_stream
from krag_eval.tables.model import Cell, Column, Section, Table
from krag_eval_report import Report, build_report
from krag_eval_report.sections import sections_of
from tests.support import table_cases as cases
from tests.support.marks import nothing_may_match
from tests.support.report_reading import row, section, table, texts


def cells(report: Report) -> Iterator[Cell]:
    return (cell for section in sections_of(report) for table in section.tables for row in table.rows for cell in row)


ALL = ["overview", "summary", "comparison", "slices", "causes", "negatives", "parameters", "signatures"]


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("two runs", ALL),
        ("one run", [key for key in ALL if key != "comparison"]),
        ("ids only", ["overview", "summary", "slices", "causes", "signatures"]),
        ("without answers", ["overview", "summary", "comparison", "negatives", "parameters", "signatures"]),
        ("one query", [key for key in ALL if key != "negatives"]),
    ],
)
def test_a_section_is_there_where_it_has_something_to_say(name: str, keys: list[str]) -> None:
    assert [section.key for section in sections_of(cases.REPORTS[name]())] == keys


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", cases.REPORTS)
def test_keys_are_unique_and_every_row_has_a_cell_for_each_column(name: str) -> None:
    sections = sections_of(cases.REPORTS[name]())
    tables = [table for section in sections for table in section.tables]
    assert len({section.key for section in sections}) == len(sections)
    assert len({table.key for table in tables}) == len(tables)
    for each in tables:
        assert len({column.key for column in each.columns}) == len(each.columns)
        assert {len(cells) for cells in each.rows} <= {len(each.columns)}
        assert not any(character in each.key for character in ' <>"&')


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", cases.REPORTS)
def test_no_cell_holds_or_says_a_number_that_is_none(name: str) -> None:
    report = cases.REPORTS[name]()
    for cell in cells(report):
        assert not (isinstance(cell.value, float) and not math.isfinite(cell.value))
        assert cell.text not in {"nan", "NaN", "inf", "None"}
    assert not any("nan" in text.lower().split() for part in sections_of(report) for text in part.paragraphs)


def test_the_summary_has_every_value_and_interval_of_every_system() -> None:
    report = cases.two_runs()
    scores = table(report, "scores")
    for system in report.systems:
        for key in system.result:
            shown = row(scores, key)
            assert shown[f"value:{system.name}"] == system.result[key]
            assert system.result.intervals is not None
            low, high = system.result.intervals[key] or (0.0, 0.0)
            assert shown[f"interval:{system.name}"] == f"{low:.4f} to {high:.4f}"
    assert [cells[0].text for cells in scores.rows][:6] == [
        f"{m}@{k}" for m in ("hit_rate", "hit_rate_all") for k in (1, 3, 5)
    ]
    assert row(scores, "recall@5")["undefined"] == 2
    assert row(scores, "micro_recall@5")["undefined"] is None
    assert [column.group for column in scores.columns] == [None, *(s.name for s in report.systems for _ in "vi"), None]


def test_the_summary_counts_what_was_scored() -> None:
    assert texts(table(cases.two_runs(), "counts")) == [["bm25 단어", "12", "0", "2"], ["гибрид (RRF)", "12", "1", "2"]]


def test_undefined_counts_that_differ_stand_beside_each_system() -> None:
    def seen(values: list[float]) -> Any:
        def odd(judged: Any, k: Any) -> Any:
            import numpy as np

            return np.array(values)

        return odd

    gold = [["a"], ["b"], ["c"]]
    one = evaluate(gold, gold, k=1, metrics=["recall", seen([1, math.nan, 1])])
    two = evaluate(gold, gold, k=1, metrics=["recall", seen([math.nan, math.nan, 1])])
    scores = table(build_report({"one": one, "two": two}), "scores")
    assert row(scores, "odd@1")["undefined:one"] == 1
    assert row(scores, "odd@1")["undefined:two"] == 2


def test_a_value_that_only_one_system_has_leaves_the_other_cell_empty() -> None:
    gold = [["a"], ["b"]]
    one, two = evaluate_ids(gold, gold, k=1), evaluate_ids(gold, gold, k=1)
    del two.tally.means["mrr@1"]
    scores = build_report({"one": one}), build_report({"two": two})
    both = replace(scores[0], systems=(*scores[0].systems, *scores[1].systems))
    assert texts(table(both, "scores"))[[c[0].text for c in table(both, "scores").rows].index("mrr@1")][3] == ""


def test_a_result_without_a_defined_query_says_so_in_words() -> None:
    report = cases.without_answers()
    assert section(report, "summary").paragraphs[0].startswith("No query has a gold document, so no value is defined")
    assert section(report, "comparison").paragraphs[0].startswith("No query has a value in both systems")
    assert {cell.text for row in table(report, "scores").rows for cell in row[1:]} == {"-", "4", ""}


def test_a_run_of_ids_says_that_texts_are_missing() -> None:
    paragraphs = section(cases.ids_only(), "summary").paragraphs
    assert [p for p in paragraphs if "cannot show their texts" in p] == list(paragraphs[:2])
    assert not any("cannot show their texts" in p for p in section(cases.two_runs(), "summary").paragraphs)


def test_the_comparison_says_what_the_rows_say() -> None:
    report = cases.two_runs()
    assert report.comparison is not None
    shown = table(report, "comparison-1")
    assert shown.title == "гибрид (RRF) against bm25 단어"
    for compared, cells in zip(report.comparison.rows, shown.rows, strict=True):
        assert cells[0].text == compared.key
        assert [cell.value for cell in cells[1:4]] == [compared.baseline_mean, compared.mean, compared.difference]
        assert cells[6].text == f"{compared.wins}/{compared.ties}/{compared.losses}"
        assert cells[7].text.startswith(compared.verdict)
    assert "No slice is surely worse. " in str(shown.note)
    assert "Gold documents found now, missed before within rank " in str(shown.note)
    assert "1 retrieval failed" in section(report, "comparison").paragraphs[1]


@nothing_may_match
def test_verdicts_have_a_tone() -> None:
    gold = [[n] for n in range(40)]
    found, missed = evaluate_ids(gold, gold, k=1), evaluate_ids(gold, [[]] * 40, k=1)
    tones = {
        names: table(build_report(dict(names)), "comparison-1").rows[0][-1].tone
        for names in ((("a", missed), ("b", found)), (("a", found), ("b", missed)))
    }
    assert list(tones.values()) == ["good", "bad"]


def test_the_signature_and_the_fingerprint_are_there() -> None:
    report = cases.two_runs()
    assert {cells[1].text for cells in table(report, "signatures").rows} == {report.systems[0].result.signature}
    assert report.evalset is not None
    assert report.evalset.fingerprint in section(report, "signatures").paragraphs[1]


def test_further_sections_follow() -> None:
    further = Section("answers", "Answers", ("…",), (Table("t", None, (Column("c", "c"),), ((Cell(1, "1"),),)),))
    assert sections_of(replace(cases.one_run(), further=(further,)))[-1] is further


def test_a_streamed_result_is_refused_with_a_reason() -> None:
    streamed = evaluate_stream(iter([(["a"], ["a"])]), k=1)
    report = cases.one_run()
    broken = replace(report, systems=(replace(report.systems[0], result=streamed),))
    with pytest.raises(InvalidInputError, match="was streamed and kept no queries"):
        sections_of(broken)
    with pytest.raises(InvalidInputError, match="was streamed and kept no queries"):
        build_report({"a": streamed})
