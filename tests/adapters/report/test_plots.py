"""The pictures of a report show its numbers: read back from what was drawn."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from matplotlib.patches import PathPatch, Rectangle

from krag_eval import EvalSet, InvalidInputError, Run, RunRow, evaluate, funnel
from krag_eval.analysis.funnel import Funnel
from krag_eval.evaluation.causes import CAUSES
from krag_eval_report import Report, build_report
from krag_eval_report.plots import (
    PLOTS,
    drawings_of,
    figures_of,
    plot_causes,
    plot_hits,
    plot_over_k,
    plot_over_searches,
    plot_spread,
    plot_stages,
    plot_sweep,
)
from krag_eval_report.plots.distributions import COLOURS as COLOURS_OF_CAUSES
from krag_eval_report.plots.distributions import draw_stages
from tests.support.plot_artists import axes_of, bars, lines, plots_of, ticks, whiskers
from tests.support.plot_cases import (
    gold,
    hostile,
    nothing_defined,
    random_run,
    report_of,
    rouge,
    two_systems,
    with_documents,
)


@pytest.mark.full
def test_bars_and_whiskers_are_the_hit_rates_and_their_intervals() -> None:
    report = two_systems()
    (axes,) = plots_of(two_systems)["hits"].axes
    keys = ["hit_rate@1", "hit_rate@3", "hit_rate", "hit_rate@2tok", "hit_rate@12tok"]
    assert ticks(axes, "x") == ["1", "3", "all", "2 tok", "12 tok"]
    assert bars(axes) == {system.name: [system.result[key] for key in keys] for system in report.systems}
    expected = [(system.result.intervals or {})[key] for system in report.systems for key in keys]
    np.testing.assert_allclose(whiskers(axes), np.array(expected, dtype=float), atol=1e-12)
    assert any(high - low > 0.1 for low, high in whiskers(axes))


@pytest.mark.full
def test_without_intervals_there_are_no_whiskers() -> None:
    report = two_systems()
    bare = [replace(system, result=replace(system.result, intervals=None)) for system in report.systems]
    (axes,) = plot_hits(replace(report, systems=tuple(bare))).axes
    assert whiskers(axes) == []
    assert len(bars(axes)) == 2


@pytest.mark.full
def test_doc_hit_has_its_own_bars_and_who_lacks_it_has_a_dash() -> None:
    report = with_documents()
    figure = plots_of(with_documents)["hits"]
    chunks, documents = figure.axes
    assert [axes.get_title(loc="left").partition(":")[0] for axes in figure.axes] == ["hit_rate@k", "doc_hit@k"]
    by_name = {system.name: system.result for system in report.systems}
    assert bars(documents)["with"] == [by_name["with"]["doc_hit@1"], by_name["with"]["doc_hit@2"]]
    assert bars(documents)["bare"] == [0, 0]
    assert [text.get_text() for text in documents.texts] == ["-", "-"]
    assert [text.get_text() for text in chunks.texts] == []
    assert len(whiskers(documents)) == 2


@pytest.mark.full
def test_lines_are_the_means_and_budgets_of_tokens_have_a_line_of_their_own() -> None:
    report = two_systems()
    figure = plots_of(two_systems)["over_k"]
    for metric in ("recall", "mrr"):
        axes = axes_of(figure, metric)
        values = [[s.result[metric + at] for at in ("@1", "@3", "", "@2tok", "@12tok")] for s in report.systems]
        assert lines(axes) == {s.name: list(enumerate(v)) for s, v in zip(report.systems, values, strict=True)}
        assert [len(np.asarray(line.get_xdata())) for line in axes.get_lines()] == [3, 2, 3, 2]
    assert ticks(axes_of(figure, "recall"), "x") == ["1", "3", "all", "2 tok", "12 tok"]


@pytest.mark.full
def test_of_very_many_cut_offs_some_are_named_and_all_are_drawn() -> None:
    report = report_of({"x": evaluate(gold(), random_run(1), range(1, 41), metrics=["recall", "hit_rate"])})
    axes = axes_of(plot_over_k(report), "recall")
    assert len(lines(axes)["x"]) == 40
    named = ticks(axes, "x")
    assert (named[0], named[-1], len(named) < 25) == ("1", "40", True)
    (bar_axes,) = plot_hits(report).axes
    shown = ticks(bar_axes, "x")
    assert bars(bar_axes)["x"] == [report.systems[0].result[f"hit_rate@{k}"] for k in shown]
    assert (shown[0], shown[-1], len(shown)) == ("1", "40", 14)


@pytest.mark.full
def test_boxes_are_the_quartiles_of_defined_values_and_undefined_ones_are_counted() -> None:
    report = two_systems()
    figure = plots_of(two_systems)["spread"]
    axes = axes_of(figure, "recall")
    assert ticks(figure.axes[0], "y") == ["bm25", "dense"]
    assert axes.get_xlabel() == "35 values, 5 undefined"
    boxes = [patch.get_path().vertices for patch in axes.patches if isinstance(patch, PathPatch)]
    for system, box in zip(report.systems, boxes, strict=True):
        values = system.detail.values["recall"]
        defined = values[~np.isnan(values)]
        x = np.asarray(box)[:, 0]
        assert [x.min(), x.max()] == np.quantile(defined, [0.25, 0.75]).tolist()
        means = [line.get_xdata() for line in axes.get_lines() if line.get_marker() == "D"]
        assert any(np.isclose(float(np.asarray(mean)[0]), defined.mean()) for mean in means)


@pytest.mark.full
def test_metrics_that_are_yes_or_no_have_no_box() -> None:
    titles = {axes.get_title(loc="left") for axes in plots_of(two_systems)["spread"].axes}
    assert titles == {"mrr", "recall"}


@pytest.mark.full
def test_ten_thousand_equal_outliers_are_one_dot() -> None:
    found = [["a", "b"]] * 9_000 + [["b", "a"]] * 999 + [["x"]]
    (axes,) = plot_spread(report_of({"x": evaluate([["a"]] * 10_000, found, 2, metrics="mrr")})).axes
    dots = next(line for line in axes.get_lines() if line.get_marker() == ".")
    assert np.asarray(dots.get_xdata()).tolist() == [0, 0.5]


@pytest.mark.full
def test_stacked_bars_are_the_counts_of_the_diagnosis_in_words() -> None:
    report = rouge()
    figure = plots_of(rouge)["causes"]
    (axes,) = figure.axes
    drawn: list[dict[str, float]] = [{}, {}]
    for container in axes.containers:
        for row, bar in enumerate(container.patches):  # type: ignore[attr-defined]
            assert bar.get_x() == sum(drawn[row].values())  # it begins where the one before it ends
            drawn[row][str(container.get_label())] = bar.get_width()
    for system, widths in zip(report.systems, drawn, strict=True):
        counts = {CAUSES[cause]: count for cause, count in system.diagnosis.counts.items()}
        expected = {"found within rank 2": system.diagnosis.n_found, **counts}
        assert {word: width for word, width in widths.items() if width} == {w: n for w, n in expected.items() if n}
        assert sum(widths.values()) == system.diagnosis.n_gold
    written = [int(text.get_text()) for text in axes.texts]
    assert sorted(written) == sorted(int(width) for widths in drawn for width in widths.values() if width)
    assert figure.legends[0].get_texts()[0].get_text() == "found within rank 2"


def test_every_cause_has_a_colour() -> None:
    assert list(COLOURS_OF_CAUSES) == ["found", *CAUSES]


@pytest.mark.full
def test_recall_over_the_searches_of_sessions() -> None:
    rows = [
        {"query_id": f"q{n}", "searches": [{"retrieved": [{"id": "x"}]}, {"retrieved": [{"id": "a"}]}][: 1 + n % 2]}
        for n in range(4)
    ]
    evalset = EvalSet([{"id": f"q{n}", "gold_chunk_ids": ["a"]} for n in range(4)])
    report = build_report(evalset, {"agent": Run.of("agent", map(RunRow.from_dict, rows))}, k=5)
    axes = plot_over_searches(report).axes[0]
    assert [line.get_ydata().tolist() for line in axes.get_lines()] == [[0.0, 0.5]]  # type: ignore[union-attr]
    drawn = {key: drawing.description for key, _, drawing in drawings_of(report)}
    assert "0.0000 after one search to 0.5000 after 2" in drawn["over_searches"]


@pytest.mark.parametrize(
    "plot", [plot_hits, plot_over_k, plot_over_searches, plot_spread, plot_causes, plot_sweep, plot_stages]
)
def test_where_nothing_is_defined_a_plot_says_so_and_a_report_has_no_pictures(plot: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"^There is nothing to draw: .*\. \w.*\.$"):
        plot(nothing_defined())
    assert figures_of(nothing_defined()) == []


@pytest.mark.full
def test_the_pictures_of_a_report_come_in_the_order_of_the_table() -> None:
    assert list(plots_of(rouge)) == [
        key for key in PLOTS if key not in ("over_searches", "stages", "slices", "changes")
    ]
    assert list(plots_of(two_systems)) == ["hits", "over_k", "over_size", "spread", "causes"]


@pytest.mark.full
def test_descriptions_say_the_numbers() -> None:
    drawn = {key: drawing.description for key, _, drawing in drawings_of(two_systems())}
    first = two_systems().systems[0].result
    low, high = (first.intervals or {})["hit_rate@3"] or (0, 0)
    assert f"hit_rate@3 {first['hit_rate@3']:.4f} ({low:.4f} to {high:.4f})" in drawn["hits"]
    assert f"recall from {first['recall@1']:.4f} at k = 1" in drawn["over_k"]
    assert "of 35 questions" in drawn["spread"]
    assert f"found: {two_systems().systems[0].diagnosis.n_found}" in drawn["causes"]


@pytest.mark.full
def test_ten_retrievers_with_hostile_names_have_ten_labels() -> None:
    report: Report = hostile()
    figures = plots_of(hostile)
    labels = ticks(figures["causes"].axes[0], "y")
    legend = [text.get_text() for text in figures["hits"].legends[0].get_texts()]
    for shown in (labels, legend):
        assert len(set(shown)) == len(report.systems) == 10
        assert not any(c in label for label in shown for c in "\n\t\x00\x07\ud800\u202e")
    assert legend[4] == r"$\frac{a}{b}$ and $x_1$ and $"
    assert legend[8] == "(no name)"


def staged(name: str, kept: str) -> Funnel:
    stages = [
        {"name": "dense", "retrieved": [{"id": one} for one in "abcdefgh"]},
        {"name": "rerank", "inputs": ["dense"], "retrieved": [{"id": one} for one in kept]},
        {"name": "cut", "inputs": ["rerank"], "retrieved": [{"id": one} for one in kept]},
    ]
    run = Run.of(name, [RunRow.from_dict({"query_id": "q", "stages": stages})])
    return funnel([{"id": "q", "question": "?", "gold_chunk_ids": [*"abcdefghij"]}], run, k=2)


@pytest.mark.full
def test_a_band_of_needs_narrows_by_what_each_stage_lost() -> None:
    report = replace(two_systems(), funnels=(staged("one", "abcd"),))
    (axes,) = plot_stages(report).axes
    assert [text.get_text() for text in axes.texts] == [
        "all needs: 10 (100%)",
        "not_retrieved: 2 (20%)",
        "retrieved: 8 (80%)",
        "lost_in:rerank: 4 (40%)",
        "after rerank: 4 (40%)",
        "after cut: 4 (40%)",  # which lost nothing
        "below_k: 2 (20%)",
        "kept: 2 (20%)",
    ]
    widths = [patch.get_width() for patch in axes.patches if isinstance(patch, Rectangle)]
    assert [round(width / widths[0], 9) for width in widths] == [1, 0.8, 0.4, 0.4, 0.2, 0.2]
    branches = [patch.get_path().vertices for patch in axes.patches if isinstance(patch, PathPatch)]
    for branch, share in zip(branches, (0.2, 0.4, 0.2), strict=True):
        corners = np.asarray(branch)
        assert corners[0, 0] - corners[-1, 0] == pytest.approx(share * widths[0])  # where it leaves the band
        assert corners[3, 1] - corners[2, 1] == pytest.approx(share * widths[0])  # where it ends
    assert [text.get_position()[1] for text in axes.texts] == sorted(text.get_position()[1] for text in axes.texts)


@pytest.mark.full
def test_several_funnels_stand_below_each_other_and_long_names_are_shortened() -> None:
    long = staged("a name " * 30, "abcd")
    both = replace(two_systems(), funnels=(staged("one", ""), long))
    figure = plot_stages(both)
    (axes,) = figure.axes
    texts = [text.get_text() for text in axes.texts]
    assert texts[0] == "one"
    assert max(map(len, texts)) <= 60
    assert "kept: 0 (0%)" in texts
    drawn = draw_stages(both)
    assert drawn is not None
    assert drawn.description.startswith("one: not_retrieved 2 of 10 needs, lost_in:rerank 8 of 10 needs. a name")
