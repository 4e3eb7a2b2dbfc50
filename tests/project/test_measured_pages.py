"""The figures that a page quotes are those of the tables that it links to."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Of each page, the part that quotes what was measured: from a heading up to another, or to the end.
QUOTING = {
    "statistics": ("## Measured coverage", "\n## None"),
    "monitoring": ("## How soon", "\n## None"),
    "real-data": ("## What the", "\n## None"),
    "reliability": ("## Machines", "\n## None"),
    "scale": ("## Throughput", "\n## Limits"),
}


def figures(text: str) -> list[str]:
    """Return the numbers of the prose that have two digits or more."""
    prose = re.sub(r"^```.*?^```$|`[^`\n]*`|\]\([^)]*\)", "", text, flags=re.MULTILINE | re.DOTALL)
    found = re.findall(r"(?<![\w@.#/-])\d[\d,.]*(?![\w/])", prose)
    return [number for one in found if len(number := one.rstrip(".,")) > 1]


@pytest.mark.parametrize("name", QUOTING)
def test_every_figure_of_a_page_stands_in_its_appendix(name: str) -> None:
    begin, end = QUOTING[name]
    page = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    quoted = figures(page[page.index(begin) :].partition(end)[0])
    linked = [name, *re.findall(r"\]\(\.\./benchmarks/([\w-]+)\.md", page)]
    tables = "\n".join((ROOT / "benchmarks" / f"{one}.md").read_text(encoding="utf-8") for one in linked)
    assert len(quoted) >= 5
    assert [one for one in quoted if not re.search(rf"(?<![\d.,]){re.escape(one)}(?!\d)", tables)] == []


def test_a_figure_is_read_with_its_separators_and_without_what_is_code() -> None:
    text = "In 1,227 of 0.5 cases, `200` and [20](x.md#30) at recall@10, 7 of them, 99.0% and 42."
    assert figures(text) == ["1,227", "0.5", "20", "99.0", "42"]
