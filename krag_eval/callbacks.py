"""What a receiver of scores can do: print them, log them, send them somewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from krag_eval.errors import InvalidInputError, warn

if TYPE_CHECKING:
    from krag_eval.query_results import QueryResult
    from krag_eval.results import EvaluationResult


@dataclass(frozen=True, slots=True)
class EvaluationStart:
    """What is known before the first query is scored.

    Attributes:
        n_queries: How many queries there are; None where they are streamed.
        keys: The keys that each query's values will have, such as `recall@5`.
        signature: The settings behind every number, in one line.
    """

    n_queries: int | None
    keys: tuple[str, ...]
    signature: str


class EvaluationCallback:
    """A receiver of scores; override what you need. Pass it as `callbacks=[...]`.

    >>> class Worst(EvaluationCallback):
    ...     def on_query_scored(self, query):
    ...         if query.values["recall@1"] == 0:
    ...             print("nothing found for", query.query)
    """

    def on_evaluation_start(self, start: EvaluationStart) -> None:
        """Called once, before the queries."""

    def on_query_scored(self, query: QueryResult) -> None:
        """Called once a query, in the order of the input."""

    def on_evaluation_end(self, result: EvaluationResult) -> None:
        """Called once, with the whole result."""


METHODS = ("on_evaluation_start", "on_query_scored", "on_evaluation_end")


def check_callbacks(callbacks: object) -> list[object]:
    """The callbacks as a list.

    Raises:
        InvalidInputError: One has none of the methods that are called.
    """
    given = [callbacks] if isinstance(callbacks, str) or not isinstance(callbacks, Iterable) else list(callbacks)
    for callback in given:
        if isinstance(callback, type) or not any(callable(getattr(callback, m, None)) for m in METHODS):
            raise InvalidInputError(
                f"`callbacks` holds {callback!r:.80}, which has none of {', '.join(METHODS)}. "
                "Pass an object made from a subclass of EvaluationCallback."
            )
    return given


class CallbackRunner:
    """Calls the callbacks; one that raises is reported once and does not lose the result.

    Attributes:
        errors: What callbacks raised, one line each.
    """

    def __init__(self, callbacks: object, *, raise_errors: bool = False) -> None:
        self._callbacks = check_callbacks(callbacks)
        self._raise_errors = raise_errors
        self.errors: list[str] = []

    def __bool__(self) -> bool:
        return bool(self._callbacks)

    def start(self, start: EvaluationStart) -> None:
        """Announce the evaluation."""
        self._call("on_evaluation_start", start)

    def query(self, query: QueryResult) -> None:
        """Pass on one query."""
        self._call("on_query_scored", query)

    def end(self, result: EvaluationResult) -> None:
        """Pass on the result, then report what went wrong."""
        self._call("on_evaluation_end", result)
        if self.errors:
            warn(
                f"{len(self.errors)} calls of callbacks failed; the result is complete. First: {self.errors[0]}. "
                "Use raise_errors=True to stop at the first one."
            )

    def _call(self, name: str, argument: object) -> None:
        for callback in self._callbacks:
            method: Callable[[object], None] | None = getattr(callback, name, None)
            if method is None:
                continue
            try:
                method(argument)
            except Exception as error:
                if self._raise_errors:
                    raise
                from krag_eval.redaction import describe_error  # only an error needs it

                self.errors.append(f"{type(callback).__name__}.{name}: {describe_error(error, longest=200)}")
