"""Tables as LaTeX."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from krag_eval.toolkit import Table, one_line

_LATEX = {c: f"\\{c}" for c in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
}


def latex_table(table: Table, marks: Mapping[tuple[str, str], str] = MappingProxyType({})) -> str:
    """Return a LaTeX `tabular`; cells with the tone `"best"` are bold. It needs the LaTeX package booktabs.

    Args:
        table: The table.
        marks: Superscripts, by the text of the first cell of a row and the key of a column.
    """
    lines = [
        f"\\begin{{tabular}}{{{''.join('r' if column.is_number else 'l' for column in table.columns)}}}",
        "\\toprule",
        _latex_row(_latex(column.title) for column in table.columns),
        "\\midrule",
    ]
    for row in table.rows:
        texts = [f"\\textbf{{{_latex(cell.text)}}}" if cell.tone == "best" else _latex(cell.text) for cell in row]
        signs = [marks.get((row[0].text, column.key)) for column in table.columns]
        lines.append(_latex_row(t + (f"$^{{{sign}}}$" if sign else "") for t, sign in zip(texts, signs, strict=True)))
    return "\n".join([*lines, "\\bottomrule", "\\end{tabular}"])


def _latex_row(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def _latex(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in one_line(text))
