"""`html_page`: a report as one file that needs no other file, no server and no network."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import resources
from typing import TYPE_CHECKING

from krag_eval._version import __version__
from krag_eval.errors import needing
from krag_eval.report.html.payload import payload
from krag_eval.report.html.safety import json_in_script, policy, printable
from krag_eval.report.plots import figures_of
from krag_eval.report.records import Report
from krag_eval.report.sections import sections_of

if TYPE_CHECKING:
    from jinja2 import Template

# Joined to one script, in this order.
SCRIPTS = ("data", "dom", "words", "filters", "list", "documents", "outcomes", "query", "controls", "main")
_FOLDER = resources.files(__package__) / "templates"


def html_page(report: Report) -> str:
    """A report as a page.

    Raises:
        MissingDependencyError: A package of the extra `report` is not installed.
        InvalidInputError: A result was streamed and kept no queries.
    """
    return "".join(html_parts(report))


def html_parts(report: Report) -> Iterator[str]:
    """The page of `html_page` in parts, for a file: with many texts a page is large."""
    template = _template()
    script, style = _script(), _read("report.css")
    yield from template.generate(
        report=report,
        sections=sections_of(report),
        figures=figures_of(report),
        data=((name, json_in_script(part)) for name, part in payload(report)),
        script=script,
        style=style,
        policy=policy(script, style),
        version=__version__,
    )


def _template() -> Template:
    with needing("The HTML report", "jinja2", "report"):
        from jinja2 import Environment, StrictUndefined
    environment = Environment(
        autoescape=True, finalize=printable, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(_read("report.html.j2"))


def _script() -> str:
    """Every script in a scope of its own: nothing of it can be reached from outside."""
    parts = "\n".join(_read(f"{name}.js") for name in SCRIPTS)
    return f'(() => {{\n"use strict";\n{parts}}})();\n'


def _read(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")
