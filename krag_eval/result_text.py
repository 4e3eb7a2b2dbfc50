"""A result as text: as a table with one row a metric and one column a cut-off, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from krag_eval.results import EvaluationResult

_OF_NO_ANSWER = ("n_queries", "empty_share", "mean_retrieved")


def describe(result: EvaluationResult) -> str:
    """The values, what they leave out, and the signature."""
    lines = [f"EvaluationResult of {result.n_queries} queries", *_table(result)]
    if result.no_answer.n_queries:
        lines.append(f"  {result.no_answer.n_queries} queries have no gold document: left out of every value above")
    if result.n_unjudged:
        lines.append(
            f"  {result.n_unjudged} queries have gold at the other level only (chunk or document): "
            "undefined, but for doc_hit"
        )
    if result.errors:
        lines.append(f"  {len(result.errors)} retrievals raised: counted as nothing retrieved")
    for side, count in result.unmatchable.items():
        if count:
            lines.append(f"  {count} documents of `{side}` lack what the method reads: they never match")
    return "\n".join([*lines, f"  {result.signature}"])


def _table(result: EvaluationResult) -> Iterator[str]:
    """One row a metric, one column a cut-off."""
    rows = result.cells()
    width = max(map(len, rows))
    yield " ".join([" " * (width + 2), *(f"{k or 'all':>8}" for k in result.tally.counts)])
    for name, cells in rows.items():
        yield " ".join([f"  {name:<{width}}", *(f"{cell:>8}" for cell in cells)]).rstrip()


def as_json(result: EvaluationResult, indent: int | None) -> str:
    """All values, what they leave out, and the signature."""
    text = json.dumps(
        {
            "signature": result.signature,
            "n_queries": result.n_queries,
            "metrics": result.to_dict(),
            "undefined": result.undefined,
            "no_answer": {name: getattr(result.no_answer, name) for name in _OF_NO_ANSWER},
            "unjudged": result.n_unjudged,
            "unmatchable": dict(result.unmatchable),
            "errors": {str(index): message for index, message in result.errors.items()},
            **({} if result.intervals is None else {"intervals": dict(result.intervals)}),
        },
        indent=indent,
        ensure_ascii=False,
    )
    # A lone surrogate cannot be written as UTF-8; its escape can, and means the same in JSON.
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
