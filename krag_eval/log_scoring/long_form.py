"""Logs with one row a retrieved document, joined to their gold by DuckDB: one row a query."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from krag_eval.columnar.types import is_id, is_number, is_string
from krag_eval.errors import InvalidInputError, needing
from krag_eval.log_scoring.sources import open_parquet

_ROWS_AT_ONCE = 1 << 13
_ROW_GROUP = 1 << 15
# What the processes that score need besides stays under 600 MB in all.
_MEMORY = "256MB"
_NEEDED = {
    "query_id": (is_id, "string"),
    "id": (is_id, "string"),
    "text": (is_string, "string"),
    "rank": (is_number, "a number"),
    "score": (is_number, "a number"),
    "grade": (is_number, "a number"),
}


@dataclass(frozen=True, slots=True)
class LongForm:
    """Logs in long form and their gold.

    Attributes:
        logs: Parquet files with one row for each retrieved document: `query_id`, `id` or `text` or both, and `rank`
            (lowest first) or `score` (highest first) or both.
        gold: Parquet files with one row for each gold document: `query_id`, `id` or `text` or both, and `grade` where
            there are grades. A query without gold documents is one row whose id and text are null.
        kmax: How many documents of each query are kept.
    """

    logs: Sequence[str]
    gold: Sequence[str]
    kmax: int

    def join(self, target: Path) -> None:
        """Write one row a query of the gold, sorted by `query_id`, whole or not at all.

        A query that is not in the logs has retrieved nothing; one that is only in the logs is left out, since nobody
        said what answers it. Equal ranks are ordered by score, then by id, then by text, so that no order changes.

        Raises:
            InvalidInputError: A column is missing, or a file cannot be read or written.
            MissingDependencyError: DuckDB is not installed.
        """
        retrieved, relevant = _columns("logs", self.logs), _columns("gold", self.gold)
        if not retrieved & {"rank", "score"}:
            raise InvalidInputError(
                f"{self.logs[0]}: has neither a column `rank` nor `score`. One of them must say how documents were "
                "ranked."
            )
        with needing("`gold`", "duckdb", "duckdb"):
            import duckdb

        temporary = target.with_name(f"{target.name}.{os.getpid()}.tmp")
        settings: dict[str, str | bool | int | float | list[str]] = {
            "memory_limit": _MEMORY,
            "temp_directory": str(target.with_name("spilled")),
            "preserve_insertion_order": "false",
            "enable_progress_bar": "false",
            "autoinstall_known_extensions": "false",
        }
        try:
            with duckdb.connect(config=settings) as database:
                query = _query(retrieved, relevant)
                rows = database.sql(query, params=[list(self.logs), self.kmax, list(self.gold)])
                _write(rows.to_arrow_reader(_ROWS_AT_ONCE), temporary)
            temporary.replace(target)
        except (duckdb.Error, pa.ArrowException, OSError) as error:
            said = " ".join(str(error).split())[:300]
            raise InvalidInputError(
                f"The logs cannot be joined to their gold ({said}). Look at {self.logs[0]} and {self.gold[0]}, and at "
                f"the room on the disk of {target.parent}."
            ) from error
        finally:
            temporary.unlink(missing_ok=True)


def _columns(what: str, files: Sequence[str]) -> set[str]:
    """The columns that every file has, of those that are read."""
    common = set(_NEEDED)
    for path in files:
        if "://" in path:
            raise InvalidInputError(
                f"{path}: logs in long form are joined on this machine. Fetch the files first, or join them where they "
                "are, with Spark: krag_eval_spark.from_long."
            )
        with open_parquet(path) as file:
            schema = file.schema_arrow
        if "query_id" not in schema.names or not {"id", "text"} & set(schema.names):
            raise InvalidInputError(
                f"{path}: has the columns {', '.join(schema.names)}. {what.capitalize()} in long form need `query_id`, "
                "and `id` or `text`."
            )
        for name, (is_right, needed) in _NEEDED.items():
            if name in schema.names and not is_right(schema.field(name).type):
                raise InvalidInputError(
                    f"{path}: the column `{name}` has the type {schema.field(name).type}, and it needs {needed}. Cast "
                    "it before scoring."
                )
        common &= set(schema.names)
    return common


def _query(retrieved: set[str], relevant: set[str]) -> str:
    """The query: its parameters are the files of the logs, kmax, and the files of the gold."""
    order = ["rank ASC NULLS LAST"] if "rank" in retrieved else []
    order += ["CASE WHEN isnan(score) THEN NULL ELSE score END DESC NULLS LAST"] if "score" in retrieved else []
    order += [f"{name} ASC NULLS LAST" for name in _documents(retrieved)]
    found = [*_documents(retrieved), *(["score"] if "score" in retrieved else [])]
    wanted = [*_documents(relevant), *(["grade"] if "grade" in relevant else [])]
    return f"""
        WITH logs AS (
            SELECT {_selected(retrieved)} FROM read_parquet(?, union_by_name = true)
        ),
        ranked AS (
            SELECT *, row_number() OVER (PARTITION BY query_id ORDER BY {", ".join(order)}) AS place
            FROM logs WHERE {_has_any(retrieved)} QUALIFY place <= ?
        ),
        predicted AS (
            SELECT query_id, list({_struct(found)} ORDER BY place) AS predicted FROM ranked GROUP BY ALL
        ),
        gold AS (
            SELECT {_selected(relevant)} FROM read_parquet(?, union_by_name = true)
        ),
        actual AS (
            SELECT query_id,
                list({_struct(wanted)} ORDER BY {", ".join(wanted)}) FILTER ({_has_any(relevant)}) AS actual
            FROM gold GROUP BY ALL
        )
        SELECT query_id, coalesce(actual, []) AS actual, coalesce(predicted, []) AS predicted
        FROM actual LEFT JOIN predicted USING (query_id) ORDER BY query_id
    """


def _documents(there: set[str]) -> list[str]:
    return [name for name in ("id", "text") if name in there]


def _selected(there: set[str]) -> str:
    types = {name: "VARCHAR" if is_right is not is_number else "DOUBLE" for name, (is_right, _) in _NEEDED.items()}
    return ", ".join(f"CAST({name} AS {type_}) AS {name}" for name, type_ in types.items() if name in there)


def _has_any(there: set[str]) -> str:
    return "(" + " OR ".join(f"{name} IS NOT NULL" for name in _documents(there)) + ")"


def _struct(names: Sequence[str]) -> str:
    return "{" + ", ".join(f"'{name}': {name}" for name in names) + "}"


def _write(rows: Any, path: Path) -> None:
    waiting: list[pa.RecordBatch] = []
    with pq.ParquetWriter(path, rows.schema, compression="zstd", write_page_checksum=True) as writer:
        for batch in rows:
            waiting.append(batch)
            if sum(map(len, waiting)) >= _ROW_GROUP:
                writer.write_table(pa.Table.from_batches(waiting))
                waiting.clear()
        if waiting:
            writer.write_table(pa.Table.from_batches(waiting))
