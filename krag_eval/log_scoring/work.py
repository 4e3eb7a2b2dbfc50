"""Scores one unit of row groups: what a process does."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from krag_eval.columnar import ColumnarScorer, PartialState
from krag_eval.columnar.hashing import hash_ids
from krag_eval.errors import InvalidInputError
from krag_eval.log_scoring.pieces import Piece, pieces_of, score_pieces, together
from krag_eval.log_scoring.units import Unit
from krag_eval.matching.spans import Words

STATE = b"krag_eval.state"
SIGNATURE = b"krag_eval.signature"


def score_unit(unit: Unit, scorer: ColumnarScorer, target: str, *, allow_repeated_ids: bool) -> None:
    """Score a unit into a Parquet file with its state in the footer, and the hashes of its query ids beside it.

    Either both files are there afterwards, whole and on the disk, or none. Where a process was killed at it before, its
    row groups are scored one by one, and `place_of` tells which of them it was at.

    Args:
        unit: What to score.
        scorer: How; it allows repeated ids, since it sees rows together that are compared later.
        target: The file to write; the hashes go to the same path with `.ids.npy` at the end.
        allow_repeated_ids: Whether a query id may come twice among rows that are read at once.

    Raises:
        InvalidInputError: A row group cannot be read or scored; the message names the file, the row group and, where
            it is a query's fault, the query. Or the file cannot be written.
    """
    temporary = f"{target}.{os.getpid()}.tmp"
    was_killed = any(Path(target).parent.glob(f"{Path(target).name}.*.tmp"))

    def score(fields: set[str] | None) -> Words:
        pieces = pieces_of(unit, fields, allow_repeated_ids=allow_repeated_ids)
        with _writing(target):
            return _write(_one_by_one(pieces, target) if was_killed else together(pieces), scorer, temporary)

    try:
        try:
            hashes = score(scorer.fields)
        except InvalidInputError:
            if scorer.fields is None:
                raise
            # A document without the id that is matched may still have a text: all fields say whether it is one.
            hashes = score(None)
        with _writing(target):
            with open(f"{temporary}.ids", "wb") as ids:  # noqa: PTH123 - numpy adds an ending to paths
                np.save(ids, hashes)
            for written, final in ((f"{temporary}.ids", f"{target}.ids.npy"), (temporary, target)):
                _sync(written)
                Path(written).replace(final)
    finally:
        Path(temporary).unlink(missing_ok=True)
        Path(f"{temporary}.ids").unlink(missing_ok=True)


def place_of(unit: Unit, target: str) -> str:
    """Where a process was killed again and again, as closely as it is known."""
    try:
        return _note(target).read_text(encoding="utf-8")
    except OSError:
        return unit.place


def _note(target: str) -> Path:
    return Path(f"{target}.at")


def _one_by_one(pieces: Iterable[Piece], target: str) -> Iterator[list[Piece]]:
    for piece in pieces:
        _note(target).write_text(piece.place, encoding="utf-8")
        yield [piece]


def _write(groups: Iterable[list[Piece]], scorer: ColumnarScorer, target: str) -> Words:
    """Score pieces into a file, those of a group together; the hashes of their query ids."""
    state, hashes = scorer.merge([]), [np.empty(0, dtype=np.uint64)]
    with pq.ParquetWriter(target, scorer.schema, **how_written(scorer.schema, "lz4")) as writer:
        for pieces in groups:
            scored = score_pieces(pieces, scorer, state)
            hashes.append(hash_ids(scored.column(0)))
            writer.write_batch(scored)
        writer.add_key_value_metadata({STATE: state.to_json().encode()})
    return np.concatenate(hashes)


@contextmanager
def _writing(target: str) -> Iterator[None]:
    """Goes around what writes a part."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise InvalidInputError(
            f"{target}: cannot be written ({' '.join(str(error).split())[:200]}). What was scored before stands: make "
            "room, or see who may write there, and run again to go on."
        ) from error


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
