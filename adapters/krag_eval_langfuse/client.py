"""What is asked of a Langfuse client, and why one may send nothing; private names are read here and guarded."""

from __future__ import annotations

import importlib
import importlib.util
import queue
import weakref
from typing import Any

from krag_eval import KragEvalError, MissingDependencyError, Redactor

_PACKAGE = "langfuse"
_REDACTORS: weakref.WeakKeyDictionary[Any, Redactor] = weakref.WeakKeyDictionary()


class LangfuseDeliveryError(KragEvalError):
    """Scores did not reach Langfuse.

    Args:
        message: What happened to how many of them.
        problems: What went wrong, one line each.
    """

    def __init__(self, message: str, problems: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.problems = problems

    def __reduce__(self) -> tuple[type[LangfuseDeliveryError], tuple[str, tuple[str, ...]]]:
        return type(self), (str(self), self.problems)


def check_installed(needed_by: str) -> None:
    """Look for langfuse without importing it, which takes a second.

    Raises:
        MissingDependencyError: It is not installed.
    """
    try:
        found = importlib.util.find_spec(_PACKAGE) is not None
    except ValueError:  # a module that somebody made by hand
        found = True
    except ImportError as error:  # a finder of somebody's own
        if error.name != _PACKAGE:
            raise
        found = False
    if not found:
        raise MissingDependencyError(needed_by, _PACKAGE, _PACKAGE)


def load_langfuse(needed_by: str, module: str = _PACKAGE) -> Any:
    """The package langfuse, or a module of it.

    Raises:
        MissingDependencyError: It is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        if error.name != _PACKAGE:
            raise
        raise MissingDependencyError(needed_by, _PACKAGE, _PACKAGE) from error


def why_disabled(client: Any) -> str | None:
    """Why this client sends nothing, or None where it does."""
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
    """Whether the client would drop a score, with a line in its log, because 100,000 are waiting."""
    resources = getattr(client, "_resources", None)
    for name in ("_score_queue", "_score_ingestion_queue"):  # of langfuse 5 and of langfuse 4
        waiting = getattr(resources, name, None)
        if isinstance(waiting, queue.Queue):
            return waiting.full()
    return False


def environment_of(client: Any) -> str | None:
    """The environment that the client gives to its scores, or None."""
    environment = getattr(client, "_environment", None)
    return environment if isinstance(environment, str) and environment else None


def without_keys(client: Any, text: str) -> str:
    """A text, such as the answer of a server, without the keys of this client and the environment, or what looks so."""
    try:
        redact = _REDACTORS.get(client) or _REDACTORS.setdefault(client, Redactor(client))
    except TypeError:  # a client that cannot be held weakly
        redact = Redactor(client)
    return redact(text)


def records(client: Any, span: Any) -> bool:
    """Whether this client exports an OpenTelemetry span: never a guess, so False where that cannot be told."""
    resources = getattr(client, "_resources", None)
    resource = getattr(getattr(resources, "tracer_provider", None), "resource", None)
    scope = getattr(span, "instrumentation_scope", None)
    if scope is None or resource is None or getattr(span, "resource", None) is not resource:
        return False
    spans = load_langfuse("krag_eval_langfuse", "langfuse.span_filter")
    public_key = (getattr(scope, "attributes", None) or {}).get("public_key")
    if spans.is_langfuse_span(span) and public_key != getattr(resources, "public_key", None):
        return False  # of another project: the same process may have several clients
    exports = getattr(resources, "should_export_span", None) or spans.is_default_export_span
    return bool(exports(span))
