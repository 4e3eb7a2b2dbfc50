"""The result of scoring answers as text: a table for people, and JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from krag_eval.answers.result import AnswerResult

_COUNTS = ("n_answers", "n_negative", "n_without_reference", "n_empty", "n_missing", "n_refusals")


def as_table(result: AnswerResult) -> str:
    """The means, what they leave out, the counts that deserve a look, and the signature."""
    lines = [f"AnswerResult of {_some(result.n_answers, 'answer')}", *_rows(result), *_remarks(result)]
    return "\n".join([*lines, f"  {result.signature}"])


def _rows(result: AnswerResult) -> Iterator[str]:
    width = max(map(len, result.values))
    has_intervals = result.confidence is not None
    head = f"  {'':<{width}} {'mean':>8} {'undefined':>9}"
    yield f"{head}  {100 * (result.confidence or 0):g} % interval" if has_intervals else head
    undefined = result.undefined
    for key, mean in result.to_dict().items():
        interval = result.intervals[key] if result.intervals is not None else None
        told = "" if interval is None else f"  {interval[0]:.4f} to {interval[1]:.4f}"
        yield f"  {key:<{width}} {'-' if mean is None else f'{mean:.4f}':>8} {undefined[key]:>9}{told}"


def _remarks(result: AnswerResult) -> Iterator[str]:
    if result.n_negative:
        yield f"  {_some(result.n_negative, 'question')} without an answer: only negative_rejection scores them"
    if result.n_without_reference:
        yield f"  {_some(result.n_without_reference, 'question')} without a reference: only refusals are counted"
    if result.n_empty:
        missing = f", {result.n_missing} of them missing" if result.n_missing else ""
        yield f"  {_some(result.n_empty, 'answer')} empty{missing}: 0 where there is a reference"
    if result.errors:
        yield f"  {_some(len(result.errors), 'exception')} in place of an answer: counted as empty, not as refusals"


def _some(count: int, thing: str) -> str:
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


def as_json(result: AnswerResult, indent: int | None) -> str:
    """All means, what they leave out, the counts and the signature."""
    errors = {str(row): message for row, message in result.errors.items()}
    text = json.dumps(
        {
            "signature": result.signature,
            "metrics": result.to_dict(),
            "undefined": result.undefined,
            **{name: getattr(result, name) for name in _COUNTS},
            "errors": errors,
            **({} if result.intervals is None else {"intervals": dict(result.intervals)}),
        },
        indent=indent,
        ensure_ascii=False,
    )
    # A lone surrogate cannot be written as UTF-8; its escape can, and means the same in JSON.
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
