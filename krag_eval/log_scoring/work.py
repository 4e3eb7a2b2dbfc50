"""Scores one row group: what a process does."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from krag_eval.columnar import ColumnarScorer, PartialState
from krag_eval.errors import InvalidInputError, KragEvalError
from krag_eval.log_scoring.repeats import hash_ids
from krag_eval.log_scoring.sources import RowGroup, columns_to_read, open_parquet, unreadable
from krag_eval.matching.spans import Words

STATE = b"krag_eval.state"
SIGNATURE = b"krag_eval.signature"
_QUERIES_AT_ONCE = 8192


def score_row_group(group: RowGroup, scorer: ColumnarScorer, target: str) -> None:
    """Score a row group into a Parquet file with its state in the footer, and the hashes of its query ids beside it.

    Either both files are there afterwards, whole and on the disk, or none.

    Args:
        group: What to score.
        scorer: How.
        target: The file to write; the hashes go to the same path with `.ids.npy` at the end.

    Raises:
        InvalidInputError: The row group cannot be read or scored; the message names the file, the row group and,
            where it is a query's fault, the query.
    """
    temporary = f"{target}.{os.getpid()}.tmp"
    try:
        with open_parquet(group.path) as file:
            try:
                hashes = _score(file, group, scorer, scorer.fields, temporary)
            except InvalidInputError:
                # A document without the id that is matched may still have a text: all fields say whether it is one.
                hashes = _score(file, group, scorer, None, temporary)
        with open(f"{temporary}.ids", "wb") as ids:  # noqa: PTH123 - numpy adds an ending to paths
            np.save(ids, hashes)
        for written, final in ((f"{temporary}.ids", f"{target}.ids.npy"), (temporary, target)):
            _sync(written)
            Path(written).replace(final)
    finally:
        Path(temporary).unlink(missing_ok=True)
        Path(f"{temporary}.ids").unlink(missing_ok=True)


def _score(
    file: pq.ParquetFile, group: RowGroup, scorer: ColumnarScorer, fields: set[str] | None, target: str
) -> Words:
    """Score a row group of an open file into another; the hashes of its query ids."""
    state, first = scorer.merge([]), 0
    hashes = [np.empty(0, dtype=np.uint64)]
    columns = columns_to_read(file, fields)
    with pq.ParquetWriter(target, scorer.schema, **how_written(scorer.schema, "lz4")) as writer:
        try:
            for batch in file.iter_batches(_QUERIES_AT_ONCE, row_groups=[group.number], columns=columns):
                scored = scorer.score_into(state, batch)
                hashes.append(hash_ids(scored.column(0)))
                writer.write_batch(scored)
                first += len(batch)
        except KragEvalError as error:
            raise InvalidInputError(f"{group.place}, rows from {first}: {error}") from None
        except (pa.ArrowException, OSError, ValueError, LookupError) as error:
            raise unreadable(group.place, error) from None
        writer.add_key_value_metadata({STATE: state.to_json().encode()})
    return np.concatenate(hashes)


def read_state(part: Path) -> PartialState:
    """The state in the footer of a part.

    Raises:
        InvalidInputError: There is none, or the part is damaged.
    """
    metadata = pq.read_metadata(part).metadata or {}
    return PartialState.from_json(metadata.get(STATE, b""))


def how_written(schema: pa.Schema, compression: str) -> dict[str, Any]:
    """How columns are written: few different values but for the ids, by which alone anybody would look rows up."""
    others = [name for name in schema.names if name != "query_id"]
    return {
        "compression": compression,
        "use_dictionary": others,
        "write_statistics": ["query_id"],
        "write_page_checksum": True,
    }


def _sync(path: str) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
