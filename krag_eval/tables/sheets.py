"""Lines of CSV that spreadsheets show as they are: no text is a formula, none is longer than a cell."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence

from krag_eval._utils.formatting import clip

# The longest cell of Excel. Longer text spills into the next row, and Python's `csv` refuses to read it.
LONGEST_CELL = 32_767
# What a spreadsheet takes for a formula; East Asian ones also accept the full-width form.
_FORMULA = re.compile(r"[\t\r\n]|[\s\x00-\x1f\u200b-\u200f\u2060-\u2069\ufeff]*[=+\-@＝＋－＠]")


def csv_lines(rows: Iterable[Sequence[str | float | int | None]], *, mark: bool = True) -> Iterator[str]:
    """Yield each row as a line of CSV; strings are cut to the longest cell, and none of them is a formula.

    Without the byte order `mark` before the first, Excel reads the file in the local code page, which breaks Korean.
    """
    for number, row in enumerate(rows):
        buffer = io.StringIO()
        csv.writer(buffer).writerow([as_cell(cell) if isinstance(cell, str) else cell for cell in row])
        yield ("\ufeff" if mark and number == 0 else "") + buffer.getvalue()


def as_cell(text: str) -> str:
    """Return the text as a cell can hold it: no formula, and no longer than a cell."""
    return clip(neutralise(text), LONGEST_CELL)


def neutralise(text: str) -> str:
    """Return the text, with a leading `'` if a spreadsheet would take it for a formula.

    >>> neutralise("=1+1"), neutralise(" @SUM(A1)"), neutralise("a=b")
    ("'=1+1", "' @SUM(A1)", 'a=b')
    """
    return f"'{text}" if _FORMULA.match(text) else text
