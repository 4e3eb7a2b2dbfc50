"""Inspect the Langfuse client: whether it is installed and enabled, and what it records. Shared checks live here too.

Private attributes of the client are read only here, each with a fallback.
"""

from __future__ import annotations

import importlib
import inspect
import queue
import time
import weakref
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from krag_eval import KragEvalError, Redactor
from krag_eval.toolkit import need_installed, refuse

_PACKAGE = "langfuse"
_REDACTORS: weakref.WeakKeyDictionary[Any, Redactor] = weakref.WeakKeyDictionary()


class LangfuseDeliveryError(KragEvalError):
    """Scores did not reach Langfuse.

    Args:
        message: What happened, and to how many scores.
        problems: The errors, one line each.
    """

    def __init__(self, message: str, problems: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.problems = problems


class LangfuseRequestError(KragEvalError):
    """A request to Langfuse failed, so that nothing could be read or written."""


def load_langfuse(needed_by: str, module: str = _PACKAGE) -> Any:
    """Import the langfuse package or one of its modules.

    Raises:
        MissingDependencyError: It is not installed.
    """
    need_installed(needed_by, _PACKAGE, _PACKAGE)
    return importlib.import_module(module)


def why_disabled(client: Any) -> str | None:
    """Return why this client sends nothing, or None if it sends."""
    if not getattr(client, "_tracing_enabled", True):
        return (
            "its tracing is disabled (tracing_enabled=False or LANGFUSE_TRACING_ENABLED=false; `get_client()` without "
            "a public key also returns such a client where several are in use)"
        )
    if getattr(client, "_resources", True) is None:
        return "it has no keys (LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY)"
    if getattr(getattr(client, "_resources", None), "_shutdown", False) is True:
        return "it was shut down"
    return None


def queue_is_full(client: Any) -> bool:
    """Return whether the client would log and drop a score because 100,000 are waiting."""
    waiting = _queue_of(client)
    return waiting is not None and waiting.full()


def wait_until_sent(client: Any, end: float | None) -> bool:
    """Wait until the client's own threads have sent its scores, at the latest until `end` (monotonic clock)."""
    waiting = _queue_of(client)
    while waiting is not None and waiting.unfinished_tasks:
        if end is not None and time.monotonic() >= end:
            return False
        time.sleep(0.01)
    return waiting is not None


def _queue_of(client: Any) -> queue.Queue[Any] | None:
    """Return the queue in which scores wait; None if it is not known."""
    resources = getattr(client, "_resources", None)
    names = ("_score_queue", "_score_ingestion_queue")  # langfuse 5, langfuse 4
    return next((one for name in names if isinstance(one := getattr(resources, name, None), queue.Queue)), None)


def is_orphaned(client: Any) -> bool:
    """Return whether the threads that send the client's scores are gone, as in forks with early langfuse 4."""
    resources = getattr(client, "_resources", None)
    consumers = getattr(resources, "_score_consumers", None) or getattr(resources, "_ingestion_consumers", None) or ()
    return bool(consumers) and not any(one.is_alive() for one in consumers)


def environment_of(client: Any) -> str | None:
    """Return the environment that the client sets on its scores, or None."""
    environment = getattr(client, "_environment", None)
    return environment if isinstance(environment, str) and environment else None


def environment_to_send(client: Any, environment: str | None) -> dict[str, str]:
    """Return the argument of `create_score` for an environment; early releases of langfuse 4 take none."""
    if environment is None or "environment" not in inspect.signature(client.create_score).parameters:
        return {}
    return {"environment": environment}


def project_of(client: Any) -> object:
    """Return the public key of the client, which identifies its project."""
    return getattr(getattr(client, "_resources", None), "public_key", None)


def address_of(client: Any) -> str:
    """Return the address of the server without credentials, or an empty text if it is unknown."""
    ask = getattr(getattr(getattr(client, "api", None), "_client_wrapper", None), "get_base_url", None)
    parts = urlsplit(str(ask()) if callable(ask) else "")
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def time_limit_of(client: Any) -> float:
    """Return the request timeout of the client in seconds, or the default of langfuse if it is unknown."""
    ask = getattr(getattr(client.api, "_client_wrapper", None), "get_timeout", None)
    limit = ask() if callable(ask) else None
    return float(limit) if isinstance(limit, (int, float)) and limit > 0 else 5.0


def without_keys(client: Any, text: str) -> str:
    """Redact the keys of the client and environment, and anything that looks like a key, in a text."""
    try:
        redact = _REDACTORS.get(client) or _REDACTORS.setdefault(client, Redactor(client))
    except TypeError:  # this client does not support weak references
        redact = Redactor(client)
    return redact(text)


def project_of_span(span: Any) -> object:
    """Return the public key of the client that started an OpenTelemetry span, or None."""
    scope = getattr(span, "instrumentation_scope", None)
    return (getattr(scope, "attributes", None) or {}).get("public_key")


def records(client: Any, span: Any) -> bool:
    """Return whether this client certainly exports an OpenTelemetry span."""
    resources = getattr(client, "_resources", None)
    resource = getattr(getattr(resources, "tracer_provider", None), "resource", None)
    scope = getattr(span, "instrumentation_scope", None)
    if scope is None or resource is None or getattr(span, "resource", None) is not resource:
        return False
    spans = load_langfuse("krag_eval_langfuse", "langfuse.span_filter")
    if spans.is_langfuse_span(span) and project_of_span(span) != getattr(resources, "public_key", None):
        return False  # a span of another client in this process
    exports = getattr(resources, "should_export_span", None) or spans.is_default_export_span
    return bool(exports(span))


def check_run_id(run_id: object) -> str | None:
    """Check that the id of a run is a non-empty string or None.

    Raises:
        InvalidInputError: It is something else.
    """
    if run_id is not None and not (isinstance(run_id, str) and run_id):
        refuse("run_id", "a non-empty string", run_id, "Pass one or leave it out.")
    return run_id


def check_timestamp(timestamp: object) -> datetime | None:
    """Convert a timestamp to UTC; None stays None.

    Raises:
        InvalidInputError: It is not a time, or has no time zone.
    """
    if timestamp is None:
        return None
    if not isinstance(timestamp, datetime) or timestamp.utcoffset() is None:
        must = "a time with a time zone, because Langfuse overwrites scores of the same day"
        refuse("timestamp", must, timestamp, "Pass for example datetime.now(timezone.utc).")
    return timestamp.astimezone(UTC)
