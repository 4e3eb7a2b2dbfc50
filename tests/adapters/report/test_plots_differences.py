"""Plots of changes, of slices and of recall over size, and the caption below each plot."""

from __future__ import annotations

import numpy as np
import pytest

from krag_eval import EvalSet, InvalidInputError, Run, RunRow, compare, evaluate, evaluate_ids, sweep
from krag_eval_report import Report, build_report
from krag_eval_report.plots import drawings_of, plot_changes, plot_over_k, plot_over_size, plot_slices, plot_sweep
from tests.support.marks import any_fonts, nothing_may_match
from tests.support.page_cases import shop
from tests.support.plot_artists import lines, ticks

LANGUAGES = ("ko", "en")


def with_slices() -> Report:
    questions = EvalSet(
        ({"id": f"q{i}", "gold": [{"id": f"g{i}"}], "metadata": {"language": LANGUAGES[i % 2]}} for i in range(40)),
        name="가게 FAQ",
    )
    runs = {}
    for name, least in (("old", 10), ("new", 4)):
        rows = [
            {"query_id": f"q{i}", "retrieved": [{"id": f"g{i}" if i >= least else "x", "text": "t" * 10}]}
            for i in range(40)
        ]
        runs[name] = Run.of(name, map(RunRow.from_dict, rows))
    return build_report(questions, runs, k=[1, 2], by="language")


@pytest.mark.full
def test_bars_have_the_counts_of_the_comparison() -> None:
    report = with_slices()
    (axes,) = plot_changes(report).axes
    assert report.comparison is not None
    rows = report.comparison.rows
    widths = {str(c.get_label()): [bar.get_width() for bar in c.patches] for c in axes.containers}  # type: ignore[attr-defined]
    assert widths == {
        "lost": [row.losses for row in rows],
        "tied": [row.ties for row in rows],
        "won": [row.wins for row in rows],
    }
    assert sum(widths["won"]) > 0
    assert ticks(axes, "y") == [row.key for row in rows]


@pytest.mark.full
def test_of_several_retrievers_each_bar_names_its_own() -> None:
    results = {name: evaluate_ids([["a"]] * 4, [["a"]] * n + [["x"]] * (4 - n), k=1) for n, name in enumerate("abc", 1)}
    (axes,) = plot_changes(build_report(results)).axes
    assert ticks(axes, "y")[0].startswith("b, ")
    assert ticks(axes, "y")[-1].startswith("c, ")


@pytest.mark.full
@any_fonts  # the name of the set is Korean
def test_a_marker_is_the_mean_of_a_slice_and_the_line_its_interval() -> None:
    report = with_slices()
    (axes,) = plot_slices(report).axes
    drawn = lines(axes)
    for system in report.systems:
        values = system.detail.values["recall@2"]
        expected = [float(np.nanmean(values[part.chosen])) for part in report.slices]
        assert [x for x, _ in drawn[system.name]] == pytest.approx(expected)
    assert ticks(axes, "y") == ["language = en", "language = ko"]
    assert axes.get_xlabel() == "recall@2"
    intervals = [line for line in axes.get_lines() if len(line.get_xdata()) == 2 and line.get_marker() == "None"]  # type: ignore[arg-type]
    assert len(intervals) == 4
    for line in intervals:
        low, high = np.asarray(line.get_xdata(), float)
        assert 0 <= low < high <= 1


@pytest.mark.full
def test_recall_over_size_is_the_recall_of_the_first_ranks() -> None:
    actual = [["alpha"], ["beta"], []]
    predicted = [["alpha", "xx"], ["yyy", "beta"], ["zzzzz"]]
    report = build_report({"only": evaluate(actual, predicted, k=[1, 2], match_method="text")})
    (axes,) = plot_over_size(report).axes
    assert lines(axes)["only"] == [(0, 0), ((5 + 3) / 2, 0.5), ((5 + 3 + 2 + 4) / 2, 1)]
    assert axes.get_xlabel() == "characters retrieved, on average"
    counted = evaluate(actual, predicted, k=[1, "3tok"], match_method="text", count_tokens=lambda text: 1)
    (axes,) = plot_over_size(build_report({"only": counted})).axes
    assert [x for x, _ in lines(axes)["only"]] == [0, 1, 2]
    assert axes.get_xlabel() == "tokens retrieved, on average"


def test_where_there_is_nothing_to_draw_that_is_said() -> None:
    ids = build_report({"only": evaluate_ids([["a"]], [["b", "a"]], k=[1, 2])})
    for plot, words in (
        (plot_changes, "there is no comparison"),
        (plot_slices, "there are no slices"),
        (plot_over_size, "sizes need texts"),
    ):
        with pytest.raises(InvalidInputError, match=words):
            plot(ids)


@pytest.mark.full
def test_each_plot_says_what_it_shows_of_which_set_and_how_it_was_scored() -> None:
    report = with_slices()
    figures = {drawn.title: drawn.figure for _, _, drawn in drawings_of(report)}
    assert len(figures) > 4
    figures |= {"Means by slice": plot_slices(report), "Metrics over the cut-off": plot_over_k(report)}
    for title, figure in figures.items():
        caption = figure.get_supxlabel().split("\n")
        assert caption[0] == f"{title} · 가게 FAQ · 40 queries"
        assert caption[1] == report.systems[0].result.signature


@pytest.mark.full
def test_the_picture_of_sweeps_says_how_each_was_scored() -> None:
    gold, found = [["one two three four"]], [["one two three", "x"]]
    sweeps = {name: sweep(gold, found, k=2, match_method=name, thresholds=[0.3, 0.9]) for name in ("rouge1", "rougeL")}
    caption = plot_sweep(sweeps).get_supxlabel()
    assert caption.startswith("Metrics over the matching threshold\n")
    assert "match:rouge1" in caption
    assert "match:rougeL" in caption


def test_a_comparison_without_a_value_has_no_bars() -> None:
    results = {name: evaluate_ids([[]], [["a"]], k=1) for name in "ab"}
    assert [row.n for row in compare(results).rows] == [0] * len(compare(results).rows)
    with pytest.raises(InvalidInputError, match="there is no comparison"):
        plot_changes(build_report(results))


@pytest.mark.full
@nothing_may_match
def test_a_run_that_failed_for_some_or_for_all_questions_has_its_curve() -> None:
    assert "over_size" in {key for key, _, _ in drawings_of(shop())}
    questions = EvalSet([{"id": "q", "gold": [{"id": "a", "text": "a"}]}])
    found = Run.of("found", [RunRow.from_dict({"query_id": "q", "retrieved": [{"id": "a", "text": "abc"}] * 2})])
    failed = Run.of("failed", [RunRow(query_id="q", error="TimeoutError")])
    report = build_report(questions, {"failed": failed, "found": found}, k=2)
    (axes,) = plot_over_size(report).axes
    assert lines(axes) == {"failed": [(0, 0)], "found": [(0, 0), (3, 1), (6, 1)]}
