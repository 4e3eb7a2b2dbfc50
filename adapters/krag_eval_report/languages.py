"""The languages of pages and reports: each is a file of messages, `messages/CODE.ftl`, in the syntax of Project Fluent.

A further language is a further file, and nothing else. Names and texts of users are arguments of messages. They are
never translated, and those written from right to left are isolated, so that what follows keeps its place.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from importlib import resources
from typing import TYPE_CHECKING, Any

from krag_eval.toolkit import Cell, Said, Section, needing, one_of

if TYPE_CHECKING:
    from fluent.runtime import FluentBundle

ENGLISH = "en"
_FOLDER = resources.files(__package__) / "messages"
# Numbers as Python prints them: groups of thousands, and a decimal point.
_GROUPED = re.compile(r"(?<![\w.,])\d{1,3}(?:,\d{3})+(?![\w,])")
_POINT = re.compile(r"(?<=\d)\.(?=\d)|(?<!\d)\.(?=\d)")


class Language:
    """One language.

    Attributes:
        code: Its code, such as `"ko"`.
        messages: The text of its file.
        direction: `"ltr"` or `"rtl"`.
    """

    def __init__(self, code: str, messages: str) -> None:
        with needing("The HTML report", "fluent-runtime", "report", module="fluent"):
            import fluent.runtime
        with needing("The HTML report", "babel", "report"):
            from babel import Locale
            from babel.numbers import get_decimal_symbol, get_group_symbol

        self.code, self.messages = code, messages
        self.direction = Locale(code).text_direction
        self._point, self._comma = get_decimal_symbol(code), get_group_symbol(code)
        functions: dict[str, Any] = {"VALUE": self.figure}
        self._bundle: FluentBundle = fluent.runtime.FluentBundle([code], functions, use_isolating=False)
        self._bundle.add_resource(fluent.runtime.FluentResource(messages))

    @property
    def name(self) -> str:
        """What the language calls itself."""
        return self.message("language-name")

    def message(self, name: str, /, **arguments: Any) -> Said:
        """Return a message of the package in this language; it remembers how it was made.

        Raises:
            LookupError: There is no such message.
        """
        value = self._bundle.get_message(name).value
        text, errors = (
            ("", ["it is empty"]) if value is None else self._bundle.format_pattern(value, self._filled(arguments))
        )
        if errors:
            raise LookupError(f"{self.code}: the message {name!r} cannot be written: {errors[0]}")
        made = Said(text)
        made.message, made.arguments = name, arguments
        return made

    def text(self, text: str) -> str:
        """Return what a text says in this language; one that remembers no message stays as it is."""
        if not isinstance(text, Said):
            return text
        if not self._bundle.has_message(text.message):
            return text
        return self.message(text.message, **text.arguments)

    def figure(self, text: str) -> str:
        """Return a number that Python printed with the signs of this language.

        The argument `$x` of a message is such a number where the message says `VALUE($x)`.
        """
        if self._point == "." and self._comma == ",":
            return text
        text = _GROUPED.sub(lambda found: found[0].replace(",", "\0"), text)
        return _POINT.sub(lambda _: self._point, text).replace("\0", self._comma)

    def time(self, moment: datetime) -> str:
        """Return a day and a time as the language writes them."""
        from babel.dates import format_date, format_time

        return f"{format_date(moment, locale=self.code)} {format_time(moment, 'HH:mm', locale=self.code)}"

    def _filled(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return what fills a message. Of an argument `of` that is a message itself, `$of-n` is its argument `n`."""
        filled: dict[str, Any] = {}
        for name, value in arguments.items():
            if isinstance(value, Said):
                filled |= {f"{name}-{inner}": of for inner, of in self._filled(value.arguments).items()}
                filled[name] = str(self.text(value))
            else:
                filled[name] = isolated(value) if isinstance(value, str) else value
        return filled


def isolated(text: str) -> str:
    """Return a name; one that is written from right to left between the characters that isolate it.

    Without them what follows the name would be read as a part of it: `-0.5` as `0.5-`, on its other side.
    """
    is_leftward = any(unicodedata.bidirectional(letter) in ("R", "AL", "RLE", "RLO", "RLI") for letter in text)
    return f"\u2068{text}\u2069" if is_leftward else str(text)


@functools.cache
def languages() -> dict[str, Language]:
    """Return all languages by their codes, English first.

    Raises:
        MissingDependencyError: A package of the extra `report` is not installed.
    """
    files = [file for file in _FOLDER.iterdir() if file.name.endswith(".ftl")]
    codes = sorted((file.name.removesuffix(".ftl") for file in files), key=lambda code: (code != ENGLISH, code))
    return {code: Language(code, (_FOLDER / f"{code}.ftl").read_text(encoding="utf-8")) for code in codes}


def language_of(code: str | None) -> Language:
    """Return a language by its code; English for None.

    Raises:
        InvalidInputError: There is no such language.
    """
    return languages()[ENGLISH if code is None else one_of("language", code, [*languages()])]


def language_asked_for(accepted: str) -> Language:
    """Return the first language of a browser's header `Accept-Language` that there is; English if there is none.

    >>> language_asked_for("fr-CH, ko-KR;q=0.9, en;q=0.8").code, language_asked_for("").code
    ('ko', 'en')
    """
    wanted = (part.partition(";")[0].strip().partition("-")[0].lower() for part in accepted.split(","))
    return language_of(next((code for code in wanted if code in languages()), None))


def cell_text(cell: Cell, language: Language) -> str:
    """Return the text of a cell in a language; a number with its signs."""
    return language.figure(cell.text) if is_figure(cell) else language.text(cell.text)


def is_figure(cell: Cell) -> bool:
    """Return whether the text of a cell is a number as Python prints it."""
    return not isinstance(cell.text, Said) and type(cell.value) in (int, float)


def translated(section: Section, language: Language) -> Section:
    """Return a section whose texts are those of a language."""
    of = language.text

    def optional(text: str | None) -> str | None:
        return None if text is None else of(text)

    return replace(
        section,
        title=of(section.title),
        paragraphs=tuple(map(of, section.paragraphs)),
        tables=tuple(
            replace(
                table,
                title=optional(table.title),
                note=optional(table.note),
                columns=tuple(replace(one, title=of(one.title), help=optional(one.help)) for one in table.columns),
                rows=tuple(
                    tuple(replace(cell, text=cell_text(cell, language), help=optional(cell.help)) for cell in row)
                    for row in table.rows
                ),
            )
            for table in section.tables
        ),
    )
