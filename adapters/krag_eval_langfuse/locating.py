"""Find the trace and the observation of a running retrieval, if they are certain."""

from __future__ import annotations

import logging
import sys
import threading
import uuid
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from krag_eval.toolkit import refuse
from krag_eval_langfuse.client import project_of, project_of_span, records
from krag_eval_langfuse.scores import Target

_LOG = logging.getLogger("krag_eval.langfuse")
_MOST_OPEN = 10_000
# Where spans have what Langfuse knows of their trace.
_OF_TRACE = {
    "langfuse.environment": "environment",
    "session.id": "session_id",
    "user.id": "user_id",
    "langfuse.release": "release",
}


@dataclass(frozen=True, slots=True)
class _Span:
    """A span that Langfuse records, and its parent."""

    target: Target
    id: int
    parent_id: int | None


class Locator:
    """Finds the trace and the observation of a retrieval; called when it starts and again when it ends.

    For LangChain, the callback handlers of Langfuse that it follows know the observation of each run. Without one, and
    for any other framework, it takes the current OpenTelemetry span, if the client exports it. Of the spans at the
    start and at the end, the nested one is the retrieval's own: whether it is already (or still) current depends on the
    order of the handlers.

    Args:
        client: Returns the Langfuse client.
        followed: Callback handlers of Langfuse for LangChain.
        fallback: The target if none is found.

    Raises:
        InvalidInputError: An object is not a callback handler.
    """

    def __init__(self, client: Callable[[], Any], followed: object = (), fallback: Target | None = None) -> None:
        self._client = client
        self._fallback = fallback
        self._open: OrderedDict[str, _Span | None] = OrderedDict()
        self._lock = threading.Lock()
        self._kept = [_checked(handler) for handler in _as_list(followed)]
        self._followed: dict[int, weakref.ref[Any]] = {}
        self._follows = False
        self._warned = False
        self._foreign: set[object] = set()
        for handler in self._kept:
            self.follow(handler)

    def follow(self, handler: Any) -> None:
        """Look into this callback handler too; only a weak reference to it is kept.

        Raises:
            InvalidInputError: It is not a callback handler.
        """
        key = id(_checked(handler))
        with self._lock:
            self._follows = True
            self._followed[key] = weakref.ref(handler, lambda _: self._forget(key))

    def __call__(self, framework: str, run_id: object) -> Target | None:
        """Return the target of a retrieval; the first call is at its start, the second at its end."""
        if framework == "opentelemetry":  # the ids of a span that was read, with what the span says of its trace
            if self._is_foreign(run_id):
                return self._fallback
            trace_id, _, observation_id = str(run_id).partition("-")
            return _target(trace_id, observation_id, run_id) or self._fallback
        key = f"{framework} {run_id}"
        with self._lock:
            at_end = key in self._open
            earlier = self._open.pop(key, None)
        follows = framework == "langchain" and self._follows
        found = self._of_run(run_id) if follows else None
        if found is not None:
            return found
        now = None if follows else self._current()
        if at_end:
            return _inner(earlier, now) or self._fallback
        with self._lock:
            self._open[key] = now
            if len(self._open) > _MOST_OPEN:  # the oldest one never ended
                self._open.popitem(last=False)
        return None

    def _of_run(self, run_id: object) -> Target | None:
        """Return the observation of a run from the private map of Langfuse's handlers: there is no public one."""
        key = run_id if isinstance(run_id, uuid.UUID) else _as_uuid(run_id)
        with self._lock:
            references = list(self._followed.values())
        for handler in filter(None, (reference() for reference in references)):
            try:
                observation = handler._runs.get(key)  # noqa: SLF001 - see above
                if observation is None:
                    continue
                span = observation._otel_span  # noqa: SLF001 - see above
                if not span.is_recording() or self._is_foreign(span):  # its ids belong to another span, or project
                    return None
                return _target(observation.trace_id, observation.id, span)
            except (AttributeError, TypeError):
                self._warn_once(handler)
        return None

    def _current(self) -> _Span | None:
        """Return the current span, if the client exports it."""
        trace: Any = sys.modules.get("opentelemetry.trace")  # a span exists only if this is imported
        if trace is None:
            return None
        span = trace.get_current_span()
        if not span.is_recording() or self._is_foreign(span) or not records(self._client(), span):
            return None
        own, parent = span.get_span_context(), getattr(span, "parent", None)
        target = _target(trace.format_trace_id(own.trace_id), trace.format_span_id(own.span_id), span)
        return None if target is None else _Span(target, own.span_id, None if parent is None else parent.span_id)

    def _is_foreign(self, span: Any) -> bool:
        """Whether another client of Langfuse started the span: its trace is in another project, which is told once."""
        own, other = project_of(self._client()), project_of_span(span)
        if own is None or other is None or own == other:
            return False
        if other not in self._foreign:
            self._foreign.add(other)
            _LOG.warning(
                "krag_eval: retrievals in traces of the Langfuse project with the public key %s get no scores, because "
                "the score handler sends to the project of %s. They are counted as `no_target`. Pass the client of "
                "that project to a LangfuseScoreHandler.",
                other,
                own,
            )
        return True

    def _forget(self, key: int) -> None:
        # The garbage collector may call this at any moment, even while this thread holds the lock.
        self._followed.pop(key, None)

    def _warn_once(self, handler: object) -> None:
        if not self._warned:
            self._warned = True
            _LOG.warning(
                "krag_eval: %s of this version of langfuse does not provide the observation of a run; its retrievals "
                "are counted as `no_target`",
                type(handler).__name__,
            )


def _inner(start: _Span | None, end: _Span | None) -> Target | None:
    """Return the span that is nested in the other one, of those at the start and at the end of a retrieval."""
    if start is None or end is None:
        only = start or end
        return only.target if only is not None else None
    if start.id == end.id or start.parent_id == end.id:
        return start.target
    return end.target if end.parent_id == start.id else None


def _target(trace_id: object, observation_id: object, span: Any = None) -> Target | None:
    """Return the target, or None for the ids of a span that is not recorded, which are all zeros."""
    ids = (trace_id, observation_id)
    if not all(isinstance(value, str) and value.strip("0") for value in ids):
        return None
    attributes = getattr(span, "attributes", None) or {}
    of_trace = {name: value for key, name in _OF_TRACE.items() if isinstance(value := attributes.get(key), str)}
    return Target(trace_id=str(trace_id), observation_id=str(observation_id), of_trace=of_trace)


def _as_list(given: object) -> Iterable[Any]:
    if given is None:
        return ()
    return given if isinstance(given, (list, tuple, set, frozenset)) else (given,)


def _as_uuid(run_id: object) -> object:
    try:
        return uuid.UUID(str(run_id))
    except ValueError:
        return run_id


def _checked(handler: Any) -> Any:
    if isinstance(handler, type) or not callable(getattr(handler, "on_retriever_start", None)):
        cure = "Pass the `langfuse.langchain.CallbackHandler()` that the chain is called with."
        refuse("langchain_handler", "a callback handler of Langfuse for LangChain", handler, cure)
    return handler
