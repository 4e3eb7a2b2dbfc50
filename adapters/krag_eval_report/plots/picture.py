"""The figures that are returned: matplotlib's, with a text that says what they show."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

# What an image can say of itself: the names of its title and its description.
_SAID = {"svg": ("Title", "Description"), "png": ("Title", "Description"), "pdf": ("Title", "Subject")}


class Picture(Figure):
    """A figure of matplotlib with a text in its place.

    Attributes:
        heading: Its title.
        alternative: What it shows, for readers who cannot see it. Files that `savefig` writes hold it, too.
    """

    heading: str = ""
    alternative: str = ""

    def savefig(self, fname: Any, *, transparent: bool | None = None, **settings: Any) -> None:
        """Save it as `Figure.savefig` does, with its title and its text in the metadata of SVG, PNG and PDF."""
        ending = Path(fname).suffix[1:] if isinstance(fname, (str, os.PathLike)) else "png"
        names = _SAID.get(str(settings.get("format") or ending).lower(), ())
        said = {name: text for name, text in zip(names, (self.heading, self.alternative), strict=False) if text}
        given = said | dict(settings.pop("metadata", None) or {})
        super().savefig(fname, transparent=transparent, **({"metadata": given} if given else {}), **settings)

    def to_svg(self) -> str:
        """Return it as an `<svg>` element with `<title>` and `<desc>`, without styles, scripts and references."""
        from krag_eval_report.plots.svg import as_svg

        return as_svg(self, "plot", self.heading, [self.alternative], in_page=False)

    def _repr_html_(self) -> str:
        """Return it for notebooks, with its text for screen readers."""
        return self.to_svg()
