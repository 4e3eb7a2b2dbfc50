"""Signals on the command line: what Ctrl+C, SIGTERM and a closed pipe end, and with which exit code."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from types import FrameType

INTERRUPTED, TERMINATED, PIPE_CLOSED = 130, 143, 141  # 128 and the number of the signal, as shells have it


def end_at_once() -> None:
    """From now on, let Ctrl+C end the process in one line and SIGTERM without one, whatever is being imported."""
    _handle(_end)
    # What is registered first is done last. Python then takes our handlers away, and the default would kill a process
    # that has done its work.
    atexit.register(_handle, signal.SIG_IGN)


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Let Ctrl+C raise KeyboardInterrupt and SIGTERM SystemExit, so that a command cleans up; a second one ends it."""
    if signal.getsignal(signal.SIGINT) is not _end:  # a program called the command, and handles signals itself
        yield
        return
    _handle(_raise)
    try:
        yield
    finally:
        _handle(_end_silently)


@contextlib.contextmanager
def exit_codes() -> Iterator[None]:
    """Exit with 130 and one line if a command is interrupted, and with 141 if nobody reads its output any longer."""
    try:
        yield
    except KeyboardInterrupt as interruption:
        print(str(interruption) or "Stopped.", file=sys.stderr)
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        forget_output()
        sys.exit(PIPE_CLOSED)


def forget_output() -> None:
    """Let go of what could not be written: Python would try again when it exits, and complain."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def is_interruption(error: BaseException | None) -> bool:
    """Whether Ctrl+C is behind an error: what is imported at that moment may raise another one for it."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _handle(handler: signal._HANDLER) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as for what a shell starts in the background
            signal.signal(number, handler)


def _end(number: int, _: FrameType | None) -> None:
    if number == signal.SIGINT:
        os.write(2, b"Stopped.\n")
    _end_silently(number, _)


def _end_silently(number: int, _: FrameType | None) -> None:
    os._exit(INTERRUPTED if number == signal.SIGINT else TERMINATED)


def _raise(number: int, _: FrameType | None) -> None:
    _handle(_end_silently)
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    sys.exit(TERMINATED)
