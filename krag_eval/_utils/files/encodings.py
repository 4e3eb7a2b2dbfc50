"""Read texts in an encoding that is named; where none is, guess for the message only: nothing is decoded by a guess."""

from __future__ import annotations

import codecs
import os
import re
import tempfile
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

from krag_eval._utils.errors import Argument, InvalidInputError, Parts, did_you_mean
from krag_eval._utils.files.io import Copy, StrPath, is_file, open_file

SAVE_AS_UTF8 = "save it as UTF-8, which Excel calls “CSV UTF-8”."
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
_PART = 1 << 20


def decode(content: bytes, path: str | os.PathLike[str]) -> str:
    """Return the text of a file in UTF-8, without a byte order mark.

    Raises:
        InvalidInputError: It is in another encoding; the message begins with `path:line:`.
    """
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        number, begin = content.count(b"\n", 0, error.start) + 1, content.rfind(b"\n", 0, error.start) + 1
        line = content[begin:].partition(b"\n")[0]
        raise InvalidInputError(*not_utf8(f"{path}:{number}", error.start - begin, line)) from None


def not_utf8(place: str, start: int, line: bytes) -> Parts:
    """Return the message for a line that is not UTF-8.

    Args:
        place: Its place, as `path:line`.
        start: The first byte that is not UTF-8.
        line: The line.

    >>> print(*not_utf8("set.csv:2", 2, "1,환불은 언제?".encode("cp949")), sep="")
    set.csv:2: not UTF-8 at byte 2 of the line; as cp949 it reads '환불은 언제?'. Read it with encoding='cp949', or ...
    """
    what = ("Pack it again in UTF-8.",) if place.rpartition(":")[0].endswith(".gz") else cure(line)
    return f"{place}: not UTF-8 at byte {start} of the line{looks_like(line)}. ", *what


def cure(data: bytes) -> Parts:
    """Return what to do about a file that is not UTF-8, by its beginning or a line of it."""
    if data.startswith(_WORKBOOK):
        return (f"If it is a workbook, {SAVE_AS_UTF8}",)
    encoding = "utf-16" if data.startswith(_UTF_16) else encoding_of(data)
    if encoding is None:
        return "Name its ", Argument("encoding"), f", or {SAVE_AS_UTF8}"
    return "Read it with ", Argument("encoding", encoding), f", or {SAVE_AS_UTF8}"


def looks_like(data: bytes) -> str:
    """Return what the bytes seem to be, as the rest of a sentence; empty if they resemble nothing known.

    Args:
        data: The beginning of a file, or a line of it.
    """
    if data.startswith(_WORKBOOK):
        return "; it is an Excel workbook or another archive"
    if data.startswith(_UTF_16):
        return "; it looks like UTF-16, which Excel calls “Unicode Text”"
    encoding = encoding_of(data)
    if encoding is None:
        return ""
    text = re.sub(r"^[\x00-\x7f]+", "", data.decode(encoding, errors="replace"))
    return f"; as {encoding} it reads {text.splitlines()[0][:_SHOWN]!r}"


def encoding_of(data: bytes) -> str | None:
    """Return the encoding in which all letters of the bytes belong to one script, or None.

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


def in_utf8(path: str, encoding: str | None) -> str:
    """Return the path of a text in UTF-8: the file itself if it is one or no text, else a copy under the same name.

    Args:
        path: The file.
        encoding: The encoding of a file that is not UTF-8; None leaves every file as it is.

    Raises:
        InvalidInputError: There is no such encoding, or the file is in another one.
    """
    if encoding is None:
        return path
    try:
        decoder = codecs.getincrementaldecoder(encoding)
        "".encode(encoding)  # `hex` and its like are no encodings of texts
    except (LookupError, TypeError, ValueError):
        known = sorted({name for name, _ in _SCRIPTS} | {"utf-8", "utf-16", "euc-kr", "gb18030", "shift_jis"})
        raise InvalidInputError(
            "Unknown ",
            Argument("encoding"),
            f" {encoding!r:.60}.{did_you_mean(encoding, known)} Known are {', '.join(known)} and the others of Python.",
        ) from None
    if is_file(path) and _is_kept(path):
        return path
    handle, name = tempfile.mkstemp()
    copy = Copy(path)
    copy.location = name
    weakref.finalize(copy, Path(name).unlink, missing_ok=True)
    with os.fdopen(handle, "wb") as file:
        file.writelines(part.encode() for part in _decoded(path, encoding, decoder))
    return copy


def _is_kept(path: StrPath) -> bool:
    """Return whether a file is UTF-8 already, or no text at all."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    with open_file(path) as file:
        part = file.read(_PART)
        if part.startswith((*_WORKBOOK, b"PAR1", b"\x1f\x8b")):
            return True
        try:
            while part:
                if b"\0" in part:  # as in UTF-16
                    return False
                decoder.decode(part)
                part = file.read(_PART)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return False
    return True


def _decoded(path: StrPath, encoding: str, decoder: Callable[[], codecs.IncrementalDecoder]) -> Iterator[str]:
    reading, number = decoder(), 1
    with open_file(path) as file:
        while True:
            part = file.read(_PART)
            try:
                text = reading.decode(part, final=not part)
            except UnicodeDecodeError as error:
                before = bytes(error.object[: error.start]).decode(encoding, "replace")
                piece = bytes(error.object[error.start :]).partition(b"\n")[0]
                raise InvalidInputError(
                    f"{path}:{number + before.count(chr(10))}: not {encoding}{looks_like(piece)}. ", *cure(piece)
                ) from None
            number += text.count("\n")
            yield text
            if not part:
                return
