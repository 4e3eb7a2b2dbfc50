"""Observations of tools, chains and plain spans: which of them are retrievals, by what they returned."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from krag_eval_formats.dialects import FromTools, as_json, documents_in, keys_of
from krag_eval_live.tools import Extracted

# A retrieval may be of any of these kinds; the first are always, the others if they returned documents.
RETRIEVER, TOOL = "RETRIEVER", "TOOL"
KINDS = (RETRIEVER, TOOL, "CHAIN", "SPAN")
# What a retrieval may lie in.
AROUND = (*KINDS, "AGENT")


@dataclass(slots=True)
class Nesting:
    """Which observation lies in which, and where retrievals are.

    Attributes:
        retrievers: The ids of the retrievers' observations.
        tools: How many observations of each tool returned no documents that can be read.
    """

    retrievers: set[str] = field(default_factory=set)
    tools: Counter[str] = field(default_factory=Counter)
    _parents: dict[str, str | None] = field(default_factory=dict)
    _retrievals: set[str] = field(default_factory=set)
    _searched: set[str] = field(default_factory=set)

    def add(self, observation: Any, kind: str) -> None:
        """Add an observation of a kind."""
        self._parents[observation.id] = observation.parent_observation_id
        if kind == RETRIEVER:
            self.retrievers.add(observation.id)

    def note(self, observation_id: str) -> None:
        """Note that an observation is a retrieval: those around it are none, and those in it are part of it."""
        self._retrievals.add(observation_id)
        self._searched.update(self._around(observation_id))

    def is_free(self, observation: Any) -> bool:
        """Whether there is no retrieval in it or around it."""
        outside = self._retrievals.isdisjoint(self._around(observation.id))
        return outside and observation.id not in self._searched

    def _around(self, observation_id: str) -> Iterator[str]:
        seen = {observation_id}
        around = self._parents.get(observation_id)
        while around is not None and around not in seen:
            seen.add(around)
            yield around
            around = self._parents.get(around)


def returned(observation: Any, kind: str, from_tools: FromTools) -> list[Any] | None:
    """Return the documents that a tool, chain or span returned and was not given; None if there is none.

    Raises:
        Exception: What the function in `from_tools` raises.
    """
    output = as_json(observation.output)
    extract = from_tools.get(str(observation.name)) if kind == TOOL else None
    if extract is not None:
        return list(Extracted(extract, output))
    given = keys_of(documents_in(as_json(observation.input)))
    return [row for row in documents_in(output) if given.isdisjoint(keys_of([row]))] or None
