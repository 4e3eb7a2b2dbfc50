"""Report the progress of a run, to a function or on one line of the terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

from krag_eval._utils.errors import refuse
from krag_eval._utils.formatting import number_of, one_line


@dataclass(frozen=True, slots=True, kw_only=True)
class RunProgress:
    """How far a run has come.

    Attributes:
        name: Of the run.
        done: How many questions have a row, those of earlier sessions included.
        total: How many there are.
        errors: How many of the rows are errors.
        asked: How many were asked since this session began.
        seconds: How long ago that was.
        is_over: Whether the run has ended, even if early.
    """

    name: str
    done: int
    total: int
    errors: int
    asked: int
    seconds: float
    is_over: bool = False

    @property
    def rate(self) -> float | None:
        """Questions a second; None before the first."""
        return self.asked / self.seconds if self.asked and self.seconds > 0 else None

    @property
    def seconds_left(self) -> float | None:
        """How long the rest will take at this rate; None before the first."""
        return None if self.rate is None else (self.total - self.done) / self.rate


ProgressHook = Callable[[RunProgress], object]


def reporter(progress: bool | ProgressHook | None, name: str, total: int, *, resumed: int = 0) -> Callable[..., None]:
    """Return a function that tells what `progress` means, as `hook_for` reads it, how far a run has come since now.

    It takes `done`, `errors` and `is_over` as `RunProgress` has them, and `asked` where that is not what was done since
    now. `resumed` is how much was done before.

    Raises:
        InvalidInputError: `progress` means nothing.
    """
    hook, started = hook_for(progress), time.monotonic()

    def report(done: int, errors: int = 0, asked: int | None = None, *, is_over: bool = False) -> None:
        if hook is not None:
            asked, seconds = done - resumed if asked is None else asked, time.monotonic() - started
            hook(
                RunProgress(
                    name=name, done=done, total=total, errors=errors, asked=asked, seconds=seconds, is_over=is_over
                )
            )

    return report


class TerminalLine:
    """A line on stderr that is written over, ten times a second at most; once a second in notebooks, which keep it."""

    EVERY, EVERY_IN_NOTEBOOKS = 0.1, 1.0

    def __init__(self) -> None:
        self._every = self.EVERY_IN_NOTEBOOKS if _is_notebook() else self.EVERY
        self._next = 0.0
        self._width = 0

    def __call__(self, progress: RunProgress) -> None:
        """Show it, unless it was shown a moment ago."""
        now = time.monotonic()
        if now < self._next and not progress.is_over:
            return
        self._next = now + self._every
        line = _in_words(progress)
        self._width = max(self._width, len(line))
        sys.stderr.write("\r" + line.ljust(self._width) + ("\n" if progress.is_over else ""))
        sys.stderr.flush()


def _in_words(progress: RunProgress) -> str:
    """Return one line.

    >>> _in_words(RunProgress(name="bm25", done=120, total=1000, errors=2, asked=20, seconds=4.0))
    'bm25: 120 of 1,000, 5.0 a second, 2 errors, 2:56 left'
    """
    parts = [f"{one_line(progress.name)}: {progress.done:,} of {progress.total:,}"]
    if progress.rate is not None:
        parts.append(f"{progress.rate:,.1f} a second")
    if progress.errors:
        parts.append(number_of(progress.errors, "error"))
    if progress.seconds_left is not None and not progress.is_over:
        minutes, seconds = divmod(round(progress.seconds_left), 60)
        hours, minutes = divmod(minutes, 60)
        parts.append((f"{hours}:{minutes:02}" if hours else f"{minutes}") + f":{seconds:02} left")
    return ", ".join(parts)


def hook_for(progress: object) -> ProgressHook | None:
    """Return what `progress` means: a function is called, True is a line where stderr is a terminal or a notebook.

    Raises:
        InvalidInputError: It is neither a function nor True, False or None.
    """
    if progress is True:
        return TerminalLine() if _is_seen() else None
    if progress is None or progress is False:
        return None
    if not callable(progress):
        refuse("progress", "True, False or a function", progress)
    return progress


def _is_seen() -> bool:
    stderr: object = sys.stderr  # there may be none
    return stderr is not None and (sys.stderr.isatty() or _is_notebook())


def _is_notebook() -> bool:
    """Return whether stderr is written into a notebook, as `ipykernel` of Jupyter, VS Code and Colab does it."""
    return type(sys.stderr).__module__.startswith("ipykernel")
