"""`write_report`: a report to a file, in the format that its name ends with."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable
from pathlib import Path

from krag_eval.checks import check_kind, check_path
from krag_eval.errors import InvalidInputError, did_you_mean
from krag_eval.files import write_atomically
from krag_eval.report.csv_form import csv_lines
from krag_eval.report.json_form import json_lines
from krag_eval.report.markdown import markdown
from krag_eval.report.records import Report
from krag_eval.wrong_names import tell_names


def _html(report: Report) -> Iterable[str]:
    from krag_eval.report.html import html_parts  # needs the extra `report`

    return html_parts(report)


FORMATS: dict[str, Callable[[Report], Iterable[str]]] = {
    "html": _html,
    "md": markdown,
    "json": json_lines,
    "csv": csv_lines,
}
_ENDINGS = {".html": "html", ".htm": "html", ".md": "md", ".markdown": "md", ".json": "json", ".csv": "csv"}


@tell_names
def write_report(
    report: Report,
    path: str | os.PathLike[str],
    format: str | None = None,  # noqa: A002 - the word that users of such functions know
    force: bool = False,
) -> Path:
    """Write a report, whole or not at all.

    Args:
        report: What `build_report` returned.
        path: The file to write.
        format: `"html"` (needs the extra `report`), `"md"`, `"json"` or `"csv"`; by default what the path ends with.
        force: Replace a file that is there.

    Returns:
        The path.

    Raises:
        InvalidInputError: The format cannot be told, the file is there or cannot be written, or a result was streamed.
        MissingDependencyError: HTML was asked for, and a package that it needs is not installed.
    """
    check_kind(
        "report", report, Report, "Make one with `build_report({'name': result})`, or call `result.report(path)`."
    )
    target, chosen = check_target(path, format, force)
    try:
        write_atomically(target, FORMATS[chosen](report))
    except OSError as error:
        raise InvalidInputError(
            f"{target}: cannot be written ({error.strerror or error}). Nothing was changed; give another path."
        ) from error
    return target


def check_target(
    path: str | os.PathLike[str],
    format: str | None = None,  # noqa: A002
    force: bool = False,
) -> tuple[Path, str]:
    """The path and the format, checked before any work is done.

    Raises:
        InvalidInputError: The format cannot be told, the file is there, or its folder is not.
    """
    check_path(path)
    if not os.fspath(path):
        raise InvalidInputError("`path` is empty. Give the name of a file, such as report.html.")
    target = Path(path)
    chosen = _format_of(target, format)
    if target.is_dir():
        raise InvalidInputError(f"{target}: is a folder. Give the name of a file in it, such as report.{chosen}.")
    if target.is_file() and not force:
        raise InvalidInputError(f"{target}: is there already. Give another path, or replace it with force=True.")
    folder = target.parent
    if not folder.is_dir():
        what = "is not a folder" if folder.exists() else "is not there"
        raise InvalidInputError(f"{target}: its folder {what}. Make the folder first, or give another path.")
    if not os.access(folder, os.W_OK) and not target.exists():
        raise InvalidInputError(
            f"{target}: cannot be written ({os.strerror(errno.EACCES)}). Give a path in a folder of yours."
        )
    return target, chosen


def _format_of(path: Path, given: str | None) -> str:
    known = ", ".join(FORMATS)
    if str(path) == "-":
        raise InvalidInputError("A report needs the name of a file, got '-'. Give a path such as report.html.")
    if given is not None:
        name = str(given).lower().removeprefix(".")
        if name not in FORMATS:
            raise InvalidInputError(
                f"`format` {given!r:.60} is no format of a report.{did_you_mean(given, FORMATS)} Formats: {known}."
            )
        return name
    ending = path.suffix.lower()
    if ending not in _ENDINGS:
        found = f"the ending {ending!r}" if ending else "no ending"
        raise InvalidInputError(
            f"{path}: has {found}, which names no format of a report. "
            f"End it with .html, .md, .json or .csv, or give a `format` of {known}."
        )
    return _ENDINGS[ending]
