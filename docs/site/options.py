"""Ends the page of the command line with all commands and their options, which the code itself knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.structure.pages import Page

PAGE = "command-line.md"


def on_page_markdown(markdown: str, *, page: Page, **_: object) -> str:
    """Adds the reference to its page."""
    return f"{markdown}\n{reference()}" if page.file.src_uri == PAGE else markdown


def reference() -> str:
    """Return a section for each command: its first sentence, its arguments and its options."""
    from krag_eval_cli.app import Program

    program = Program()
    commands = {name: program.get_command(None, name) for name in program.list_commands(None)}
    parts = ["## All options", ""]
    for name, one in sorted(commands.items()):
        if one is None or one.hidden:
            continue
        parts += [f"### krag-eval {name}", "", _sentence(one.help), "", "| argument or option | meaning |", "|---|---|"]
        for parameter in one.params:
            if getattr(parameter, "hidden", False) or parameter.name == "help":
                continue
            names = [*parameter.opts, *parameter.secondary_opts]
            shown = " ".join(f"`{spelled}`" for spelled in names if spelled.startswith("-"))
            parts.append(f"| {shown or f'`{parameter.name.upper()}`'} | {_cell(getattr(parameter, 'help', None))} |")
        parts.append("")
    return "\n".join(parts)


def _sentence(text: str | None) -> str:
    """Return the first paragraph on one line."""
    return " ".join((text or "").replace("\b", "").split("\n\n")[0].split())


def _cell(text: str | None) -> str:
    return " ".join((text or "").split()).replace("|", "\\|").replace("<", "&lt;")
