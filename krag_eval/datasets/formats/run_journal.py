"""The journal of a run, as a file with a run in it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from krag_eval._utils.errors import InvalidInputError
from krag_eval._utils.files.io import open_file
from krag_eval._utils.journal.rows import JournalKind, read_journal
from krag_eval.datasets.question import RUN_HEADER

JOURNAL_VERSION = 1
RUN_JOURNAL = JournalKind(RUN_HEADER, "run", JOURNAL_VERSION)


def is_journal(path: str | os.PathLike[str]) -> bool:
    """Whether the file begins as a journal does; False where it cannot be read."""
    try:
        with open_file(path) as file:
            return file.read(len(RUN_JOURNAL.start)) == RUN_JOURNAL.start
    except (InvalidInputError, OSError):
        return False


def read_journal_rows(path: str | os.PathLike[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The rows of the journal of a run, its header first, each with its place as `path:line`, without its checksum.

    Raises:
        InvalidInputError: The file cannot be opened, or a row is damaged or was changed.
    """
    return read_journal(path, RUN_JOURNAL)


def split_header(header: Mapping[str, Any]) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """The name of a run, its parameters, and what else was recorded of it."""
    recorded = {key: value for key, value in header.items() if key not in (RUN_HEADER, "name", "parameters")}
    parameters = header.get("parameters")
    return str(header.get("name")), dict(parameters) if isinstance(parameters, Mapping) else {}, recorded
