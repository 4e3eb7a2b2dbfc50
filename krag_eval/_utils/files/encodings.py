"""Guess what a file is that is not UTF-8, for the message only: nothing is ever decoded with the guess."""

from __future__ import annotations

import codecs
import os
import re

from krag_eval._utils.errors import InvalidInputError

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
        raise InvalidInputError(not_utf8(f"{path}:{number}", error.start - begin, line)) from None


def not_utf8(place: str, start: int, line: bytes) -> str:
    """Return the message for a line that is not UTF-8.

    Args:
        place: Its place, as `path:line`.
        start: The first byte that is not UTF-8.
        line: The line.

    >>> print(not_utf8("set.csv:2", 2, "1,환불은 언제?".encode("cp949")))
    set.csv:2: not UTF-8 at byte 2 of the line; as cp949 it reads '환불은 언제?'. Save it as UTF-8, ...
    """
    hint = looks_like(line)
    return f"{place}: not UTF-8 at byte {start} of the line{hint}. {SAVE_AS_UTF8}"


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
