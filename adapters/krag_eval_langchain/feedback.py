"""Send live scores to LangSmith, as feedback on the runs of the retrievals."""

from __future__ import annotations

import logging
import math
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from krag_eval.toolkit import describe_error, refuse, start_thread
from krag_eval_live import RetrievalSink, ScoredRetrieval, ScoredSession

_LOG = logging.getLogger("krag_eval.langsmith")
_NAMESPACE = uuid.UUID("b1f2a0c4-93c5-5a57-8f55-3f3e1d0c7a21")
_ATTEMPTS = 3
_MOST_PROBLEMS = 20


class _Run(NamedTuple):
    """A run in LangSmith, its trace and the name of its project."""

    run_id: str
    trace_id: str
    project: str


@dataclass(slots=True)
class FeedbackCounters:
    """What became of the scores.

    Attributes:
        sent: Scores that the client accepted. If it sends in the background, it does not say whether they arrived.
        failed: Scores that it could not send.
        skipped: Scores that are undefined, or of retrievals that LangSmith does not trace.
    """

    sent: int = 0
    failed: int = 0
    skipped: int = 0


class LangSmithFeedbackSink(RetrievalSink):
    """Sends live scores to LangSmith: `RetrievalScoringHandler(gold, sinks=[LangSmithFeedbackSink()])`.

    The scores of a retrieval become feedback on its own run; those of a function that `@scorer.retrieval` marks, on the
    run around it, such as that of `@traceable`; those of a session of several searches, on the first run of its trace.
    The ids of feedback are derived from the retrieval, so that sending it again overwrites it. Failures are counted and
    logged, never raised.

    Args:
        client: A `langsmith.Client`; None takes the one that LangSmith traces with.
        prefix: The prefix of all keys.
        extend_retention: Whether feedback keeps a trace for longer, as LangSmith does by default and bills.

    Attributes:
        counters: What became of the scores.
        problems: The first 20 failures.

    Raises:
        InvalidInputError: `client` is no LangSmith client.
    """

    fewest_searches = 2

    def __init__(self, client: Any = None, *, prefix: str = "", extend_retention: bool = True) -> None:
        if client is not None and not callable(getattr(client, "create_feedback", None)):
            refuse("client", "a LangSmith client", client, "Pass a `langsmith.Client()`, or leave it out.")
        self.counters, self.problems = FeedbackCounters(), list[str]()
        self._client, self._prefix = client, prefix
        self._further: dict[str, Any] = {} if extend_retention else {"extend_trace_retention": False}
        self._projects: dict[str, Any] = {}

    @property
    def client(self) -> Any:
        """The client; made or found when it is first needed."""
        if self._client is None:
            from langsmith.run_trees import get_cached_client

            self._client = get_cached_client()
        return self._client

    def locate(self, framework: str, run_id: object) -> _Run | None:
        """Return the run of a retrieval in LangSmith; None if it is not traced."""
        from langsmith.run_helpers import get_current_run_tree  # slow to import
        from langsmith.utils import get_tracer_project, tracing_is_enabled

        around = get_current_run_tree()
        if around is None and (framework != "langchain" or not tracing_is_enabled()):
            return None
        own = str(run_id if around is None or framework == "langchain" else around.id)
        if around is None:  # the retrieval begins the trace
            return _Run(own, own, str(get_tracer_project()))
        return _Run(own, str(around.trace_id), str(around.session_name))

    def on_retrieval_scored(self, retrieval: ScoredRetrieval, target: object | None) -> None:
        """Send the scores of a retrieval to its run."""
        comment = f"retrieved: {retrieval.n_retrieved}"
        if retrieval.result is not None:
            comment = f"gold: {retrieval.result.n_gold}, {comment}"
        self._send(retrieval.main_scores, target, retrieval.run_id, comment)

    def on_session_scored(self, session: ScoredSession, targets: Sequence[object | None]) -> None:
        """Send the scores of a session of several searches to the first run of its trace."""
        traces = {one._replace(run_id=one.trace_id) for one in targets if isinstance(one, _Run)}
        target = traces.pop() if len(traces) == 1 else None
        self._send(session.main_scores, target, session.session_id, f"searches: {len(session.row.searches)}")

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until the client has sent everything, at most `timeout` seconds; return whether it has."""
        if self._client is None:
            return True
        thread = start_thread(self._client.flush, "krag-eval-langsmith-flush")
        thread.join(timeout)
        return not thread.is_alive()

    def _send(self, scores: Mapping[str, float | None], target: object | None, identity: str, comment: str) -> None:
        values = {key: value for key, value in scores.items() if value is not None and math.isfinite(value)}
        if not isinstance(target, _Run):
            self.counters.skipped += len(scores)
            return
        self.counters.skipped += len(scores) - len(values)
        try:
            project = self._project(target.project)
        except Exception as error:  # noqa: BLE001 - the application goes on, and the error is counted
            self._count_failure(len(values), error)
            return
        for key, value in values.items():
            try:
                self.client.create_feedback(
                    target.run_id,
                    f"{self._prefix}{key}",
                    score=value,
                    trace_id=target.trace_id,
                    session_id=project,
                    feedback_id=uuid.uuid5(_NAMESPACE, f"{identity} {self._prefix}{key}"),
                    comment=comment,
                    stop_after_attempt=_ATTEMPTS,
                    **self._further,
                )
                self.counters.sent += 1
            except Exception as error:  # noqa: BLE001 - as above
                self._count_failure(1, error)

    def _project(self, name: str) -> Any:
        """Return the id of a project. LangSmith makes one with its first run, which may be on the way."""
        if name not in self._projects:
            try:
                found = self.client.read_project(project_name=name)
            except Exception:  # noqa: BLE001 - it is raised again, if it is not for that
                self.flush(10.0)
                found = self.client.read_project(project_name=name)
            self._projects[name] = found.id
        return self._projects[name]

    def _count_failure(self, n: int, error: Exception) -> None:
        self.counters.failed += n
        if len(self.problems) < _MOST_PROBLEMS:
            self.problems.append(describe_error(error, longest=300))
            _LOG.warning("krag_eval: scores did not reach LangSmith: %s", self.problems[-1])
