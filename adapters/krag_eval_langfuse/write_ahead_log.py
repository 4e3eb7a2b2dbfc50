"""Tell whether SQLite's write-ahead log beside a file is whole: SQLite drops what follows a damaged page in silence."""

from __future__ import annotations

import contextlib
import struct
from pathlib import Path


def is_whole(place: Path) -> bool:
    """Return whether SQLite will read its whole write-ahead log. It silently drops what follows a damaged page.

    What a process was writing when it was killed is no damage: `put` had not returned. The index beside the log says
    how many pages had been written by then, and how many of these are in the file itself. Without an index of this
    log, an incomplete last page is no damage, and without any index, neither is a log that is missing or empty.
    """
    index = data = b""
    try:
        with contextlib.suppress(OSError), Path(f"{place}-shm").open("rb") as file:
            index = file.read(100)  # before the log, to which another process may be writing
        with contextlib.suppress(FileNotFoundError):
            data = Path(f"{place}-wal").read_bytes()
    except OSError:
        return True
    if 0 < len(data) < 32:
        return False
    magic, _, size = struct.unpack_from(">3I", data) if data else (0, 0, 0)
    order, salt, sums = "<>"[magic & 1], data[16:24], _sums(data[:24], "<>"[magic & 1])
    if data and sums != struct.unpack_from(">2I", data, 24):
        return False
    n_sound, is_over, is_torn = 0, False, False
    for start in range(32, len(data) - size - 23, size + 24):
        frame = data[start : start + size + 24]
        if frame[8:16] != salt:  # left over from an earlier use of the log
            is_over = True
            continue
        sums = _sums(frame[24:], order, _sums(frame[:8], order, sums))
        if is_over or sums != struct.unpack_from(">2I", frame, 16):
            is_torn = True
            break
        n_sound += 1
    written = [
        (header[32:40] == salt, struct.unpack_from("=I", header, 16)[0])
        for header in (index[:48], index[48:96])
        if len(index) == 100 and _sums(header[:40], "=") == struct.unpack_from("=2I", header, 40)
    ]
    if any(n > struct.unpack_from("=I", index, 96)[0] for is_of_log, n in written if not is_of_log):
        return False  # another log, which is gone
    of_log = [n for is_of_log, n in written if is_of_log]
    return n_sound >= max(of_log) if of_log else not is_torn


def _sums(data: bytes, order: str, sums: tuple[int, int] = (0, 0)) -> tuple[int, int]:
    one, two = sums
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    for first, second in zip(words[::2], words[1::2], strict=True):
        one = (one + first + two) & 0xFFFFFFFF
        two = (two + second + one) & 0xFFFFFFFF
    return one, two
