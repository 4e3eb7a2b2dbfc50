"""Where scores go: events of OpenTelemetry, and Phoenix, whose server is here one that fails in every way it can."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor

from krag_eval import METRICS, EvalSet, InvalidInputError
from krag_eval_otel import EvaluationEventSink, PhoenixSink, RetrievalSpanProcessor
from tests.adapters.otel.spans import recorded, retrieve

GOLD = EvalSet([{"id": "Q1", "question": "When?", "gold_chunk_ids": ["a"]}])


class StandIn:
    """Answers like Phoenix, with the statuses that are queued first; it keeps what it accepted."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, str]] = []
        self.accepted: dict[tuple[Any, ...], float] = {}
        self.n_requests = self.most_rows = 0
        stand_in = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                rows = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["data"]
                stand_in.n_requests += 1
                stand_in.most_rows = max(stand_in.most_rows, len(rows))
                status, text = stand_in.answers.pop(0) if stand_in.answers else (200, "{}")
                for row in rows if status == 200 else ():
                    key = row["span_id"], row["name"], row.get("document_position")
                    stand_in.accepted[key] = row["result"]["score"]
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *_: object) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.endpoint = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def stand_in() -> Iterator[StandIn]:
    made = StandIn()
    yield made
    made.server.shutdown()
    made.server.server_close()


def ask(scoring: RetrievalSpanProcessor, n: int = 1) -> Any:
    with recorded(scoring) as (tracer, kept):
        for _ in range(n):
            with tracer.start_as_current_span("agent") as span:
                span.set_attribute("input.value", "When?")
                retrieve(tracer, "When?", ["x", "a"])
        scoring.force_flush()
    return kept.get_finished_spans()


FEW = {"hit_rate@10", "recall@10", "mrr@10", "ndcg@10", "empty"}
OF_SESSIONS = {"session_recall@10", "evidence_complete@10", "searches_to_evidence@10", "n_searches"}
FORBIDDEN = EvalSet([{"id": "Q1", "question": "When?", "gold_chunk_ids": ["a"], "must_not": ["x"]}])


@pytest.mark.parametrize(
    ("gold", "arguments", "sessions", "n_searches", "of_search", "of_root"),
    [
        (GOLD, {}, "several", 1, FEW, set()),
        (GOLD, {}, "several", 2, FEW, OF_SESSIONS),
        (GOLD, {}, "all", 1, FEW, OF_SESSIONS),
        (GOLD, {}, "none", 2, FEW, set()),
        (FORBIDDEN, {}, "several", 1, {*FEW, "leak@10"}, set()),
        (GOLD, {"k": (1, 3), "metrics": "recall"}, "several", 1, {"recall@1", "recall@3", "empty"}, set()),
        (GOLD, {"k": 3}, "several", 1, {one.replace("10", "3") for one in FEW}, set()),
        (None, {}, "several", 1, {"retrieved", "repeats", "empty"}, set()),
    ],
)
def test_both_sinks_send_the_few_scores_that_people_watch(
    gold: Any,
    arguments: dict[str, Any],
    sessions: str,
    n_searches: int,
    of_search: set[str],
    of_root: set[str],
    stand_in: StandIn,
) -> None:
    exporter: Any = InMemoryLogRecordExporter()  # type: ignore[no-untyped-call]
    logs = LoggerProvider(shutdown_on_exit=False)
    logs.add_log_record_processor(SimpleLogRecordProcessor(exporter))
    sinks = [EvaluationEventSink(logs, sessions=sessions), PhoenixSink(stand_in.endpoint, sessions=sessions)]
    scoring = RetrievalSpanProcessor(gold, sinks=sinks, **arguments)
    with recorded(scoring) as (tracer, kept):
        with tracer.start_as_current_span("agent") as span:
            span.set_attribute("input.value", "When?")
            for _ in range(n_searches):
                retrieve(tracer, "When?", ["x", "a"])
        scoring.force_flush()
    *searches, root = (span.context.span_id for span in kept.get_finished_spans())
    expected = {(span_id, name) for span_id in searches for name in of_search} | {(root, name) for name in of_root}
    records = [one.log_record for one in exporter.get_finished_logs()]
    assert {(one.span_id, (one.attributes or {})["gen_ai.evaluation.name"]) for one in records} == expected
    annotated = {(int(span_id, 16), name) for span_id, name, position in stand_in.accepted if position is None}
    assert annotated == expected


def test_unknown_sessions_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="`sessions` must be one of 'several', 'all', 'none'"):
        EvaluationEventSink(sessions="some")
    with pytest.raises(InvalidInputError, match="`sessions` must be one of 'several', 'all', 'none'"):
        PhoenixSink("http://127.0.0.1:9", sessions="some")


def scoring_with(*sinks: Any) -> RetrievalSpanProcessor:
    return RetrievalSpanProcessor(GOLD, k=1, metrics=["recall"], sinks=sinks)


def test_scores_are_events_of_their_spans_with_ids_of_their_own() -> None:
    exporter: Any = InMemoryLogRecordExporter()  # type: ignore[no-untyped-call]
    logs = LoggerProvider(shutdown_on_exit=False)
    logs.add_log_record_processor(SimpleLogRecordProcessor(exporter))
    sink = EvaluationEventSink(logs)
    search, root = ask(scoring_with(sink))
    records = [one.log_record for one in exporter.get_finished_logs()]
    found = {
        (one.span_id, one.attributes["gen_ai.evaluation.name"]): one.attributes["gen_ai.evaluation.score.value"]
        for one in records
        if one.attributes is not None
    }
    assert found[search.context.span_id, "recall@1"] == 0.0
    assert found[search.context.span_id, "empty"] == 0.0
    assert {one.event_name for one in records} == {"gen_ai.evaluation.result"}
    assert {one.trace_id for one in records} == {root.context.trace_id}
    ids = [one.attributes["log.record.uid"] for one in records if one.attributes is not None]
    assert len(set(ids)) == len(ids) == len(found)


@pytest.mark.full
def test_phoenix_gets_each_score_once_though_requests_fail_for_a_while(stand_in: StandIn) -> None:
    stand_in.answers = [(503, "busy"), (429, "slow down")]
    sink = PhoenixSink(stand_in.endpoint)
    search, _ = ask(scoring_with(sink))
    span_id = f"{search.context.span_id:016x}"
    assert stand_in.accepted[span_id, "recall@1", None] == 0.0
    assert [stand_in.accepted[span_id, "krag_relevance", rank] for rank in (0, 1)] == [0.0, 1.0]
    assert (sink.counters.sent, sink.counters.waiting, sink.counters.failed) == (len(stand_in.accepted), 0, 0)


@pytest.mark.full
def test_a_slow_server_gets_few_scores_in_a_request(stand_in: StandIn) -> None:
    sink = PhoenixSink(stand_in.endpoint)
    ask(RetrievalSpanProcessor(GOLD, k=range(1, 13), metrics=list(METRICS), sinks=[sink]), n=30)
    n_scores = len(stand_in.accepted)
    assert sink.counters.sent == n_scores > 30 * 12 * 5
    assert 300 < stand_in.most_rows <= 500
    assert n_scores / 500 < stand_in.n_requests < 2 * n_scores / 300


def test_scores_of_a_span_that_never_comes_are_given_up_and_counted(stand_in: StandIn) -> None:
    sink = PhoenixSink(stand_in.endpoint)
    late: list[str] = []
    scoring = scoring_with(sink)
    with recorded(scoring) as (tracer, kept):
        stand_in.answers = [(404, "Spans with IDs 00000000000000ff do not exist.")] * 4
        retrieve(tracer, "When?", ["a"])
        scoring.force_flush()
        assert sink.counters.failed > 0  # refused for a span that is not ours
        (span,) = kept.get_finished_spans()
        late.append(f"Spans with IDs {span.context.span_id:016x} do not exist.")
        retrieve(tracer, "When?", ["a"])
        scoring.scorer.flush()
        n_failed = sink.counters.failed
        for _ in range(12):
            stand_in.answers = [
                (404, f"Spans with IDs {one.context.span_id:016x} do not exist.")
                for one in kept.get_finished_spans()[1:]
            ] * 2
            scoring.force_flush()
        assert (sink.counters.waiting, sink.counters.failed > n_failed, sink.counters.sent) == (0, True, 0)
    assert "do not exist" in sink.problems[-1]


def test_what_phoenix_refuses_of_one_span_does_not_fail_the_others(stand_in: StandIn) -> None:
    sink = PhoenixSink(stand_in.endpoint)
    stand_in.answers = [
        (200, "{}"),
        (422, "Document position 1 is out of bounds"),
        (200, "{}"),
        (422, "no"),
        (200, "{}"),
    ]
    ask(scoring_with(sink), n=3)
    assert sink.counters.failed == 2  # the documents of one search
    assert sink.counters.sent == len(stand_in.accepted)
    assert sink.problems == [one for one in sink.problems if one.startswith("document_annotations of ")]


def test_a_phoenix_that_is_not_there_is_counted_and_stops_nothing() -> None:
    sink = PhoenixSink("http://127.0.0.1:9", attempts=1)
    scoring = scoring_with(sink)
    ask(scoring, n=2)
    assert (scoring.counters.scored, sink.counters.sent, sink.counters.waiting) == (2, 0, 0)
    assert sink.counters.failed > 0
    with pytest.raises(InvalidInputError, match=r"an address such as 'http://127\.0\.0\.1:6006'"):
        PhoenixSink("127.0.0.1:6006")
