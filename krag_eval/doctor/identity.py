"""By what documents are told apart where nobody says it."""

from __future__ import annotations

from collections.abc import Mapping

from krag_eval.columns import Side
from krag_eval.errors import warn
from krag_eval.settings import Settings


def choose_methods(gold: Side, sides: Mapping[str, Side], settings: Settings) -> tuple[str, ...]:
    """Ids where both sides have them, else texts, with a warning.

    Raises:
        InvalidInputError: A document has neither an id nor a text.
    """
    columns = [gold, *sides.values()]
    ids = [{id_ for id_ in side.ids if id_ is not None} for side in columns]
    retrieved: set[str] = set().union(*ids[1:])
    for lacking, has_ids, sides_ in (("gold", ids[0], columns[:1]), ("retrieved", retrieved, columns[1:])):
        if not has_ids and any(side.documents for side in sides_):
            warn(f"The {lacking} documents have no ids, so documents are told apart by their texts.")
            return ("text",)
    if not ids[0] & retrieved:
        forms = [{_form(text, settings) for text in side.texts if text} for side in columns]
        if forms[0] & set().union(*forms[1:]):
            warn(
                "Not one gold id was retrieved, but gold texts were: documents are told apart by their texts. If ids "
                "stand in the metadata, name their key with `id_key`."
            )
            return ("text",)
        return ("id",)
    if any(None in side.ids for side in columns):
        warn("Some documents have no id: they are told apart by their texts.")
        return ("id", "text")
    for number, name in enumerate(sides, 1):
        others = set().union(*(known for place, known in enumerate(ids) if place != number))
        if ids[number] and not ids[number] & others:
            warn(
                f"The run {name!r} has not one id in common with the gold or another run, so nothing that it retrieved "
                "is recognised. If its ids stand in the metadata, name their key with `id_key`; else match by 'text'."
            )
    return ("id",)


def _form(text: str, settings: Settings) -> str:
    return text if settings.normalize is None else settings.normalize(text)
