"""A journal belongs to the process that opened it: a forked copy of the process lets go of the file.

Two processes at one file would write over each other's knowledge of it, and a copy that outlives its parent would keep
the file locked.
"""

from __future__ import annotations

import os
from typing import Protocol


class Held(Protocol):
    """What belongs to one process."""

    def let_go(self) -> None:
        """This is a copy of the process: close the file here, and change nothing."""
        ...


_HELD: dict[int, Held] = {}


def hold(one: Held) -> None:
    """Have a forked copy of the process let go of it, as long as it is open: also of one that nobody closed."""
    _HELD[id(one)] = one


def release(one: Held) -> None:
    """It is closed."""
    _HELD.pop(id(one), None)


def _let_go_of_all() -> None:
    for held in tuple(_HELD.values()):
        held.let_go()
    _HELD.clear()


if hasattr(os, "register_at_fork"):  # not on Windows, where nothing is forked
    os.register_at_fork(after_in_child=_let_go_of_all)
