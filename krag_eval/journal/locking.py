"""One writer a file."""

from __future__ import annotations

import sys

if sys.platform == "win32":
    import msvcrt
    import os

    def lock(handle: int) -> bool:
        """Lock an open file for this process alone, without waiting; whether that succeeded. Closing it unlocks it."""
        # There a lock keeps others from reading, too: one byte is locked that no journal will ever reach.
        os.lseek(handle, 2**40, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def lock(handle: int) -> bool:
        """Lock an open file for this process alone, without waiting; whether that succeeded. Closing it unlocks it."""
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
