"""The journal of a run while it is written."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from krag_eval.errors import InvalidInputError
from krag_eval.evalset import RunRow
from krag_eval.evalset.formats.journal import RUN_JOURNAL
from krag_eval.journal import Journal as AppendOnly
from krag_eval.runner.header import check_same


class Journal:
    """A journal with one row a question.

    Args:
        path: The file; its folder is created.
        header: What the first row says, the name of the run under `"name"`.
        resume: Go on with a file that is there; otherwise it is refused.
        retry_errors: Take rows that are errors out of the file, so that their questions are asked again.
        found: Called with each row that is already there.

    Raises:
        InvalidInputError: The file cannot be written, is in use, damaged, of another run, or not to be resumed.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        header: Mapping[str, Any],
        *,
        resume: bool = True,
        retry_errors: bool = False,
        found: Callable[[RunRow], None],
    ) -> None:
        seen = set[str]()

        def take(place: str, given: Mapping[str, Any]) -> bool:
            row = _row_at(place, given)
            if row.query_id in seen:
                raise InvalidInputError(f"{place}: the query {row.query_id!r} stands twice.")
            seen.add(row.query_id)
            if row.error is not None and retry_errors:
                return False
            found(row)
            return True

        self._journal = AppendOnly(
            path,
            header,
            RUN_JOURNAL,
            resume=resume,
            check=lambda where, there: check_same(where, there, header),
            take=take,
        )

    @property
    def path(self) -> Path:
        """The file."""
        return self._journal.path

    @property
    def header(self) -> Mapping[str, Any]:
        """The first row, which a resumed run keeps."""
        return self._journal.header

    def append(self, row: RunRow) -> None:
        """Write a row.

        Raises:
            InvalidInputError: It cannot be written, for example because the disk is full; the rows before it stand.
        """
        self._journal.append(row.to_dict())

    def close(self) -> None:
        """Put everything on the disk, and unlock the file.

        Raises:
            InvalidInputError: The disk does not take it.
        """
        self._journal.close()


def _row_at(place: str, row: Mapping[str, Any]) -> RunRow:
    try:
        return RunRow.from_dict(row)
    except InvalidInputError as error:
        raise InvalidInputError(f"{place}: {error}") from None
