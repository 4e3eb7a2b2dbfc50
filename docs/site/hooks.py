"""Brings the pages of the top level into the site, and points their links at where they stand there."""

from __future__ import annotations

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TOP_LEVEL = ("README.md", "README.ko.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE")
_ITEM = re.compile(r"( *)(?:[*-]|\d+\.) ")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages of the top level, the examples and the assets, as if they stood in docs."""
    for name in TOP_LEVEL:
        files.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    for room, folder in (("examples", ROOT / "examples"), ("assets", HERE / "assets")):
        for path in sorted(folder.iterdir()):
            if path.is_file():
                files.append(File.generated(config, f"{room}/{path.name}", abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, *, page: Page, **_: object) -> str:
    """Makes links lead to the place in the site, and lists what Python-Markdown reads as lists."""
    if page.file.src_uri in TOP_LEVEL:
        markdown = markdown.replace("](docs/", "](")
    else:
        markdown = markdown.replace("](../", "](") if "/" not in page.file.src_uri else markdown
    return in_steps_of_four(markdown)


def in_steps_of_four(markdown: str) -> str:
    """Indents what belongs to an item of a list by four spaces a level.

    GitHub takes two or three, Python-Markdown ends the list there.
    """
    lines: list[str] = []
    levels: list[int] = []  # the columns at which the text of each open item begins
    fence = ""
    for line in markdown.split("\n"):
        indent = len(line) - len(line.lstrip(" "))
        if line.strip() and not fence:
            while levels and indent < levels[-1]:
                levels.pop()
        shift = 4 * len(levels) - levels[-1] if levels and line.strip() else 0
        lines.append(" " * shift + line)
        opened = re.match(r" *(```+)", line)
        if opened:
            fence = "" if fence else opened[1]
        elif not fence and (item := _ITEM.match(line)):
            levels.append(item.end())
    return "\n".join(lines)
