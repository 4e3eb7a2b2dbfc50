"""A cell or the name of a column: the number at its end, several ids in it, and what is no id at all."""

from __future__ import annotations

import re
from collections.abc import Container
from typing import ClassVar

from krag_eval.documents.readers import looks_like_id

_FILE = re.compile(r"[^\n;|]{1,200}\.(?![0-9]+\b)[A-Za-z][A-Za-z0-9]{1,4}(?:#[^\s;,|]*)?")
_MISSING = frozenset({"", "nan", "n/a", "#n/a", "none", "null", "-", "–", "—", "<na>"})
_ALWAYS = (";", "；", "\n", "\t")
_IF_IDS = ("|", "、", ",", "，", " / ")
_MARKED = re.compile(r"(?=\S{0,99}[0-9])(?=\S{0,99}[^0-9\s])\S{2,100}")


class TextCell(str):
    """A cell of a table, or a text that stands in its place.

    Attributes:
        SEPARATORS: What may separate several ids in one.
    """

    __slots__ = ()
    SEPARATORS: ClassVar[tuple[str, ...]] = (*_ALWAYS, *_IF_IDS, "/", " ")

    @property
    def is_missing(self) -> bool:
        """Whether it stands for nothing: `nan`, `N/A`, `-`, `None`, `#N/A`.

        >>> TextCell("#N/A").is_missing, TextCell("NA-7").is_missing
        (True, False)
        """
        return self.strip().casefold() in _MISSING

    @property
    def is_word(self) -> bool:
        """Whether it may be an id: one word that ends like no sentence."""
        return looks_like_id(self) is not None

    @property
    def is_marked(self) -> bool:
        """Whether it is one word with a digit and something else."""
        return _MARKED.fullmatch(self) is not None

    @property
    def is_file(self) -> bool:
        """Whether it looks like the name of a file."""
        return _FILE.fullmatch(self) is not None

    def ids(self, separator: str | None = None, known: Container[str] | None = None) -> list[str]:
        """Return the ids in it.

        Args:
            separator: What separates ids; by default a semicolon, a line end or a tab, and where all parts look like
                ids, also a comma, `|`, `、`, ` / ` or a space.
            known: The ids of the other side: a cell that is one of them is one id, and its parts are ids if all are
                known.

        >>> TextCell("a1, b2").ids(), TextCell("Refunds, returns and more").ids(), TextCell("loans/maps").ids()
        (['a1', 'b2'], ['Refunds, returns and more'], ['loans/maps'])
        """
        if separator is not None:
            return self._parts(separator)
        whole = self.strip()
        if known is not None and whole in known:
            return [whole]
        if known is not None:
            for one in self.SEPARATORS:
                parts = self._parts(one)
                if len(parts) > 1 and all(part in known for part in parts):
                    return parts
        for one in _ALWAYS:
            if len(parts := self._parts(one)) > 1 or (one in self and parts):
                return parts
        for one in _IF_IDS:
            parts = self._parts(one)
            is_url = "://" in self and not all("://" in part for part in parts)
            are_ids = all(part.is_word or part.is_file for part in map(TextCell, parts))
            if len(parts) > 1 and not is_url and are_ids:
                return parts
        parts = whole.split()
        return parts if len(parts) > 1 and all(map(_MARKED.fullmatch, parts)) else [whole]

    def numbered(self) -> tuple[str, str]:
        """Return what is before the number at its end, and the number; empty if there is none.

        >>> [TextCell(name).numbered() for name in ("result 1", "검색 결과[02]", "doc", "3")]
        [('result', '1'), ('검색 결과', '02'), ('doc', ''), ('', '3')]
        """
        body = self[:-1] if self.endswith((")", "]")) else str(self)
        stem = body.rstrip("0123456789")
        if stem == body:
            return str(self), ""
        end = len(stem)
        while end and (stem[end - 1].isspace() or stem[end - 1] in "_.#([-"):
            end -= 1
        return stem[:end], body[len(stem) :]

    def _parts(self, separator: str) -> list[str]:
        return [part.strip() for part in self.split(separator) if part.strip()]
