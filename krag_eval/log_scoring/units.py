"""Row groups put together into units of work: a thousand small files cost little more than a large one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from krag_eval.log_scoring.sources import RowGroup

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
