"""What is done when the process exits, and when it is forked: one order for the whole program."""

from __future__ import annotations

import atexit
import os
import sys
import time
import traceback
import weakref
from collections.abc import Callable, Iterable
from typing import Literal, Protocol

Step = Literal["score", "send", "stop"]
"""The order of exit: what waits is scored, scores are sent, and then event loops end."""

Call = Callable[[], object]
_AT_EXIT: dict[Step, list[Call]] = {"score": [], "send": [], "stop": []}
_EXITS: list[float] = []  # when the exit began
_BEFORE_FORK, _IN_PARENT, _IN_CHILD = list[Call](), list[Call](), list[Call]()


class Renewed(Protocol):
    """An object with locks, threads or sums of one process."""

    def start_anew(self) -> None:
        """Forget them in a forked process: threads are gone there, locks may be held, and sums may be incomplete."""
        ...


_RENEWED: weakref.WeakSet[Renewed] = weakref.WeakSet()


def at_exit(step: Step, call: Call) -> None:
    """Call this when the process exits. Within a step, what was registered last is called first."""
    _AT_EXIT[step].append(call)
    exit_before_others()


def exit_before_others() -> None:
    """Make our exit come before that of every library that was imported or set up so far.

    Python exits in reverse order. A client of a library must not close before the last scores are sent, so this is
    called whenever a client is made or given.
    """
    atexit.unregister(_exit)
    atexit.register(_exit)


def at_fork(*, before: Call | None = None, in_parent: Call | None = None, in_child: Call | None = None) -> None:
    """Call these when the process is forked: what was registered last comes first before, and last afterwards."""
    for calls, call in ((_BEFORE_FORK, before), (_IN_PARENT, in_parent), (_IN_CHILD, in_child)):
        if call is not None:
            calls.append(call)


def renew_when_forked(one: Renewed) -> None:
    """Let an object start anew in forked processes, before anything else is done there. It is not kept alive."""
    _RENEWED.add(one)


def seconds_exiting() -> float | None:
    """Return how long the exit has taken so far; None before it."""
    return None if not _EXITS else time.monotonic() - _EXITS[0]


def _exit() -> None:
    _EXITS.append(time.monotonic())
    for calls in _AT_EXIT.values():
        _call_all(reversed(calls))


def _renew_all() -> None:
    _call_all([one.start_anew for one in list(_RENEWED)])


def _call_all(calls: Iterable[Call]) -> None:
    """Call each, whatever another raises; the error is printed, as Python does at an exit."""
    for call in calls:
        try:
            call()
        except Exception:  # noqa: BLE001 - the others are called all the same
            traceback.print_exc()


def _exit_with_processes() -> None:
    """Exit with each process of `multiprocessing` and worker of Celery too: Python calls no exit handlers there."""
    util, process = (sys.modules.get(f"multiprocessing.{name}") for name in ("util", "process"))
    if util is not None and process is not None:  # one that is imported later is seen in the forked process
        util.register_after_fork(_exit, lambda _: util.Finalize(None, _exit, exitpriority=10))
        if process.parent_process() is not None:
            util.Finalize(None, _exit, exitpriority=10)
    if (signals := sys.modules.get("celery.signals")) is not None:
        signals.worker_process_shutdown.connect(_exit_with_worker, weak=False)


def _exit_with_worker(**_: object) -> None:
    _exit()


at_fork(in_child=_renew_all)
at_fork(in_child=_exit_with_processes)
_exit_with_processes()
if hasattr(os, "register_at_fork"):  # not on Windows, where nothing is forked
    os.register_at_fork(
        before=lambda: _call_all(reversed(_BEFORE_FORK)),
        after_in_parent=lambda: _call_all(_IN_PARENT),
        after_in_child=lambda: _call_all(_IN_CHILD),
    )
