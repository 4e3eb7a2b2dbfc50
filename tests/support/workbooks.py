"""Workbooks written as the XML that ECMA-376 describes, so that no reader is tested with its own writer."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

DATE, DATE_AND_TIME, PADDED = 1, 2, 3  # cell formats of the styles below
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_NUMBERS = "".join(f'<xf numFmtId="{number}" applyNumberFormat="1"/>' for number in (14, 22, 164))
_STYLES = (
    f'<styleSheet xmlns="{_MAIN}"><numFmts count="1"><numFmt numFmtId="164" formatCode="000"/></numFmts>'
    '<fonts count="1"><font/></fonts><fills count="1"><fill><patternFill/></fill></fills>'
    '<borders count="1"><border/></borders><cellStyleXfs count="1"><xf/></cellStyleXfs>'
    f'<cellXfs count="4"><xf/>{_NUMBERS}</cellXfs></styleSheet>'
)

# A text, a number, a truth value, a number with one of the formats above, raw XML of a cell's inside, or nothing.
Cell = str | float | bool | tuple[float, int] | bytes | None


def write_workbook(
    path: str | Path,
    sheets: Mapping[str, Sequence[Sequence[Cell]]],
    *,
    merged: Sequence[str] = (),
    hidden: Sequence[str] = (),
) -> Path:
    """Write sheets of cells; the merged ranges are those of the first sheet."""
    texts: dict[str, int] = {}
    names = list(sheets)
    content = "".join(
        f"<Override PartName='/xl/worksheets/sheet{n}.xml' "
        "ContentType='application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml'/>"
        for n in range(1, len(names) + 1)
    )
    states = dict.fromkeys(hidden, " state='hidden'")
    listed = "".join(
        f"<sheet name={quoteattr(name)} sheetId='{n}' r:id='s{n}'{states.get(name, '')}/>"
        for n, name in enumerate(names, 1)
    )
    related = "".join(
        f"<Relationship Id='s{n}' Type='{_OFFICE}/worksheet' Target='worksheets/sheet{n}.xml'/>"
        for n in range(1, len(names) + 1)
    )
    main = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(
            "[Content_Types].xml",
            f"{_HEAD}<Types xmlns='{_PACKAGE}/content-types'><Default Extension='rels' "
            "ContentType='application/vnd.openxmlformats-package.relationships+xml'/>"
            f"<Override PartName='/xl/workbook.xml' ContentType='{main}.sheet.main+xml'/>"
            f"<Override PartName='/xl/styles.xml' ContentType='{main}.styles+xml'/>"
            f"<Override PartName='/xl/sharedStrings.xml' ContentType='{main}.sharedStrings+xml'/>{content}</Types>",
        )
        file.writestr(
            "_rels/.rels",
            f"{_HEAD}<Relationships xmlns='{_PACKAGE}/relationships'><Relationship Id='b' "
            f"Type='{_OFFICE}/officeDocument' Target='xl/workbook.xml'/></Relationships>",
        )
        file.writestr(
            "xl/workbook.xml",
            f"{_HEAD}<workbook xmlns='{_MAIN}' xmlns:r='{_OFFICE}'><sheets>{listed}</sheets></workbook>",
        )
        file.writestr(
            "xl/_rels/workbook.xml.rels",
            f"{_HEAD}<Relationships xmlns='{_PACKAGE}/relationships'>{related}"
            f"<Relationship Id='t' Type='{_OFFICE}/styles' Target='styles.xml'/>"
            f"<Relationship Id='u' Type='{_OFFICE}/sharedStrings' Target='sharedStrings.xml'/></Relationships>",
        )
        file.writestr("xl/styles.xml", _HEAD + _STYLES)
        for n, name in enumerate(names, 1):
            spans = merged if n == 1 else ()
            file.writestr(f"xl/worksheets/sheet{n}.xml", _sheet(sheets[name], texts, spans))
        strings = "".join(f'<si><t xml:space="preserve">{escape(text)}</t></si>' for text in texts)
        file.writestr("xl/sharedStrings.xml", f"{_HEAD}<sst xmlns='{_MAIN}'>{strings}</sst>")
    return Path(path)


def _sheet(rows: Sequence[Sequence[Cell]], texts: dict[str, int], merged: Sequence[str]) -> str:
    lines = [
        f"<row r='{number}'>{''.join(_cell(f'{_letters(n)}{number}', cell, texts) for n, cell in enumerate(row))}</row>"
        for number, row in enumerate(rows, 1)
    ]
    spans = "".join(f"<mergeCell ref='{span}'/>" for span in merged)
    tail = f"<mergeCells count='{len(merged)}'>{spans}</mergeCells>" if merged else ""
    return f"{_HEAD}<worksheet xmlns='{_MAIN}'><sheetData>{''.join(lines)}</sheetData>{tail}</worksheet>"


def _cell(place: str, cell: Cell, texts: dict[str, int]) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bytes):
        return f"<c r='{place}' {cell.decode()}</c>"
    if isinstance(cell, str):
        return f"<c r='{place}' t='s'><v>{texts.setdefault(cell, len(texts))}</v></c>"
    if isinstance(cell, tuple):
        return f"<c r='{place}' s='{cell[1]}'><v>{cell[0]!r}</v></c>"
    return (
        f"<c r='{place}' t='b'><v>{int(cell)}</v></c>"
        if isinstance(cell, bool)
        else f"<c r='{place}'><v>{cell!r}</v></c>"
    )


def _letters(column: int) -> str:
    before, last = divmod(column, 26)
    return (_letters(before - 1) if before else "") + chr(ord("A") + last)
