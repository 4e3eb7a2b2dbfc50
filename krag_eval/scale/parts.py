"""Scores one unit of row groups: what a process does.

What is read of row groups at once, and small pieces scored together: of each it stays known where it stood.

Row groups put together into units of work: a thousand small files cost little more than a large one.

Files that are there as a whole or not at all, and the parts of a scoring as one of them.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate, groupby
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from krag_eval._utils.errors import InvalidInputError, KragEvalError
from krag_eval._utils.files.io import put_in_place
from krag_eval._utils.redaction import describe_error
from krag_eval.matching.tokens import Words
from krag_eval.scale.batch import check_repeats, read_query_ids
from krag_eval.scale.files import RowGroup, columns_to_read, errors_of, open_parquet
from krag_eval.scale.repeats import hash_ids
from krag_eval.scale.scorer import ColumnarScorer, PartialState

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
                put_in_place(Path(written), Path(final))
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


_QUERIES_AT_ONCE = 8192
_BYTES_AT_ONCE = 1 << 26


@dataclass(frozen=True, slots=True)
class Piece:
    """Rows of one row group.

    Attributes:
        place: Where they stand, for messages.
        rows: A record batch.
    """

    place: str
    rows: Any


def pieces_of(unit: Unit, fields: set[str] | None, *, allow_repeated_ids: bool) -> Iterator[Piece]:
    """The rows of a unit, in their order.

    Args:
        unit: The row groups.
        fields: The fields of the documents that are read; None for all.
        allow_repeated_ids: Whether a query id may come twice in one piece; between pieces nobody looks here.

    Raises:
        InvalidInputError: A row group cannot be read, or is another one than before, or a query comes twice.
    """
    for path, groups in unit.by_file():
        with open_parquet(path) as file:
            columns = columns_to_read(file, fields)
            for group in groups:
                group.check_unchanged(file)
                first = 0
                with errors_of(group.place):
                    for rows in file.iter_batches(_QUERIES_AT_ONCE, row_groups=[group.number], columns=columns):
                        piece = Piece(f"{group.place}, rows from {first}", rows)
                        if not allow_repeated_ids:
                            _check_repeats(piece)
                        yield piece
                        first += len(rows)


def _check_repeats(piece: Piece) -> None:
    try:
        check_repeats(read_query_ids(piece.rows))
    except InvalidInputError as error:
        raise InvalidInputError(f"{piece.place}: {error}") from None


def together(pieces: Iterable[Piece]) -> Iterator[list[Piece]]:
    """Pieces that follow each other, as many as fit into one scoring; their schemas differ in nulls at most."""
    waiting: list[Piece] = []
    schema: Any = None
    n_rows = n_bytes = 0
    for piece in pieces:
        fits = n_rows + len(piece.rows) <= _QUERIES_AT_ONCE and n_bytes + piece.rows.nbytes <= _BYTES_AT_ONCE
        both = _schema_of_both(schema, piece.rows.schema) if waiting and fits else None
        if waiting and both is None:
            yield waiting
            waiting, n_rows, n_bytes = [], 0, 0
        schema = piece.rows.schema if both is None else both
        waiting.append(piece)
        n_rows, n_bytes = n_rows + len(piece.rows), n_bytes + piece.rows.nbytes
        if n_rows >= _QUERIES_AT_ONCE:  # the next one is read when these are out of memory
            yield waiting
            waiting, n_rows, n_bytes = [], 0, 0
    if waiting:
        yield waiting


def _schema_of_both(one: Any, other: Any) -> Any:
    """The schema of rows of both, where one has nulls alone, or nothing, where the other has values; otherwise None."""
    if one == other:
        return one
    try:
        return pa.concat_tables([one.empty_table(), other.empty_table()], promote_options="default").schema
    except pa.ArrowException:
        return None


def score_pieces(pieces: Sequence[Piece], scorer: ColumnarScorer, state: PartialState) -> Any:
    """The values of the queries of pieces that go together, which are added to the state.

    Raises:
        InvalidInputError: Something cannot be scored; the message names the first piece that fails by itself.
    """
    try:
        return scorer.score_into(state, _one_batch(pieces))
    except Exception as error:
        raise _named(pieces, scorer, error) from error


def _one_batch(pieces: Sequence[Piece]) -> Any:
    if len(pieces) == 1:
        return pieces[0].rows
    tables = [pa.Table.from_batches([piece.rows]) for piece in pieces]
    (rows,) = pa.concat_tables(tables, promote_options="default").combine_chunks().to_batches()
    return rows


def _named(pieces: Sequence[Piece], scorer: ColumnarScorer, error: Exception) -> InvalidInputError:
    place = pieces[0].place if len(pieces) == 1 else f"{pieces[0].place}, to {pieces[-1].place}"
    for piece in pieces if len(pieces) > 1 else ():
        try:
            scorer.partial_state(piece.rows)
        except Exception as raised:  # noqa: BLE001 - whatever it was that failed
            place, error = piece.place, raised
            break
    if isinstance(error, KragEvalError):
        return InvalidInputError(f"{place}: {error}")
    said = describe_error(error).rstrip(".")
    return InvalidInputError(
        f"{place}: could not be scored ({said}). No query of these fails by itself: see what functions of your own do "
        "with several."
    )


# A unit that is lost with its process is done again, and is held in memory at once: it stays small in every respect.
ROWS, BYTES, ROW_GROUPS = 1 << 13, 1 << 25, 256


@dataclass(frozen=True, slots=True, eq=False)
class Unit:
    """Row groups that follow each other, maybe of several files, and are scored together.

    Attributes:
        number: Its place among all units, from 0.
        groups: The row groups: a large one is a unit of its own.
    """

    number: int
    groups: tuple[RowGroup, ...]

    @property
    def n_rows(self) -> int:
        """How many queries it has."""
        return sum(group.n_rows for group in self.groups)

    @property
    def place(self) -> str:
        """How messages name it."""
        first, last = self.groups[0], self.groups[-1]
        return first.place if first is last else f"{first.place} to {last.place}"

    def by_file(self) -> Iterator[tuple[str, list[RowGroup]]]:
        """Its row groups, file by file."""
        for path, groups in groupby(self.groups, lambda group: group.path):
            yield path, list(groups)


def units_of(groups: Iterable[RowGroup]) -> list[Unit]:
    """All row groups in their order, in units that depend on nothing but their sizes."""
    units: list[Unit] = []
    waiting: list[RowGroup] = []
    n_rows = n_bytes = 0
    for group in groups:
        n_rows, n_bytes = n_rows + group.n_rows, n_bytes + group.n_bytes
        if waiting and (n_rows > ROWS or n_bytes > BYTES or len(waiting) == ROW_GROUPS):
            units.append(Unit(len(units), tuple(waiting)))
            waiting, n_rows, n_bytes = [], group.n_rows, group.n_bytes
        waiting.append(group)
    if waiting:
        units.append(Unit(len(units), tuple(waiting)))
    return units


def limits() -> list[int]:
    """What decides which row groups are put together: parts of other units are never mixed with these."""
    return [ROWS, BYTES, ROW_GROUPS]


_ROWS_AT_ONCE = 1 << 16


class WholeFile:
    """A Parquet file that takes the place of its target when it is finished; its pages have checksums.

    Args:
        target: The file.
        schema: The schema of what is written, with the metadata that the file gets.
        rows_in_group: How many rows a row group has at least, unless they are very large.
        folder: Where it stands until then, on the disk of the target; beside the target by default.
        **options: What `pyarrow.parquet.ParquetWriter` takes besides.
    """

    def __init__(
        self, target: Path, schema: pa.Schema, rows_in_group: int, folder: Path | None = None, **options: Any
    ) -> None:
        self._target, self._schema, self._rows_in_group = target, schema, rows_in_group
        self._temporary = (folder or target.parent) / f".{target.name}.{os.getpid()}.tmp"
        settings = {"compression": "zstd", "write_page_checksum": True, **options}
        self._writer = pq.ParquetWriter(self._temporary, schema, **settings)
        self._waiting: list[Any] = []
        self._n_rows = self._n_bytes = 0

    def __enter__(self) -> WholeFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(pa.ArrowException, OSError):  # what is not finished is thrown away
            self._writer.close()
        self._temporary.unlink(missing_ok=True)

    def write(self, batch: pa.RecordBatch) -> None:
        """Add rows; small batches are collected into one row group, so far as memory allows."""
        self._waiting.append(pa.record_batch(batch.columns, schema=self._schema))
        self._n_rows, self._n_bytes = self._n_rows + len(batch), self._n_bytes + batch.nbytes
        if self._n_rows >= self._rows_in_group or self._n_bytes >= _BYTES_AT_ONCE:
            self._write_group()

    def finish(self) -> None:
        """Put the file, whole and on the disk, in the place of its target."""
        if self._waiting:
            self._write_group()
        self._writer.close()
        put_in_place(self._temporary, self._target)

    def _write_group(self) -> None:
        self._writer.write_table(pa.Table.from_batches(self._waiting))
        self._waiting.clear()
        self._n_rows = self._n_bytes = 0


def write_whole(batches: Iterable[Any], schema: pa.Schema, target: Path, rows_in_group: int) -> None:
    """Write record batches into a file that is there as a whole or not at all; see `WholeFile`."""
    with WholeFile(target, schema, rows_in_group) as file:
        for batch in batches:
            file.write(batch)
        file.finish()


class JoinedParts:
    """All rows of the parts of a scoring, written in the order of the parts while later ones are still being scored.

    Args:
        parts: The parts that there will be, each with how many rows it has of each row group that it was made of: how
            these were scored together does not show.
        target: The file.
        scorer: How they are scored.

    Raises:
        InvalidInputError: A part is damaged, or the file cannot be written.
    """

    def __init__(self, parts: Sequence[tuple[Path, Sequence[int]]], target: Path, scorer: ColumnarScorer) -> None:
        self._parts, self._target = parts, target
        self._next, self._done = 0, set[int]()
        schema = scorer.schema.with_metadata({SIGNATURE: scorer.signature.encode()})
        try:
            options = how_written(schema, "zstd")
            self._file = WholeFile(target, schema, _ROWS_AT_ONCE, parts[0][0].parent, **options)
        except (pa.ArrowException, OSError) as error:
            raise self._unwritable(error) from error

    def __enter__(self) -> JoinedParts:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.__exit__(kind, error, trace)

    def add(self, number: int) -> None:
        """A part is there; those that are next in order are written."""
        self._done.add(number)
        try:
            while self._next in self._done:
                for batch in _rows_of(*self._parts[self._next]):
                    self._file.write(batch)
                self._done.remove(self._next)
                self._next += 1
        except (pa.ArrowException, OSError) as error:
            raise self._unwritable(error) from error

    def finish(self) -> None:
        """Put the file in the place of its target."""
        try:
            self._file.finish()
        except (pa.ArrowException, OSError) as error:
            raise self._unwritable(error) from error

    def _unwritable(self, error: Exception) -> InvalidInputError:
        return InvalidInputError(
            f"{self._target}: cannot be written from its parts ({' '.join(str(error).split())[:200]}). Every part "
            f"stands in {self._target}.parts: make room, or remove a damaged part there, and run again to go on."
        )


def _rows_of(part: Path, sizes: Sequence[int]) -> Iterator[Any]:
    with pq.ParquetFile(part, page_checksum_verification=True) as file:
        if len(sizes) == 1:
            yield from file.iter_batches(_ROWS_AT_ONCE)
            return
        (rows,) = file.read().combine_chunks().to_batches()
        for first, size in zip(accumulate(sizes, initial=0), sizes, strict=False):
            yield rows.slice(first, size)
