"""Distributions of values and of counts, in states that merge exactly, whatever the order or the split."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field, fields
from itertools import pairwise
from typing import Any

import numpy as np

from krag_eval._utils.arrays import FloatArray, IntArray
from krag_eval._utils.objects import ComparedByFields
from krag_eval._utils.serialization import (
    read_double,
    read_integer,
    read_integers,
    read_list,
    read_record,
    refuse_state,
)

MOST_DRAWN = 10_000
"""Larger samples are not resampled: their sums say the same."""

_AT_ONCE = 1 << 16


@functools.cache
def _no_values() -> FrequencyTable:
    return FrequencyTable.of(np.empty(0))


@dataclass(slots=True)
class ValueDistribution:
    """The distribution of some values. It depends on the values alone, not on their order or how they were split.

    The table is kept while there are at most `MOST_DRAWN` values, or fewer than `SPARSE` off the most common. Neither
    number falls where values are added or states merged, so that what was dropped is never missed.

    Attributes:
        n: How many values are defined.
        n_zero: How many are exactly 0.
        n_one: How many are exactly 1.
        least: The least, infinity where there is none.
        most: The largest, minus infinity where there is none.
        sums: Of the first three powers, in units of 2^-24, 2^-48 and 2^-72.
        table: The distinct values, or None where there are too many values.
    """

    n: int = 0
    n_zero: int = 0
    n_one: int = 0
    least: float = math.inf
    most: float = -math.inf
    sums: tuple[int, int, int] = (0, 0, 0)
    table: FrequencyTable | None = field(default_factory=_no_values)

    @classmethod
    def of(cls, values: FloatArray) -> ValueDistribution:
        """Return that of some values; NaN is undefined."""
        distribution = cls()
        distribution.add(values)
        return distribution

    def add(self, values: FloatArray) -> None:
        """Take in some values; NaN is undefined."""
        defined = values[~np.isnan(values)] + 0.0  # no -0.0
        for start in range(0, len(defined), _AT_ONCE):
            self._add(defined[start : start + _AT_ONCE])

    def add_counted(self, values: FloatArray, times: IntArray) -> None:
        """Take in some values, each as often as `times` says; NaN is undefined."""
        defined = ~np.isnan(values)
        table = FrequencyTable.counted(values[defined] + 0.0, times[defined])
        if len(table.rows):
            counts = dict(zip(table.rows.tolist(), table.counts.tolist(), strict=True))
            least, most, sums = min(counts), max(counts), _counted_power_sums(table)
            self.merge(ValueDistribution(table.n, counts.get(0.0, 0), counts.get(1.0, 0), least, most, sums, table))

    def _add(self, values: FloatArray) -> None:
        n_zero, n_one = int(np.count_nonzero(values == 0)), int(np.count_nonzero(values == 1))
        if n_zero + n_one == len(values):
            sums = n_one << POWER_BITS, n_one << 2 * POWER_BITS, n_one << 3 * POWER_BITS
        else:
            sums = _power_sums(values)
        least, most = float(values.min()), float(values.max())
        table = None if self.table is None else FrequencyTable.of(values)
        self.merge(ValueDistribution(len(values), n_zero, n_one, least, most, sums, table))

    def merge(self, other: ValueDistribution) -> None:
        """Take in another state."""
        self.n += other.n
        self.n_zero += other.n_zero
        self.n_one += other.n_one
        self.least, self.most = min(self.least, other.least), max(self.most, other.most)
        first, second, third = (one + more for one, more in zip(self.sums, other.sums, strict=True))
        self.sums = first, second, third
        if self.table is None or other.table is None:
            self.table = None
        else:
            table = self.table.merged(other.table)
            self.table = table if _is_kept(table) else None

    @property
    def is_binary(self) -> bool:
        """Whether every value is 0 or 1."""
        return self.n_zero + self.n_one == self.n

    @property
    def is_sparse(self) -> bool:
        """Whether fewer than `SPARSE` values differ from the most common one."""
        from krag_eval.statistics.bootstrap import SPARSE  # only intervals need it

        return self.table is not None and self.n - self.table.n_commonest < SPARSE

    @property
    def mean(self) -> float:
        """Their mean, to 2^-25; there must be a value."""
        return self.sums[0] / (self.n << POWER_BITS)

    @property
    def bounds(self) -> tuple[float, float]:
        """Between what the values may lie (see `bounds_of`)."""
        from krag_eval.statistics.bootstrap import bounds_of

        return bounds_of(np.array([self.least, self.most]))

    def to_dict(self) -> dict[str, Any]:
        """Return the state as JSON can hold it."""
        counts = {name: getattr(self, name) for name in ("n", "n_zero", "n_one")}
        ends = {"least": self.least.hex(), "most": self.most.hex()}
        table = None
        if self.table is not None:
            values = [value.hex() for value in self.table.rows.tolist()]
            table = {"values": values, "counts": self.table.counts.tolist()}
        return {**counts, **ends, "sums": list(self.sums), "table": table}

    @classmethod
    def from_dict(cls, record: object) -> ValueDistribution:
        """Return the state that `to_dict` wrote.

        Raises:
            InvalidInputError: It is not such a record.
        """
        read = read_record(record, "ValueDistribution", [field.name for field in fields(cls)])
        n, n_zero, n_one = (read_integer(read[name], f"ValueDistribution.{name}") for name in ("n", "n_zero", "n_one"))
        least, most = (read_double(read[name], f"ValueDistribution.{name}") for name in ("least", "most"))
        first, second, third = read_integers(read["sums"], "ValueDistribution.sums", 3, -math.inf)
        table = None if read["table"] is None else _read_values(read["table"])
        if (n <= MOST_DRAWN) if table is None else (table.n != n or not _is_kept(table)):
            refuse_state("ValueDistribution.table", f"the table of a sample of {n} values", read["table"])
        return cls(n, n_zero, n_one, least, most, (first, second, third), table)


def _is_kept(table: FrequencyTable) -> bool:
    from krag_eval.statistics.bootstrap import SPARSE

    n = table.n
    return n <= MOST_DRAWN or n - table.n_commonest < SPARSE


def _read_values(record: object) -> FrequencyTable:
    read = read_record(record, "ValueDistribution.table", ["values", "counts"])
    written = read_list(read["values"], "ValueDistribution.table.values")
    values = np.array([read_double(value, "ValueDistribution.table.values") for value in written], dtype=np.float64)
    counts = read_integers(read["counts"], "ValueDistribution.table.counts", len(values), 1)
    if not np.isfinite(values).all() or not (np.diff(values) > 0).all():
        refuse_state("ValueDistribution.table.values", "a list of finite numbers in ascending order", written)
    return FrequencyTable(values, np.array(counts, dtype=np.int64))


N_COLUMNS = 4
_N_PRODUCTS = N_COLUMNS * (N_COLUMNS + 1) // 2
_MOST_COUNTED = 1 << 62


@functools.cache
def _no_counts() -> FrequencyTable:
    return FrequencyTable.of(np.empty((0, N_COLUMNS), dtype=np.int64))


@dataclass(slots=True)
class CountDistribution:
    """The distribution of rows of four counts, such as those behind the micro values: covered, gold, relevant, out_of.

    It depends on the rows alone, not on their order or how they were split. The table is kept while there
    are at most `MOST_DRAWN` rows.

    Attributes:
        n: How many rows there are.
        sums: The sum of each column.
        products: The sum of each product of two columns, as `_product_sums` orders them.
        table: The distinct rows, or None where there are too many rows.
    """

    n: int = 0
    sums: tuple[int, ...] = (0,) * N_COLUMNS
    products: tuple[int, ...] = (0,) * _N_PRODUCTS
    table: FrequencyTable | None = field(default_factory=_no_counts)

    def add(self, rows: IntArray) -> None:
        """Take in some rows.

        Args:
            rows: Whole numbers of at least 0, shape (n, 4).
        """
        for start in range(0, len(rows), _AT_ONCE):
            part = rows[start : start + _AT_ONCE]
            table = None if self.table is None or self.n + len(part) > MOST_DRAWN else FrequencyTable.of(part)
            self.merge(CountDistribution(len(part), tuple(part.sum(axis=0).tolist()), _product_sums(part), table))

    def add_counted(self, rows: IntArray, times: IntArray) -> None:
        """Take in some rows, each as often as `times` says; see `add`."""
        table = FrequencyTable.counted(rows, times)
        sums = tuple(_exact(table.rows, table.n).T @ table.counts)
        self.merge(CountDistribution(table.n, tuple(map(int, sums)), _product_sums(table.rows, table.counts), table))

    def merge(self, other: CountDistribution) -> None:
        """Take in another state."""
        self.n += other.n
        self.sums = tuple(one + more for one, more in zip(self.sums, other.sums, strict=True))
        self.products = tuple(one + more for one, more in zip(self.products, other.products, strict=True))
        if self.table is None or other.table is None or self.n > MOST_DRAWN:
            self.table = None
        else:
            self.table = self.table.merged(other.table)

    def product(self, one: int, other: int) -> int:
        """Return the sum of the products of two columns."""
        first, second = sorted((one, other))
        return self.products[first * N_COLUMNS - first * (first - 1) // 2 + second - first]

    def is_constant(self, column: int) -> bool:
        """Return whether a column has the same number in every row."""
        return self.n * self.product(column, column) == self.sums[column] ** 2  # no variance

    def to_dict(self) -> dict[str, Any]:
        """Return the state as JSON can hold it."""
        table = None
        if self.table is not None:
            table = {"rows": self.table.rows.tolist(), "counts": self.table.counts.tolist()}
        return {"n": self.n, "sums": list(self.sums), "products": list(self.products), "table": table}

    @classmethod
    def from_dict(cls, record: object) -> CountDistribution:
        """Return the state that `to_dict` wrote.

        Raises:
            InvalidInputError: It is not such a record.
        """
        read = read_record(record, "CountDistribution", [field.name for field in fields(cls)])
        distribution = cls(
            read_integer(read["n"], "CountDistribution.n"),
            tuple(read_integers(read["sums"], "CountDistribution.sums", N_COLUMNS)),
            tuple(read_integers(read["products"], "CountDistribution.products", _N_PRODUCTS)),
            None if read["table"] is None else _read_counts(read["table"]),
        )
        if (distribution.table is None) != (distribution.n > MOST_DRAWN) or (
            distribution.table and distribution.table.n != distribution.n
        ):
            refuse_state("CountDistribution.table", f"the table of a sample of {distribution.n} rows", read["table"])
        return distribution


def _read_counts(record: object) -> FrequencyTable:
    read = read_record(record, "CountDistribution.table", ["rows", "counts"])
    written = [
        read_integers(row, "CountDistribution.table.rows", N_COLUMNS)
        for row in read_list(read["rows"], "CountDistribution")
    ]
    counts = read_integers(read["counts"], "CountDistribution.table.counts", len(written), 1)
    if any(one >= next_ for one, next_ in pairwise(written)) or any(
        number > _MOST_COUNTED for row in written for number in row
    ):
        refuse_state("CountDistribution.table.rows", "a list of rows in ascending order", written)
    rows = np.array(written, dtype=np.int64).reshape(-1, N_COLUMNS)
    return FrequencyTable(rows, np.array(counts, dtype=np.int64))


Rows = np.ndarray[Any, Any]  # of doubles with one axis, of int64 with two

# Four counts below 2^15 stand side by side in one int64, which sorts many times faster than a row.
_PACKED_BITS = 15


@dataclass(frozen=True, slots=True, eq=False)
class FrequencyTable(ComparedByFields):
    """Distinct numbers, or distinct rows of whole numbers, in ascending order.

    Attributes:
        rows: The numbers, shape (n_distinct,), or the rows, shape (n_distinct, n_columns).
        counts: How often each came, at least 1; shape (n_distinct,).
    """

    rows: Rows
    counts: IntArray

    @classmethod
    def of(cls, rows: Rows) -> FrequencyTable:
        """Return the distinct ones of some numbers, free of -0.0, or of some rows of numbers of at least 0."""
        packed = _packed(rows)
        if packed is None:
            return cls(*np.unique(rows, axis=0, return_counts=True))
        distinct, counts = np.unique(packed, return_counts=True)
        return cls(_unpacked(distinct, rows), counts)

    def merged(self, other: FrequencyTable) -> FrequencyTable:
        """Return what both hold together."""
        if not len(self.counts):
            return other
        return FrequencyTable.counted(
            np.concatenate([self.rows, other.rows]), np.concatenate([self.counts, other.counts])
        )

    @classmethod
    def counted(cls, rows: Rows, times: IntArray) -> FrequencyTable:
        """Return the distinct ones of rows of which each came so many times; see `of`."""
        packed = _packed(rows)
        if packed is None:
            distinct, number = np.unique(rows, axis=0, return_inverse=True)
        else:
            distinct, number = np.unique(packed, return_inverse=True)
            distinct = _unpacked(distinct, rows)
        # As doubles the counts add up exactly: a sample of 2^53 rows is out of reach.
        return cls(distinct, np.bincount(number.reshape(-1), times, minlength=len(distinct)).astype(np.int64))

    @property
    def n(self) -> int:
        """How many there are in all."""
        return int(self.counts.sum())

    @property
    def n_commonest(self) -> int:
        """How often the commonest came; 0 where there is none."""
        return int(self.counts.max(initial=0))

    def expanded(self) -> Rows:
        """Return each as often as it came, in ascending order."""
        return np.repeat(self.rows, self.counts, axis=0)


def _packed(rows: Rows) -> Rows | None:
    """Return one number per row, in the order of the rows; None where the numbers are too large for it."""
    if rows.ndim == 1:
        return rows
    if rows.shape[1] * _PACKED_BITS > 62 or rows.max(initial=0) >> _PACKED_BITS:
        return None
    packed = rows[:, 0]
    for column in rows.T[1:]:
        packed = packed << _PACKED_BITS | column
    return packed


def _unpacked(packed: Rows, like: Rows) -> Rows:
    if like.ndim == 1:
        return packed
    shifts = _PACKED_BITS * np.arange(like.shape[1] - 1, -1, -1)
    rows: Rows = packed[:, None] >> shifts & ((1 << _PACKED_BITS) - 1)
    return rows


POWER_BITS = 24
"""Values are rounded to whole numbers of 2^-24 before they are raised to powers."""

_SQUARED_AT_ONCE = 1 << 14
_LOW = (1 << POWER_BITS) - 1
# From here on every double is a whole number of 2^-24.
_ALL_WHOLE = 2.0 ** (52 - POWER_BITS)


def _power_sums(values: FloatArray) -> tuple[int, int, int]:
    """Return the sums of the first, second and third powers, in units of 2^-24, 2^-48 and 2^-72.

    Args:
        values: Finite numbers. Those from 0 to 1 are summed by the array, others one by one.
    """
    inside = (values >= 0) & (values <= 1)
    if inside.all():
        return _of_shares(values)
    first, second, third = _of_shares(values[inside])
    whole = [_whole(value) for value in values[~inside].tolist()]
    return first + sum(whole), second + sum(number**2 for number in whole), third + sum(number**3 for number in whole)


def _of_shares(values: FloatArray) -> tuple[int, int, int]:
    first = second = third = 0
    for start in range(0, len(values), _SQUARED_AT_ONCE):
        whole = np.rint(values[start : start + _SQUARED_AT_ONCE] * 2.0**POWER_BITS).astype(np.int64)
        squares = whole * whole
        first += int(whole.sum())
        second += int(squares.sum())  # 2^14 squares of at most 2^48
        # A cube has up to 72 bits: the square in two halves, each times the number at most 2^48 again.
        third += (int((squares >> POWER_BITS) @ whole) << POWER_BITS) + int((squares & _LOW) @ whole)
    return first, second, third


def _counted_power_sums(table: FrequencyTable) -> tuple[int, int, int]:
    if ((table.rows >= 0) & (table.rows <= 1)).all():
        # The cubes of whole numbers of 24 bits have 72.
        whole = np.rint(table.rows * 2.0**POWER_BITS).astype(np.int64).astype(object)
    else:
        whole = np.array([_whole(value) for value in table.rows.tolist()], dtype=object)
    first = whole * table.counts
    return int(first.sum()), int(first @ whole), int(first @ (whole * whole))


def _whole(value: float) -> int:
    if abs(value) < _ALL_WHOLE:
        return round(value * 2.0**POWER_BITS)
    numerator, denominator = value.as_integer_ratio()
    return (numerator << POWER_BITS) // denominator


def _product_sums(rows: IntArray, times: IntArray | None = None) -> tuple[int, ...]:
    """Sum each product of two columns over all rows: first with first, first with second, to last with last.

    Args:
        rows: Whole numbers of at least 0, shape (n, n_columns).
        times: How often each row counts; once by default.
    """
    n_columns = rows.shape[1]
    exact = _exact(rows, len(rows) if times is None else int(times.sum()))
    columns = [np.ascontiguousarray(column) for column in exact.T]
    weighted = columns if times is None else [column * times for column in columns]
    return tuple(int(weighted[i] @ columns[j]) for i in range(n_columns) for j in range(i, n_columns))


def _exact(rows: IntArray, n: int) -> IntArray:
    """Return rows whose products sum exactly over n rows: as Python's integers if int64 is too small."""
    return rows.astype(object) if int(rows.max(initial=0)) ** 2 * n >= 1 << 63 else rows
