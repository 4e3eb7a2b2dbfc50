"""A stand-in for a Langfuse server on this machine, for examples and tests: it records what a real client sends.

    with LoopbackLangfuse() as server:
        client = Langfuse(public_key="pk-lf-example", secret_key="sk-lf-example", base_url=server.url)

It understands scores as langfuse 5 and 4 send them and spans in OTLP, and serves datasets and observations from
memory. It proves what was sent, not what the real server makes of it.
"""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, unquote_plus, urlsplit

Answer = tuple[int, Any]
NOW = "2026-01-01T00:00:00.000Z"


@dataclass(frozen=True)
class Span:
    """A span as it arrived.

    Attributes:
        trace_id: Its trace.
        id: The id of the span, which is the id of the observation.
        parent_id: The span that it lies in, or None.
        name: Its name.
        scope: Which instrumentation made it.
        attributes: Its attributes.
        start: When it started.
        end: When it ended.
    """

    trace_id: str
    id: str
    parent_id: str | None
    name: str
    scope: str
    attributes: dict[str, Any]
    start: datetime
    end: datetime

    @property
    def kind(self) -> str:
        """What kind of observation Langfuse makes of it."""
        named = self.attributes.get("langfuse.observation.type") or self.attributes.get("openinference.span.kind")
        return str(named or "span").upper()

    @property
    def input(self) -> str | None:
        """Its input, as text."""
        return self.attributes.get("langfuse.observation.input", self.attributes.get("input.value"))

    @property
    def output(self) -> str | None:
        """Its output, as text."""
        return self.attributes.get("langfuse.observation.output", self.attributes.get("output.value"))

    def as_observation(self) -> dict[str, Any]:
        """The observation that the API gives for it."""
        start_of_key = "langfuse.observation.metadata."
        metadata: dict[str, Any] = {
            key.removeprefix(start_of_key): value
            for key, value in self.attributes.items()
            if key.startswith(start_of_key)
        }
        further = {key: value for key, value in self.attributes.items() if not key.startswith("langfuse.")}
        if further:
            metadata["attributes"] = json.dumps(further, default=str)
        return {
            "id": self.id,
            "traceId": self.trace_id,
            "parentObservationId": self.parent_id,
            "projectId": "loopback",
            "type": self.kind,
            "name": self.name,
            "environment": self.attributes.get("langfuse.environment", "default"),
            "userId": self.attributes.get("user.id"),
            "sessionId": self.attributes.get("session.id"),
            "level": self.attributes.get("langfuse.observation.level", "DEFAULT"),
            "statusMessage": self.attributes.get("langfuse.observation.status_message"),
            "input": self.input,
            "output": self.output,
            "metadata": metadata,
            "startTime": self.start.isoformat(),
            "endTime": self.end.isoformat(),
        }


@dataclass
class LoopbackLangfuse:
    """The server; it runs while its `with` block does.

    Args:
        answer: Asked first for each request, with its method and path: a status and a body to answer with instead of
            recording anything, or None to go on. The body may be a function of the JSON of the request.

    Attributes:
        scores: The scores that arrived, with the field names of the API.
        spans: The spans that arrived.
        observations: Observations to serve, beside those made of the spans.
        datasets: Dataset items by the name of their dataset.
        requests: Method and path of each request.
    """

    answer: Callable[[str, str], Answer | None] | None = None
    scores: list[dict[str, Any]] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    observations: list[dict[str, Any]] = field(default_factory=list)
    datasets: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)

    def __enter__(self) -> Self:
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler_of(self))
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.shutdown()
        self._http.server_close()

    def respond(self, method: str, path: str, query: dict[str, str], body: bytes) -> Answer:
        """The answer to a request."""
        self.requests.append(f"{method} {path}")
        answer = self.answer(method, path) if self.answer is not None else None
        if answer is not None:
            status, told = answer
            return status, told(json.loads(body)) if callable(told) else told
        if method == "POST" and path == "/api/public/otel/v1/traces":
            self.spans.extend(_spans(body))
            return 200, {}
        given: Any = json.loads(body) if body else None
        if method == "POST" and path == "/api/public/scores":
            self.scores.extend(given)
            return 202, {"message": "Accepted"}
        if method == "POST" and path == "/api/public/ingestion":
            self.scores.extend({**event["body"], "timestamp": event["timestamp"]} for event in given["batch"])
            return 207, {"successes": [{"id": event["id"], "status": 201} for event in given["batch"]], "errors": []}
        if path == "/api/public/projects":
            organization = {"id": "loopback", "name": "loopback"}
            return 200, {"data": [{"id": "loopback", "name": "loopback", "organization": organization, "metadata": {}}]}
        if path == "/api/public/v2/observations":
            return 200, self._observations(query)
        return self._dataset(method, path, query, given)

    def _observations(self, query: dict[str, str]) -> dict[str, Any]:
        """A page of observations, newest first; as for the real server, what was not asked for is not there."""
        found = [*self.observations, *(span.as_observation() for span in self.spans)]
        for name in ("type", "traceId", "name"):
            found = [row for row in found if query.get(name) in (None, row.get(name))]
        found.sort(key=lambda row: str(row["startTime"]), reverse=True)
        first, size = int(query.get("cursor", 0)), int(query.get("limit", 50))
        asked = query.get("fields", "").split(",")
        left_out = [name for name in ("input", "output") if "io" not in asked]
        left_out += [] if "metadata" in asked else ["metadata"]
        page = [{key: row[key] for key in row if key not in left_out} for row in found[first : first + size]]
        return {"data": page, "meta": {"cursor": str(first + size)} if first + size < len(found) else {}}

    def _dataset(self, method: str, path: str, query: dict[str, str], given: Any) -> Answer:
        if method == "POST" and path == "/api/public/v2/datasets":
            self.datasets.setdefault(given["name"], {})
            return 200, _dataset_row(given["name"])
        if method == "GET" and path.startswith("/api/public/v2/datasets/"):
            name = unquote_plus(path.rpartition("/")[2])
            return (200, _dataset_row(name)) if name in self.datasets else (404, {"message": "Dataset not found"})
        if method == "POST" and path == "/api/public/dataset-items":
            name = given["datasetName"]
            row = {"status": "ACTIVE", "input": None, "expectedOutput": None, "metadata": None, **given}
            row |= {"datasetId": name, "createdAt": NOW, "updatedAt": NOW, "mediaReferences": []}
            row["status"] = row["status"] or "ACTIVE"
            self.datasets[name][given["id"]] = row
            return 200, row
        if method == "GET" and path == "/api/public/dataset-items":
            rows = list(self.datasets[unquote_plus(query["datasetName"])].values())
            page, size = int(query.get("page", 1)), int(query.get("limit", 50))
            pages = max(1, -(-len(rows) // size))
            meta = {"page": page, "limit": size, "totalItems": len(rows), "totalPages": pages}
            return 200, {"data": rows[(page - 1) * size : page * size], "meta": meta}
        if method == "POST" and path == "/api/public/dataset-run-items":  # langfuse 4 links each item to its run
            row = {"id": given["datasetItemId"], "datasetRunId": "loopback-run", "datasetRunName": given["runName"]}
            row |= {key: given.get(key) for key in ("datasetItemId", "traceId", "observationId")}
            return 200, {**row, "createdAt": NOW, "updatedAt": NOW}
        return 404, {"message": f"{method} {path} is not served here"}


def _handler_of(server: LoopbackLangfuse) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._respond()

        def do_POST(self) -> None:
            self._respond()

        def _respond(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            parts = urlsplit(self.path)
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            status, answer = server.respond(self.command, parts.path, query, body)
            payload = json.dumps(answer).encode()
            try:
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(payload)))
                self.end_headers()
                self.wfile.write(payload)
            except OSError:
                pass  # the client has stopped waiting

        def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002 - its name in the base class
            pass

    return Handler


def _dataset_row(name: str) -> dict[str, Any]:
    return {"id": name, "name": name, "projectId": "loopback", "metadata": None, "createdAt": NOW, "updatedAt": NOW}


def _spans(body: bytes) -> list[Span]:
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    request = ExportTraceServiceRequest.FromString(body)
    return [
        Span(
            trace_id=span.trace_id.hex(),
            id=span.span_id.hex(),
            parent_id=span.parent_span_id.hex() or None,
            name=span.name,
            scope=of_scope.scope.name,
            attributes={pair.key: getattr(pair.value, str(pair.value.WhichOneof("value"))) for pair in span.attributes},
            start=datetime.fromtimestamp(span.start_time_unix_nano / 1e9, UTC),
            end=datetime.fromtimestamp(span.end_time_unix_nano / 1e9, UTC),
        )
        for of_resource in request.resource_spans
        for of_scope in of_resource.scope_spans
        for span in of_scope.spans
    ]
