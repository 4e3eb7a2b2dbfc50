"""A journal in which every row has a key: what was found out once is looked up from then on."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from krag_eval._utils.errors import InvalidInputError, refuse
from krag_eval._utils.journal.journal import Journal
from krag_eval._utils.journal.rows import JournalKind, JournalLine
from krag_eval._utils.version import __version__

_ABSENT = object()


class KeyedJournal:
    """Rows by key, in memory and, if a path is given, in a journal. Threads may share it.

    Args:
        path: The file, or None to keep rows in memory alone.
        kind: The kind of the journal.
        settings: How the rows are made, as JSON values. A journal made with other settings is refused.
        resume: Resume an existing file; otherwise it is refused.
        retry_errors: Remove rows with an `"error"` that is not None from the file.

    Attributes:
        path: The file, or None.
        n_found: How many rows the file had already.

    Raises:
        InvalidInputError: The file cannot be written, is in use, damaged, made with other settings, or not to be
            resumed.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None,
        kind: JournalKind,
        settings: Mapping[str, Any],
        *,
        resume: bool = True,
        retry_errors: bool = False,
    ) -> None:
        self.path = None if path is None else _checked(path)
        self._kind, self._settings, self._retry_errors = kind, settings, retry_errors
        self._rows: dict[str, Mapping[str, Any]] = {}
        self._lock = threading.Lock()
        self._journal: Journal | None = None
        if self.path is not None:
            header = {kind.header: kind.version, **settings, "krag_eval": __version__}
            header["time"] = datetime.now(UTC).isoformat(timespec="seconds")
            self._journal = Journal(
                self.path, header, kind, resume=resume, check=self._check, take=self._take, rows=self._all
            )
        self.n_found = len(self._rows)

    def __enter__(self) -> KeyedJournal:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.close(kind)

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self._rows))

    def get(self, key: str) -> Mapping[str, Any] | None:
        """Return the row with this key, without the key; None if there is none."""
        return self._rows.get(key)

    def put(self, key: str, row: Mapping[str, Any]) -> None:
        """Record a row under a key that has none yet.

        Raises:
            InvalidInputError: It cannot be written; the rows before it are safe.
        """
        with self._lock:
            self._rows[key] = dict(row)  # also where it cannot be written: it is saved with the others
            if self._journal is not None:
                self._journal.append({"key": key, **row})

    def close(self, after: type[BaseException] | None = None) -> None:
        """Put everything on the disk, and unlock the file; see `Journal.close`.

        Raises:
            InvalidInputError: The disk does not take it, or somebody removed, replaced or changed the file.
        """
        if self._journal is not None:
            journal, self._journal = self._journal, None
            journal.close(after)

    def _all(self) -> list[Mapping[str, Any]]:
        return [{"key": key, **row} for key, row in self._rows.items()]

    def _take(self, lines: list[JournalLine]) -> Iterator[bool]:
        for line in lines:
            key = line.row.pop("key", None)
            if not isinstance(key, str):
                raise InvalidInputError(f"{line.place}: `key` is {key!r:.60}. Every row needs a string there.")
            if key in self._rows:
                raise InvalidInputError(f"{line.place}: the key {key!r:.120} appears twice.")
            is_kept = not self._retry_errors or line.row.get("error") is None
            if is_kept:
                self._rows[key] = line.row
            yield is_kept

    def _check(self, path: Path, there: Mapping[str, Any]) -> None:
        differing = [
            f"{name.replace('_', ' ')} {_shown(there, name)} there, {_shown(self._settings, name)} now"
            for name in self._settings
            if there.get(name, _ABSENT) != self._settings[name]
        ]
        if differing:
            raise InvalidInputError(
                f"{path}:1: is the journal of another {self._kind.what}: {'; '.join(differing)}. Give another path to "
                "start again, or the same settings to resume this one."
            )


def _checked(path: object) -> Path:
    if not isinstance(path, (str, os.PathLike)) or not os.fspath(path):
        refuse("journal", "the path of a file, or None", path)
    return Path(path)


def _shown(holder: Mapping[str, Any], name: str) -> str:
    return f"{holder[name]!r:.60}" if name in holder else "absent"
