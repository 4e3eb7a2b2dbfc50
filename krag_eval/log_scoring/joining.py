"""The parts of a scoring as one file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from krag_eval.columnar import ColumnarScorer
from krag_eval.errors import InvalidInputError
from krag_eval.log_scoring.work import SIGNATURE

_ROWS_AT_ONCE = 1 << 16


def join_parts(parts: Sequence[Path], target: Path, scorer: ColumnarScorer) -> None:
    """Write all rows of the parts, in their order, whole or not at all; pages are compared with their checksums.

    Raises:
        InvalidInputError: A part is damaged, or the file cannot be written.
    """
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    schema = scorer.schema.with_metadata({SIGNATURE: scorer.signature.encode()})
    try:
        with pq.ParquetWriter(temporary, schema, compression="zstd", write_page_checksum=True) as writer:
            waiting: list[pa.RecordBatch] = []
            for part in parts:
                with pq.ParquetFile(part, page_checksum_verification=True) as file:
                    for batch in file.iter_batches(_ROWS_AT_ONCE):
                        waiting.append(pa.record_batch(batch.columns, schema=schema))
                        if sum(map(len, waiting)) >= _ROWS_AT_ONCE:
                            writer.write_table(pa.Table.from_batches(waiting))
                            waiting.clear()
            if waiting:
                writer.write_table(pa.Table.from_batches(waiting))
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(target)
    except (pa.ArrowException, OSError) as error:
        raise InvalidInputError(
            f"{target}: cannot be written from its parts ({' '.join(str(error).split())[:200]}). Every part stands in "
            f"{target}.parts: make room, or remove a damaged part there, and run again to go on."
        ) from error
    finally:
        temporary.unlink(missing_ok=True)
