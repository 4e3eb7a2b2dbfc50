"""Opening and reading files: whatever goes wrong names the path, and nothing is read without a bound.

What a file probably is that is not UTF-8, as spreadsheets write them: a guess, to be told and never acted upon.

Text files that are written whole or not at all.

Files and folders that other programs write: whole or not at all, like `write_atomically`.
"""

from __future__ import annotations

import codecs
import contextlib
import errno
import io
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from krag_eval._utils.errors import InvalidInputError

MAX_LINE = 64 * 2**20
MAX_DOCUMENT = 2 * 2**30


def unreadable(path: str | os.PathLike[str], error: Exception) -> InvalidInputError:
    """What to say of a file that cannot be opened or read."""
    return InvalidInputError(f"{os.fspath(path)}: cannot be read ({reason_of(error)}). Check the path.")


def reason_of(error: Exception) -> str:
    """What the system says of an error, without the path."""
    return str(getattr(error, "strerror", None) or error)


def is_folder(path: str | os.PathLike[str]) -> bool:
    """Whether it is a folder; False also where that cannot be found out, which opening it will tell."""
    try:
        return Path(path).is_dir()
    except (OSError, ValueError):
        return False


def is_file(path: str | os.PathLike[str]) -> bool:
    """Whether it is a regular file; False also where that cannot be found out."""
    try:
        return Path(path).is_file()
    except (OSError, ValueError):
        return False


def open_file(path: str | os.PathLike[str]) -> BinaryIO:
    """A file to read bytes from.

    Raises:
        InvalidInputError: It cannot be opened, or no file can have such a name.
    """
    try:
        return Path(path).open("rb")
    except (OSError, ValueError) as error:  # a ValueError: a name with NUL or half a character in it
        raise unreadable(path, error) from error


def lines_of(path: str | os.PathLike[str]) -> Iterator[bytes]:
    """The lines of a file with their ends, one at a time.

    Raises:
        InvalidInputError: The file cannot be opened or read, or a line has more than `MAX_LINE` bytes.
    """
    with open_file(path) as file:
        number = 0
        try:
            while line := file.readline(MAX_LINE + 1):
                number += 1
                if len(line) > MAX_LINE:
                    raise InvalidInputError(
                        f"{path}:{number}: is a line of more than {MAX_LINE // 2**20} MB. Each line must be one row; "
                        "is this another kind of file?"
                    )
                yield line
        except OSError as error:
            raise unreadable(path, error) from error


def read_whole(path: str | os.PathLike[str]) -> bytes:
    """The content of a file.

    Raises:
        InvalidInputError: The file cannot be opened or read, or has more than `MAX_DOCUMENT` bytes.
    """
    content = io.BytesIO()
    with open_file(path) as file:
        try:
            while part := file.read(1 << 20):
                content.write(part)
                if content.tell() > MAX_DOCUMENT:  # a device such as /dev/zero has no end
                    raise InvalidInputError(
                        f"{path}: has more than {MAX_DOCUMENT // 2**30} GB, and must be read whole. Write it as JSONL."
                    )
        except OSError as error:
            raise unreadable(path, error) from error
    return content.getvalue()


SAVE_AS_UTF8 = "Save it as UTF-8, which Excel calls “CSV UTF-8”."
_WORKBOOK = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_PUNCTUATION = r"\u2010-\u203b\u3000-\u303f\uff01-\uff5e\u00b7"
# In this order: Japanese would also pass for Korean, and Korean for Chinese.
_SCRIPTS = (
    ("cp932", rf"(?=[^\u3041-\u30ff]*[\u3041-\u30ff])[\u3041-\u30ff\u4e00-\u9fff{_PUNCTUATION}\x00-\x7f]*"),
    ("cp1252", r"(?:(?<![À-ÿ])[À-ÿ](?![À-ÿ])|(?<=[A-Za-z])[À-ÿ]{2}(?=[a-z])|[Œœ‘’“”–—…«»¡¿°§€\x00-\x7f])*"),
    ("cp949", rf"[\uac00-\ud7a3\u3131-\u318e{_PUNCTUATION}\x00-\x7f]*"),
    ("cp1251", r"(?:\b(?:[А-ЯЁ]?[а-яё]+|[А-ЯЁ]+)\b|[«»—–…№„“”’\x00-\x7f])*"),
    ("gb18030", rf"[\u4e00-\u9fff{_PUNCTUATION}\x00-\x7f]*"),
    ("cp950", rf"[\u4e00-\u9fff{_PUNCTUATION}\x00-\x7f]*"),
)
_ENOUGH = 4096
_SHOWN = 20


def not_utf8(place: str, start: int, line: bytes) -> str:
    """What to say of a line that is not UTF-8.

    Args:
        place: Where it stands, as `path:line`.
        start: The first byte that is not UTF-8.
        line: The line.

    >>> print(not_utf8("set.csv:2", 2, "1,환불은 언제?".encode("cp949")))
    set.csv:2: not UTF-8 at byte 2 of the line; as cp949 it reads '환불은 언제?'. Save it as UTF-8, ...
    """
    hint = looks_like(line)
    return f"{place}: not UTF-8 at byte {start} of the line{hint}. {SAVE_AS_UTF8}"


def looks_like(data: bytes) -> str:
    """What the bytes seem to be, as the rest of a sentence; empty where nothing can be told.

    Args:
        data: The beginning of a file, or a line of it.
    """
    if data.startswith(_WORKBOOK):
        return "; it is a workbook of Excel, or another archive"
    if data.startswith(_UTF_16):
        return "; it looks like UTF-16, which Excel calls “Unicode Text”"
    encoding = encoding_of(data)
    if encoding is None:
        return ""
    text = re.sub(r"^[\x00-\x7f]+", "", data.decode(encoding, errors="replace"))
    return f"; as {encoding} it reads {text.splitlines()[0][:_SHOWN]!r}"


def encoding_of(data: bytes) -> str | None:
    """The encoding in which all letters of the bytes are of one script; None where that is so in none.

    >>> encoding_of("Когда вернут деньги?".encode("cp1251")), encoding_of("什么时候退款?".encode("gb18030"))
    ('cp1251', 'gb18030')
    >>> encoding_of("Où est le café ?".encode("cp1252")), encoding_of(bytes(range(256)))
    ('cp1252', None)
    """
    first = re.search(rb"[\x80-\xff]", data)
    if first is None or b"\0" in data:
        return None
    beginning = data[max(first.start() - 1, 0) :][:_ENOUGH]
    for encoding, letters in _SCRIPTS:
        try:
            # An incremental one: the last character may have been cut.
            text = codecs.getincrementaldecoder(encoding)().decode(beginning)
        except UnicodeDecodeError:
            continue
        if re.fullmatch(letters, text, re.DOTALL):
            return encoding
    return None


def write_atomically(path: str | os.PathLike[str], parts: Iterable[str]) -> None:
    """Write a text file whole or not at all: to a temporary file in the same folder, which then takes its place.

    Raises:
        InvalidInputError: The folder cannot be written to, or the disk is full; what was there before is there still.
    """
    target = Path(path)
    try:
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        target = target.resolve() if target.is_symlink() else target
    except (OSError, RuntimeError) as error:  # links that lead in a circle
        raise _unwritable(path, error) from error
    if target.exists() and not target.is_file():  # a pipe or a device is written to, not replaced
        _write_through(target, parts)
        return
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except (OSError, ValueError) as error:  # a ValueError: a name with NUL or half a character in it
        raise _unwritable(path, error) from error
    theirs: list[OSError] = []
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
            file.writelines(_noting(parts, theirs))
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(0o666 & ~_umask())
        Path(temporary).replace(target)
        sync_folder(target.parent)
    except BaseException as error:
        Path(temporary).unlink(missing_ok=True)
        if not isinstance(error, OSError) or error in theirs:
            raise
        raise InvalidInputError(
            f"{os.fspath(path)}: cannot be written ({reason_of(error)}). Nothing was changed: make room, or give "
            "another path."
        ) from error


def sync_folder(folder: Path) -> None:
    """Have the names of the files in it on the disk too, where the system can do that."""
    if os.name == "posix":
        with contextlib.suppress(OSError):  # a folder that may not be read; and not every file system takes it
            handle = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)


def _noting(parts: Iterable[str], errors: list[OSError]) -> Iterator[str]:
    """The parts; an error in the making of one is noted, for it says nothing of the file that is written."""
    try:
        yield from parts
    except OSError as error:
        errors.append(error)
        raise


def _write_through(stream: Path, parts: Iterable[str]) -> None:
    try:
        with stream.open("w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
            file.writelines(parts)
    except OSError as error:
        raise _unwritable(stream, error) from error


def _unwritable(path: str | os.PathLike[str], error: Exception) -> InvalidInputError:
    return InvalidInputError(f"{os.fspath(path)}: cannot be written ({reason_of(error)}). Check the folder.")


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current


@contextlib.contextmanager
def beside(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A path in a temporary folder beside the target; what is there at the end takes the target's place.

    Raises:
        InvalidInputError: The folder cannot be written to, or the target is neither a file nor an empty folder.
    """
    target = Path(path)
    try:
        target = target.resolve() if target.is_symlink() else target
        if target.exists() and not target.is_file() and not (target.is_dir() and not any(target.iterdir())):
            raise InvalidInputError(
                f"{path}: is there already, and is no file. Name another place, or remove it first."
            )
        folder = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}."))
    except InvalidInputError:
        raise
    except (OSError, ValueError, RuntimeError) as error:  # a name that no file can have; a loop of links
        raise InvalidInputError(f"{path}: cannot be written ({reason_of(error)}). Check the folder.") from error
    try:
        temporary = folder / target.name
        yield temporary
        for written in [temporary, *temporary.rglob("*")]:
            _flush(written)
        temporary.replace(target)
        _flush(target.parent)
    except OSError as error:
        raise InvalidInputError(f"{path}: cannot be written ({reason_of(error)}). Check the folder.") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _flush(path: Path) -> None:
    """Onto the disk before its name is, so that no crash leaves an empty file under it."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
