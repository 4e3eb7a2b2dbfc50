"""What to do about input that is no list of lists of documents, by what it looks like."""

from __future__ import annotations

from collections.abc import Mapping

from krag_eval.errors import show
from krag_eval.shapes import shape_of


def rows_hint(rows: object) -> str:
    """A sentence on something that is no list of rows, beginning with a space; empty where nothing is known of it.

    >>> rows_hint("run.jsonl")
    ' Files are read by `read_evalset` and `read_run`, and scored by `evaluate_run`.'
    """
    if isinstance(rows, str):
        return " Files are read by `read_evalset` and `read_run`, and scored by `evaluate_run`."
    if isinstance(rows, Mapping):
        return (
            " For mappings by query, as of ranx and pytrec_eval, write evaluate_ids([qrels[q] for q in qrels], "
            "[sorted(run[q], key=run[q].get, reverse=True) for q in qrels])."
        )
    if is_frame(rows):
        return (
            " Give its columns, as in evaluate(frame['gold'], frame['retrieved']), with a list in each cell; or let "
            "`evaluate_retriever` ask its questions."
        )
    return ""


def is_frame(rows: object) -> bool:
    """Whether it is a table of pandas or polars, which Python would go through by the names of its columns."""
    return hasattr(rows, "columns") and (hasattr(rows, "iloc") or hasattr(rows, "get_column"))


def pair_hint(document: object) -> str:
    """A sentence on a tuple that was meant as `(document, number)`, or nothing."""
    if type(document) is tuple and len(document) == 2 and shape_of(document[0]) is not None:
        return f" In a (document, number) pair the second must be a number, got {show(document[1], 40)}."
    return ""
