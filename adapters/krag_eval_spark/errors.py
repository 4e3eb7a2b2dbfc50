"""What a worker refused, in its own words: Spark tells it in the middle of a traceback of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from krag_eval import InvalidInputError

# Of an error that an expression raises, Spark adds the class after its words.
_REFUSAL = re.compile(rf"\b{InvalidInputError.__name__}: ([^\n]+?)(?: SQLSTATE: \w+)?$", re.MULTILINE)


@contextmanager
def plain_errors() -> Iterator[None]:
    """Goes around whatever computes a DataFrame of `score`; what a worker refused is raised as it was said there.

    Without it the same sentences stand in the error that Spark raises, among the lines of its traceback.

    Raises:
        InvalidInputError: A worker could not score a row; the message names the query. Spark's error is its cause.

    >>> from krag_eval_spark import plain_errors
    >>> with plain_errors():
    ...     pass  # scored.write.parquet("s3a://bucket/scores")
    """
    try:
        yield
    except Exception as error:
        if not type(error).__module__.startswith(("pyspark.", "py4j.")) or not (found := _REFUSAL.search(str(error))):
            raise
        raise InvalidInputError(found[1].strip()) from error
