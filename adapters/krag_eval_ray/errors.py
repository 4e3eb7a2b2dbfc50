"""What a worker refused, in its own words: Ray tells it in the middle of a traceback of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from krag_eval import InvalidInputError

# The last line of our error's own traceback; a message is one line.
_REFUSAL = re.compile(rf"^{re.escape(InvalidInputError.__module__)}\.{InvalidInputError.__name__}: (.+)$", re.MULTILINE)


@contextmanager
def plain_errors() -> Iterator[None]:
    """Goes around whatever consumes a dataset of `score` or `from_long`: what a worker refused is raised as it said it.

    Without it the same sentences stand in the error that Ray raises, among the lines of its traceback.

    Raises:
        InvalidInputError: A worker could not read a row or score it; the message names it. Ray's error is its cause.

    >>> from krag_eval_ray import plain_errors
    >>> with plain_errors():
    ...     pass  # scored.write_parquet("s3://bucket/scores")
    """
    try:
        yield
    except Exception as error:
        if type(error).__module__ != "ray.exceptions" or not (found := _REFUSAL.search(str(error))):
            raise
        raise InvalidInputError(found[1]) from error
