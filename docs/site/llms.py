"""Writes llms.txt, the list of pages that language models read (llmstxt.org), from the menu."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.nav import Navigation
    from mkdocs.structure.pages import Page

FIRST = "assistants.md"
_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\([^)]*\)")
_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_LANGUAGES = re.compile(r"^\[(한국어|English)\].*$", re.MULTILINE)
_pages: dict[str, tuple[str, str]] = {}
_menu: list[tuple[str, str]] = []


def on_nav(nav: Navigation, **_: object) -> None:
    """Remembers the parts of the menu, in order."""
    _pages.clear()
    _menu[:] = [
        ([None, *(part.title for part in page.ancestors)][-1] or "Start", page.file.src_uri) for page in nav.pages
    ]


def on_page_markdown(markdown: str, *, page: Page, **_: object) -> str:
    """Remembers what a page is about: its first heading and its first paragraph."""
    title = re.search(r"^# (.+)$", markdown, re.MULTILINE)
    if title is not None:
        _pages[page.file.src_uri] = (title[1], _first_paragraph(markdown[title.end() :]))
    return markdown


def _first_paragraph(markdown: str) -> str:
    for paragraph in _FENCE.sub("", _LANGUAGES.sub("", markdown)).split("\n\n"):
        text = " ".join(_LINK.sub(r"\1", paragraph).split())
        if text and not re.match(r"[#|!<*:-]|\d+\.", text):
            return re.split(r"(?<=[.。])\s", text)[0].rstrip(":：")
    return ""


def on_post_build(*, config: MkDocsConfig) -> None:
    """Writes the file, the page for coding assistants first."""
    lines = [f"# {config.site_name}", "", f"> {config.site_description}", ""]
    part = None
    for menu, page in sorted(_menu, key=lambda entry: entry[1] != FIRST):
        if page not in _pages or page.startswith(("README", "overview")):
            continue
        here = "Begin here" if page == FIRST else menu
        if here != part:
            lines += [*([""] if part else []), f"## {here}", ""]
            part = here
        title, about = _pages[page]
        lines.append(f"- [{title}]({page.removesuffix('.md')}.html){': ' if about else ''}{about}")
    Path(config.site_dir, "llms.txt").write_text("\n".join([*lines, ""]), encoding="utf-8")
