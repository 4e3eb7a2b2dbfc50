"""What `krag_eval_formats` knows of files that other programs wrote, found by entry point when it is asked for."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from krag_eval._utils.errors import InvalidInputError, Parts
from krag_eval._utils.plugins import load


@functools.cache
def beside(name: str) -> Any:
    """Return what is offered under a name of the group `krag_eval.formats`.

    Raises:
        InvalidInputError: The package is missing, or cannot be imported.
    """
    return load("krag_eval.formats", name)


def suggestion(
    kind: str, row: Mapping[str, Any], wanted: str | None = None, given: Mapping[str, Any] | None = None
) -> Parts:
    """Return sentences that list the columns of a row and suggest what is meant, for an error that is under way.

    Args:
        kind: What is read: `evalset` or `run`.
        row: A row.
        wanted: The field that is missing; by default all that are needed.
        given: The columns that are named already.
    """
    try:
        parts: Parts = beside("suggestion")(kind, row, wanted, given)
    except InvalidInputError:  # the error is told without it
        return ()
    return parts
