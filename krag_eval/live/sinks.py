"""The receivers of live scores, called so that none of them can disturb the application or another."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

from krag_eval.errors import InvalidInputError
from krag_eval.live.records import RetrievalSink, ScoredRetrieval

_METHODS = ("on_retrieval_scored", "on_query_scored")


class Sinks:
    """The receivers of live scores.

    Args:
        given: `RetrievalSink` or `EvaluationCallback` objects.
        problem: Called with the name of the method and what it raised.

    Raises:
        InvalidInputError: One has none of the methods that are called.
    """

    def __init__(self, given: object, problem: Callable[[str, Exception], None]) -> None:
        sinks = [given] if isinstance(given, str) or not isinstance(given, Iterable) else list(given)
        for sink in sinks:
            if isinstance(sink, type) or not any(callable(getattr(sink, name, None)) for name in _METHODS):
                raise InvalidInputError(
                    f"`sinks` holds {sink!r:.80}, which has none of {', '.join(_METHODS)}. "
                    "Pass an object made from a subclass of RetrievalSink or EvaluationCallback."
                )
        self._sinks: list[Any] = sinks
        self._problem = problem

    def __len__(self) -> int:
        return len(self._sinks)

    def locate(self, framework: str, run_id: object, known: list[object | None] | None = None) -> list[object | None]:
        """Where each receiver says that the retrieval belongs that runs now; what is known already is kept."""
        targets = known or [None] * len(self._sinks)
        for position, sink in enumerate(self._sinks):
            if targets[position] is None and _locates(sink):
                targets[position] = self._call(sink, "locate", framework, run_id)
        return targets

    def lacks_target(self, targets: list[object | None]) -> bool:
        """Whether a receiver that looks for a place found none."""
        return any(target is None and _locates(sink) for sink, target in zip(self._sinks, targets, strict=True))

    def tell(self, retrieval: ScoredRetrieval, targets: list[object | None]) -> None:
        """Pass on a retrieval; a plain evaluation callback gets its values, where there are any."""
        for sink, target in zip(self._sinks, targets, strict=True):
            if callable(getattr(sink, "on_retrieval_scored", None)):
                self._call(sink, "on_retrieval_scored", retrieval, target)
            elif retrieval.result is not None and callable(getattr(sink, "on_query_scored", None)):
                self._call(sink, "on_query_scored", retrieval.result)

    def flush(self, end: float | None) -> bool:
        """Let each receiver send what it holds until `end` (monotonic clock); whether none says it was not done."""
        done = True
        for sink in self._sinks:
            if callable(getattr(sink, "on_retrieval_scored", None)) and callable(getattr(sink, "flush", None)):
                left = None if end is None else max(0.0, end - time.monotonic())
                done = self._call(sink, "flush", left) is not False and done
        return done

    def _call(self, sink: Any, name: str, *arguments: object) -> Any:
        try:
            return getattr(sink, name)(*arguments)
        except Exception as error:  # noqa: BLE001 - the application goes on, and the error is counted
            self._problem(f"{type(sink).__name__}.{name}", error)
            return None


def _locates(sink: object) -> bool:
    locate = getattr(type(sink), "locate", None)
    return locate is not None and locate is not RetrievalSink.locate
