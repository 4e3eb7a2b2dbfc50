"""Progress bars on stderr, one for each thing that takes its time."""

from __future__ import annotations

import sys
from types import TracebackType

import rich.progress as bars

from krag_eval.cli.tables import notes
from krag_eval.progress import RunProgress


class Bars:
    """One bar a run or stage, with rate, errors and time left; nothing where stderr is no terminal."""

    def __init__(self) -> None:
        self._bars = bars.Progress(
            bars.TextColumn("{task.description}", markup=False),
            bars.BarColumn(),
            bars.MofNCompleteColumn(),
            bars.TextColumn("{task.fields[rate]}"),
            bars.TextColumn("{task.fields[errors]}"),
            bars.TimeRemainingColumn(),
            console=notes(),
            # Also where FORCE_COLOR makes rich take a pipe for a terminal.
            disable=not sys.stderr.isatty(),
        )
        self._tasks: dict[str, bars.TaskID] = {}

    def __enter__(self) -> Bars:
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()

    def show(self, progress: RunProgress) -> None:
        """Show how far it is."""
        if self._bars.disable:
            return
        if progress.name not in self._tasks:
            self._tasks[progress.name] = self._bars.add_task(progress.name, total=progress.total, rate="", errors="")
        rate = "" if progress.rate is None else f"{progress.rate:,.1f}/s"
        errors = f"{progress.errors:,} error{'' if progress.errors == 1 else 's'}"
        self._bars.update(self._tasks[progress.name], completed=progress.done, rate=rate, errors=errors)
