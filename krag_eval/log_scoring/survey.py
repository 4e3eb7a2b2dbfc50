"""What is looked at in all files before anything is scored: what they are, and whether they can be scored."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from krag_eval.columnar import ColumnarScorer
from krag_eval.errors import InvalidInputError
from krag_eval.log_scoring.other_files import hint_for_columns
from krag_eval.log_scoring.sources import RowGroup, open_parquet, row_groups


@dataclass(frozen=True, slots=True)
class Survey:
    """Files that were looked through.

    Attributes:
        groups: Their row groups that have rows; none of files that cannot be scored as they are.
        n_rows: How many rows they have.
        what: What tells these files from others, in some words.
    """

    groups: list[RowGroup]
    n_rows: int
    what: str


def survey(files: Sequence[str], target: Path, scorer: ColumnarScorer) -> Survey:
    """Look through files with one row a query, each opened once.

    Args:
        files: Their paths or addresses.
        target: The file that will be written, which none of them may be.
        scorer: What will score them.

    Raises:
        InvalidInputError: A file cannot be read, is the target, or has columns that cannot be scored; or there is not
            one row.
    """
    found = _look_through(files, target, scorer)
    _check_rows(files, found)
    return found


def survey_long(logs: Sequence[str], gold: Sequence[str], target: Path) -> Survey:
    """Look through logs in long form and their gold, which are still to be joined.

    Raises:
        InvalidInputError: A file cannot be read, or is the target; or the gold has not one row.
    """
    of_logs, of_gold = _look_through(logs, target), _look_through(gold, target)
    _check_rows(gold, of_gold)
    return Survey([], of_logs.n_rows + of_gold.n_rows, f"{of_logs.what}; {of_gold.what}")


def _look_through(files: Sequence[str], target: Path, scorer: ColumnarScorer | None = None) -> Survey:
    groups: list[RowGroup] = []
    n_rows, seen = 0, hashlib.sha256()
    for path in files:
        if "://" not in path and target.exists() and target.samefile(path):
            raise InvalidInputError(f"{path}: is also what would be written. Give another path for the values.")
        with open_parquet(path) as file:
            n_rows += file.metadata.num_rows
            seen.update(json.dumps(_fingerprint(path, file)).encode())
            if scorer is not None:
                _check_schema(path, file, scorer)
                groups += row_groups(path, file)
    return Survey(groups, n_rows, f"{len(files)} of {n_rows} rows, {seen.hexdigest()[:16]}")


def _check_rows(files: Sequence[str], found: Survey) -> None:
    if not found.n_rows:
        others = f", nor has any other of {len(files)} files" if len(files) > 1 else ""
        raise InvalidInputError(f"{files[0]}: has no rows{others}. Give at least one query.")


def _check_schema(path: str, file: Any, scorer: ColumnarScorer) -> None:
    try:
        scorer.check_schema(file.schema_arrow)
    except InvalidInputError as error:
        raise InvalidInputError(f"{path}: {error}{hint_for_columns(file.schema_arrow.names)}") from None


def _fingerprint(path: str, file: Any) -> list[Any]:
    """What tells a file from another of its name: rows, row groups, the length of its footer, size and time."""
    stat = None if "://" in path else Path(path).stat()
    there = file.metadata
    local = [None, None] if stat is None else [stat.st_size, stat.st_mtime_ns]
    return [path, there.num_rows, there.num_row_groups, there.serialized_size, *local]
