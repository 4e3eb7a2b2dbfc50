"""The sweep of a report, and one colour a retriever in all pictures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import PathPatch

from krag_eval import InvalidInputError, sweep
from krag_eval.documents.columns import Side
from krag_eval_report.plots import curves, plot_sweep
from krag_eval_report.plots.distributions import COLOURS as COLOURS_OF_CAUSES
from krag_eval_report.plots.drawing import COLOURS
from tests.support.plot_artists import axes_of, lines, plots_of
from tests.support.plot_cases import (
    rouge,
    two_systems,
)


def _rows(side: Side) -> list[list[Any]]:
    return [side.documents[slice(*side.offsets[query : query + 2])] for query in range(len(side))]


@pytest.mark.full
def test_the_sweep_of_a_report_is_that_of_sweep_with_the_threshold_marked() -> None:
    report = rouge()
    figure = plots_of(rouge)["sweep"]
    for system in report.systems:
        gold_rows, found = (_rows(side) for side in (system.detail.batch.actual, system.detail.batch.predicted))
        by_hand = sweep(gold_rows, found, k=2, in_use=0.6, match_method="rougeL")
        for key in ("recall@2", "precision@2"):
            drawn = lines(axes_of(figure, key))
            assert drawn[system.name] == list(zip(by_hand.thresholds, by_hand.values[key], strict=True))
            assert {x for x, _ in drawn["threshold 0.6"]} == {0.6}
    assert "threshold in use: 0.6" in [text.get_text() for text in figure.legends[0].get_texts()]


@pytest.mark.full
def test_a_sweep_alone_and_several_by_name_can_be_drawn() -> None:
    one = sweep([["a b c d"]], [["a b c x"]], [0.7, 0.8], k=(1, 2), in_use=0.75, metrics="recall")
    figure = plot_sweep(one)
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["recall@1", "recall@2"]
    assert lines(figure.axes[0])["recall@1"] == [(0.7, 1), (0.75, 1), (0.8, 0)]
    assert set(lines(plot_sweep({"a": one, "b": one}).axes[0])) == {"a", "b", "threshold 0.75"}


@pytest.mark.parametrize("given", [{}, {"a": 1}, 3, None])
def test_what_is_no_sweep_is_refused(given: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"`swept` must be a Sweep.*Pass the result of `krag_eval.sweep`"):
        plot_sweep(given)


@pytest.mark.parametrize("limit", ["MOST_PAIRS", "MOST_CHARACTERS"])
def test_a_report_with_too_much_to_compare_is_not_swept(monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    assert set(curves.sweeps_of(rouge())) == {"a", "b"}
    monkeypatch.setattr(curves, limit, 5)
    assert curves.sweeps_of(rouge()) == {}
    with pytest.raises(InvalidInputError, match=r"There is nothing to draw: .*Call `sweep`"):
        plot_sweep(rouge())


@pytest.mark.full
def test_a_retriever_has_the_same_colour_in_all_pictures() -> None:
    for make in (two_systems, rouge):
        figures = plots_of(make)
        names = [system.name for system in make().systems]
        expected = dict(zip(names, COLOURS, strict=False))
        bar_axes = figures["hits"].axes[0]
        groups: list[Any] = [group for group in bar_axes.containers if group.get_label() in names]
        colours = {group.get_label(): to_hex(group.patches[0].get_facecolor()) for group in groups}
        assert colours == expected
        for key in {"over_k", "sweep"} & set(figures):
            axes = axes_of(figures[key], "recall")
            assert {str(x.get_label()): x.get_color() for x in axes.get_lines() if x.get_label() in names} == expected
        boxes = [p for p in figures["spread"].axes[0].patches if isinstance(p, PathPatch)]
        assert [to_hex(box.get_facecolor()) for box in boxes] == list(expected.values())[: len(boxes)]


def test_colours_stand_out_from_white_and_from_black_pages() -> None:
    for colour in (*COLOURS, *COLOURS_OF_CAUSES.values()):
        parts = np.array([int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)])
        linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        luminance = float(linear @ [0.2126, 0.7152, 0.0722])
        assert 1.05 / (luminance + 0.05) >= 3, colour  # WCAG 2.2, 1.4.11
        assert (luminance + 0.05) / 0.0555 >= 3, colour  # a page of #0d1117
