"""Word a message with what is typed: the options of the command that runs, for arguments of the library."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping

from krag_eval.toolkit import Argument, escape_controls

# What the running command calls each argument of the library that it has: `--match`, `--k`, `EVALSET`.
options: dict[str, str] = {}


def as_typed(parts: Iterable[object]) -> str:
    """Return the message of an error or a warning, given by its parts, as the command line words it.

    >>> options.clear()
    >>> options.update(force="--force", columns="--columns", evalset="EVALSET")
    >>> for name, value in (("force", True), ("columns", {"gold": "정답 문서"}), ("evalset", ...), ("embeddings", ...)):
    ...     print(as_typed(["Give ", Argument(name, value), " for docs/force=True.md."]))
    Give --force for docs/force=True.md.
    Give --columns 'gold=정답 문서' for docs/force=True.md.
    Give `EVALSET` for docs/force=True.md.
    Give `embeddings` for docs/force=True.md.
    """
    return escape_controls("".join(_typed(part) if isinstance(part, Argument) else str(part) for part in parts))


def _typed(argument: Argument) -> str:
    option, value = options.get(argument.name), argument.value
    if option is None:
        return str(argument)
    if value is ...:
        return f"`{option}`"
    return option if value is True else f"{option} {shlex.quote(_written(value))}"


def _written(value: object) -> str:
    """Return a value as options take it."""
    if isinstance(value, Mapping):
        is_plain = not any(mark in f"{inner}" for inner in value.values() for mark in ",={")
        pairs = ",".join(f"{name}={inner}" for name, inner in value.items())
        return pairs if is_plain else json.dumps(value, ensure_ascii=False)
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
