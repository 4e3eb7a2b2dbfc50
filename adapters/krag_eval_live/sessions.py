"""Sessions of a running application: the searches under one root run, recorded as rows of a run and scored together."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from krag_eval import Document, EvaluationResult, InvalidInputError, Run, RunRow, Search
from krag_eval.datasets import Stage
from krag_eval.toolkit import NOT_ENDED, Copier, RetrievalScorer, describe_error
from krag_eval_live.gold import Gold, GoldLookup
from krag_eval_live.retrievals import Retrieval, TakenDocument, read_taken
from krag_eval_live.sinks import ScoredSession


@dataclass(slots=True)
class Session:
    """A session: first open, then what is known when its root run has ended.

    Attributes:
        session_id: The id of the root run.
        searches: Its searches, in the order in which they started.
        query_id: The id of the question that the root run was given, or None.
        query: The text that the root run was given, or None.
        cited: The documents that the answer cites, as they were then; None if that is not known.
        is_cancelled: Whether a search in it was cancelled.
        ended_at: When it ended, in UTC.
    """

    session_id: str
    searches: list[Retrieval] = field(default_factory=list)
    query_id: str | None = None
    query: str | None = None
    cited: list[TakenDocument | Document] | None = None
    is_cancelled: bool = False
    ended_at: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def n_late(self) -> int:
        """How many of its searches had not ended when it ended."""
        return sum(search.state == "late" for search in self.searches)

    def check_readable(self) -> None:
        """Read the documents of its searches.

        Raises:
            InvalidInputError: Those of one cannot be read.
        """
        for search in self.searches:
            if search.state != "late" and not search.is_readable():
                raise InvalidInputError(f"The documents of the search {search.query!r:.80} cannot be read.")

    @property
    def query_ids(self) -> list[str]:
        """The ids of questions that its root run and its searches were given."""
        given = (self.query_id, *(search.query_id for search in self.searches))
        return list(dict.fromkeys(query_id for query_id in given if query_id is not None))


class OpenSessions:
    """The sessions whose root run has not ended; many threads call this.

    Args:
        most: How many searches are kept in all open sessions. If there are more, the oldest session is dropped, since
            its root run may never end; what is searched in it later is ignored.
    """

    def __init__(self, most: int) -> None:
        self._most, self._n_searches = most, 0
        self._open: OrderedDict[str, Session | None] = OrderedDict()  # None for a session that was dropped
        self._lock = threading.Lock()

    def add(self, session_id: str, search: Retrieval) -> list[Session]:
        """Add a search that starts, and return the sessions that are dropped for it."""
        dropped = []
        with self._lock:
            session = self._open.setdefault(session_id, Session(session_id))
            if session is None:
                self._open.move_to_end(session_id)
                return []
            session.searches.append(search)
            self._n_searches += 1
            while self._n_searches > self._most:
                oldest = next(one for one in self._open.values() if one is not None)
                self._n_searches -= len(oldest.searches)
                self._open[oldest.session_id] = None
                self._open.move_to_end(oldest.session_id)
                dropped.append(oldest)
            if len(self._open) > 2 * self._most:  # most of them were dropped
                self._open.pop(next(key for key, one in self._open.items() if one is None))
        return dropped

    def find(self, session_id: str, run_id: str) -> Retrieval | None:
        """Return a search of an open session."""
        with self._lock:
            session = self._open.get(session_id)
            searches = [] if session is None else session.searches
            return next((search for search in searches if search.run_id == run_id), None)

    def end(self, session_id: str) -> Session | None:
        """Remove a session, leave out what is not scored, and note what is running; None if it is unknown."""
        with self._lock:
            session = self._open.pop(session_id, None)
            if session is None:
                return None
            self._n_searches -= len(session.searches)
        session.is_cancelled = any(search.state == "cancelled" for search in session.searches)
        searches = (search for search in session.searches if search.state in ("running", "ended"))
        session.searches = sorted(searches, key=lambda search: 0.0 if search.is_replayed else search.started)
        for search in session.searches:
            search.state = "late" if search.state == "running" else "ended"
        session.ended_at = datetime.now(UTC)
        return session


class SessionJudge:
    """Record sessions as rows of a run, and score those with gold; for one thread at a time.

    Args:
        gold: Finds the gold documents of a question.
        scorer: Scores them; it is asked for nothing that it keeps.
        choose_main: Returns those of the keys that are sent to sinks where each score costs.
        keep: Keep every session, for `run` and `result`.
    """

    def __init__(
        self,
        gold: GoldLookup,
        scorer: RetrievalScorer,
        choose_main: Callable[[Iterable[str]], tuple[str, ...]],
        *,
        keep: bool,
    ) -> None:
        self._gold, self._scorer, self._choose_main, self.keeps = gold, scorer, choose_main, keep
        self._copy = Copier(id_key=scorer.id_key)
        self._kept: list[tuple[Gold | None, RunRow, str]] = []

    def find(self, session: Session) -> Gold | None:
        """Return the gold of the session's question: by its id, else by the text of the root's input, or first search.

        Raises:
            InvalidInputError: Its searches are for several questions.
        """
        if len(ids := session.query_ids) > 1:
            raise InvalidInputError(
                f"The searches of one session are for several questions: {', '.join(ids)!s:.200}. Give each question a "
                "root run of its own."
            )
        texts = [text for text in (session.query, session.searches[0].query) if text]
        found = (self._gold.find(ids[0] if ids else None, text) for text in texts or [None])
        return next((one for one in found if one is not None), None)

    def score(self, session: Session, gold: Gold | None, *, with_values: bool) -> ScoredSession:
        """Record a session, and score it if its values are wanted.

        Raises:
            InvalidInputError: Its documents cannot be read.
        """
        query_id = gold[0] if gold is not None else next(iter(session.query_ids), None)
        row = self._row(session, query_id or session.session_id)
        if self.keeps and (gold is not None or not self._gold):
            self._kept.append((gold, row, str(session.query or session.searches[0].query)))
        values: dict[str, float | None] = {}
        if gold is not None and with_values:
            values = self._scorer.score_session(gold[1], row, **self._gold.rules_of([gold]))
        main = self._choose_main(values)
        return ScoredSession(session.session_id, query_id, row, values, session.n_late, session.ended_at, main)

    def run(self) -> Run:
        """Return the sessions that were kept; a question that was asked again has ` (2)` behind its id."""
        rows: dict[str, RunRow] = {}
        for _, row, _ in self._kept:
            query_id = _unique(row.query_id, rows)
            rows[query_id] = replace(row, query_id=query_id)
        return Run(name="live", rows=rows)

    def result(self) -> EvaluationResult:
        """Return the result over the sessions with gold that were kept; if each is one search, by all metrics."""
        kept = [(gold, row, text) for gold, row, text in self._kept if gold is not None]
        gold = [gold for gold, _, _ in kept]
        return self._scorer.evaluate_sessions(
            [documents for _, documents in gold],
            [row for _, row, _ in kept],
            queries=[text for _, _, text in kept],
            query_ids=[query_id for query_id, _ in gold],
            **self._gold.rules_of(gold),
        )

    def _row(self, session: Session, query_id: str) -> RunRow:
        searches = tuple(map(self._search, session.searches))
        cited = None if session.cited is None else self._copy(read_taken(session.cited))
        row = RunRow(query_id=query_id, searches=searches, cited=cited)
        if len(searches) > 1:
            return row
        return replace(row, retrieved=searches[0].retrieved, error=searches[0].error, seconds=searches[0].latency_s)

    def _search(self, search: Retrieval) -> Search:
        is_late = search.state == "late"
        error = NOT_ENDED if is_late else None if search.error is None else describe_error(search.error)
        stages = () if error is not None else tuple(self._stages(search))
        return Search(
            retrieved=()
            if error is not None
            else stages[-1].retrieved
            if stages
            else self._copy(search.documents or ()),
            query=None if search.query is None else str(search.query),
            latency_s=None if is_late or search.seconds != search.seconds else round(search.seconds, 6),
            tool=search.tool or search.name,
            error=error,
            stages=stages,
        )

    def _stages(self, search: Retrieval) -> Iterator[Stage]:
        """Yield the stages that the adapter gave, or else the retrievals inside this one, then this one."""
        if search.stages:
            for stage in search.stages:
                yield replace(stage, retrieved=self._copy(stage.retrieved))
        elif search.inner or search.later:
            taken: dict[str, object] = {}
            stages, before = self._tree(search, taken)
            yield from stages
            for later, documents in search.later:
                name, retrieved = _unique(later, taken), self._copy(read_taken(documents))
                yield Stage(name=name, retrieved=retrieved, inputs=(before,))
                taken[name], before = None, name

    def _tree(self, search: Retrieval, taken: dict[str, object]) -> tuple[list[Stage], str]:
        """Return the stages of a retrieval, itself last, and its name; names in `taken` are used up."""
        stages, inputs = [], []
        for inner in search.inner:
            if inner.state == "ended" and inner.error is None and inner.is_readable():
                found, name = self._tree(inner, taken)
                stages += found
                inputs.append(name)
        name = _unique(search.name or "retriever", taken)
        taken[name] = None
        own, seconds = self._copy(search.documents or ()), round(search.seconds, 6)
        return [*stages, Stage(name=name, retrieved=own, inputs=tuple(inputs), latency_s=seconds)], name


def _unique(name: str, taken: dict[str, object] | dict[str, RunRow]) -> str:
    """Return the name, with a number if it is taken."""
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name} ({number})"
    return free
