"""Logs with one row a retrieved document, joined to their gold: one row a query."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from krag_eval.columnar.types import Fields
from krag_eval.errors import InvalidInputError, needing, warn
from krag_eval.log_scoring.grouping import group_by_query
from krag_eval.log_scoring.joining import write_whole
from krag_eval.log_scoring.long_columns import GOLD, LOGS, LongColumns, read_columns, read_rows

_ROWS_AT_ONCE = 1 << 14
_ROW_GROUP = 1 << 15
# What the processes that score need besides stays under 600 MB in all.
_MEMORY, _MOST_THREADS = "256MB", 4
# Of equal ranks the higher score comes first, then the smaller id, then the smaller text: no order of rows changes it.
_SORTED = """
    SELECT * FROM rows ORDER BY
        query_id, side,
        rank ASC NULLS LAST, score DESC NULLS LAST,
        id ASC NULLS LAST, text ASC NULLS LAST, grade ASC NULLS LAST
"""


@dataclass(frozen=True, slots=True)
class LongForm:
    """Logs in long form and their gold.

    Attributes:
        logs: Parquet files with one row for each retrieved document: `query_id`, `id` or `text` or both, and `rank`
            (lowest first) or `score` (highest first) or both. A row without id and text is no document.
        gold: Parquet files with one row for each gold document: `query_id`, `id` or `text` or both, and `grade` where
            there are grades. A query without gold documents is one row whose id and text are null.
        kmax: How many documents of each query are kept.
        fields: Which columns are the id and the grade.
    """

    logs: Sequence[str]
    gold: Sequence[str]
    kmax: int
    fields: Fields

    def columns(self) -> LongColumns:
        """Which columns the files have.

        Raises:
            InvalidInputError: One is missing, has another type, or stands in some of the files only.
        """
        logs = read_columns(LOGS, self.logs, self.fields)
        if not {"rank", "score"} & logs:
            raise InvalidInputError(
                f"{self.logs[0]}: has neither a column `rank` nor `score`. One of them must say how documents were "
                "ranked."
            )
        return LongColumns(logs, read_columns(GOLD, self.gold, self.fields), self.fields)

    def join(self, target: Path) -> None:
        """Write one row a query of the gold, sorted by `query_id`, whole or not at all.

        A query that is not in the logs has retrieved nothing; one that is only in the logs is left out, since nobody
        said what answers it. DuckDB sorts the rows of both, on the disk where they are many; they are grouped while
        they flow out, so that one query may have any number of them.

        Raises:
            InvalidInputError: A column is missing, or a file cannot be read or written.
            MissingDependencyError: DuckDB is not installed.
        """
        columns = self.columns()
        with needing("score_logs(gold=...)", "duckdb", "duckdb"):
            import duckdb

        settings: dict[str, str | bool | int | float | list[str]] = {
            "memory_limit": _MEMORY,
            "threads": min(_MOST_THREADS, os.cpu_count() or 1),
            "temp_directory": str(target.with_name("spilled")),
            "preserve_insertion_order": "false",
            "autoinstall_known_extensions": "false",
        }
        failed: list[Exception] = []
        try:
            with duckdb.connect(config=settings) as database:
                database.execute("SET enable_progress_bar = false")
                rows = pa.RecordBatchReader.from_batches(columns.rows, _noting(failed, lambda: self._rows(columns)))
                database.register("rows", rows)
                ordered = database.sql(_SORTED).to_arrow_reader(_ROWS_AT_ONCE)
                grouped = group_by_query((batch.cast(columns.rows) for batch in ordered), columns.joined, self.kmax)
                write_whole(grouped, columns.joined, target, _ROW_GROUP)
        except (duckdb.Error, pa.ArrowException, OSError) as error:
            if failed and isinstance(failed[0], InvalidInputError):
                raise failed[0] from None
            said = " ".join(str(error).split())[:300]
            raise InvalidInputError(
                f"The logs cannot be joined to their gold ({said}). Look at {self.logs[0]} and {self.gold[0]}, and at "
                f"the room on the disk of {target.parent}."
            ) from error

    def warn_of_nothing_found(self) -> None:
        """Warn that the logs have not one document of any query of the gold, with an id of each to compare."""
        columns = self.columns()
        first = [next(read_rows(what, files, columns), None) for what, files in ((GOLD, self.gold), (LOGS, self.logs))]
        ids = [repr(rows.column("query_id")[0].as_py())[:60] if rows else "none" for rows in first]
        warn(
            "The logs have no document for any query of the gold: all of them count as nothing retrieved. Compare the "
            f"query ids: {ids[0]} in {self.gold[0]}, {ids[1]} in {self.logs[0]}."
        )

    def _rows(self, columns: LongColumns) -> Iterator[Any]:
        yield from read_rows(GOLD, self.gold, columns)
        yield from read_rows(LOGS, self.logs, columns)


def _noting(failed: list[Exception], rows: Callable[[], Iterator[Any]]) -> Iterator[Any]:
    """The rows; what goes wrong with them is kept, since an engine tells only a part of it."""
    try:
        yield from rows()
    except Exception as error:
        failed.append(error)
        raise
