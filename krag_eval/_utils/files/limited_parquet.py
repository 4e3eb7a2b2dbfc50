"""Parquet files that are read within the limits, whatever their compression and encodings make of a few bytes."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from krag_eval._utils.errors import InvalidInputError
from krag_eval._utils.limits import limit, shown, to_allow
from krag_eval._utils.objects import cached_property

# Nothing real is packed better than this.
_MOST_TIMES = 200
_MOST_REPEATS = 500
_MOST_FOOTER = 2**26
# A row group may be larger than the memory.
_STREAMED = {"page_checksum_verification": True, "pre_buffer": False, "buffer_size": 2**20}
_AT_ONCE, _SMALL = 2**26, 2**24
# Beyond this, what repeats in a dictionary is not written out.
_MOST_REPEATED = 2**28
_BYTES_A_VALUE = 16
_MOST_DICTIONARY_BATCHES, _DICTIONARY_ROWS = 64, 2**15
# The longest string of a text column may be so many times as long as all on average.
_MOST_TIMES_LONGEST = 16
# So many rows are read until one has a string.
_LOOKED_AT = 64
# Strings of a dictionary that is not written out cost nothing up to this length: a passage of a text.
_FREE_LENGTH = 2**13


class LimitedParquetFile(pq.ParquetFile):  # type: ignore[misc]  # pyarrow has no types
    """A Parquet file whose row groups are checked before they are read, and whose rows come in bounded batches.

    Args:
        source: The opened file.
        path: Its name, for messages.
    """

    def __init__(self, source: pa.NativeFile, path: str | os.PathLike[str]) -> None:
        size = source.size()
        self._opened, self._path = source, path
        self._n_footer = length = int.from_bytes(source.read_at(8, max(size - 8, 0))[:4], "little")
        if _MOST_FOOTER < length < size:
            raise InvalidInputError(
                f"{path}: its footer has {length / 2**20:,.0f} MB, more than {_MOST_FOOTER // 2**20} MB, which is no "
                "real data. Write it in fewer row groups and columns."
            )
        super().__init__(source, **_STREAMED)

    def iter_batches(
        self,
        batch_size: int,
        row_groups: Sequence[int] | None = None,
        columns: Any = None,
        use_threads: bool = True,
        dictionaries: Collection[str] = (),
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows in batches of at most about 64 MB.

        Args:
            batch_size: The largest number of rows.
            row_groups: Which; all by default.
            columns: Which; all by default.
            use_threads: Whether columns are decoded at the same time.
            dictionaries: Columns of strings that are yielded as dictionaries if these are small: what repeats in them
                takes no memory, and of its strings only long ones count for the limits.

        Raises:
            InvalidInputError: A row group or a row unpacks to more than the limits `file`, `values` and `row` allow.
        """
        groups = range(self.metadata.num_row_groups) if row_groups is None else row_groups
        suspects = [(group, path) for group in groups for path in self._check_group(group, columns)]
        kept = {path for path in dictionaries if all(self._is_small(group, path) for group in groups)}
        sizes = {(group, path): self._written_out(group, path) for group, path in suspects if path not in kept}
        repeated = kept | {path for (_, path), size in sizes.items() if size is None}
        row = sum(self.metadata.row_group(group).num_rows for group in range(groups[0])) if groups else 0
        reader: Any = super()
        if repeated:
            # Each batch brings the dictionaries again.
            most = max(self.metadata.row_group(group).num_rows for group in groups)
            batch_size = max(batch_size, min(most, _DICTIONARY_ROWS), most // _MOST_DICTIONARY_BATCHES)
            reader = self._as_dictionaries(list(repeated))
        for group in groups:  # about as many rows as are held at once
            size = sum(size or 0 for (one, path), size in sizes.items() if one == group and path not in repeated)
            batch_size = min(batch_size, self.metadata.row_group(group).num_rows * _AT_ONCE // max(size, 1) + 1)
        packed = sum(self._packed(group) for group in groups) if repeated else 0
        most_bytes, n_bytes = max(limit("unpacked") // 64, _MOST_REPEATS * packed), 0
        free = _FREE_LENGTH if repeated == kept else 0
        for batch in reader.iter_batches(batch_size, row_groups=list(groups), columns=columns, use_threads=use_threads):
            is_small = not repeated and batch.nbytes <= _SMALL
            for part, size in [(batch, 0)] if is_small else self._divided(batch, row, free):
                n_bytes += size if repeated else 0
                if n_bytes > most_bytes:
                    raise InvalidInputError(
                        f"{self._path}: row {row + 1}: the strings up to here unpack to more than {_MOST_REPEATS:,} "
                        "times their size, which is no real data. ",
                        *to_allow("unpacked"),
                    )
                yield part
            row += len(batch)

    def _check_group(self, group: int, columns: Any) -> Iterator[str]:
        """Check what a row group unpacks to, and yield the columns whose strings could repeat too often."""
        if self._n_footer != self.metadata.serialized_size:  # Arrow would abort the process
            raise OSError("it cannot be read without decrypting it")
        packed = self._packed(group)
        for leaf in self._leaves(group, columns):
            path, n_values, n_bytes = leaf.path_in_schema, leaf.num_values, leaf.total_uncompressed_size
            name, needed = "values", n_values
            place = f"{self._path}: row group {group}: the column `{path:.60}`"
            if n_values > max(limit("values"), packed):
                what = f"has {n_values:,} values in {packed:,} bytes"
            elif n_bytes > max(limit("file"), _MOST_TIMES * packed):
                name, needed, what = "file", n_bytes, f"unpacks {packed:,} bytes to {n_bytes / 2**20:,.0f} MB"
            elif n_bytes > n_values * limit("row") + 2**20:
                name, needed = "row", -(-n_bytes // max(n_values, 1))
                what = f"unpacks to {n_bytes / 2**20:,.0f} MB in {n_values:,} values"
            else:
                if leaf.physical_type == "BYTE_ARRAY" and n_values * n_bytes > _MOST_REPEATED:
                    yield path
                continue
            raise InvalidInputError(f"{place} {what}, more than {shown(name)}. ", *to_allow(name, needed))

    def _leaves(self, group: int, columns: Any) -> list[Any]:
        """Return what the footer says of the columns that are read, or of all."""
        there = self.metadata.row_group(group)
        leaves = [there.column(number) for number in range(there.num_columns)]
        if columns is None:
            return leaves
        return [
            leaf
            for leaf in leaves
            if any(leaf.path_in_schema == one or leaf.path_in_schema.startswith(f"{one}.") for one in columns)
        ]

    def _is_small(self, group: int, path: str) -> bool:
        """Return whether the different strings of a column, each once, may be held at once."""
        there = self.metadata.row_group(group)
        leaf = there.column(self._paths.index(path))
        return bool(leaf.physical_type == "BYTE_ARRAY" and leaf.total_uncompressed_size <= _AT_ONCE)

    @cached_property
    def _paths(self) -> list[str]:
        return [self.schema.column(number).path for number in range(len(self.schema))]

    def _packed(self, group: int) -> int:
        there = self.metadata.row_group(group)
        return sum(there.column(number).total_compressed_size for number in range(there.num_columns))

    def _written_out(self, group: int, path: str) -> int | None:
        """Return about how many bytes the strings of a column take; None if the longest, in every value, is too much.

        What is not too much is read as strings: of pages without a dictionary, Arrow would make one that grows to the
        end of the row group.
        """
        leaf = self.metadata.row_group(group).column(self._paths.index(path))
        if "DELTA_BYTE_ARRAY" in leaf.encodings:
            return None
        n_bytes, n_values = leaf.total_uncompressed_size, leaf.num_values
        # Other columns may be packed badly to make room for this one: it must have bytes of its own, too.
        most = max(_MOST_REPEATED, min(_MOST_REPEATS * self._packed(group), _MOST_TIMES_LONGEST * n_bytes))
        reader = pq.ParquetFile.iter_batches(self._as_dictionaries([path]), 1, row_groups=[group], columns=[path])
        for batch in islice(reader, _LOOKED_AT):
            column = batch.column(0)
            while not pa.types.is_dictionary(column.type):
                column = column.field(0) if pa.types.is_struct(column.type) else column.values
            lengths = pc.binary_length(column.dictionary)
            if len(lengths):
                size = max(int(pc.mean(lengths).as_py() * n_values), n_bytes) + 3 * _BYTES_A_VALUE * n_values
                return None if pc.max(lengths).as_py() * n_values > most else size
        return None

    def _as_dictionaries(self, paths: Sequence[str]) -> pq.ParquetFile:
        return pq.ParquetFile(self._opened, read_dictionary=paths, metadata=self.metadata, **_STREAMED)

    def _divided(self, batch: pa.RecordBatch, first: int, free: int) -> Iterator[tuple[pa.RecordBatch, int]]:
        """Yield parts of a batch that are held at once, with their sizes, and refuse a row that is too large."""
        weights = sum((_weights(column, free) for column in batch.columns), np.zeros(len(batch), np.int64))
        too_large = np.flatnonzero(weights > limit("row"))
        if len(too_large):
            row = int(too_large[0])
            raise InvalidInputError(
                f"{self._path}: row {first + row + 1} unpacks to {weights[row] / 2**20:,.0f} MB, more than "
                f"{shown('row')}. ",
                *to_allow("row", int(weights[row])),
            )
        ends, start = np.cumsum(weights), 0
        while start < len(batch):
            before = ends[start - 1] if start else 0
            stop = max(start + 1, int(np.searchsorted(ends, before + _AT_ONCE, side="right")))
            yield batch.slice(start, stop - start), int(ends[stop - 1] - before)
            start = stop


def _weights(column: Any, free: int) -> Any:
    """Return about how many bytes each value of a column takes in memory, as an array of integers.

    Args:
        column: The values.
        free: Up to which length strings of a dictionary cost nothing.
    """
    kind, size = column.type, np.full(len(column), _BYTES_A_VALUE)
    if pa.types.is_dictionary(kind):
        lengths = np.append(np.asarray(pc.binary_length(column.dictionary)).astype(np.int64), 0)
        lengths[lengths <= free] = 0
        return size + lengths[np.asarray(column.indices.fill_null(len(lengths) - 1))]
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return size + np.asarray(pc.binary_length(column).fill_null(0)).astype(np.int64)
    if pa.types.is_struct(kind):
        return sum((_weights(part, free) for part in column.flatten()), size)
    if pa.types.is_fixed_size_list(kind):
        return size * (1 + kind.list_size)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_map(kind):
        offsets = np.asarray(column.offsets).astype(np.int64)
        parts = [column.keys, column.items] if pa.types.is_map(kind) else [column.values]
        start, size_inside = offsets[0], offsets[-1] - offsets[0]
        ends = np.append(0, np.cumsum(sum(_weights(part.slice(start, size_inside), free) for part in parts)))
        return size + np.diff(ends[offsets - start])
    return size
