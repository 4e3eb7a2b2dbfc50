"""What a process owes its live scorers: a last flush before it ends, and a fresh start in a forked child."""

from __future__ import annotations

import atexit
import os
import time
import weakref
from typing import Protocol

# What an application that ends at once waits for its last retrievals, in seconds.
EXIT_TIMEOUT = 5.0


class Living(Protocol):
    """What is looked after."""

    def flush(self, timeout: float | None = None) -> bool:
        """Work off what waits."""
        ...

    def start_anew(self) -> None:
        """Forget everything: threads are gone after a fork, locks may be held by nobody, sums may be half made."""
        ...


_LIVING: weakref.WeakSet[Living] = weakref.WeakSet()


def look_after(one: Living) -> None:
    """Flush it before the process ends and start it anew in a forked one; it may still be collected as garbage."""
    _LIVING.add(one)


def _flush_all() -> None:
    end = time.monotonic() + EXIT_TIMEOUT
    for one in list(_LIVING):
        one.flush(max(0.0, end - time.monotonic()))


def _start_all_anew() -> None:
    for one in list(_LIVING):
        one.start_anew()


atexit.register(_flush_all)
if hasattr(os, "register_at_fork"):  # not on Windows, where nothing is forked
    os.register_at_fork(after_in_child=_start_all_anew)
