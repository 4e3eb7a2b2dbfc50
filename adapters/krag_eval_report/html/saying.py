"""What templates say: elements and attributes that remember their message, so that the page can change its language.

A message is `data-l10n`, its arguments are `data-l10n-args`, those of attributes `data-l10n-attributes`, and a number
with the signs of another language is `data-l10n-figure`; say.js reads them.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from krag_eval.toolkit import Cell, Said
from krag_eval_report.html.texts import json_in_attribute, printable
from krag_eval_report.languages import ENGLISH, Language, cell_text, is_figure, isolated, languages

if TYPE_CHECKING:
    from markupsafe import Markup


class Saying:
    """The functions of templates that write texts in a language.

    Attributes:
        language: The language that is written; the page can show others.
    """

    def __init__(self, language: Language) -> None:
        self.language = language

    def functions(self) -> dict[str, Any]:
        """Return the functions by the names that templates call them."""
        return {
            "say": self.say,
            "message": message,
            "show": self.show,
            "show_cell": self.cell,
            "attributes": self.attributes,
            "time": self.time,
            "told": self.language.text,
            "language": self.language,
        }

    def say(self, name: str, /, **arguments: Any) -> Markup:
        """Return an element with a message: `say("found-of", n=3, gold=4)`."""
        return self.show(message(name, **arguments))

    def show(self, text: str, tag: str = "span", lang: str = "") -> Markup:
        """Return an element with a text of a report: a message, or words of a user as they are.

        Args:
            text: The text.
            tag: The name of the element.
            lang: The language of a text that is no message, such as `"en"` of a warning.
        """
        if isinstance(text, Said):
            return _element(tag, _data(text), self.language.text(text))
        return _element("bdi", f' lang="{lang}"' if lang else "", isolated(text))

    def cell(self, cell: Cell) -> Markup:
        """Return an element with the text of a cell."""
        if not is_figure(cell) or not any(sign in cell.text for sign in ".,"):
            return self.show(cell.text)
        return _element("bdi", f' data-l10n-figure="{_escaped(cell.text)}"', cell_text(cell, self.language))

    def time(self, moment: datetime) -> Markup:
        """Return a time as the language writes it."""
        return _element("time", f' datetime="{moment:%Y-%m-%dT%H:%M%z}"', self.language.time(moment))

    def in_element(self, text: str) -> tuple[str, dict[str, str]]:
        """Return what an element of a drawing says, and the attributes by which it says it in another language."""
        if not isinstance(text, Said):
            return _printable(text), {}
        arguments = as_json(text)[1]
        given = {"data-l10n-args": json_in_attribute(arguments)} if arguments else {}
        return _printable(self.language.text(text)), {"data-l10n": text.message, **given}

    def in_attribute(self, name: str, text: str) -> dict[str, str]:
        """Return an attribute of an element of a drawing, and the one by which it changes with the language."""
        said = {"data-l10n-attributes": json_in_attribute({name: as_json(text)})} if isinstance(text, Said) else {}
        return {name: _printable(self.language.text(text)), **said}

    def attributes(self, **texts: str | None) -> Markup:
        """Return attributes: `attributes(aria_label=message("close"), title=cell.help)`; those of None are left out."""
        from markupsafe import Markup

        given = {name.replace("_", "-"): text for name, text in texts.items() if text is not None}
        made = [f'{name}="{_escaped(self.language.text(text))}"' for name, text in given.items()]
        messages = {name: as_json(text) for name, text in given.items() if isinstance(text, Said)}
        if messages:
            made.append(f'data-l10n-attributes="{_escaped(json_in_attribute(messages))}"')
        return Markup(" ".join(["", *made]))  # each text is escaped


def message(name: str, /, **arguments: Any) -> Said:
    """Return a message of the package."""
    return languages()[ENGLISH].message(name, **arguments)


def as_json(text: str) -> Any:
    """Return a text for the data of a page: a message as `[id, arguments]`, any other text as it is."""
    if not isinstance(text, Said):
        return text
    return [text.message, {name: as_json(value) for name, value in text.arguments.items()}]


def _data(text: Said) -> str:
    arguments = as_json(text)[1]
    return f' data-l10n="{text.message}"' + (
        f' data-l10n-args="{_escaped(json_in_attribute(arguments))}"' if arguments else ""
    )


def _element(tag: str, attributes: str, text: str) -> Markup:
    from markupsafe import Markup

    return Markup(f"<{tag}{attributes}>{_escaped(text)}</{tag}>")  # the attributes are escaped


def _printable(text: str) -> str:
    return str(printable(text))


def _escaped(text: str) -> str:
    from markupsafe import escape

    return str(escape(printable(text)))
