"""The pictures of a report as files."""

from __future__ import annotations

import io
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from krag_eval.errors import InvalidInputError
from krag_eval.files import write_atomically
from krag_eval.report.plots.drawing import style, warn_of_boxes
from krag_eval.report.plots.figures import drawings_of
from krag_eval.report.plots.svg import as_svg, without_glyph_warnings
from krag_eval.report.records import Report

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DPI = 160


def write_plots(report: Report, folder: str | os.PathLike[str], *, force: bool = False) -> list[Path]:
    """Write every picture for which the report has something to show, as `KEY.svg` and `KEY.png`.

    Nothing is written where one of the files is there already, unless `force` is given. Each file is written whole or
    not at all.

    Args:
        report: What `build_report` returned.
        folder: Where to write; it is made where it is missing.
        force: Replace files that are there.

    Returns:
        The paths, in the order of `PLOTS`.

    Raises:
        InvalidInputError: A file is there, or the folder cannot be written to.
        MissingDependencyError: matplotlib is not installed.
    """
    target = Path(folder)
    if target.exists() and not target.is_dir():
        raise InvalidInputError(f"{target}: is a file. Pictures are written into a folder; name one.")
    drawn = list(drawings_of(report))
    paths = [target / f"{key}.{ending}" for key, _, _ in drawn for ending in ("svg", "png")]
    there = [path.name for path in paths if path.exists() or path.is_symlink()]
    if there and not force:
        raise InvalidInputError(
            f"{target}: has {', '.join(there)} already. Name another folder, or replace the files with force=True."
        )
    warn_of_boxes([drawing.figure for _, _, drawing in drawn])
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInputError(f"{target}: cannot be made ({error.strerror or error}). Check the path.") from error
    for key, plot, drawing in drawn:
        svg = as_svg(drawing.figure, key, plot.title, drawing.description, in_page=False)
        write_atomically(target / f"{key}.svg", ['<?xml version="1.0" encoding="utf-8"?>\n', svg, "\n"])
        _write_bytes(target / f"{key}.png", as_png(drawing.figure))
    return paths


def as_png(figure: Figure) -> bytes:
    """The figure as a PNG file; the same figure gives the same bytes."""
    buffer = io.BytesIO()
    with style(), without_glyph_warnings():
        figure.savefig(buffer, format="png", dpi=DPI, facecolor="white", metadata={"Software": None})
    return buffer.getvalue()


def _write_bytes(path: Path, content: bytes) -> None:
    """As `write_atomically`, for what is no text."""
    temporary = None
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(temporary).chmod(path.with_suffix(".svg").stat().st_mode & 0o777)  # as its neighbour was just made
        Path(temporary).replace(path)
    except OSError as error:
        raise InvalidInputError(f"{path}: cannot be written ({error.strerror or error}). Check the folder.") from error
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
