"""Documents in what a tool returned, as the `from_tools` of the adapters says how to read them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from krag_eval._utils.errors import InvalidInputError, refuse
from krag_eval.datasets.formats.dialects import FromTools, as_json, unwrapped


def check_tools(given: FromTools | None) -> FromTools:
    """Return functions by the name of the tool whose output they read; a copy, empty for None.

    Raises:
        InvalidInputError: It is no mapping from names to functions.
    """
    tools: Any = {} if given is None else given
    if not isinstance(tools, Mapping) or not all(isinstance(name, str) and callable(tools[name]) for name in tools):
        must = "a mapping from names of tools to functions that return documents"
        refuse("from_tools", must, given, 'For example from_tools={"search": lambda found: found["results"]}.')
    return dict(tools)


@dataclass(frozen=True, slots=True)
class Extracted:
    """What a function of the user's finds in what a tool returned, read where documents are."""

    extract: Callable[[Any], object]
    returned: object

    def __iter__(self) -> Iterator[object]:
        found = self.extract(unwrapped(as_json(self.returned)))
        if isinstance(found, (str, bytes, Mapping)) or not isinstance(found, Iterable):
            raise InvalidInputError(f"`from_tools` returned {type(found).__name__}, not a list of documents")
        return iter(list(found))


def kind_of(returned: object) -> str:
    """Return in a word or two what a tool returned."""
    kinds = ((str, "text"), (Mapping, "a mapping"), (list, "a list"))
    return next((words for kind, words in kinds if isinstance(returned, kind)), type(returned).__name__)
