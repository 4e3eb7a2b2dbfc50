"""Record batches as one Parquet file, whole or not at all; the parts of a scoring are such batches."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from krag_eval.columnar import ColumnarScorer
from krag_eval.errors import InvalidInputError
from krag_eval.log_scoring.work import SIGNATURE, how_written

_ROWS_AT_ONCE = 1 << 16
_BYTES_AT_ONCE = 1 << 26


def join_parts(parts: Sequence[Path], target: Path, scorer: ColumnarScorer) -> None:
    """Write all rows of the parts, in their order, whole or not at all; pages are compared with their checksums.

    Raises:
        InvalidInputError: A part is damaged, or the file cannot be written.
    """
    schema = scorer.schema.with_metadata({SIGNATURE: scorer.signature.encode()})
    try:
        write_whole(_rows_of(parts), schema, target, _ROWS_AT_ONCE, **how_written(schema, "zstd"))
    except (pa.ArrowException, OSError) as error:
        raise InvalidInputError(
            f"{target}: cannot be written from its parts ({' '.join(str(error).split())[:200]}). Every part stands in "
            f"{target}.parts: make room, or remove a damaged part there, and run again to go on."
        ) from error


def _rows_of(parts: Sequence[Path]) -> Iterator[Any]:
    for part in parts:
        with pq.ParquetFile(part, page_checksum_verification=True) as file:
            yield from file.iter_batches(_ROWS_AT_ONCE)


def write_whole(batches: Iterable[Any], schema: pa.Schema, target: Path, rows_in_group: int, **options: Any) -> None:
    """Write record batches into a file that is there as a whole or not at all; its pages have checksums.

    Args:
        batches: The rows; small batches are collected into one row group, so far as memory allows.
        schema: Their schema, with the metadata that the file gets.
        target: The file.
        rows_in_group: How many rows a row group has at least, unless they are very large.
        **options: What `pyarrow.parquet.ParquetWriter` takes besides.
    """
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        with pq.ParquetWriter(
            temporary, schema, **{"compression": "zstd", "write_page_checksum": True, **options}
        ) as writer:
            waiting: list[Any] = []
            n_rows = n_bytes = 0
            for batch in batches:
                waiting.append(pa.record_batch(batch.columns, schema=schema))
                n_rows, n_bytes = n_rows + len(batch), n_bytes + batch.nbytes
                if n_rows >= rows_in_group or n_bytes >= _BYTES_AT_ONCE:
                    writer.write_table(pa.Table.from_batches(waiting))
                    waiting.clear()
                    n_rows = n_bytes = 0
            if waiting:
                writer.write_table(pa.Table.from_batches(waiting))
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
