"""Has what was written put on the disk, now and then."""

from __future__ import annotations

import os
import threading

SYNC_ROWS = 64
SYNC_SECONDS = 1.0


class Syncing:
    """Puts a file on the disk after 64 rows or a second, in a thread of its own: a disk is slow, and calls are timed.

    Where no thread can be had, whoever writes waits for the disk.

    Args:
        handle: The open file.
    """

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self._unsynced = 0
        self._error: OSError | None = None
        self._is_over = False
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._work, name="krag-eval-sync", daemon=True)
        self._is_alone = False
        try:
            self._thread.start()
        except RuntimeError:  # too many threads, or the interpreter is shutting down
            self._is_alone = True

    def row_written(self) -> OSError | None:
        """Count a row; what the disk said to earlier ones, if that was an error."""
        self._unsynced += 1
        if self._unsynced >= SYNC_ROWS:
            if self._is_alone:
                self._sync()
            self._wake.set()
        return self._error

    def stop(self) -> OSError | None:
        """Put the rest on the disk; what the disk said, if that was an error."""
        self._is_over = True
        self._wake.set()
        if self._is_alone:
            self._sync()
        else:
            self._thread.join()
        return self._error

    def _work(self) -> None:
        while not self._is_over:
            self._wake.wait(SYNC_SECONDS)
            self._wake.clear()
            self._sync()
        self._sync()

    def _sync(self) -> None:
        if self._unsynced:
            self._unsynced = 0
            try:
                os.fsync(self._handle)
            except OSError as error:
                self._error = error
