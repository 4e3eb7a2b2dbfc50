"""How the user called: what messages about documents that do not match may name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field


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

    def in_its_names(self, advice: str) -> str:
        """Return advice with the names of the call in place of those of `evaluate`."""
        for name, own in self.names.items():
            advice = re.sub(rf"\b{name}(?==)", own, advice)
        return advice

    def none_of(self, side: str) -> str:
        """Return the beginning of a sentence about all documents of `actual` or of `predicted`."""
        kind = "gold" if side == "actual" else "retrieved"
        return f"No document of `{side}`" if self.has_lists else f"No {kind} document"

    @property
    def has_doc_key(self) -> bool:
        """Whether the key of the ids is that of document ids, under which gold ids are put by themselves."""
        return "id_key" in self.names


LISTS = Front(has_lists=True)
NO_LISTS = Front()
NOTHING_RETRIEVED_YET = Front(expects_retrieved=False)
DOCUMENT_IDS = Front(names={"id_key": "doc_key"})
