"""The familiar bars: micro and macro beside each other, nothing opened, shown once in a notebook."""

from __future__ import annotations

import itertools
import sys
from typing import Any

import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from krag_eval import OfflineRetrievalEvaluators, RAGEvaluator
from krag_eval_report.plots.charts import MEAN, MICRO, bar_chart

GOLD, FOUND = [["a", "b"], ["c"]], [["a", "z"], ["x"]]


def bars(figure: Figure) -> dict[str, tuple[float, float, str]]:
    """For each label where its bar stands, how long it is, and its colour; from the top."""
    (axes,) = figure.axes
    names = [label.get_text() for label in axes.get_yticklabels()]
    drawn: list[Any] = list(axes.patches)
    found = {
        name: (bar.get_y() + bar.get_height() / 2, bar.get_width(), to_hex(bar.get_facecolor()))
        for name, bar in zip(names, drawn, strict=True)
    }
    return dict(sorted(found.items(), key=lambda item: -item[1][0]))


@pytest.mark.parametrize("averaging", ["both", "micro", "macro"])
def test_each_value_has_its_bar_in_the_order_of_evaluate_all(averaging: str) -> None:
    evaluator = OfflineRetrievalEvaluators(GOLD, FOUND, averaging_method=averaging)
    drawn = bars(evaluator.visualize_results(k=2))
    assert list({name: length for name, (_, length, _) in drawn.items()}.items()) == list(
        evaluator.evaluate_all(k=2).items()
    )


def test_labels_stand_at_their_bars() -> None:
    (axes,) = OfflineRetrievalEvaluators(GOLD, FOUND).visualize_results(k=2).axes
    middles = [bar.get_y() + bar.get_height() / 2 for bar in axes.patches]  # type: ignore[attr-defined]
    assert axes.get_yticks().tolist() == pytest.approx(middles)


def test_micro_and_macro_of_a_metric_stand_together_in_two_colours() -> None:
    drawn = bars(OfflineRetrievalEvaluators(GOLD, FOUND).visualize_results())
    place = {name: y for name, (y, _, _) in drawn.items()}
    names = list(place)
    gaps = {(a, b): place[a] - place[b] for a, b in itertools.pairwise(names)}
    pairs = {gap for (a, b), gap in gaps.items() if a.removeprefix("micro_") == b.removeprefix("macro_")}
    assert len(pairs) > 0
    assert max(pairs) < min(gap for gap in gaps.values() if gap not in pairs)
    assert {name for name, (_, _, colour) in drawn.items() if colour == MICRO} == {
        "micro_recall",
        "micro_precision",
        "micro_f1",
    }
    assert {colour for _, _, colour in drawn.values()} == {MICRO, MEAN}


def test_numbers_stand_at_the_ends_and_an_undefined_one_says_so() -> None:
    (axes,) = bar_chart({"mrr": 0.25, "map": None, "ndcg": 0.0}, "A title").axes
    assert [text.get_text() for text in axes.texts] == ["0.000", "undefined", "0.250"]


def test_outside_a_notebook_nothing_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    RAGEvaluator().evaluate_all(GOLD, FOUND, visualize=True)
    assert capsys.readouterr() == ("", "")
    assert "matplotlib.pyplot" not in sys.modules or "krag_eval" not in repr(sys.modules["matplotlib.pyplot"])


class Shell:
    """A notebook, as far as figures know it."""

    def __init__(self) -> None:
        from IPython.core.formatters import DisplayFormatter

        self.display_formatter = DisplayFormatter()
        self.display_formatter.active_types = ["text/plain", "image/png"]

    def shows(self, thing: object) -> list[str]:
        """The formats in which a thing at the end of a cell is shown."""
        return sorted(self.display_formatter.format(thing)[0])  # type: ignore[no-untyped-call]


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Shell:
    import IPython

    shell = Shell()
    monkeypatch.setattr(IPython, "get_ipython", lambda: shell)
    return shell


@pytest.mark.full
def test_in_a_notebook_a_figure_at_the_end_of_a_cell_is_shown_as_one_picture(notebook: Shell) -> None:
    figure = OfflineRetrievalEvaluators(GOLD, FOUND).visualize_results(k=1)
    assert notebook.shows(figure) == ["image/png", "text/plain"]


@pytest.mark.full
def test_in_a_notebook_visualize_shows_the_figure_once(notebook: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[object] = []
    monkeypatch.setattr("IPython.display.display", shown.append)
    RAGEvaluator().evaluate_all(GOLD, FOUND, visualize=True)
    assert [type(figure) for figure in shown] == [Figure]


@pytest.mark.full
def test_a_notebook_that_shows_figures_its_own_way_keeps_it(notebook: Shell) -> None:
    notebook.display_formatter.formatters["image/png"].for_type(Figure, lambda figure: b"its own")
    figure = OfflineRetrievalEvaluators(GOLD, FOUND).visualize_results(k=1)
    data, _ = notebook.display_formatter.format(figure)  # type: ignore[no-untyped-call]
    assert data["image/png"] == b"its own"
