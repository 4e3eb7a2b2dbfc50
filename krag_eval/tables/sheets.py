"""Lines of CSV that spreadsheets show as they are: no text is a formula, none is longer than a cell."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence

from krag_eval._utils.formatting import clip

# Without it, Excel reads the file in the local code page, which breaks Korean.
BYTE_ORDER_MARK = "\ufeff"
# The longest cell of Excel. Longer text spills into the next row, and Python's `csv` refuses to read it.
LONGEST_CELL = 32_767
# What a spreadsheet takes for a formula; East Asian ones also accept the full-width form.
_FORMULA = re.compile(r"[\t\r\n]|[\s\x00-\x1f\u200b-\u200f\u2060-\u2069\ufeff]*[=+\-@＝＋－＠]")


def csv_line(cells: Sequence[str | float | int | None]) -> str:
    """Return a line of CSV; strings are cut to the longest cell, and none of them is a formula."""
    buffer = io.StringIO()
    csv.writer(buffer).writerow(
        [clip(neutralise(cell), LONGEST_CELL) if isinstance(cell, str) else cell for cell in cells]
    )
    return buffer.getvalue()


def neutralise(text: str) -> str:
    """Return the text, with a leading `'` if a spreadsheet would take it for a formula.

    >>> neutralise("=1+1"), neutralise(" @SUM(A1)"), neutralise("a=b")
    ("'=1+1", "' @SUM(A1)", 'a=b')
    """
    return f"'{text}" if _FORMULA.match(text) else text
