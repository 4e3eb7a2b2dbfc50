"""Properties that are computed when they are first read."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property as cached_property
else:

    class cached_property(functools.cached_property):  # noqa: N801 - it stands in for the other
        """Compute a property when it is first read, without a lock.

        In Python 3.11, `functools.cached_property` holds a lock that all objects of a class share. Threads wait for
        each other, and a process that is forked while a thread holds the lock waits forever. As in Python 3.12, two
        threads that read a property at the same time may both compute it.
        """

        def __init__(self, compute: Callable[[Any], Any]) -> None:
            super().__init__(compute)
            self.lock = contextlib.nullcontext()
