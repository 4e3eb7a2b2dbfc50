"""The addresses of the documentation: pages, and the anchors of their headings, read from the sources."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
_FENCE = re.compile(r"^( *)```.*?^\1```$", re.MULTILINE | re.DOTALL)


def slug_of(title: str) -> str:
    """Return the anchor of a heading, as the site makes it."""
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", unicodedata.normalize("NFC", title))
    return re.sub(r"[^\w\- ]", "", re.sub(r"<[^>]*>", "", text).lower()).strip().replace(" ", "-")


def anchors_of(page: Path) -> set[str]:
    """Return the anchors that a page names: headings, explicit ones and objects of the reference."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    slugs: list[str] = []
    for title in re.findall(r"^#+ +(.+?) *$", text, re.MULTILINE):
        slug, number = slug_of(title), 0
        while (name := f"{slug}_{number}" if number else slug) in slugs:
            number += 1
        slugs.append(name)
    return {*slugs, *re.findall(r'<a id="([^"]+)">', text), *re.findall(r"^::: (\S+)$", text, re.MULTILINE)}


def addresses() -> dict[str, set[str]]:
    """Return the anchors of each page of `docs` and `benchmarks`, by its name in the site without `.html`."""
    pages = {path.relative_to(DOCS).with_suffix("").as_posix(): anchors_of(path) for path in DOCS.rglob("*.md")}
    for path in (ROOT / "benchmarks").glob("*.md"):
        pages["benchmarks" if path.stem == "README" else f"benchmarks/{path.stem}"] = anchors_of(path)
    pages["examples"] = anchors_of(ROOT / "examples" / "README.md")
    return pages
