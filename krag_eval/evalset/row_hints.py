"""What a row probably is that lacks what a question needs, and what its author may have meant."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

_OWN = frozenset({"id", "question"})


def without_gold(row: Mapping[str, Any]) -> str:
    """Sentences for a row that says nothing about its gold; none where nothing can be told.

    >>> without_gold({"query_id": "q1", "retrieved": []})
    ' This looks like a run: the evaluation set comes first, and runs after it.'
    """
    from krag_eval.evalset.formats.journal import RUN_HEADER  # formats read questions

    if "retrieved" in row or RUN_HEADER in row:
        return " This looks like a run: the evaluation set comes first, and runs after it."
    if "text" in row and "question" not in row:
        return " This looks like a corpus: a row of an evaluation set has a `question` and its gold."
    return of_other_names("gold_doc_ids", row) if row.keys() - _OWN else ""


def of_other_names(field: str, names: Iterable[object]) -> str:
    """Sentences for a row in which a field may have another name; none for a row without fields.

    >>> print(of_other_names("question", ["query"]).strip())
    The row has: query. If one of these is meant, say so: columns={'question': NAME} in `read_evalset` and ...
    """
    listed = ", ".join(map(str, names))
    return listed and (
        f" The row has: {listed:.300}. If one of these is meant, say so: columns={{{field!r}: NAME}} in `read_evalset` "
        f"and `evalset_from_rows`, or `krag-eval convert FILE NEW --columns {field}=NAME`."
    )
