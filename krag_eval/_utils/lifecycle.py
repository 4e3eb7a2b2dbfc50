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


class Renewed(Protocol):
    """An object with locks, threads or sums of one process."""

    def start_anew(self) -> None:
        """Forget them in a forked process: threads are gone there, locks may be held, and sums may be incomplete."""
        ...


class ThisProcess:
    """What is to be done at the exit and at a fork of this process, in the order in which it is done."""

    def __init__(self) -> None:
        self._at_exit: dict[Step, list[Call]] = {"score": [], "send": [], "stop": []}
        self._exiting_since: float | None = None
        self._before_fork, self._in_parent, self._in_child = list[Call](), list[Call](), list[Call]()
        self._renewed: weakref.WeakSet[Renewed] = weakref.WeakSet()
        self._exit: Callable[..., None] = self._call_at_exit  # one object, by which others know it

    def at_exit(self, step: Step, call: Call) -> None:
        """Call this when the process exits. Within a step, what was registered last is called first."""
        self._at_exit[step].append(call)
        self.exit_before_others()

    def exit_before_others(self) -> None:
        """Make our exit come before that of every library that was imported or set up so far.

        Python exits in reverse order. A client of a library must not close before the last scores are sent, so this is
        called whenever a client is made or given.
        """
        atexit.unregister(self._exit)
        atexit.register(self._exit)

    def at_fork(
        self, *, before: Call | None = None, in_parent: Call | None = None, in_child: Call | None = None
    ) -> None:
        """Call these when the process is forked: what was registered last comes first before, and last afterwards."""
        for calls, call in ((self._before_fork, before), (self._in_parent, in_parent), (self._in_child, in_child)):
            if call is not None:
                calls.append(call)

    def renew_when_forked(self, one: Renewed) -> None:
        """Let an object start anew in forked processes, before anything else is done there. It is not kept alive."""
        self._renewed.add(one)

    def seconds_exiting(self) -> float | None:
        """Return how long the exit has taken so far; None before it."""
        return None if self._exiting_since is None else time.monotonic() - self._exiting_since

    def _call_at_exit(self, **_: object) -> None:
        if self._exiting_since is None:
            self._exiting_since = time.monotonic()
        for calls in self._at_exit.values():
            _call_all(reversed(calls))

    def _exit_with_processes(self) -> None:
        """Exit with each process of `multiprocessing` and worker of Celery too: Python calls no exit handlers there."""
        util, process = (sys.modules.get(f"multiprocessing.{name}") for name in ("util", "process"))
        if util is not None and process is not None:  # one that is imported later is seen in the forked process
            util.register_after_fork(self, lambda one: util.Finalize(None, one._exit, exitpriority=10))  # noqa: SLF001
            if process.parent_process() is not None:
                util.Finalize(None, self._exit, exitpriority=10)
        if (signals := sys.modules.get("celery.signals")) is not None:
            signals.worker_process_shutdown.connect(self._exit, weak=False)

    def watch(self) -> None:
        """Be called at exits and forks from now on."""
        self.at_fork(in_child=lambda: _call_all([one.start_anew for one in list(self._renewed)]))
        self.at_fork(in_child=self._exit_with_processes)
        self._exit_with_processes()
        if hasattr(os, "register_at_fork"):  # not on Windows, where nothing is forked
            os.register_at_fork(
                before=lambda: _call_all(reversed(self._before_fork)),
                after_in_parent=lambda: _call_all(self._in_parent),
                after_in_child=lambda: _call_all(self._in_child),
            )


def _call_all(calls: Iterable[Call]) -> None:
    """Call each, whatever another raises; the error is printed, as Python does at an exit."""
    for call in calls:
        try:
            call()
        except Exception:  # noqa: BLE001 - the others are called all the same
            traceback.print_exc()


this_process = ThisProcess()
this_process.watch()
