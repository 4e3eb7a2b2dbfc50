"""What the packages for engines share: their scorers, the columns that are read, and the errors of workers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from krag_eval import InvalidInputError
from krag_eval.toolkit import refuse
from krag_eval_scale.scorer import ColumnarScorer

COLUMNS = ("query_id", "actual", "predicted")
Read = Callable[[pa.RecordBatch], pa.RecordBatch]


def row_scorer(k: Any, bad_rows: str, **settings: Any) -> tuple[ColumnarScorer, Read]:
    """Return a scorer, and which of its functions scores batches; repeated ids are looked for over all of them."""
    scorer = ColumnarScorer(k, allow_repeated_ids=True, **settings)
    if bad_rows not in ("raise", "keep"):
        refuse("bad_rows", "'raise' or 'keep'", bad_rows)
    return scorer, scorer.score_with_errors if bad_rows == "keep" else scorer.score_batch


def sum_scorer(k: Any, intervals: bool | float, max_bad_rows: int, **settings: Any) -> ColumnarScorer:
    """Return a scorer for states; whatever its result would refuse is refused before any work."""
    scorer = ColumnarScorer(k, allow_repeated_ids=True, **settings)
    scorer.check_intervals(intervals)
    scorer.merge([]).check_bad_rows(max_bad_rows)
    return scorer


def columns_read(scorer: ColumnarScorer, names: Iterable[str]) -> list[str]:
    """Return which of the columns of these names the scorer reads or keeps."""
    there = list(names)
    rules = [name for name in scorer.rule_columns if name in there]
    return list(dict.fromkeys([*COLUMNS, *scorer.by, *rules, *scorer.names_of(there)]))


# The error of a worker, in the traceback that an engine sends; its message is one line.
_REFUSAL = re.compile(rf"\b{InvalidInputError.__name__}: ([^\n]+)$", re.MULTILINE)


@contextmanager
def errors_of_workers(*modules: str) -> Iterator[None]:
    """Raise an `InvalidInputError` of a worker with its own message; the engine's error is its cause.

    Args:
        *modules: How the modules of the engine's errors begin.
    """
    try:
        yield
    except Exception as error:
        if not type(error).__module__.startswith(modules) or not (found := _REFUSAL.search(str(error))):
            raise
        raise InvalidInputError(found[1].strip()) from error
