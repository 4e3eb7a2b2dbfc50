"""What a forked copy of the process needs anew: locks that a thread held which is not there, and its own files."""

from __future__ import annotations

import os
import weakref
from typing import Protocol


class Renewed(Protocol):
    """What cannot be used in a copy of the process as it is."""

    def renew(self) -> None:
        """This is a copy of the process, with no other thread in it."""
        ...


_RENEWED: weakref.WeakSet[Renewed] = weakref.WeakSet()


def renew_when_forked(one: Renewed) -> None:
    """Have it renewed in every copy of the process; it may still be collected as garbage."""
    _RENEWED.add(one)


def _renew_all() -> None:
    for one in list(_RENEWED):
        one.renew()


if hasattr(os, "register_at_fork"):  # not on Windows, where nothing is forked
    os.register_at_fork(after_in_child=_renew_all)
