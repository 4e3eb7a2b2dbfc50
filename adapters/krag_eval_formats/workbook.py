"""Excel workbooks: the cells of one sheet as texts, as a CSV file would hold them."""

from __future__ import annotations

import datetime as dt
import functools
import os
import re
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from krag_eval import InvalidInputError
from krag_eval.toolkit import Argument, did_you_mean, limit, needing, open_file, shown, to_allow

if TYPE_CHECKING:
    from openpyxl.workbook import Workbook

ZIP, OLE = b"PK\x03\x04", b"\xd0\xcf\x11\xe0"
_OPEN_DOCUMENT = b"opendocument"
_SAVE = "Open it in Excel or LibreOffice and save it as .xlsx"
# Real workbooks are packed at most fifty times.
_MOST_TIMES, _ALWAYS = 200, 2**26
# A cell has an element of its own and one for its value; a text that cells share has two more.
_ELEMENTS_A_CELL = 4
_MERGED = re.compile(rb"""<mergeCell[^>]*?\sref\s*=\s*["']([A-Z]{1,3})([0-9]{1,7}):([A-Z]{1,3})([0-9]{1,7})["']""")
_AT_ONCE, _OVERLAP = 2**20, 200
_EXACT = 2**53  # Excel keeps numbers as doubles

Range = tuple[int, int, int, int]  # the first row, the first column, the last row, the last column, from 1


def read_records(path: str | os.PathLike[str], sheet: str | None = None) -> Iterator[tuple[str, list[str]]]:
    """Yield the cells of each row, the header first, with its place as `path: row 7`; empty rows are skipped.

    Args:
        path: The file.
        sheet: The name of the sheet; it may be left out if only one visible sheet holds anything.

    Raises:
        InvalidInputError: The file cannot be read, has no such sheet or several, or its cells are no table.
        MissingDependencyError: openpyxl is not installed.
    """
    book = _open(path)
    chosen = _sheet(book, path, sheet)
    place = f"{path}: row" if sheet is None else f"{path}: sheet {sheet!r}, row"
    n_cells = chosen.max_row * chosen.max_column
    if n_cells > limit("cells"):
        raise InvalidInputError(
            f"{path}: the sheet reaches to row {chosen.max_row:,} and column {chosen.max_column:,}, more than "
            f"{shown('cells')} cells. Delete what stands apart from the table, or save it as CSV. ",
            *to_allow("cells", n_cells),
        )
    merged = [(r.min_row, r.min_col, r.max_row, r.max_col) for r in chosen.merged_cells.ranges]
    rows = [(number, [_text(cell, path) for cell in row]) for number, row in enumerate(chosen.iter_rows(), 1)]
    rows = [(number, cells) for number, cells in rows if any(cell.strip() for cell in cells)]
    if not rows:
        raise InvalidInputError(f"{path}: is empty. The first row must name the columns.")
    header, first, data = _header(rows, merged)
    for top, left, bottom, right in merged:
        if top > first and any(number == top and cells[left - 1].strip() for number, cells in data):
            raise InvalidInputError(
                f"{place} {top}: cells are merged, in columns {left} to {right} down to row {bottom}. Unmerge them and "
                "give each row its own cells: what belongs to one question stands in one row."
            )
    kept = [at for at, name in enumerate(header) if name or any(cells[at].strip() for _, cells in data)]
    unnamed = next((at for at in kept if not header[at]), None)
    if unnamed is not None:
        raise InvalidInputError(
            f"{place} {first}: the column {unnamed + 1} has cells but no name. The first row must name the columns."
        )
    yield f"{place} {first}", [header[at] for at in kept]
    for number, cells in data:
        yield f"{place} {number}", [cells[at] for at in kept]


def _open(path: str | os.PathLike[str]) -> Workbook:
    with open_file(path) as file:
        head = file.read(256)
        if head.startswith(OLE):
            raise InvalidInputError(
                f"{path}: is a workbook of Excel 97 (.xls), or protected by a password. {_SAVE}, without a password."
            )
        if _OPEN_DOCUMENT in head or not head.startswith(ZIP):
            kind = "an OpenDocument file" if _OPEN_DOCUMENT in head else "not an Excel workbook"
            raise InvalidInputError(f"{path}: is {kind}. {_SAVE}.")
        with needing(os.fspath(path), "openpyxl", "xlsx"):
            import openpyxl
        try:
            with zipfile.ZipFile(file) as packed:
                size, unpacked = os.fstat(file.fileno()).st_size, sum(one.file_size for one in packed.infolist())
                is_small = unpacked <= max(_ALWAYS, min(limit("file"), _MOST_TIMES * size))
                if is_small:
                    _check_parts(packed, path)
            if is_small:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # styles and charts, which nobody reads here
                    return openpyxl.load_workbook(file, data_only=True, keep_links=False)
        except (KeyboardInterrupt, MemoryError, InvalidInputError):
            raise
        except Exception as error:  # openpyxl raises whatever a damaged part leads to
            reason = " ".join(str(error).split())[:200].rstrip(".")
            raise InvalidInputError(
                f"{path}: is no readable Excel workbook ({reason}). It may be damaged or cut off. {_SAVE} again, or as "
                "“CSV UTF-8”."
            ) from error
    raise InvalidInputError(
        f"{path}: unpacks {size:,} bytes to {unpacked / 2**20:,.0f} MB, too much for a workbook. Save it as CSV. ",
        *to_allow("file", unpacked),
    )


def _check_parts(packed: zipfile.ZipFile, path: str | os.PathLike[str]) -> None:
    """Refuse parts that would take far more time and memory than their size: openpyxl reads all of them at once."""
    n_elements = n_cells = 0
    for one in packed.infolist():
        if not one.filename.endswith((".xml", ".rels")):
            continue
        with packed.open(one) as part:
            tail = b""
            while new := part.read(_AT_ONCE):
                n_elements += new.count(b"<")
                n_cells += new.count(b"<c ") + new.count(b"<c/") + new.count(b"<c>")
                text = tail + new
                n_cells += sum(_area(found) for found in _MERGED.finditer(text) if found.end() > len(tail))
                if b"<!DOCTYPE" in text:
                    raise InvalidInputError(f"{path}: its part {one.filename} defines entities of XML. {_SAVE} again.")
                tail = text[-_OVERLAP:]
                needed = max(n_cells, n_elements // _ELEMENTS_A_CELL)
                if needed > limit("cells"):
                    raise InvalidInputError(
                        f"{path}: has more than {shown('cells')} cells. Save it as CSV. ", *to_allow("cells")
                    )


def _area(merged: re.Match[bytes]) -> int:
    """Return how many cells a merged range has."""
    left, top, right, bottom = (
        int(part) if part.isdigit() else functools.reduce(lambda n, c: 26 * n + c - 64, part, 0)
        for part in merged.groups()
    )
    return (abs(right - left) + 1) * (abs(bottom - top) + 1)


def _sheet(book: Workbook, path: str | os.PathLike[str], name: str | None) -> Any:
    """Return the named sheet, or the only visible one that holds anything."""
    if name is not None:
        for sheet in book.worksheets:
            if sheet.title == name:
                return sheet
        known = did_you_mean(name, book.sheetnames)
        raise InvalidInputError(f"{path}: has no sheet {name!r:.80}.{known} It has: {_listed(book.sheetnames)}.")
    filled = [sheet for sheet in book.worksheets if sheet.sheet_state == "visible" and _is_filled(sheet)]
    if len(filled) > 1:
        names = [sheet.title for sheet in filled]
        raise InvalidInputError(
            f"{path}: has several sheets: {_listed(names)}. Choose one, such as ", Argument("sheet", names[0]), "."
        )
    if not filled:
        raise InvalidInputError(f"{path}: is empty. The first row must name the columns.")
    return filled[0]


def _is_filled(sheet: Any) -> bool:
    return sheet.max_row * sheet.max_column > limit("cells") or any(
        cell not in (None, "") for row in sheet.iter_rows(values_only=True) for cell in row
    )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))


def _header(
    rows: list[tuple[int, list[str]]], merged: Sequence[Range]
) -> tuple[list[str], int, list[tuple[int, list[str]]]]:
    """Return the names of the columns, the last row of the header, and the rows under it.

    A title, merged over several columns above the names, is skipped. A name that is merged over several columns goes
    with the name under each of them, or else with their number.
    """
    while len(rows) > 1 and sum(map(bool, rows[0][1])) == 1 < sum(map(bool, rows[1][1])):
        if not any(top <= rows[0][0] <= bottom and left < right for top, left, bottom, right in merged):
            break
        rows = rows[1:]
    (first, header), below = rows[0], rows[1:]
    names = [name.strip() for name in header]
    wide = [one for one in merged if one[0] == first and one[1] < one[3]]
    spanned = {column - 1: one for one in wide for column in range(one[1], one[3] + 1)}
    if not wide:
        return names, first, [row for row in below if row[0] > first]
    under = below[0][1] if below and below[0][0] == first + 1 else []
    has_second = any(under[at].strip() for at in spanned if at < len(under)) and not any(
        cell.strip() for at, cell in enumerate(under) if at not in spanned
    )
    for at, (_, left, _, _) in spanned.items():
        names[at] = f"{header[left - 1].strip()} {under[at].strip() if has_second else at + 2 - left}".strip()
    return (names, first + 1, below[1:]) if has_second else (names, first, below)


def _text(cell: Any, path: str | os.PathLike[str]) -> str:
    """Return a cell as the text that stands for it; a whole number has no decimals, and zeros that are shown stay."""
    value = cell.value
    if value is None:
        return ""
    if cell.data_type == "e":
        raise InvalidInputError(
            f"{path}: row {cell.row}: the cell {cell.coordinate} holds the error {value}. Correct it."
        )
    if isinstance(value, str):
        return re.sub(r"_x([0-9A-Fa-f]{4})_", lambda found: chr(int(found[1], 16)), value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
        value = int(value)
    if isinstance(value, int) and re.fullmatch("0+", cell.number_format or ""):
        return str(value).zfill(len(cell.number_format))
    if isinstance(value, dt.datetime) and not (value.hour or value.minute or value.second or value.microsecond):
        value = value.date()
    return value.isoformat() if isinstance(value, (dt.date, dt.time)) else str(value)
