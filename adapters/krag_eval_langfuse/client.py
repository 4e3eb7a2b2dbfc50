"""Inspect the Langfuse client: whether it is installed and enabled, and what it records. Shared checks live here too.

Private attributes of the client are read only here, each with a fallback.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import queue
import sys
import warnings
import weakref
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit, urlunsplit

import krag_eval
from krag_eval import InvalidInputError, KragEvalError, KragEvalWarning, MissingDependencyError, Redactor

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

    def __reduce__(self) -> tuple[type[LangfuseDeliveryError], tuple[str, tuple[str, ...]]]:
        return type(self), (str(self), self.problems)


class LangfuseRequestError(KragEvalError):
    """A request to Langfuse failed, so that nothing could be read or written."""


def check_installed(needed_by: str) -> None:
    """Check that langfuse is installed, without importing it: the import takes a second.

    Raises:
        MissingDependencyError: It is not installed.
    """
    try:
        found = importlib.util.find_spec(_PACKAGE) is not None
    except ValueError:  # a module object created by hand
        found = True
    except ImportError as error:  # raised by a custom finder
        if error.name != _PACKAGE:
            raise
        found = False
    if not found:
        raise MissingDependencyError(needed_by, _PACKAGE, _PACKAGE)


def load_langfuse(needed_by: str, module: str = _PACKAGE) -> Any:
    """Import the langfuse package or one of its modules.

    Raises:
        MissingDependencyError: It is not installed.
    """
    check_installed(needed_by)
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
    resources = getattr(client, "_resources", None)
    for name in ("_score_queue", "_score_ingestion_queue"):  # langfuse 5, langfuse 4
        waiting = getattr(resources, name, None)
        if isinstance(waiting, queue.Queue):
            return waiting.full()
    return False


def environment_of(client: Any) -> str | None:
    """Return the environment that the client sets on its scores, or None."""
    environment = getattr(client, "_environment", None)
    return environment if isinstance(environment, str) and environment else None


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


def records(client: Any, span: Any) -> bool:
    """Return whether this client certainly exports an OpenTelemetry span."""
    resources = getattr(client, "_resources", None)
    resource = getattr(getattr(resources, "tracer_provider", None), "resource", None)
    scope = getattr(span, "instrumentation_scope", None)
    if scope is None or resource is None or getattr(span, "resource", None) is not resource:
        return False
    spans = load_langfuse("krag_eval_langfuse", "langfuse.span_filter")
    public_key = (getattr(scope, "attributes", None) or {}).get("public_key")
    if spans.is_langfuse_span(span) and public_key != getattr(resources, "public_key", None):
        return False  # a span of another client in this process
    exports = getattr(resources, "should_export_span", None) or spans.is_default_export_span
    return bool(exports(span))


def check_run_id(run_id: object) -> str | None:
    """Check that the id of a run is a non-empty string or None.

    Raises:
        InvalidInputError: It is something else.
    """
    if run_id is not None and not (isinstance(run_id, str) and run_id):
        raise InvalidInputError(f"`run_id` is {run_id!r:.60}. It must be a non-empty string. Pass one or leave it out.")
    return run_id


def check_timestamp(timestamp: object) -> datetime | None:
    """Convert a timestamp to UTC; None stays None.

    Raises:
        InvalidInputError: It is not a time, or has no time zone.
    """
    if timestamp is None:
        return None
    if not isinstance(timestamp, datetime) or timestamp.utcoffset() is None:
        raise InvalidInputError(
            f"`timestamp` is {timestamp!r:.60}. It must be a time with a time zone, because Langfuse overwrites scores "
            "of the same day. Pass for example datetime.now(timezone.utc)."
        )
    return timestamp.astimezone(UTC)


def check_count(name: str, value: object, *, most: int | None = None) -> int:
    """Check an integer of at least 1, and at most `most`.

    Raises:
        InvalidInputError: It is something else.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < 1 or (most is not None and value > most):
        expected = "an integer of at least 1" if most is None else f"an integer from 1 to {most}"
        raise InvalidInputError(f"`{name}` is {value!r:.60}. It must be {expected}.")
    return value


_OURS = (str(Path(__file__).parent), str(Path(krag_eval.__file__).parent))


def warn(message: str) -> None:
    """Warn with `KragEvalWarning`, at the line of the user's code that called krag_eval or this package."""
    frame, level = sys._getframe(1), 2  # noqa: SLF001 - `skip_file_prefixes` needs Python 3.12
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OURS):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, KragEvalWarning, stacklevel=level)


class Renewed(Protocol):
    """An object that must be reset in a forked process."""

    def renew(self) -> None:
        """Reset the state in a forked process, where no other thread exists."""
        ...


_RENEWED: weakref.WeakSet[Renewed] = weakref.WeakSet()


def renew_when_forked(one: Renewed) -> None:
    """Renew this object after every fork, without keeping it alive."""
    _RENEWED.add(one)


def _renew_all() -> None:
    for one in list(_RENEWED):
        one.renew()


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_renew_all)
