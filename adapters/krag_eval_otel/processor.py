"""Score the retrievals of a running application by the spans that it records."""

from __future__ import annotations

import math
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import StatusCode, format_span_id, format_trace_id

from krag_eval import EvaluationResult, InvalidInputError, Run, RunRow
from krag_eval.toolkit import LIVE_CUT_OFFS, gold_first
from krag_eval_formats import TraceSession, TraceSpan
from krag_eval_formats.dialects import FromTools
from krag_eval_live import LiveCounters, LiveScorer
from krag_eval_live.tools import check_tools

FRAMEWORK = "opentelemetry"
# What spans say of their trace, which a sink may send with the scores.
_OF_TRACE = ("session.id", "user.id", "langfuse.environment", "langfuse.release")


class SpanIds(str):
    """The ids of a span, `TRACE-SPAN`, and what a sink may read of the span.

    Attributes:
        attributes: Of its attributes, those that are about its trace.
        instrumentation_scope: What made it.
    """

    __slots__ = ("attributes", "instrumentation_scope")
    attributes: Mapping[str, Any]
    instrumentation_scope: Any

    @classmethod
    def of(cls, span: ReadableSpan, read: TraceSpan) -> SpanIds:
        """Return the ids of a span that was read."""
        ids = cls(f"{read.trace_id}-{read.span_id}")
        ids.attributes = {name: read.attributes[name] for name in _OF_TRACE if name in read.attributes}
        ids.instrumentation_scope = span.instrumentation_scope
        return ids


class RetrievalSpanProcessor(BatchSpanProcessor):
    """Score retrievals from the spans of OpenInference, of OpenTelemetry's GenAI conventions or of Langfuse.

    The names of Haystack, Vercel's AI SDK and Google ADK are known, too. A tool or another span that returned documents
    of LangChain, LlamaIndex or Haystack is a retrieval, unless there is one in it. A retrieval whose own text has no
    gold is scored by the gold of the question of its trace.

    Each trace is a session. It is scored when the span that began it in this process has ended, on a thread of the
    processor's own, by the same reading as `krag_eval_formats.read_traces`. Nothing that happens there reaches the
    application: what cannot be scored is counted in `problems`.

    Args:
        gold: An `EvalSet`, which is matched by id by default, or a mapping from a query's id or text to its gold
            documents, matched by text; None reports only what needs no gold.
        k: One cut-off or several.
        metrics: Names of `krag_eval.METRICS`, or functions; all by default.
        sinks: Receivers of scores, such as `PhoenixSink` and `EvaluationEventSink`.
        max_queue_size: How many ended spans may wait; any more are dropped by OpenTelemetry, with a warning.
        max_traces: How many traces may be open. If there are more, the oldest one is dropped.
        max_spans: How many spans of a trace are read. A trace with more is dropped.
        delay: How long ended spans wait for others, in seconds.
        from_tools: For tools that return no documents of a framework: by the name of the tool a function that returns
            the documents in what the tool returned, read if that is JSON.
        **options: Further arguments of `krag_eval_live.LiveScorer`.

    Attributes:
        scorer: The `krag_eval_live.LiveScorer` with `counters`, `problems` and `window_means`.
        problems: How many traces could not be scored, by reason, and what else was noticed, such as `truncated`,
            `without_documents`, `tools_unread`, `clocks`, `never_ended`, `too_many_spans`.

    Raises:
        InvalidInputError: There is neither gold nor a sink, or an argument is invalid.

    >>> from opentelemetry.sdk.trace import TracerProvider
    >>> from krag_eval_otel import RetrievalSpanProcessor
    >>> scoring = RetrievalSpanProcessor({"When do you open?": [{"id": "n1"}]}, k=1, match_method="id")
    >>> provider = TracerProvider()
    >>> provider.add_span_processor(scoring)
    >>> with provider.get_tracer("shop").start_as_current_span("search") as span:
    ...     span.set_attribute("gen_ai.operation.name", "retrieval")
    ...     span.set_attribute("gen_ai.retrieval.query.text", "When do you open?")
    ...     span.set_attribute("gen_ai.retrieval.documents", '[{"id": "n1"}]')
    >>> scoring.result()["recall@1"]
    1.0
    >>> provider.shutdown()
    """

    def __init__(
        self,
        gold: object = None,
        *,
        k: int | str | Sequence[int | str | None] | None = LIVE_CUT_OFFS,
        metrics: Any = None,
        sinks: object = (),
        max_queue_size: int = 10_000,
        max_traces: int = 1_000,
        max_spans: int = 10_000,
        delay: float = 1.0,
        from_tools: FromTools | None = None,
        **options: Any,
    ) -> None:
        self.scorer = LiveScorer(gold, k=k, metrics=metrics, sinks=sinks, **options)
        self.problems: Counter[str] = Counter()
        self._keeps = bool(options.get("keep_documents"))
        self._flushing = threading.Lock()
        self._traces = _Traces(self.scorer, self.problems, max_traces, max_spans, check_tools(from_tools))
        super().__init__(
            self._traces,
            max_queue_size=max_queue_size,
            schedule_delay_millis=delay * 1_000,
            max_export_batch_size=min(512, max_queue_size),
        )

    @property
    def counters(self) -> LiveCounters:
        """What became of the retrievals that could be read."""
        return self.scorer.counters

    def force_flush(self, timeout_millis: int | None = None) -> bool:
        """Score all traces that have ended, and send the scores; return False if that takes too long."""
        end = time.monotonic() + (30_000 if timeout_millis is None else timeout_millis) / 1_000
        flushed = super().force_flush(timeout_millis) is not False
        # The client of a sink may flush the provider that this is part of, as Langfuse's does, from another thread.
        if not self._flushing.acquire(blocking=False):
            return flushed
        try:
            return self.scorer.flush(max(0.0, end - time.monotonic())) and flushed
        finally:
            self._flushing.release()

    def shutdown(self) -> None:
        """Score what has ended, and stop."""
        super().shutdown()  # type: ignore[no-untyped-call]
        self.scorer.flush(5.0)

    def result(self) -> EvaluationResult:
        """Return the result over all searches with gold that have ended.

        With `keep_documents=True` it is that over all sessions: what `evaluate_run` returns for the same traces.
        """
        super().force_flush()
        return self.scorer.session_result() if self._keeps else self.scorer.result()


class _Traces(SpanExporter):
    """Collects the spans of each trace until its first one has ended."""

    def __init__(
        self, scorer: LiveScorer, problems: Counter[str], max_traces: int, max_spans: int, from_tools: FromTools
    ) -> None:
        self._scorer = scorer
        self._from_tools = from_tools
        self._problems = problems
        self._max_traces = max_traces
        self._max_spans = max_spans
        self._open: OrderedDict[int, list[tuple[TraceSpan, SpanIds]]] = OrderedDict()
        self._lock = threading.Lock()  # a flush exports on the thread of its caller

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Take ended spans, and score the traces whose first span is among them."""
        with self._lock:
            try:
                ended = dict.fromkeys(trace_id for span in spans if (trace_id := self._take(span)) is not None)
                sessions = [self._open.pop(trace_id) for trace_id in ended]
                while len(self._open) > self._max_traces:
                    self._open.popitem(last=False)
                    self._problems["never_ended"] += 1
            except Exception as error:  # noqa: BLE001 - the application goes on, and the error is counted
                self._scorer.report("spans cannot be read", error)
                return SpanExportResult.FAILURE
            for session in sessions:
                try:
                    self._score(session)
                except Exception as error:  # noqa: BLE001 - as above
                    self._scorer.report("a trace cannot be read", error)
        return SpanExportResult.SUCCESS

    def _take(self, span: ReadableSpan) -> int | None:
        """Keep a span; return the id of its trace if it is the one that began it in this process."""
        context, parent = span.context, span.parent
        if context is None:
            return None
        kept = self._open.setdefault(context.trace_id, [])
        if len(kept) <= self._max_spans:
            read = _read(span)
            kept.append((read.without_content(self._from_tools), SpanIds.of(span, read)))
        return context.trace_id if parent is None or parent.is_remote else None

    def _score(self, kept: list[tuple[TraceSpan, SpanIds]]) -> None:
        if len(kept) > self._max_spans:
            self._problems["too_many_spans"] += 1
            return
        session = TraceSession.of([span for span, _ in kept], self._from_tools)
        self._problems.update({kind: n for kind, n in session.notes.items() if n})
        if session.problem is not None:
            self._problems[session.problem] += session.problem != "without_retrieval"
            return
        row = session.row(session.query_id or "")
        score_row(self._scorer, row, session.query_id, session.question, {str(ids): ids for _, ids in kept})


@gold_first(old="run, gold")
def send_traces(gold: object, run: Run, *, sinks: object, **options: Any) -> LiveScorer:
    """Score the sessions of exported traces and send the scores to sinks, as the live processor does.

    Args:
        gold: The `EvalSet` with the questions.
        run: What `krag_eval_formats.read_traces` returned.
        sinks: One or several receivers of scores, such as `PhoenixSink`.
        **options: Further arguments of `krag_eval_live.LiveScorer`.

    Returns:
        The scorer, with `counters` and `result()`, after the sinks have been flushed.

    Raises:
        InvalidInputError: A row does not come from a trace, or an argument is invalid.
    """
    scorer = LiveScorer(gold, sinks=sinks, **options)
    scorer.sample = float(options.get("sample", 1.0))  # whether live scores are on does not matter here
    for number, row in enumerate(run.rows.values()):
        if "trace_id" not in row.further:
            raise InvalidInputError(
                f"The row of the question {row.query_id!r:.60} comes from no trace. Read traces with `read_traces`."
            )
        score_row(scorer, row, row.query_id, None)
        if number % 100 == 0:
            scorer.flush()  # no more may wait than the queue holds
    scorer.flush()
    return scorer


def score_row(
    scorer: LiveScorer,
    row: RunRow,
    query_id: str | None,
    question: str | None,
    spans: Mapping[str, SpanIds] | None = None,
) -> None:
    """Pass the session of a trace to a live scorer, under the ids of its spans, as far as these are known."""
    trace_id, session_id = row.further["trace_id"], f"{row.further['trace_id']}-{row.further['span_id']}"
    for search in row.searches:
        run_id = f"{trace_id}-{search.further['span_id']}"
        run_id = (spans or {}).get(run_id, run_id)
        scorer.begin(
            FRAMEWORK,
            run_id,
            search.query,
            query_id=query_id,
            question=question,
            name=search.tool,
            tool=search.tool,
            session_id=session_id,
            seconds=math.nan if search.latency_s is None else search.latency_s,
        )
        if search.error is not None:
            scorer.fail(run_id, RuntimeError(search.error))
        else:
            scorer.end(run_id, search.retrieved, search.stages)
    scorer.end_session(session_id, query_id=query_id, query=question)


def _read(span: ReadableSpan) -> TraceSpan:
    context, failed = span.context, span.status.status_code is StatusCode.ERROR
    return TraceSpan(
        trace_id=format_trace_id(context.trace_id) if context else "",
        span_id=format_span_id(context.span_id) if context else "",
        parent_id=None if span.parent is None else format_span_id(span.parent.span_id),
        name=span.name,
        attributes=dict(span.attributes or {}),
        start_ns=span.start_time,
        end_ns=span.end_time,
        error=(span.status.description or "error") if failed else None,
        n_dropped=span.dropped_attributes,
    )
