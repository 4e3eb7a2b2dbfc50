"""What an interval of a ratio of sums needs of many rows of counts, in a state that merges exactly."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from itertools import pairwise
from typing import Any

import numpy as np

from krag_eval.columns import IntArray
from krag_eval.statistics.distinct import Distinct
from krag_eval.statistics.power_sums import product_sums
from krag_eval.statistics.value_spread import MOST_DRAWN
from krag_eval.stored import read_list, read_record, read_whole, read_wholes, refuse

N_COLUMNS = 4
_N_PRODUCTS = N_COLUMNS * (N_COLUMNS + 1) // 2
_MOST_COUNTED = 1 << 62
_AT_ONCE = 1 << 16


def _nothing() -> Distinct:
    return Distinct.of(np.empty((0, N_COLUMNS), dtype=np.int64))


@dataclass(slots=True)
class CountSpread:
    """How rows of four counts scatter, such as those behind the micro values: covered, gold, relevant, out_of.

    What it holds depends on the rows alone, not on their order or how they were split. The table is kept while there
    are at most `MOST_DRAWN` rows.

    Attributes:
        n: How many rows there are.
        sums: The sum of each column.
        products: The sum of each product of two columns, as `product_sums` orders them.
        table: The distinct rows, or None where there are too many rows.
    """

    n: int = 0
    sums: tuple[int, ...] = (0,) * N_COLUMNS
    products: tuple[int, ...] = (0,) * _N_PRODUCTS
    table: Distinct | None = field(default_factory=_nothing)

    def add(self, rows: IntArray) -> None:
        """Take in some rows.

        Args:
            rows: Whole numbers of at least 0, shape (n, 4).
        """
        for start in range(0, len(rows), _AT_ONCE):
            part = rows[start : start + _AT_ONCE]
            table = None if self.table is None or self.n + len(part) > MOST_DRAWN else Distinct.of(part)
            self.merge(CountSpread(len(part), tuple(part.sum(axis=0).tolist()), product_sums(part), table))

    def merge(self, other: CountSpread) -> None:
        """Take in another state."""
        self.n += other.n
        self.sums = tuple(one + more for one, more in zip(self.sums, other.sums, strict=True))
        self.products = tuple(one + more for one, more in zip(self.products, other.products, strict=True))
        if self.table is None or other.table is None or self.n > MOST_DRAWN:
            self.table = None
        else:
            self.table = self.table.merged(other.table)

    def product(self, one: int, other: int) -> int:
        """The sum of the products of two columns."""
        first, second = sorted((one, other))
        return self.products[first * N_COLUMNS - first * (first - 1) // 2 + second - first]

    def is_constant(self, column: int) -> bool:
        """Whether a column has the same number in every row."""
        return self.n * self.product(column, column) == self.sums[column] ** 2  # no variance

    def to_dict(self) -> dict[str, Any]:
        """The state as JSON can hold it."""
        table = self.table
        return {
            "n": self.n,
            "sums": list(self.sums),
            "products": list(self.products),
            "table": None if table is None else {"rows": table.rows.tolist(), "counts": table.counts.tolist()},
        }

    @classmethod
    def from_dict(cls, record: object) -> CountSpread:
        """The state that `to_dict` wrote.

        Raises:
            InvalidInputError: It is none.
        """
        read = read_record(record, "CountSpread", [field.name for field in fields(cls)])
        spread = cls(
            read_whole(read["n"], "CountSpread.n"),
            tuple(read_wholes(read["sums"], "CountSpread.sums", N_COLUMNS)),
            tuple(read_wholes(read["products"], "CountSpread.products", _N_PRODUCTS)),
            None if read["table"] is None else _read_table(read["table"]),
        )
        if (spread.table is None) != (spread.n > MOST_DRAWN) or (spread.table and spread.table.n != spread.n):
            refuse("CountSpread.table", f"the table of a sample of {spread.n} rows", read["table"])
        return spread


def _read_table(record: object) -> Distinct:
    read = read_record(record, "CountSpread.table", ["rows", "counts"])
    written = [read_wholes(row, "CountSpread.table.rows", N_COLUMNS) for row in read_list(read["rows"], "CountSpread")]
    counts = read_wholes(read["counts"], "CountSpread.table.counts", len(written), 1)
    if any(one >= next_ for one, next_ in pairwise(written)) or any(
        number > _MOST_COUNTED for row in written for number in row
    ):
        refuse("CountSpread.table.rows", "a list of rows in ascending order", written)
    rows = np.array(written, dtype=np.int64).reshape(-1, N_COLUMNS)
    return Distinct(rows, np.array(counts, dtype=np.int64))
