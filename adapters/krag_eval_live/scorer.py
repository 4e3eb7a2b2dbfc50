"""Score retrievals of a running application on a separate thread."""

from __future__ import annotations

import functools
import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from typing import Any, Unpack, overload
from uuid import uuid4

from krag_eval import EvaluationResult, InvalidInputError, Run
from krag_eval.datasets import Stage
from krag_eval.toolkit import (
    DOC_KEY,
    LIVE_CUT_OFFS,
    IdKey,
    MetricFunction,
    OfOneProcess,
    ScoringSettings,
    as_id,
    check_count,
    check_names,
    check_number,
    describe_error,
    warn,
)
from krag_eval_live.alerts import Alert, Band, Scores, StartsToWatch, check_alerts, is_leak, mean_of
from krag_eval_live.bands import Bands
from krag_eval_live.functions import F, Place, Places, recorded
from krag_eval_live.judging import RetrievalJudge, yield_to_others
from krag_eval_live.retrievals import LiveCounters, Retrieval, take_documents
from krag_eval_live.sessions import OpenSessions, Session
from krag_eval_live.sinks import ScoredRetrieval, Sinks
from krag_eval_live.work import WorkQueue, register_background

_LOG = logging.getLogger("krag_eval.retrievers.live")
SWITCH = "KRAG_EVAL_LIVE"
# One of these is set where a process may be frozen after its answer: AWS Lambda, Cloud Run, Azure Functions, Vercel.
_FREEZES = ("AWS_LAMBDA_FUNCTION_NAME", "K_SERVICE", "FUNCTIONS_WORKER_RUNTIME", "VERCEL")
_FREEZE_SECONDS = 5.0
COUNT_KEYS = ("retrieved", "repeats", "empty")
MOST_AT_ONCE = 32
# How long a result waits for retrievals that are not scored yet, in seconds.
RESULT_TIMEOUT = 30.0
# After so many retrievals, documents that can never match are warned about.
ENOUGH_TO_JUDGE = 20
# The first leak of so many questions is an alert.
_MOST_LEAKED = 10_000


@functools.cache
def _say_once(message: str) -> None:
    _LOG.warning("%s", message)


class LiveOptions(ScoringSettings, total=False):
    """The arguments of `LiveScorer` beside the gold, for those who pass them on."""

    k: int | str | Sequence[int | str | None] | None
    metrics: Any
    sinks: object
    max_pending: int
    window: int
    bands: Mapping[str, Band] | None
    watch: StartsToWatch | None
    on_alert: Callable[[Alert], object] | None
    level: str
    doc_key: IdKey
    keep_documents: bool
    sample: float


class LiveScorer(OfOneProcess):
    """Score retrievals against gold that is looked up by query id, then by the exact text of the query.

    An adapter calls `begin`, `end`, `fail` and `drop` on the application's threads: they are fast and never raise. In a
    forked process, everything starts at zero.

    Args:
        gold: An `EvalSet`, a list of questions or rows, a pandas frame, or a mapping from a query's id or text to its
            gold documents; with None, only counts of documents are reported.
        k: One cut-off or several; None scores all ranks, `"2000tok"` what fits into 2,000 tokens.
        metrics: Names of `METRICS`, or functions; all by default.
        sinks: `RetrievalSink` or `EvaluationCallback` objects, which receive every scored retrieval.
        max_pending: How many retrievals may wait to be scored; any more are dropped and counted.
        window: The number of most recent retrievals whose means are watched.
        bands: For the keys to watch, the `(lowest, highest)` mean over the window; None leaves an end open.
        watch: Watches signals for changes, with a stated rate of false alarms and without gold, as a
            `krag_eval_monitor.Watch` says.
        on_alert: Called with an `Alert` when a mean leaves its band, when a signal has changed, and at once with the
            first forbidden document that is retrieved for a question.
        level: `"chunk"` or `"document"`; at document level, ids are read from the metadata under `doc_key`.
        doc_key: The metadata key of document ids.
        keep_documents: Keep every retrieval, so that `result()` has `per_query` and `explain`; memory then grows with
            each retrieval.
        sample: The share of sessions that is scored, from 0 to 1. The id of the root run decides, so that all
            searches of a session are scored, or none. The environment variable `KRAG_EVAL_LIVE=off` makes it 0.
        **settings: The scoring settings that `evaluate` takes. If the gold is an evaluation set, `match_method` is
            `"id"` by default, as in `evaluate_run`; otherwise `"text"`, as in `evaluate`.

    Attributes:
        counters: What became of the retrievals.
        session_counters: What became of the sessions: the retrievals that have the same `session_id`, in the order in
            which they started. `errors` counts searches that had not ended when their session ended.
        problems: The last 20 problems.
        sample: The share of sessions that is scored; also in the signature of the result, if it is below 1.

    Raises:
        InvalidInputError: There is neither gold nor a sink nor `on_alert`, or an argument cannot be used.
    """

    def __init__(
        self,
        gold: object = None,
        *,
        k: int | str | Sequence[int | str | None] | None = LIVE_CUT_OFFS,
        metrics: str | Sequence[str | MetricFunction] | None = None,
        sinks: object = (),
        max_pending: int = 10_000,
        window: int = 100,
        bands: Mapping[str, Band] | None = None,
        watch: StartsToWatch | None = None,
        on_alert: Callable[[Alert], object] | None = None,
        level: str = "chunk",
        doc_key: IdKey = DOC_KEY,
        keep_documents: bool = False,
        sample: float = 1.0,
        **settings: Unpack[ScoringSettings],
    ) -> None:
        check_names(settings, ScoringSettings.__annotations__)
        self._sinks = Sinks(sinks, self.report)
        self.places = Places()
        if gold is None and not self._sinks and on_alert is None:
            raise InvalidInputError(
                "There is neither `gold` to score against nor a sink to receive scores. Pass `gold`, `sinks` or both."
            )
        self.sample = check_number("sample", sample, least=0.0, most=1.0)
        self._judge = RetrievalJudge(
            gold,
            k=k,
            metrics=metrics,
            level=level,
            doc_key=doc_key,
            keep=keep_documents,
            settings=settings,
            sample=self.sample,
        )
        if os.environ.get(SWITCH, "").strip().lower() in ("off", "0", "false", "no"):
            self.sample = 0.0
            _say_once(f"krag_eval: {SWITCH} is off: no retrieval is scored, and no score is sent")
        self._max_pending = check_count("max_pending", max_pending)
        check_alerts(bands, on_alert, watch, has_rules=self._judge.has_rules)
        self._on_alert = on_alert
        self._window = check_count("window", window)
        keys = (*COUNT_KEYS, *self._judge.keys)
        self._start_bands = functools.partial(Bands, bands, keys) if bands else None
        self._start_watching = None if watch is None else functools.partial(watch.start, self._judge.keys)
        self.start_anew()
        register_background(self)

    def start_anew(self) -> None:
        """Forget all retrievals and counts, including those that are running or waiting."""
        self._judge.start_anew()
        self._last: deque[Scores] = deque(maxlen=self._window)
        self._leaked: set[str | None] = set()
        self._bands = None if self._start_bands is None else self._start_bands()
        self._watching = None if self._start_watching is None else self._start_watching()
        self.counters, self.session_counters = LiveCounters(), LiveCounters()
        self._sessions = OpenSessions(self._max_pending)
        self.problems: deque[str] = deque(maxlen=20)
        self._kinds_of_problems: set[str] = set()
        self._open: dict[str, Retrieval] = {}
        self._lock = threading.Lock()  # of what the application's threads and the scorer's both change
        self._scoring = threading.Lock()  # of the judge and what is watched
        self._queue: WorkQueue[Retrieval | Session] = WorkQueue(self._work, self._max_pending, MOST_AT_ONCE)

    @overload
    def retrieval(self, function: F) -> F: ...
    @overload
    def retrieval(
        self, function: None = None, *, query: str | None = None, name: str | None = None
    ) -> Callable[[F], F]: ...
    def retrieval(self, function: F | None = None, *, query: str | None = None, name: str | None = None) -> Any:
        """Score what a function returns: `@scorer.retrieval` or `@scorer.retrieval(query="text")`.

        The function is sync, async or a generator, and returns documents of any kind, best first, or the answer of a
        vector store. Its calls inside `question` are a session; every other call is one by itself. Retrievals inside it
        are not counted. What it raises is nothing retrieved, unless the call was cancelled.

        Args:
            function: The function.
            query: The argument that holds the question; by default `query`, `question` or another usual name, or else
                the first argument.
            name: The name of the retriever; by default that of the function.

        Raises:
            InvalidInputError: The function has no such argument.

        >>> scorer = LiveScorer({"When is it open?": ["hours"]}, match_method="id", k=1, metrics="recall")
        >>> @scorer.retrieval
        ... def search(query):
        ...     return [{"id": "hours", "text": "We open at nine."}]
        >>> search("When is it open?")
        [{'id': 'hours', 'text': 'We open at nine.'}]
        >>> scorer.result()["recall@1"]
        1.0
        """
        if function is None:
            return functools.partial(self.retrieval, query=query, name=name)
        return recorded(self, function, query, name)

    @contextmanager
    def question(
        self, query_id: object = None, text: str | None = None, *, flush: float | None = None
    ) -> Iterator[None]:
        """Make the searches in a `with` block a session of one question, whose gold is found by its id or text.

        Where frameworks report retrievers, tools and nodes to this scorer, those that run in the block belong to it,
        too. If the block is cancelled or interrupted, the session is left out and counted as cancelled.

        Args:
            query_id: The id of the question.
            text: Its text.
            flush: For processes that may stop without an exit, such as a serverless function or one that SIGTERM kills:
                wait at the end of the block until the scores are sent, so many seconds at most. By default, wait five
                seconds on AWS Lambda, Cloud Run, Azure Functions and Vercel, and not at all elsewhere.
        """
        if flush is None and any(name in os.environ for name in _FREEZES):
            flush = _FREEZE_SECONDS
        asked = Place(uuid4().hex, as_id(query_id), text)
        token = self.places.opened.set(asked)
        try:
            yield
        except BaseException as error:
            if not isinstance(error, Exception):
                self.cancel_session(asked.session_id)
            raise
        finally:
            self.places.opened.reset(token)
            self.end_session(asked.session_id, query_id=asked.query_id, query=asked.question)
            if flush is not None:
                LiveScorer.flush(self, flush)

    def place_here(self) -> Place:
        """Return where a retrieval that starts here belongs; adapters also know the runs of their framework."""
        return self.places.opened.get() or Place()

    def begin_here(self, query: object, name: str) -> str:
        """Note that a retrieval starts, in the place where this is called; return its id."""
        run_id, place = uuid4().hex, self.place_here()
        self.begin(
            "python",
            run_id,
            query,
            query_id=place.query_id,
            question=place.question,
            name=name,
            session_id=place.session_id or run_id,
        )
        return run_id

    def end_here(self, run_id: str, documents: object) -> None:
        """Note what the retrieval returned, or that it raised this."""
        if isinstance(documents, BaseException):
            self.fail(run_id, documents)
        else:
            self.end(run_id, documents)
        self.end_session(run_id)  # if it is one by itself

    def begin(
        self,
        framework: str,
        run_id: object,
        query: object,
        *,
        query_id: str | None = None,
        question: str | None = None,
        name: str | None = None,
        session_id: object = None,
        tool: str | None = None,
        stage_of: object = None,
        is_scored: bool = True,
        seconds: float | None = None,
        started: float | None = None,
        targets: list[object | None] | None = None,
    ) -> None:
        """Note that a retrieval starts, and where its scores belong, which only its own context knows.

        Args:
            framework: `"langchain"`, `"llama_index"`, or `"python"` for functions.
            run_id: The framework's id of the retrieval.
            query: The text of the query.
            query_id: The id of the question, if the application gave one.
            question: The text that the root run was asked, whose gold counts if there is none for `query`.
            name: The name of the retriever.
            session_id: The id of the root run that it is a search of; None if it is no search of a session.
            tool: The name of the tool that searches, if there is one.
            stage_of: The id of the retrieval around this one, of which this one is a stage.
            is_scored: Whether it is scored by itself.
            seconds: How long it took, if it has ended long ago, NaN if that is unknown; by default that is measured.
            started: When it started, by `time.perf_counter`, if only its end shows that it is a retrieval.
            targets: Where its scores belong, as `locate` returned it when it started.
        """
        if self._is_left_out(run_id, session_id, stage_of):
            with self._lock:
                self.counters.not_sampled += is_scored
            return
        if targets is None:
            targets = self._sinks.locate(framework, run_id) if is_scored else []
        began = time.perf_counter() if started is None else started
        retrieval = Retrieval(framework, str(run_id), query, query_id, name, targets, began)
        retrieval.question, retrieval.tool, retrieval.is_scored = question, tool, is_scored
        if seconds is not None:
            retrieval.seconds, retrieval.is_replayed = seconds, True
        with self._lock:
            if len(self._open) >= self._max_pending:  # the oldest one never ended
                oldest = self._open.pop(next(iter(self._open)))
                oldest.state = "dropped"
                self.counters.seen += oldest.is_scored
                self.counters.dropped += oldest.is_scored
            self._open[retrieval.run_id] = retrieval
            outer = None if stage_of is None else self._open.get(str(stage_of))
            if outer is not None:
                outer.inner.append(retrieval)
        for session in [] if session_id is None else self._sessions.add(str(session_id), retrieval):
            self._count_session(dropped=1)
            self._note("a session never ended", f"{session.session_id}, after {len(session.searches)} searches")

    def locate(self, framework: str, run_id: object) -> list[object | None]:
        """Return where the scores of a run belong, for each sink; for runs whose end shows what they are.

        Errors are not counted: if it turns out to be a retrieval, the sink is asked again.
        """
        return self._sinks.locate(framework, run_id, reports=False) if self.sample else []

    def _is_left_out(self, run_id: object, session_id: object, stage_of: object) -> bool:
        """Whether a retrieval is not in the sample: one that is a stage is, if the retrieval around it is."""
        if self.sample >= 1:
            return False
        if stage_of is not None:
            return str(stage_of) not in self._open
        key = run_id if session_id is None else session_id
        return int.from_bytes(blake2b(str(key).encode(), digest_size=8).digest()) >= self.sample * 2**64

    def end(self, run_id: object, documents: object, stages: Sequence[Stage] = ()) -> None:
        """Note that a retrieval returned these documents, best first; they are copied, since they may change.

        Args:
            run_id: The framework's id of the retrieval.
            documents: The documents.
            stages: The stages of its pipeline, the last of which is what it returned; without them, the retrievals that
                began with `stage_of=run_id` are its stages.
        """
        retrieval = self._close(run_id)
        if retrieval is None:
            return
        retrieval.stages = stages
        try:
            retrieval.taken = take_documents(documents)
        except Exception as error:  # noqa: BLE001 - the application goes on, and the error is counted
            self.report("documents cannot be read", error)
        self._put(retrieval)

    def add_stage(self, session_id: object, run_id: object, name: str, documents: object) -> None:
        """Note that a later stage, such as a reranker, was given what a search of an open session had returned.

        The session is scored by what the last stage returned; the scores of the retrieval itself are not changed.

        Args:
            session_id: The id of the root run.
            run_id: The framework's id of the search.
            name: The name of the stage.
            documents: What it returned, best first.
        """
        search = self._sessions.find(str(session_id), str(run_id))
        if search is not None:
            search.later.append((name, take_documents(documents)))

    def fail(self, run_id: object, error: BaseException) -> None:
        """Note that a retrieval raised; with gold it counts as nothing retrieved, unless it was cancelled."""
        retrieval = self.hold(run_id, error)
        if retrieval is not None:
            self.release(retrieval)

    def hold(self, run_id: object, error: BaseException) -> Retrieval | None:
        """Note that a retrieval raised, and return it; it counts only once it is released.

        For frameworks that may repeat or replace it: then the application never gets this failure. A call that was
        cancelled or interrupted is left out and counted as cancelled: nobody waited for its result.
        """
        if not isinstance(error, Exception):
            self.drop(run_id, is_cancelled=True)
            return None
        retrieval = self._close(run_id)
        if retrieval is None:
            return None
        retrieval.state = "held"
        if not retrieval.is_scored:
            return None  # it fails the retrieval around it, or is replaced there
        retrieval.error = error
        self.report("the retriever raised", type(error).__name__)  # the message may contain a secret
        return retrieval

    def release(self, retrieval: Retrieval, documents: object = None) -> None:
        """Count a retrieval that was held: as one that raised, or with the documents that the application got."""
        if documents is not None:
            retrieval.taken, retrieval.error = take_documents(documents), None
        self._put(retrieval)

    def drop(self, run_id: object, *, is_cancelled: bool = False) -> None:
        """Forget a retrieval that is not to be scored, and count it if it was cancelled."""
        with self._lock:
            retrieval = self._open.pop(str(run_id), None)
            if retrieval is not None:
                retrieval.state = "cancelled" if is_cancelled else "dropped"
                self.counters.cancelled += is_cancelled and retrieval.is_scored

    def end_session(
        self, session_id: object, *, query_id: str | None = None, query: str | None = None, cited: object = None
    ) -> None:
        """Note that the root run of a session has ended; nothing happens if nothing was searched in it.

        Args:
            session_id: The id of the root run.
            query_id: The id of the question, if the root run was given one.
            query: The text that the root run was given; its gold is looked up before that of the first search.
            cited: The documents that the answer cites, if that is known.
        """
        session = self._sessions.end(str(session_id))
        if session is None or not session.searches:
            self._count_session(seen=0, cancelled=int(session is not None and session.is_cancelled))
            return
        session.query_id, session.query = query_id, query
        try:
            session.cited = None if cited is None else take_documents(cited)
        except Exception as error:  # noqa: BLE001 - as in `end`
            self.report("cited documents cannot be read", error)
        self._count_session(dropped=int(not self._queue.put(session)), errors=session.n_late)
        if session.n_late:
            self._note("a session ended before its searches", f"{session.n_late} of {len(session.searches)} searches")

    def cancel_session(self, session_id: object) -> None:
        """Note that the root run of a session was cancelled or interrupted: it and what runs in it are left out.

        Retrievals in it that have ended are scored by themselves.
        """
        session = self._sessions.end(str(session_id))
        if session is not None:
            for search in session.searches:
                self.drop(search.run_id, is_cancelled=True)
            self._count_session(seen=0, cancelled=int(bool(session.searches) or session.is_cancelled))

    def report(self, kind: str, what: str | BaseException) -> None:
        """Count a problem, and log the first of each kind as a warning, without credentials."""
        with self._lock:
            self.counters.errors += 1
        self._note(kind, describe_error(what, longest=300) if isinstance(what, BaseException) else what)

    def _note(self, kind: str, what: str) -> None:
        with self._lock:
            first = kind not in self._kinds_of_problems
            self._kinds_of_problems.add(kind)
            self.problems.append(f"{kind}: {what}")
        _LOG.log(logging.WARNING if first else logging.DEBUG, "krag_eval: %s: %s", kind, what)

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until all retrievals are scored and sent; return False if that takes longer than `timeout` seconds."""
        end = None if timeout is None else time.monotonic() + timeout
        scored = self._queue.flush(timeout)
        return self._sinks.flush(end) and scored

    @property
    def n_waiting(self) -> int:
        """How many retrievals and sessions are not scored yet."""
        return self._queue.n_waiting

    def result(self) -> EvaluationResult:
        """Return the result over all retrievals with gold that have ended.

        It is what `evaluate` returns for the same lists, without `per_query` and `explain` unless `keep_documents` is
        set. If a sink blocks the scorer for half a minute, retrievals that still wait are left out, and a warning says
        how many.
        """
        with self._settled():
            return self._judge.result()

    def sessions(self) -> Run:
        """Return the sessions with gold as the rows of a run, in the order in which they ended; without gold, all.

        A question that was asked again has ` (2)` behind its id.

        Raises:
            InvalidInputError: `keep_documents` is not set.
        """
        with self._settled(needs_sessions=True):
            return self._judge.sessions.run()

    def session_result(self) -> EvaluationResult:
        """Return the result over all sessions with gold: what `evaluate_run` returns for their questions.

        If every session is one search, it has the metrics of `result()`, too.

        Raises:
            InvalidInputError: `keep_documents` is not set.
        """
        with self._settled(needs_sessions=True):
            return self._judge.sessions.result()

    def window_means(self) -> dict[str, float | None]:
        """Return the mean of each key over the last `window` retrievals; None if none of them has a value."""
        with self._settled():
            keys = dict.fromkeys(key for row in self._last for key in row)
            return {key: mean_of(self._last, key)[0] for key in keys}

    def watch_status(self) -> dict[str, dict[str, int]]:
        """Return for each watched signal how many values it had, were missing or unusable; empty without `watch`."""
        with self._settled():
            return {} if self._watching is None else self._watching.status()

    def _settled(self, *, needs_sessions: bool = False) -> threading.Lock:
        """Wait until all retrievals are scored, and return the lock under which results are made of them."""
        if needs_sessions and not self._judge.sessions.keeps:
            raise InvalidInputError("The documents of the sessions are not kept. Pass keep_documents=True.")
        left = self._queue.left_after(RESULT_TIMEOUT)
        if left:
            warn(
                f"{left:,} retrievals are left out: after {RESULT_TIMEOUT:g} s they still wait to be scored, because a "
                "sink or `on_alert` does not return. Give it a time limit of its own."
            )
        return self._scoring

    def _close(self, run_id: object) -> Retrieval | None:
        with self._lock:
            retrieval = self._open.pop(str(run_id), None)
        if retrieval is not None:
            retrieval.stop()
            if retrieval.is_scored:
                self._sinks.locate(retrieval.framework, run_id, retrieval.targets)
        return retrieval

    def _put(self, retrieval: Retrieval) -> None:
        if retrieval.state != "late":
            retrieval.state = "ended"
        if not retrieval.is_scored:
            return
        accepted = self._queue.put(retrieval)
        with self._lock:
            self.counters.seen += 1
            self.counters.dropped += not accepted

    def _count_session(self, **outcome: int) -> None:
        with self._lock:
            for name, n in {"seen": 1, **outcome}.items():
                setattr(self.session_counters, name, getattr(self.session_counters, name) + n)

    def _work(self, items: list[Retrieval | Session]) -> None:
        """Score these retrievals and sessions, count them, and pass them on; called on the scorer's thread."""
        if retrievals := [item for item in items if isinstance(item, Retrieval)]:
            self._score_retrievals(retrievals)
        for item in items:
            if isinstance(item, Session):
                self._score_session(item)

    def _score_session(self, session: Session) -> None:
        judge, wanted, scored = self._judge.sessions, self._sinks.want_session(len(session.searches)), None
        try:
            session.check_readable()
            with self._scoring:
                gold = judge.find(session)
                if wanted or judge.keeps:
                    scored = judge.score(session, gold, with_values=wanted)
        except Exception as error:  # noqa: BLE001 - a metric of the user's own may raise anything
            self._count_session(seen=0, unreadable=1)
            self._note("a session cannot be scored", describe_error(error, longest=300))
            return
        self._count_session(seen=0, scored=int(gold is not None), no_gold=int(gold is None))
        yield_to_others()
        if scored is not None and wanted:
            self._sinks.tell_session(scored, [search.targets for search in session.searches])

    def _score_retrievals(self, batch: list[Retrieval]) -> None:
        readable = [retrieval for retrieval in batch if self._is_readable(retrieval)]
        with self._scoring:
            outcomes = self._judge.score(readable)
        yield_to_others()
        with self._lock:
            self.counters.unreadable += len(batch) - len(readable)
        for retrieval, outcome in zip(readable, outcomes, strict=True):
            if isinstance(outcome, ScoredRetrieval):
                self._pass_on(retrieval, outcome)
            else:
                with self._lock:
                    self.counters.unreadable += 1
                self.report("a retrieval cannot be scored", outcome)
        with self._scoring:
            try:
                self._judge.check_documents(ENOUGH_TO_JUDGE)
            except UserWarning as warning:  # the application turns warnings into errors
                self.report("documents that never match", str(warning))

    def _is_readable(self, retrieval: Retrieval) -> bool:
        try:
            return retrieval.is_readable()
        except Exception as error:  # noqa: BLE001 - as in `end`
            self.report("documents cannot be read", error)
            return False

    def _leaks(self, scored: ScoredRetrieval) -> Iterator[Alert]:
        """Yield an alert for the first forbidden document of each question, whatever the means say."""
        leaks = [] if scored.result is None else [key for key, one in scored.result.values.items() if is_leak(key, one)]
        if leaks and scored.query_id not in self._leaked and len(self._leaked) < _MOST_LEAKED:
            self._leaked.add(scored.query_id)
            yield Alert(leaks[-1], 1.0, None, 0.0, 1, questions=(scored.query,))

    def _pass_on(self, retrieval: Retrieval, scored: ScoredRetrieval) -> None:
        with self._lock:
            self.counters.scored += scored.result is not None
            self.counters.no_gold += scored.result is None
            self.counters.no_target += self._sinks.lacks_target(retrieval.targets)
        with self._scoring:
            self._last.append(scored.scores)
            alerts: list[Alert] = list(self._leaks(scored))
            if self._bands is not None and len(self._last) == self._window:
                alerts += self._bands.check(self._last)
            if self._watching is not None:
                alerts += self._watching.add(scored, retrieval.documents)
        for alert in alerts:
            try:
                if self._on_alert is not None:
                    self._on_alert(alert)
            except Exception as error:  # noqa: BLE001 - what the user's function raises stops nothing
                self.report("on_alert", error)
        self._sinks.tell(scored, retrieval.targets)
