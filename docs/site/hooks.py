"""What the site needs beside mkdocs: the pages of the top level, lists as GitHub reads them, doctests as code."""

from __future__ import annotations

import re
from pathlib import Path

from markdown import Extension, Markdown  # type: ignore[import-untyped]
from markdown.preprocessors import Preprocessor  # type: ignore[import-untyped]
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
# The site has a home page of its own.
OF_THE_SITE = {"README.md": "overview.md", "benchmarks/README.md": "benchmarks.md", "examples/README.md": "examples.md"}
READMES = ("README.md", "README.ko.md", "README.ru.md", "README.zh.md")
TOP_LEVEL = (
    *READMES,
    "benchmarks/README.md",
    "examples/README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CHANGELOG.md",
    "LICENSE",
)
# What the pages rest on: tables that scripts in `benchmarks` print.
MEASURED = tuple(f"benchmarks/{path.name}" for path in sorted((ROOT / "benchmarks").glob("[a-z]*.md")))
_CELL = re.compile(r"<td\b[^>]*>.*?</td>", re.DOTALL)
_CELL_CODE = re.compile(r"<code>([^<]+)</code>")
_JOINT = re.compile(r"::|[/_(,]|(?<=[a-z])\.(?=[A-Za-z])|(?<=[a-z])(?=[A-Z])")
# A picture of a report, which is there in both themes.
_THEMED = re.compile(r"!\[([^\]]*)\]\(((?:\.\./)?img/report-[a-z-]+)-(?:light|dark)\.png\)")
_SEARCH = 'data-md-component="search" role="dialog"'
_ITEM = re.compile(r"( *)(?:[*-]|\d+\.) ")


def on_config(config: MkDocsConfig) -> None:
    """Has doctests shown as code, in docstrings too."""
    config.markdown_extensions.append(Doctests())


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages of the top level, the examples and the assets, as if they stood in docs."""
    for name in (*TOP_LEVEL, *MEASURED):
        files.append(File.generated(config, OF_THE_SITE.get(name, name), abs_src_path=str(ROOT / name)))
    for room, folder in (("examples", ROOT / "examples"), ("assets", HERE / "assets")):
        for path in sorted(folder.iterdir()):
            if path.is_file() and path.name != "README.md":
                files.append(File.generated(config, f"{room}/{path.name}", abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, *, page: Page, **_: object) -> str:
    """Makes links lead to the place in the site, and lists what Python-Markdown reads as lists."""
    name = page.file.src_uri
    # What is looked for stands in the quickstarts, and in the pages that link to tables.
    if name in (*READMES, OF_THE_SITE["README.md"], *MEASURED):
        page.meta["search"] = {"exclude": True}
    if name in MEASURED:
        markdown = re.sub(r"\]\(\.\./docs/", "](../", markdown).replace("](README.md", "](../benchmarks.md")
    elif name in (*TOP_LEVEL, *OF_THE_SITE.values()):
        markdown = re.sub(r"\]\((?:\.\./)?docs/", "](", markdown)
        if name == OF_THE_SITE["benchmarks/README.md"]:
            markdown = re.sub(r"\]\((?=[a-z-]+\.md)", "](benchmarks/", markdown)
        if name == OF_THE_SITE["examples/README.md"]:
            markdown = markdown.replace("](../", "](")
    elif "/" not in name:
        markdown = markdown.replace("](../", "](")
    for name, there in OF_THE_SITE.items():
        markdown = markdown.replace(f"]({name}", f"]({there}")
    return in_steps_of_four(_THEMED.sub(_in_both_themes, markdown))


def _in_both_themes(picture: re.Match[str]) -> str:
    """Shows the picture that fits the theme of the reader."""
    return "".join(f"![{picture[1]}]({picture[2]}-{theme}.png#only-{theme})" for theme in ("light", "dark"))


def on_post_page(output: str, **_: object) -> str:
    """Lets long code in a table break at its joints, and names the dialog of the search."""
    output = output.replace(_SEARCH, f'{_SEARCH} aria-label="Search"')
    return _CELL.sub(lambda cell: _CELL_CODE.sub(_jointed, cell[0]), output)


def _jointed(code: re.Match[str]) -> str:
    return "<code>" + _JOINT.sub(r"\g<0><wbr>", code[1]) + "</code>"


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


class Doctests(Extension):  # type: ignore[misc]
    """Fences doctests, which Markdown takes for quotations in quotations."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802 - the name is Markdown's
        """Comes before what reads fences (25)."""
        md.preprocessors.register(_Fencing(md), "doctests", 40)


class _Fencing(Preprocessor):  # type: ignore[misc]
    def run(self, lines: list[str]) -> list[str]:
        return fence_doctests(lines)


def fence_doctests(lines: list[str]) -> list[str]:
    """Puts a fence around each run of lines that begins with `>>>`, up to an empty line, outside of other fences."""
    fenced: list[str] = []
    is_code = is_doctest = False
    for line in [*lines, ""]:
        if line.lstrip().startswith("```"):
            is_code = not is_code
        if not is_code and not is_doctest and line.startswith(">>> "):
            is_doctest = True
            fenced.append("```pycon")
        elif is_doctest and not line.strip():
            is_doctest = False
            fenced.append("```")
        fenced.append(line)
    return fenced[:-1]
