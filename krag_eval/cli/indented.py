"""Sentences on the terminal, indented and wrapped."""

from __future__ import annotations

from rich.text import Text

from krag_eval.cli.tables import console


def print_indented(text: str, indent: int, style: str = "") -> None:
    """Print a text in lines that fit, each with so many spaces before it and none after it."""
    out = console()
    for line in Text(text, style=style, overflow="fold").wrap(out, max(out.width - indent, 20)):
        line.rstrip()
        out.print(Text(" " * indent) + line, soft_wrap=True)
