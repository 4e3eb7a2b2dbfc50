"""Draw the bar chart of an evaluator, and make the figures that all plots are drawn on (extra `report`)."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from krag_eval import MissingDependencyError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


MICRO, MEAN = "#8fb8de", "#3b6ea5"


def new_figure(width: float, height: float, needed_by: str) -> Figure:
    """Return an empty figure, in inches. No window opens, and nothing keeps it alive.

    Raises:
        MissingDependencyError: matplotlib is not installed.
    """
    try:
        # Figure, not pyplot: pyplot would pick a window system and keep every figure alive.
        from matplotlib.figure import Figure
    except ImportError as error:
        if error.name is None or error.name.partition(".")[0] != "matplotlib":
            raise
        raise MissingDependencyError(needed_by, "matplotlib", "report") from error
    _let_notebooks_show(Figure)
    return Figure(figsize=(width, height), layout="constrained")


def bar_chart(values: Mapping[str, float | None], title: str) -> Figure:
    """Draw one bar per value, from 0 to 1, with micro values beside macro values; an undefined value is labelled so.

    Raises:
        MissingDependencyError: matplotlib is not installed.
    """
    figure = new_figure(8, 0.36 * len(values) + 1, "visualize_results")
    axes = figure.add_subplot()
    places = _places(list(values))
    names = list(values)[::-1]
    bars = axes.barh(
        [places[name] for name in names],
        [values[name] or 0.0 for name in names],
        height=0.78,
        color=[MICRO if name.startswith("micro_") else MEAN for name in names],
    )
    axes.set_yticks([places[name] for name in names], names)
    axes.bar_label(bars, ["undefined" if values[n] is None else f"{values[n]:.3f}" for n in names], padding=4)
    axes.set_xlim(0, 1.12)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1])
    axes.set_title(title, loc="left")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.margins(y=0.02)
    return figure


def show(figure: Figure) -> None:
    """Show a figure where there is a notebook to show it in; elsewhere do nothing."""
    if _shell() is not None:
        from IPython.display import display

        display(figure)  # type: ignore[no-untyped-call]


def _places(names: list[str]) -> dict[str, float]:
    """Return the position of each bar, from the top: micro and macro of a metric stand closer together."""
    place, places = 0.0, {}
    for name, before in zip(names, ["", *names], strict=False):
        is_pair = before.removeprefix("micro_") == name.removeprefix("macro_") and before != name
        place -= 0.82 if is_pair else 1.15
        places[name] = place
    return places


def _shell() -> Any:
    """Return the running IPython, if this is one."""
    ipython = sys.modules.get("IPython")
    return None if ipython is None else ipython.get_ipython()


def _let_notebooks_show(figure_class: type[Figure]) -> None:
    """Let notebooks draw a figure at the end of a cell once, also without `%matplotlib inline`."""
    shell = _shell()
    if shell is None:
        return
    formatter = shell.display_formatter.formatters["image/png"]
    if figure_class not in formatter:
        formatter.for_type(figure_class, _as_png)


def _as_png(figure: Figure) -> bytes:
    import io

    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=110)
    return picture.getvalue()
