"""A sentence that remembers what it is made of, so that a page in another language can say the same."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


class Said(str):
    """An English text with the id of its message and the arguments that fill it.

    Wherever a text is printed, it is a text like any other. A package that writes in other languages finds its own
    message by `message`, and fills it with `arguments`: numbers as numbers, names and formatted values as texts, and
    other messages as `Said`.
    """

    message: str
    arguments: dict[str, Any]

    __slots__ = ("arguments", "message")

    @classmethod
    def of_sentences(cls, texts: Iterable[str]) -> str:
        """Return sentences as one text, each of which remembers its message."""
        return _joined(texts, "sentences", "{before} {after}")

    def respelled(self, message: str, text: str) -> Said:
        """Return another text that remembers another message with the same arguments."""
        other = Said(text)
        other.message, other.arguments = message, self.arguments
        return other


def said(message: str, english: str, /, **arguments: Any) -> Said:
    """Return an English text that remembers its message.

    Args:
        message: The id of the message, as the files of other languages name it.
        english: The text, with the names of the arguments in braces.
        **arguments: What fills the braces; further ones may be given that only other languages need.

    >>> found = said("found-of", "{n} of {gold}", n=3, gold=4)
    >>> found, found.message, found.arguments["n"]
    ('3 of 4', 'found-of', 3)
    """
    text = Said(english.format_map(arguments))
    text.message, text.arguments = message, arguments
    return text


def listed(texts: Iterable[str]) -> str:
    """Return texts with commas between them, each of which remembers its message."""
    return _joined(texts, "listed", "{before}, {after}")


def _joined(texts: Iterable[str], message: str, english: str) -> str:
    kept = [text for text in texts if text]
    whole = kept[0] if kept else ""
    for text in kept[1:]:
        whole = said(message, english, before=whole, after=text)
    return whole
