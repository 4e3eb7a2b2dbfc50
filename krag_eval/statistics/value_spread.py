"""What an interval of a mean needs of many values, in a state that merges exactly."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from krag_eval.columns import FloatArray
from krag_eval.statistics.bootstrap import SPARSE, bounds_of
from krag_eval.statistics.distinct import Distinct
from krag_eval.statistics.power_sums import POWER_BITS, power_sums
from krag_eval.stored import read_double, read_list, read_record, read_whole, read_wholes, refuse

MOST_DRAWN = 10_000
"""Larger samples are not resampled: their sums say the same."""

_AT_ONCE = 1 << 16


def _nothing() -> Distinct:
    return Distinct.of(np.empty(0))


@dataclass(slots=True)
class ValueSpread:
    """How some values scatter. What it holds depends on the values alone, not on their order or how they were split.

    The table is kept while there are at most `MOST_DRAWN` values, or fewer than `SPARSE` off the commonest. Neither
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
    table: Distinct | None = field(default_factory=_nothing)

    @classmethod
    def of(cls, values: FloatArray) -> ValueSpread:
        """That of some values; NaN is undefined."""
        spread = cls()
        spread.add(values)
        return spread

    def add(self, values: FloatArray) -> None:
        """Take in some values; NaN is undefined."""
        defined = values[~np.isnan(values)] + 0.0  # no -0.0
        for start in range(0, len(defined), _AT_ONCE):
            self._add(defined[start : start + _AT_ONCE])

    def _add(self, values: FloatArray) -> None:
        n_zero, n_one = int(np.count_nonzero(values == 0)), int(np.count_nonzero(values == 1))
        if n_zero + n_one == len(values):
            sums = n_one << POWER_BITS, n_one << 2 * POWER_BITS, n_one << 3 * POWER_BITS
        else:
            sums = power_sums(values)
        least, most = float(values.min()), float(values.max())
        table = None if self.table is None else Distinct.of(values)
        self.merge(ValueSpread(len(values), n_zero, n_one, least, most, sums, table))

    def merge(self, other: ValueSpread) -> None:
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
        """Whether fewer than `SPARSE` values are off the commonest."""
        return self.table is not None and self.n - self.table.n_commonest < SPARSE

    @property
    def mean(self) -> float:
        """Their mean, to 2^-25; there must be a value."""
        return self.sums[0] / (self.n << POWER_BITS)

    @property
    def bounds(self) -> tuple[float, float]:
        """Between what the values may lie (see `bounds_of`)."""
        return bounds_of(np.array([self.least, self.most]))

    def to_dict(self) -> dict[str, Any]:
        """The state as JSON can hold it."""
        table = self.table
        return {
            "n": self.n,
            "n_zero": self.n_zero,
            "n_one": self.n_one,
            "least": self.least.hex(),
            "most": self.most.hex(),
            "sums": list(self.sums),
            "table": None
            if table is None
            else {"values": [value.hex() for value in table.rows.tolist()], "counts": table.counts.tolist()},
        }

    @classmethod
    def from_dict(cls, record: object) -> ValueSpread:
        """The state that `to_dict` wrote.

        Raises:
            InvalidInputError: It is none.
        """
        read = read_record(record, "ValueSpread", [field.name for field in fields(cls)])
        n, n_zero, n_one = (read_whole(read[name], f"ValueSpread.{name}") for name in ("n", "n_zero", "n_one"))
        least, most = (read_double(read[name], f"ValueSpread.{name}") for name in ("least", "most"))
        first, second, third = read_wholes(read["sums"], "ValueSpread.sums", 3, -math.inf)
        table = None if read["table"] is None else _read_table(read["table"])
        if (n <= MOST_DRAWN) if table is None else (table.n != n or not _is_kept(table)):
            refuse("ValueSpread.table", f"the table of a sample of {n} values", read["table"])
        return cls(n, n_zero, n_one, least, most, (first, second, third), table)


def _is_kept(table: Distinct) -> bool:
    n = table.n
    return n <= MOST_DRAWN or n - table.n_commonest < SPARSE


def _read_table(record: object) -> Distinct:
    read = read_record(record, "ValueSpread.table", ["values", "counts"])
    written = read_list(read["values"], "ValueSpread.table.values")
    values = np.array([read_double(value, "ValueSpread.table.values") for value in written], dtype=np.float64)
    counts = read_wholes(read["counts"], "ValueSpread.table.counts", len(values), 1)
    if not np.isfinite(values).all() or not (np.diff(values) > 0).all():
        refuse("ValueSpread.table.values", "a list of finite numbers in ascending order", written)
    return Distinct(values, np.array(counts, dtype=np.int64))
