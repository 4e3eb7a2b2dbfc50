"""Which format a file is read or written in: the one that is named, or the one that it shows."""

from __future__ import annotations

import os

from krag_eval.checks import check_count
from krag_eval.errors import InvalidInputError, did_you_mean
from krag_eval.evalset.formats.detect import detect
from krag_eval.evalset.formats.source import Source
from krag_eval.evalset.formats.table import FORMATS

StrPath = str | os.PathLike[str]
EVALSET, RUN = "an evaluation set", "a run"


def open_source(
    path: StrPath, format_name: str | None, *, has_columns: bool = False, max_bad_rows: int = 0
) -> tuple[Source, str]:
    """A file to read, and the format that it is in.

    Raises:
        InvalidInputError: The format is not known, the file shows none, or `max_bad_rows` is no number of lines.
    """
    most = check_count("max_bad_rows", max_bad_rows, least=0)
    if format_name is not None:
        name = check_format(format_name)
        return Source(path, FORMATS[name].container, max_bad_rows=most), name
    source = Source(path, max_bad_rows=most)
    if has_columns and source.container is not None:
        return source, source.container
    return source, detect(source)[0]


def check_format(name: str) -> str:
    """The name of a format.

    Raises:
        InvalidInputError: There is no such format.
    """
    if name in FORMATS:
        return name
    raise InvalidInputError(
        f"Unknown format {name!r:.60}.{did_you_mean(name, FORMATS)} Known formats: {', '.join(FORMATS)}."
    )


def format_to_write(path: StrPath, name: str | None) -> str:
    """The format that is named, or else the one of the ending.

    Raises:
        InvalidInputError: There is no such format, or the ending belongs to none.
    """
    if name is not None:
        return check_format(name)
    lower = os.fspath(path).lower()
    fitting = [(len(e), known) for known, its in FORMATS.items() for e in its.endings if lower.endswith(e)]
    if fitting:
        return max(fitting)[1]
    raise InvalidInputError(
        f"{path}: the ending tells no format. Use one of "
        f"{', '.join(ending for its in FORMATS.values() for ending in its.endings)}, or name the format."
    )


def no_reader(path: StrPath, name: str, what: str) -> InvalidInputError:
    """What to say where a file is to be read as what its format has not."""
    return InvalidInputError(f"{path}: is in the format {name!r}, which cannot hold {what}. Give another file.")


def no_writer(path: StrPath, name: str, what: str) -> InvalidInputError:
    """What to say where a format has no writer for it."""
    writers = {known: its.write_rankings if what == RUN else its.write_questions for known, its in FORMATS.items()}
    able = [known for known, writer in writers.items() if writer is not None]
    return InvalidInputError(f"{path}: {what} cannot be written in the format {name!r}. Use one of: {', '.join(able)}.")
