"""Pictures of a result (extra `report`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from krag_eval.errors import MissingDependencyError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def bar_chart(values: Mapping[str, float | None], title: str) -> Figure:
    """One bar a value, from 0 to 1; a value that is undefined has none and says so.

    Raises:
        MissingDependencyError: matplotlib is not installed.
    """
    try:
        # Figure, not pyplot: pyplot would pick a window system and keep every figure alive.
        from matplotlib.figure import Figure
    except ImportError as error:
        if error.name is None or error.name.partition(".")[0] != "matplotlib":
            raise
        raise MissingDependencyError("visualize_results", "matplotlib", "report") from error
    figure = Figure(figsize=(8, 0.45 * len(values) + 1.2), layout="constrained")
    axes = figure.add_subplot()
    names = list(values)[::-1]
    bars = axes.barh(names, [values[name] or 0.0 for name in names], color="#3b6ea5")
    axes.bar_label(bars, ["undefined" if values[n] is None else f"{values[n]:.3f}" for n in names], padding=4)
    axes.set_xlim(0, 1.12)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1])
    axes.set_title(title, loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def show(figure: Figure) -> None:
    """Show a figure where there is a notebook to show it in; elsewhere do nothing."""
    try:
        from IPython import get_ipython
        from IPython.display import Image, display
    except ImportError:
        return
    if get_ipython() is None:
        return
    import io

    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=110)
    display(Image(data=picture.getvalue()))
