"""How the user called: what messages about documents that do not match may name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from krag_eval._utils.errors import Argument


@dataclass(frozen=True, slots=True)
class Front:
    """How the user called, for messages.

    Attributes:
        has_lists: Both sides were given as the lists `actual` and `predicted`.
        expects_retrieved: Something should have been retrieved.
        names: What the call has in place of arguments of `evaluate`.
    """

    has_lists: bool = False
    expects_retrieved: bool = True
    names: Mapping[str, str] = field(default_factory=dict)

    def argument(self, name: str, value: object) -> Argument:
        """Return an argument of `evaluate` by its name in the call."""
        return Argument(self.names.get(name, name), value)

    @property
    def has_doc_key(self) -> bool:
        """Whether the key of the ids is that of document ids, under which gold ids are put by themselves."""
        return "id_key" in self.names


LISTS = Front(has_lists=True)
NO_LISTS = Front()
NOTHING_RETRIEVED_YET = Front(expects_retrieved=False)
DOCUMENT_IDS = Front(names={"id_key": "doc_key"})
