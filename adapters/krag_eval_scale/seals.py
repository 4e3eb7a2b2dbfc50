"""Checksums that say whether the files of a part are as they were written."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from krag_eval import InvalidInputError
from krag_eval.toolkit import unreadable


def seal_files(seal: Path, *files: Path) -> None:
    """Append a checksum to a file: of its own content, which may be none, and of the other files."""
    with seal.open("ab") as end:
        end.write(_digest_of(seal, files))


def check_seal(seal: Path, *files: Path) -> None:
    """Check that files are as they were when `seal_files` sealed them.

    Raises:
        InvalidInputError: One of them is damaged or missing.
    """
    try:
        with seal.open("rb") as end:
            end.seek(max(0, seal.stat().st_size - _DIGEST))
            is_sound = end.read() == _digest_of(seal, files, without=_DIGEST)
    except OSError as error:
        raise unreadable(error.filename or seal, error) from error
    if not is_sound:
        raise InvalidInputError(
            f"{(*files, seal)[0]}: is damaged: its checksum, in {seal.name}, is wrong. Remove it, and run the same "
            "again to write it anew."
        )


_DIGEST = hashlib.sha256().digest_size


def _digest_of(seal: Path, files: Iterable[Path], without: int = 0) -> bytes:
    """Return a checksum of the digests of all files, and of the content of the seal without its last bytes."""
    seen = hashlib.sha256()
    for path in files:
        with path.open("rb") as file:
            seen.update(hashlib.file_digest(file, "sha256").digest())
    seen.update(seal.read_bytes()[: seal.stat().st_size - without])
    return seen.digest()
