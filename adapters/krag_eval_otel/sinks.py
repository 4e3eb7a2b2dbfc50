"""Send live scores to where the traces are: as annotations of Arize Phoenix, or as events of OpenTelemetry."""

from __future__ import annotations

import json
import logging
import math
import re
import threading
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from http.client import HTTPException
from typing import Any, NamedTuple

from opentelemetry import trace
from opentelemetry._logs import LogRecord, SeverityNumber, get_logger
from opentelemetry.trace import TraceFlags
from opentelemetry.util.types import AnyValue

from krag_eval.toolkit import Retrying, refuse
from krag_eval_live import RetrievalSink, ScoredRetrieval, ScoredSession
from krag_eval_live.sinks import fewest_searches

_LOG = logging.getLogger("krag_eval.otel")
EVENT = "gen_ai.evaluation.result"
IDENTIFIER = "krag_eval"
SPANS, DOCUMENTS = "span_annotations", "document_annotations"
RELEVANCE = "krag_relevance"
_IDS = re.compile("[0-9a-f]{32}-[0-9a-f]{16}")
_SPAN_ID = re.compile(r"\b[0-9a-f]{16}\b")
# How many places (spans, and the documents of spans) wait before their scores are sent; how many scores are in a
# request, unless one span has more.
_PLACES_AT_ONCE, _ROWS_AT_ONCE = 200, 500
# How often a span may be missing in Phoenix before its scores are given up, and how many scores wait for it.
_MOST_TRIES, _MOST_WAITING = 10, 10_000
_MOST_PROBLEMS = 20
_TEMPORARY = (408, 425, 429, 500, 502, 503, 504)


class SpanTarget(NamedTuple):
    """The span that scores belong to, by its ids in hex."""

    trace_id: str
    span_id: str


def _target(ids: str) -> SpanTarget | None:
    """Return the span of ids such as `TRACE-SPAN`, which `score_row` makes; None for those of other frameworks."""
    return SpanTarget(*ids.split("-")) if _IDS.fullmatch(ids) else None


def _finite(scores: Mapping[str, float | None]) -> Iterator[tuple[str, float]]:
    return ((name, value) for name, value in scores.items() if value is not None and math.isfinite(value))


class _SpanSink(RetrievalSink):
    """Finds the span of a retrieval: the one that was read, or for the handlers of frameworks the current one.

    Args:
        sessions: Which sessions get scores: `"several"`, `"all"` or `"none"`.

    Raises:
        InvalidInputError: `sessions` is something else.
    """

    def __init__(self, sessions: str) -> None:
        self.fewest_searches = fewest_searches(sessions)

    def locate(self, framework: str, run_id: object) -> SpanTarget | None:
        if framework == "opentelemetry":
            return _target(str(run_id))
        context = trace.get_current_span().get_span_context()
        if not context.is_valid:
            return None
        return SpanTarget(trace.format_trace_id(context.trace_id), trace.format_span_id(context.span_id))


class EvaluationEventSink(_SpanSink):
    """Emit each score as a `gen_ai.evaluation.result` event of its span.

    Events are log records with an event name, as OpenTelemetry's GenAI conventions define them: they go wherever the
    log records of the application go. `log.record.uid` is the same whenever the same score is sent, so that a backend
    can recognize duplicates. By default, the scores are those that `PhoenixSink` sends.

    Args:
        logger_provider: The provider of loggers; the global one by default.
        sessions: Which sessions get scores on the span that began them: those of `"several"` searches, `"all"`, or
            `"none"`.

    Raises:
        InvalidInputError: `sessions` is something else.
    """

    def __init__(self, logger_provider: Any = None, *, sessions: str = "several") -> None:
        super().__init__(sessions)
        self._logger = get_logger("krag_eval", logger_provider=logger_provider)

    def on_retrieval_scored(self, retrieval: ScoredRetrieval, target: object | None) -> None:
        """Emit the scores of a retrieval."""
        if isinstance(target, SpanTarget):
            self._emit(target, retrieval.main_scores, retrieval.ended_at)

    def on_session_scored(self, session: ScoredSession, targets: Sequence[object | None]) -> None:  # noqa: ARG002
        """Emit the scores of a session, on the span that began it."""
        if (target := _target(session.session_id)) is not None:
            self._emit(target, session.main_scores, session.ended_at)

    def _emit(self, target: SpanTarget, scores: Mapping[str, float | None], at: datetime) -> None:
        ids, sampled = (int(target.trace_id, 16), int(target.span_id, 16)), TraceFlags(TraceFlags.SAMPLED)
        span = trace.NonRecordingSpan(trace.SpanContext(*ids, is_remote=True, trace_flags=sampled))
        for name, value in _finite(scores):
            attributes: dict[str, AnyValue] = {
                "gen_ai.evaluation.name": name,
                "gen_ai.evaluation.score.value": value,
                "log.record.uid": str(uuid.uuid5(uuid.NAMESPACE_OID, f"{target.trace_id}-{target.span_id}-{name}")),
            }
            self._logger.emit(
                LogRecord(
                    timestamp=int(at.timestamp() * 1e9),
                    context=trace.set_span_in_context(span),
                    severity_number=SeverityNumber.INFO,
                    event_name=EVENT,
                    attributes=attributes,
                )
            )


@dataclass(slots=True)
class AnnotationCounters:
    """What became of annotations: `sent + failed + waiting` is the total.

    Attributes:
        sent: Annotations that Phoenix accepted.
        failed: Annotations that it refused, or whose span never came.
        waiting: Annotations that wait for a flush, or for their span.
    """

    sent: int = 0
    failed: int = 0
    waiting: int = 0


_Place = tuple[str, str]  # the path of an endpoint, and the id of a span


@dataclass(slots=True)
class _Waiting:
    """The annotations of one span, or of its documents, that wait: by name and position."""

    rows: dict[tuple[str, int], dict[str, Any]] = field(default_factory=dict)
    n_tries: int = 0


class PhoenixSink(_SpanSink):
    """Write scores into Arize Phoenix: annotations of spans, and `krag_relevance` of each document.

    By default, a retrieval has five scores: hit rate, recall, MRR and nDCG at the largest cut-off, and `empty`; and
    `leak`, if its question has forbidden documents. `metrics=` and `k=` of the live scorer send others. Scores are sent
    when 100 spans wait, and at each flush. A score that is sent again overwrites the first one. Scores whose span has
    not arrived in Phoenix yet are sent again later. Failures are counted and logged, never raised.

    Args:
        endpoint: The address of Phoenix, such as `"http://127.0.0.1:6006"`.
        api_key: The key, if Phoenix requires one.
        timeout: How long a request may take, in seconds.
        attempts: How often a request is made that fails for a while.
        sessions: Which sessions get scores on the span that began them: those of `"several"` searches, `"all"`, or
            `"none"`.

    Attributes:
        counters: What became of the annotations.
        problems: The first 20 failures.

    Raises:
        InvalidInputError: The endpoint is not an address of HTTP, or `sessions` is unknown.
    """

    def __init__(
        self,
        endpoint: str,
        *,
        api_key: str | None = None,
        timeout: float = 10.0,
        attempts: int = 3,
        sessions: str = "several",
    ) -> None:
        super().__init__(sessions)
        if not endpoint.startswith(("http://", "https://")):
            refuse("endpoint", "an address such as 'http://127.0.0.1:6006'", endpoint)
        self.counters = AnnotationCounters()
        self.problems: list[str] = []
        self._endpoint = endpoint.rstrip("/")
        self._headers = {"Content-Type": "application/json"}
        self._headers |= {} if api_key is None else {"Authorization": f"Bearer {api_key}"}
        self._timeout = timeout
        self._retrying = Retrying(attempts - 1, _is_temporary, first=0.2, longest=5.0)
        self._waiting: dict[_Place, _Waiting] = {}
        self._lock = threading.Lock()
        self._sending = threading.Lock()

    def on_retrieval_scored(self, retrieval: ScoredRetrieval, target: object | None) -> None:
        """Keep the scores of a retrieval and the relevance of its documents, and send them if many wait."""
        if isinstance(target, SpanTarget):
            self._add(target, retrieval.main_scores, retrieval.relevance or ())

    def on_session_scored(self, session: ScoredSession, targets: Sequence[object | None]) -> None:  # noqa: ARG002
        """Keep the scores of a session, for the span that began it."""
        if (target := _target(session.session_id)) is not None:
            self._add(target, session.main_scores, ())

    def _add(self, target: SpanTarget, scores: Mapping[str, float | None], relevance: Sequence[bool]) -> None:
        rows = {
            (name, 0): {"name": name, "result": {"score": value}, "identifier": IDENTIFIER}
            for name, value in _finite(scores)
        }
        self._wait(SPANS, target.span_id, rows)
        documents = {}
        for position, is_relevant in enumerate(relevance):  # Phoenix takes no identifier here: the name overwrites
            result = {"score": float(is_relevant), "label": "relevant" if is_relevant else "not relevant"}
            documents[RELEVANCE, position] = {"name": RELEVANCE, "result": result, "document_position": position}
        self._wait(DOCUMENTS, target.span_id, documents)
        if len(self._waiting) >= _PLACES_AT_ONCE:
            self.flush()

    def _wait(self, path: str, span_id: str, rows: dict[tuple[str, int], dict[str, Any]]) -> None:
        with self._lock:
            waiting = self._waiting.setdefault((path, span_id), _Waiting())
            self.counters.waiting += len(rows.keys() - waiting.rows.keys())
            waiting.rows |= {key: {**row, "span_id": span_id, "annotator_kind": "CODE"} for key, row in rows.items()}
            while self.counters.waiting > _MOST_WAITING:
                place = next(iter(self._waiting))
                self._give_up(place, self._waiting.pop(place), "too many wait")

    def flush(self, timeout: float | None = None) -> bool:
        """Send what waits, as long as `timeout` seconds allow; return whether nothing waits any more."""
        end = math.inf if timeout is None else time.monotonic() + timeout
        with self._sending:
            with self._lock:
                left, self._waiting = self._waiting, {}
            for path, places in _requests(left):
                if time.monotonic() < end:
                    self._send(path, {place: left.pop(place) for place in places})
            self._keep(left)
            return not self._waiting

    def _send(self, path: str, batch: dict[_Place, _Waiting]) -> None:
        """Send annotations; those of spans that Phoenix does not have go on waiting, and none fails for another."""
        missing: set[str] = set()
        try:
            self._post(path, [row for one in batch.values() for row in one.rows.values()])
        except urllib.error.HTTPError as error:
            body = error.read(100_000).decode("utf-8", "replace")
            reason, is_refused = f"HTTP {error.code}: {body[:200]}", error.code not in _TEMPORARY
            if error.code == 404:
                missing = {span_id for _, span_id in batch} & set(_SPAN_ID.findall(body))
        except (OSError, HTTPException) as error:
            reason, is_refused = str(error), False
        else:
            with self._lock:
                n_sent = sum(len(one.rows) for one in batch.values())
                self.counters.sent += n_sent
                self.counters.waiting -= n_sent
            return
        late = {place: batch.pop(place) for place in list(batch) if place[1] in missing}
        self._keep(late, reason)
        if late:
            self._send(path, batch)
        elif is_refused and len(batch) > 1:
            for place, one in batch.items():
                self._send(path, {place: one})
        else:
            with self._lock:
                for place, one in batch.items():
                    self._give_up(place, one, reason)

    def _keep(self, batch: Mapping[_Place, _Waiting], reason: str = "") -> None:
        """Let annotations wait again, unless their span was missing too often."""
        with self._lock:
            for place, one in batch.items():
                one.n_tries += bool(reason)
                if one.n_tries >= _MOST_TRIES:
                    self._give_up(place, one, reason)
                    continue
                newer = self._waiting.setdefault(place, one)
                if newer is not one:
                    self.counters.waiting -= len(one.rows.keys() & newer.rows.keys())
                    newer.rows = {**one.rows, **newer.rows}

    def _post(self, path: str, rows: list[dict[str, Any]]) -> None:
        if not rows:
            return
        request = urllib.request.Request(
            f"{self._endpoint}/v1/{path}?sync=true",
            data=json.dumps({"data": rows}, allow_nan=False).encode(),
            headers=self._headers,
            method="POST",
        )

        def post() -> None:
            with urllib.request.urlopen(request, timeout=self._timeout) as answer:
                answer.read()

        self._retrying.call(post)

    def _give_up(self, place: _Place, one: _Waiting, reason: str) -> None:
        self.counters.waiting -= len(one.rows)
        self.counters.failed += len(one.rows)
        if len(self.problems) < _MOST_PROBLEMS:
            self.problems.append(f"{place[0]} of {place[1]}: {reason}")
            _LOG.warning("krag_eval: scores did not reach Phoenix: %s of %s: %s", *place, reason)


def _requests(waiting: Mapping[_Place, _Waiting]) -> list[tuple[str, list[_Place]]]:
    """The places whose annotations share a request: few enough for a slow server to answer in time."""
    requests: list[tuple[str, list[_Place]]] = []
    for path in (SPANS, DOCUMENTS):
        n_rows = _ROWS_AT_ONCE + 1
        for place in waiting:
            if place[0] == path:
                n_rows += len(waiting[place].rows)
                if n_rows > _ROWS_AT_ONCE:
                    requests.append((path, []))
                    n_rows = len(waiting[place].rows)
                requests[-1][1].append(place)
    return requests


def _is_temporary(error: BaseException) -> bool:
    """Whether the same request may succeed a moment later."""
    if isinstance(error, urllib.error.HTTPError):
        return error.code in _TEMPORARY
    return isinstance(error, (OSError, HTTPException))
