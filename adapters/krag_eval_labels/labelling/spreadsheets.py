"""Queues as CSV and Excel, for people who have nothing else."""

from __future__ import annotations

import io
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from krag_eval.toolkit import as_cell, csv_lines, needing, replacing, write_atomically
from krag_eval_labels.labelling.items import Item, Said

COLUMNS = ("key", "question", "text", "label", "query_id", "document_id")
# What a workbook cannot hold.
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def write_csv(items: Iterable[Item], path: Path) -> None:
    """Write one row per document; the column `label` is to be filled with 0, 1 or 2.

    No text is a formula, and the byte order mark makes Excel read the file as UTF-8.
    """
    rows = ([_CONTROLS.sub("\ufffd", cell) for cell in _cells(item)] for item in items)
    write_atomically(path, csv_lines(itertools.chain([COLUMNS], rows)))


def write_xlsx(items: Iterable[Item], path: Path) -> None:
    """Write the same as a workbook, in which every cell is a text.

    Raises:
        MissingDependencyError: openpyxl is not installed.
    """
    with needing(str(path), "openpyxl", "xlsx"):
        import openpyxl
        from openpyxl.styles import Alignment
    book = openpyxl.Workbook()
    sheet = book.active
    for row, cells in enumerate((COLUMNS, *map(_cells, items)), 1):
        for column, text in enumerate(cells, 1):
            cell = sheet.cell(row, column)
            cell.value = as_cell(_CONTROLS.sub("\ufffd", text))
            cell.data_type = "s"
            cell.number_format = "@"
            cell.alignment = Alignment(wrap_text=COLUMNS[column - 1] in ("question", "text"), vertical="top")
    for letter, width in zip("ABCDEF", (15, 40, 90, 8, 20, 20), strict=True):
        sheet.column_dimensions[letter].width = width
    sheet.freeze_panes = "A2"
    packed = io.BytesIO()
    book.save(packed)
    with replacing(path) as target:
        target.write_bytes(packed.getvalue())


def _cells(item: Item) -> list[str]:
    label = "" if item.label is None else f"{item.label:g}"
    return [item.key, item.question, item.text, label, item.query_id, item.document_id]


def said_in_rows(rows: Iterable[tuple[str, Mapping[str, Any]]]) -> Iterator[Said]:
    """Yield what the rows of a spreadsheet say."""
    for place, row in rows:
        key, query, document = (str(row.get(name) or "") for name in ("key", "query_id", "document_id"))
        yield Said(place, key, row.get("label"), "", (query, document))
