"""What is read of row groups at once, and small pieces scored together: of each it stays known where it stood."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from krag_eval.columnar import ColumnarScorer, PartialState
from krag_eval.columnar.reading import check_repeats, read_query_ids
from krag_eval.errors import InvalidInputError, KragEvalError
from krag_eval.log_scoring.sources import columns_to_read, errors_of, open_parquet
from krag_eval.log_scoring.units import Unit
from krag_eval.redaction import describe_error

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
