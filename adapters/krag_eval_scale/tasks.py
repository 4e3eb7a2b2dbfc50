"""Divide the row groups of all files into tasks, and score a task into a part.

* A *row group* is some rows of a Parquet file, which are stored together.
* A *task* is what a process scores at a time: consecutive row groups, possibly of several small files.
* A *batch* is what is read at a time: some rows of one row group.
* A *part* is the file with the values of one task. The output is all parts, one after the other.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from krag_eval import InvalidInputError, KragEvalError
from krag_eval.toolkit import as_cause, describe_error, errors_at, put_in_place
from krag_eval_scale.batch import check_repeats, read_query_ids
from krag_eval_scale.files import RowGroup, columns_to_read, errors_of, open_parquet, texts_in, with_partitions
from krag_eval_scale.output import bad_rows_in, bad_rows_of, check_bad_rows, parquet_options
from krag_eval_scale.repeats import Words, hash_ids
from krag_eval_scale.scorer import BadRow, ColumnarScorer, PartialState
from krag_eval_scale.seals import check_seal, seal_files

# If its process is killed, a task is repeated as a whole: it stays small in every respect.
MAX_ROWS, MAX_BYTES, MAX_ROW_GROUPS = 1 << 13, 1 << 25, 256


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """Consecutive row groups that are scored into one part.

    Attributes:
        number: The position among all tasks, from 0.
        groups: The row groups. A large one is a task of its own.
    """

    number: int
    groups: tuple[RowGroup, ...]

    @property
    def n_rows(self) -> int:
        """How many queries the task has."""
        return sum(group.n_rows for group in self.groups)

    @property
    def place(self) -> str:
        """The row groups, for messages."""
        first, last = self.groups[0], self.groups[-1]
        return first.place if first is last else f"{first.place} to {last.place}"


def divide(groups: Iterable[RowGroup]) -> list[Task]:
    """Divide all row groups, in their order, into tasks that depend on nothing but the sizes of the groups."""
    tasks: list[Task] = []
    waiting: list[RowGroup] = []
    n_rows = n_bytes = 0
    for group in groups:
        n_rows, n_bytes = n_rows + group.n_rows, n_bytes + group.n_bytes
        if waiting and (n_rows > MAX_ROWS or n_bytes > MAX_BYTES or len(waiting) == MAX_ROW_GROUPS):
            tasks.append(Task(len(tasks), tuple(waiting)))
            waiting, n_rows, n_bytes = [], group.n_rows, group.n_bytes
        waiting.append(group)
    if waiting:
        tasks.append(Task(len(tasks), tuple(waiting)))
    return tasks


def limits() -> list[int]:
    """Return what decides how row groups are divided: parts of a scoring with other limits are never used."""
    return [MAX_ROWS, MAX_BYTES, MAX_ROW_GROUPS]


STATE = b"krag_eval.state"


def score_task(
    task: Task, scorer: ColumnarScorer, folder: Path, *, allow_repeated_ids: bool, max_bad_rows: int = 0
) -> None:
    """Score a task into a part: a Parquet file with its state in the footer, and the hashes of its query ids beside it.

    Rows that cannot be scored are written to a third file. At the end of the hashes is a checksum of all files, which
    `check_part` compares.

    Afterwards all files are complete and on the disk, or none exists. If a process was killed at this task before, its
    batches are scored one by one, and `place_of` returns the one that was being scored.

    Args:
        task: What to score.
        scorer: It allows repeated ids, since rows of different batches are compared later.
        folder: Where the part is written; the hashes go to the same path with `.ids.npy` at the end.
        allow_repeated_ids: Whether a query id may be repeated within a batch.
        max_bad_rows: How many rows that cannot be scored may be left out.

    Raises:
        InvalidInputError: A row group cannot be read or scored; the error names the file, the row group and, if a
            query is the cause, the query. Or the part cannot be written.
    """
    part = str(part_of(task, folder))
    bad_rows_of(part).unlink(missing_ok=True)
    temporary = f"{part}.{os.getpid()}.tmp"
    was_killed = any(folder.glob(f"{Path(part).name}.*.tmp"))

    def score(fields: set[str] | None, rejected: _Rejected) -> Words:
        repeats = allow_repeated_ids or rejected is not None  # those of good rows are found later
        others = [*scorer.others_of(()), *scorer.rule_columns]
        batches = read_batches(task, fields, allow_repeated_ids=repeats, others=others)
        with _errors_of_writing(part):
            combined = _one_by_one(batches, part) if was_killed else combine(batches)
            if not was_killed and (fields is None or "text" in fields):  # ids are decoded in no time
                combined = _ahead(combined)
            return _write(combined, scorer, temporary, rejected)

    try:
        try:
            hashes = score(scorer.fields, None)
        except InvalidInputError:
            if scorer.fields is None and not max_bad_rows:
                raise
            # A document without the id that is matched may have a text: only all fields show whether it is a document.
            with _errors_of_writing(part), _open_bad_rows(temporary, max_bad_rows) as rejected:
                hashes = score(None, rejected)
        with _errors_of_writing(part):
            with open(f"{temporary}.ids", "wb") as ids:  # noqa: PTH123 - numpy adds an extension to paths
                np.save(ids, hashes)
            seal_files(Path(f"{temporary}.ids"), Path(temporary), *_there(bad_rows_of(temporary)))
            for written, final in (
                (bad_rows_of(temporary), bad_rows_of(part)),
                (Path(f"{temporary}.ids"), Path(f"{part}.ids.npy")),
                (Path(temporary), Path(part)),
            ):
                if written.exists():
                    put_in_place(written, final)
    finally:
        for left in (temporary, f"{temporary}.ids", bad_rows_of(temporary)):
            Path(left).unlink(missing_ok=True)


@contextlib.contextmanager
def _open_bad_rows(part: str, most: int) -> Iterator[_Rejected]:
    """Open the file for bad rows, and yield a function that writes those of some batches; None if none may be left out.

    The function raises an `InvalidInputError` if there are more than `most` in the file.
    """
    if not most:
        yield None
        return
    n_written = 0

    def write(batches: Sequence[LocatedBatch], found: Sequence[BadRow]) -> None:
        nonlocal n_written
        n_written += len(found)
        ends = np.cumsum([len(batch.rows) for batch in batches])
        for bad in found:
            number = int(np.searchsorted(ends, bad.row, side="right"))
            batch, row = batches[number], bad.row - int(ends[number]) + len(batches[number].rows)
            place = {"file": batch.group.path, "row_group": batch.group.number, "row": batch.first + row}
            file.write(json.dumps({**place, "query_id": bad.query_id, "reason": bad.reason}, ensure_ascii=False) + "\n")
        if n_written > most:
            file.flush()
            check_bad_rows(bad_rows_in(part), most)

    with bad_rows_of(part).open("w", encoding="utf-8", errors="backslashreplace") as file:
        yield write


def part_of(task: Task, folder: Path) -> Path:
    """Return the file of the part of a task."""
    return folder / f"{task.number:06}.parquet"


def place_of(task: Task, folder: Path) -> str:
    """Return where processes were killed again and again, as closely as it is known."""
    try:
        return _note(str(part_of(task, folder))).read_text(encoding="utf-8")
    except OSError:
        return task.place


def _there(path: Path) -> list[Path]:
    return [path] if path.exists() else []


def check_part(part: Path) -> None:
    """Check that a part and the hashes beside it are as they were written.

    Raises:
        InvalidInputError: One of them is damaged or missing.
    """
    check_seal(Path(f"{part}.ids.npy"), part, *_there(bad_rows_of(part)))


def read_state(part: Path) -> PartialState:
    """Return the state in the footer of a part, after a check of the whole part.

    Raises:
        InvalidInputError: The part is damaged.
    """
    check_part(part)
    return PartialState.from_json(pq.read_metadata(part).metadata[STATE])


def _note(part: str) -> Path:
    return Path(f"{part}.at")


def _one_by_one(batches: Iterable[LocatedBatch], part: str) -> Iterator[list[LocatedBatch]]:
    for batch in batches:
        _note(part).write_text(batch.place, encoding="utf-8")
        yield [batch]


def _write(combined: Iterable[list[LocatedBatch]], scorer: ColumnarScorer, part: str, rejected: _Rejected) -> Words:
    """Score batches into a part, and return the hashes of their query ids."""
    state, hashes = scorer.merge([]), [np.empty(0, dtype=np.uint64)]
    with pq.ParquetWriter(part, scorer.schema, **parquet_options(scorer.schema, "lz4")) as writer:
        for batches in combined:
            scored = _score(batches, scorer, state, rejected)
            hashes.append(hash_ids(scored.column(0)))
            writer.write_batch(scored)
        writer.add_key_value_metadata({STATE: state.to_json().encode()})
    return np.concatenate(hashes)


@contextlib.contextmanager
def _errors_of_writing(part: str) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise InvalidInputError(
            f"{part}: cannot be written ({' '.join(str(error).split())[:200]}). Finished parts are kept: free some "
            "space or check the permissions, and run the same again to resume."
        ) from error


_QUERIES_AT_ONCE = 8192
_BYTES_AT_ONCE = 1 << 26
_LOOKED_AT = 1024


@dataclass(frozen=True, slots=True)
class LocatedBatch:
    """Some rows of one row group.

    Attributes:
        group: The row group.
        first: The position of the first of them in it, from 0.
        rows: A record batch.
    """

    group: RowGroup
    first: int
    rows: Any

    @property
    def place(self) -> str:
        """Where they are, for messages."""
        return f"{self.group.place}, rows from {self.first}"


_Rejected = Callable[[Sequence[LocatedBatch], Sequence[BadRow]], None] | None


def read_batches(
    task: Task, fields: set[str] | None, *, allow_repeated_ids: bool, others: Collection[str] = ()
) -> Iterator[LocatedBatch]:
    """Read the rows of a task, in their order.

    Args:
        task: The row groups.
        fields: The fields of the documents that are read; None for all.
        allow_repeated_ids: Whether a query id may be repeated within a batch; different batches are compared later.
        others: Further columns, of the files or of the folders in their paths.

    Raises:
        InvalidInputError: A row group cannot be read or has changed, or a query id is repeated.
    """
    for path, groups in groupby(task.groups, lambda group: group.path):
        with open_parquet(path) as file:
            columns = columns_to_read(file, fields, others)
            texts = texts_in(file, columns)
            for group in groups:
                group.check_unchanged(file)
                first = 0
                with errors_of(group.place):
                    reading = {"row_groups": [group.number], "columns": columns, "dictionaries": texts}
                    for rows in file.iter_batches(_QUERIES_AT_ONCE, **reading):
                        batch = LocatedBatch(group, first, with_partitions(rows, path, others))
                        if not allow_repeated_ids:
                            with errors_at(batch.place):
                                check_repeats(read_query_ids(batch.rows))
                        yield batch
                        first += len(rows)


def first_rows(task: Task) -> Any:
    """Return the first rows of a task with all their fields: enough to see why nothing matches."""
    group = task.groups[0]
    with open_parquet(group.path) as file, errors_of(group.place):
        group.check_unchanged(file)
        columns = columns_to_read(file, None)
        reading = {"row_groups": [group.number], "columns": columns, "dictionaries": texts_in(file, columns)}
        return next(file.iter_batches(_LOOKED_AT, **reading))


def combine(batches: Iterable[LocatedBatch]) -> Iterator[list[LocatedBatch]]:
    """Combine consecutive batches that are scored together: up to 8,192 queries whose schemas differ in nulls only."""
    waiting: list[LocatedBatch] = []
    schema: Any = None
    n_rows = n_bytes = 0
    for batch in batches:
        fits = n_rows + len(batch.rows) <= _QUERIES_AT_ONCE and n_bytes + batch.rows.nbytes <= _BYTES_AT_ONCE
        common = _common_schema(schema, batch.rows.schema) if waiting and fits else None
        if waiting and common is None:
            yield waiting
            waiting, n_rows, n_bytes = [], 0, 0
        schema = batch.rows.schema if common is None else common
        waiting.append(batch)
        n_rows, n_bytes = n_rows + len(batch.rows), n_bytes + batch.rows.nbytes
        if n_rows >= _QUERIES_AT_ONCE:  # these leave the memory before the next batch is read
            yield waiting
            waiting, n_rows, n_bytes = [], 0, 0
    if waiting:
        yield waiting


def _ahead(combined: Iterator[list[LocatedBatch]]) -> Iterator[list[LocatedBatch]]:
    """Read the next batches in a thread while some are scored: decoding needs no Python."""
    with ThreadPoolExecutor(1, "krag-eval-reader") as reader:
        following = reader.submit(next, combined, None)
        while (batches := following.result()) is not None:
            following = reader.submit(next, combined, None)
            yield batches


def _common_schema(one: Any, other: Any) -> Any:
    """Return the schema of the rows of both if they differ in columns that are null or absent; otherwise None."""
    if one == other:
        return one
    try:
        return pa.concat_tables([one.empty_table(), other.empty_table()], promote_options="default").schema
    except pa.ArrowException:
        return None


def _score(batches: Sequence[LocatedBatch], scorer: ColumnarScorer, state: PartialState, rejected: _Rejected) -> Any:
    """Return the values of the queries of combined batches, and add them to the state."""
    found: list[BadRow] | None = None if rejected is None else []
    try:
        scored = scorer.score_into(state, _rows_of(batches), found)
    except Exception as error:  # noqa: BLE001 - raised again as ours
        raise _located(batches, scorer, error) from as_cause(error)
    if rejected is not None and found:
        rejected(batches, found)
    return scored


def _rows_of(batches: Sequence[LocatedBatch]) -> Any:
    if len(batches) == 1:
        return batches[0].rows
    tables = [pa.Table.from_batches([batch.rows]) for batch in batches]
    (rows,) = pa.concat_tables(tables, promote_options="default").combine_chunks().to_batches()
    return rows


def _located(batches: Sequence[LocatedBatch], scorer: ColumnarScorer, error: Exception) -> InvalidInputError:
    """Return the error with the first batch that fails by itself."""
    place = batches[0].place if len(batches) == 1 else f"{batches[0].place}, to {batches[-1].place}"
    for batch in batches if len(batches) > 1 else ():
        try:
            scorer.partial_state(batch.rows)
        except Exception as raised:  # noqa: BLE001 - whatever failed
            place, error = batch.place, raised
            break
    if isinstance(error, KragEvalError):
        return InvalidInputError(f"{place}: ", *error.args)
    return InvalidInputError(
        f"{place}: could not be scored ({describe_error(error).rstrip('.')}). No query of these fails by itself: check "
        "what your own functions do with several queries."
    )
