"""Documents in what a tool returned, as the `from_tools` of the adapters says how to read them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from krag_eval import InvalidInputError
from krag_eval.toolkit import refuse
from krag_eval_formats.dialects import FromTools, as_json, unwrapped

_MOST_VALUES = 2_000


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


def near_surface(
    value: object, kind_of: Callable[[type], str], parts_of: Callable[[Any], Iterable[object]], deepest: int
) -> list[Any]:
    """Return the documents near the surface of a value, such as the state of a graph, in their order.

    Args:
        value: The value; of a large one, the first 2,000 parts are looked at, for which the application waits.
        kind_of: Returns what a value of a type is: `"document"`, `"parts"` if it has some, or `"other"`.
        parts_of: Returns the parts of a value that has some.
        deepest: How deep parts of parts are looked at.
    """
    found: list[Any] = []
    values: list[object] = [value]
    n_values = 1
    for _ in range(deepest + 1):
        parts: list[object] = []
        for one in values:
            kind = kind_of(type(one))
            if kind == "document":
                found.append(one)
            elif kind != "other":
                parts += parts_of(one)
        values = parts[: _MOST_VALUES - n_values]
        n_values += len(values)
    return found


def kind_of(returned: object) -> str:
    """Return in a word or two what a tool returned."""
    kinds = ((str, "text"), (Mapping, "a mapping"), (list, "a list"))
    return next((words for kind, words in kinds if isinstance(returned, kind)), type(returned).__name__)
