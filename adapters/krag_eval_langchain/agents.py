"""Record what a traced agent searches, as a handler sees it: what `run_agent(handler=...)` asks for."""

from __future__ import annotations

import asyncio
import inspect
import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from krag_eval import Question, RunRow, Search
from krag_eval.toolkit import Copier
from krag_eval_live import RetrievalSink, ScoredSession

# The key in the metadata of a traced call that says which attempt it is.
_ATTEMPT = "krag_attempt"


class TracedAgent(RetrievalSink):
    """An agent whose searches a handler sees; as its sink, it receives the sessions of each attempt.

    Args:
        agent: Called as `agent(question, config)`.
        handler: The class of the handler.
        k: How many documents of each search are kept.
        copy: Copies documents for the run.
        row: Returns a question, the answer, the searches and `copy` as a row of the run.
    """

    def __init__(
        self,
        agent: Callable[[str, Any], Any],
        handler: Callable[..., Any],
        k: int,
        copy: Copier,
        row: Callable[[Question, Any, Sequence[Search], Copier], RunRow],
    ) -> None:
        self._agent, self._k, self._copy, self._row = agent, k, copy, row
        self._handler = handler(sinks=[self], query_id_key=_ATTEMPT)
        self._attempts = itertools.count()
        self._sessions: dict[str, list[ScoredSession]] = {}

    def on_session_scored(self, session: ScoredSession, targets: Sequence[object | None]) -> None:  # noqa: ARG002
        """Keep the session, if its attempt is not over."""
        self._sessions.get(session.query_id or "", []).append(session)

    def __call__(self, question: Question) -> Any:
        """Ask the agent; the result has to be awaited if it is async."""
        attempt = str(next(self._attempts))
        self._sessions[attempt] = []
        metadata = {"krag_query_id": question.id, _ATTEMPT: attempt}
        try:
            answer = self._agent(question.question or "", {"callbacks": [self._handler], "metadata": metadata})
            if not inspect.isawaitable(answer):
                return self._finish(question, attempt, answer)
        except BaseException:
            self._sessions.pop(attempt, None)
            raise
        return self._finish_later(question, attempt, answer)

    async def _finish_later(self, question: Question, attempt: str, answer: Any) -> RunRow:
        try:
            return await asyncio.to_thread(self._finish, question, attempt, await answer)
        finally:
            self._sessions.pop(attempt, None)

    def _finish(self, question: Question, attempt: str, answer: Any) -> RunRow:
        self._handler.flush()
        sessions = self._sessions.pop(attempt, [])
        searches = [self._cut(search) for session in sessions for search in session.row.searches]
        return self._row(question, answer, searches, self._copy)

    def _cut(self, search: Search) -> Search:
        stages = [replace(stage, retrieved=self._copy(stage.retrieved)) for stage in search.stages]
        retrieved = self._copy(search.retrieved[: self._k])
        stages[-1:] = [replace(stage, retrieved=retrieved) for stage in stages[-1:]]
        return replace(search, retrieved=retrieved, stages=tuple(stages))
