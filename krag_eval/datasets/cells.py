"""Single names and cells: the number at the end of a name, several ids in one cell, and what is no id at all."""

from __future__ import annotations

import re
from collections.abc import Container

from krag_eval.documents.readers import looks_like_id

LOOKS_LIKE_FILE = re.compile(r"[^\n;|]{1,200}\.(?![0-9]+\b)[A-Za-z][A-Za-z0-9]{1,4}(?:#[^\s;,|]*)?")
_MISSING = frozenset({"", "nan", "n/a", "#n/a", "none", "null", "-", "–", "—", "<na>"})
_ALWAYS = (";", "；", "\n", "\t")
_IF_IDS = ("|", "、", ",", "，", " / ")
SEPARATORS = (*_ALWAYS, *_IF_IDS, "/", " ")
MARKED = re.compile(r"(?=\S{0,99}[0-9])(?=\S{0,99}[^0-9\s])\S{2,100}")


def is_missing(cell: str) -> bool:
    """Return whether a cell stands for nothing: `nan`, `N/A`, `-`, `None`, `#N/A`.

    >>> is_missing("#N/A"), is_missing("NA-7")
    (True, False)
    """
    return cell.strip().casefold() in _MISSING


def split_ids(cell: str, separator: str | None = None, known: Container[str] | None = None) -> list[str]:
    """Return the ids of a cell.

    Args:
        cell: The cell.
        separator: What separates ids; by default a semicolon, a line end or a tab, and where all parts look like ids,
            also a comma, `|`, `、`, ` / ` or a space.
        known: The ids of the other side: a cell that is one of them is one id, and its parts are ids if all are known.

    >>> split_ids("a1, b2"), split_ids("Refunds, returns and more"), split_ids("loans/maps")
    (['a1', 'b2'], ['Refunds, returns and more'], ['loans/maps'])
    """
    if separator is not None:
        return _parts(cell, separator)
    whole = cell.strip()
    if known is not None and whole in known:
        return [whole]
    if known is not None:
        for one in SEPARATORS:
            parts = _parts(cell, one)
            if len(parts) > 1 and all(part in known for part in parts):
                return parts
    for one in _ALWAYS:
        if len(parts := _parts(cell, one)) > 1 or (one in cell and parts):
            return parts
    for one in _IF_IDS:
        parts = _parts(cell, one)
        is_url = "://" in cell and not all("://" in part for part in parts)
        if len(parts) > 1 and not is_url and all(map(_is_id, parts)):
            return parts
    parts = whole.split()
    return parts if len(parts) > 1 and all(map(MARKED.fullmatch, parts)) else [whole]


def split_number(name: str) -> tuple[str, str]:
    """Return what is before the number at the end of a name, and the number; empty if there is none.

    >>> split_number("result 1"), split_number("검색 결과[02]"), split_number("doc"), split_number("3")
    (('result', '1'), ('검색 결과', '02'), ('doc', ''), ('', '3'))
    """
    body = name[:-1] if name.endswith((")", "]")) else name
    stem = body.rstrip("0123456789")
    if stem == body:
        return name, ""
    end = len(stem)
    while end and (stem[end - 1].isspace() or stem[end - 1] in "_.#([-"):
        end -= 1
    return stem[:end], body[len(stem) :]


def _parts(cell: str, separator: str) -> list[str]:
    return [part.strip() for part in cell.split(separator) if part.strip()]


def _is_id(part: str) -> bool:
    return looks_like_id(part) is not None or LOOKS_LIKE_FILE.fullmatch(part) is not None
