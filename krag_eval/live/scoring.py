"""The live scorer: retrievals come in on the application's threads and are scored on one of its own."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Unpack

from krag_eval.checks import check_count
from krag_eval.documents import read_leniently
from krag_eval.errors import InvalidInputError, KragEvalWarning
from krag_eval.evalset.question import DOC_KEY
from krag_eval.evaluation import evaluate
from krag_eval.live.gold_lookup import GoldLookup
from krag_eval.live.judge import RetrievalJudge
from krag_eval.live.monitor import Band, Departure, Monitor
from krag_eval.live.queue import WorkQueue
from krag_eval.live.records import ScoredRetrieval
from krag_eval.live.retrievals import LiveCounters, Retrieval
from krag_eval.live.sinks import Sinks
from krag_eval.measurement import MetricFunction
from krag_eval.results import EvaluationResult
from krag_eval.scorer import Scorer
from krag_eval.settings import ScoringSettings, make_settings

_LOG = logging.getLogger("krag_eval.live")
COUNT_KEYS = ("retrieved", "repeats", "empty")
MOST_AT_ONCE = 64
ENOUGH_TO_JUDGE = 20


class LiveScorer:
    """Scores retrievals against gold that is looked up by query id, then by the exact text of the query.

    `begin`, `end` and `fail` are called by an adapter on the application's threads: they are quick and never raise.

    Args:
        gold: An `EvalSet`, a list of `Question`, or a mapping from a query's id or text to its gold documents; None
            reports only what needs no gold.
        k: One cut-off or several.
        metrics: Names of `METRICS`, or functions; all by default.
        sinks: Receivers: `RetrievalSink` or plain `EvaluationCallback` objects.
        max_pending: How many retrievals may wait to be scored; what comes on top is dropped and counted.
        window: Over how many of the last retrievals `window_means` goes.
        bands: For keys to watch, `(lowest, highest)` mean over the window; None leaves an end open.
        on_departure: Called with a `Departure` when a mean leaves its band.
        level: `"chunk"` or `"document"`; at document level ids are read from the metadata under `doc_key`.
        doc_key: The metadata key of document ids.
        keep_documents: Keep every retrieval, so that `result()` has `per_query` and `explain`; memory grows with it.
        **settings: The scoring settings that `evaluate` takes, such as `match_method`.

    Attributes:
        counters: What became of the retrievals.
        problems: The last 20 things that went wrong.

    Raises:
        InvalidInputError: There is neither gold nor a sink, or something given cannot be used.
    """

    def __init__(
        self,
        gold: object = None,
        *,
        k: int | Sequence[int | None] | None = (5, 10),
        metrics: str | Sequence[str | MetricFunction] | None = None,
        sinks: Sequence[object] = (),
        max_pending: int = 10_000,
        window: int = 100,
        bands: Mapping[str, Band] | None = None,
        on_departure: Callable[[Departure], object] | None = None,
        level: str = "chunk",
        doc_key: str = DOC_KEY,
        keep_documents: bool = False,
        **settings: Unpack[ScoringSettings],
    ) -> None:
        if level == "document":
            settings.setdefault("match_method", "id")
            settings.setdefault("id_key", doc_key)
        self.counters = LiveCounters()
        self.problems: deque[str] = deque(maxlen=20)
        self._sinks = Sinks(sinks, self._problem)
        if gold is None and not self._sinks:
            raise InvalidInputError(
                "There is neither `gold` to score against nor a sink that would be told anything. "
                "Give gold documents, `sinks`, or both."
            )
        checked = make_settings(**settings)
        lookup = None if gold is None else GoldLookup(gold, checked, level=level, doc_key=doc_key)
        if lookup is not None and not len(lookup):
            raise InvalidInputError("`gold` holds no query. Give at least one, or None to report without gold.")
        self._scorer = Scorer(k, metrics=metrics, **settings)
        self._judge = RetrievalJudge(self._scorer, lookup, checked)
        self._monitor = Monitor(window, bands, on_departure, (*COUNT_KEYS, *self._scorer.keys))
        self._kept: list[tuple[Sequence[object], object, str, str]] | None = [] if keep_documents else None
        self._evaluation: dict[str, Any] = {"k": k, "metrics": metrics, **settings}
        self._max_pending = check_count("max_pending", max_pending)
        self._open: dict[str, Retrieval] = {}
        self._lock = threading.Lock()  # of what the application's threads and the scorer's both change
        self._scoring = threading.Lock()  # of the scorer
        self._queue: WorkQueue[Retrieval] = WorkQueue(self._score, self._max_pending, MOST_AT_ONCE)
        self._supply_checked = False

    def begin(
        self, framework: str, run_id: object, query: str, *, query_id: str | None = None, name: str | None = None
    ) -> None:
        """A retrieval starts: asked for now is what only its own thread and context know."""
        targets = self._sinks.locate(framework, run_id)
        started = Retrieval(framework, str(run_id), query, query_id, name, targets, time.perf_counter())
        with self._lock:
            if len(self._open) >= self._max_pending:  # the oldest one never ended
                self._open.pop(next(iter(self._open)))
                self.counters.seen += 1
                self.counters.dropped += 1
            self._open[started.run_id] = started

    def end(self, run_id: object, documents: Sequence[object]) -> None:
        """A retrieval ended with these documents, best first; they are read at once, for they may change later."""
        retrieval = self._close(run_id)
        if retrieval is None:
            return
        try:
            retrieval.documents = [read_leniently(document) for document in documents]
        except Exception as error:  # noqa: BLE001 - the application goes on, and the error is counted
            self._problem(f"a document cannot be read: {type(error).__name__}: {error!s:.200}")
        self._put(retrieval)

    def fail(self, run_id: object, error: BaseException) -> None:
        """A retrieval raised; where gold is known it counts as nothing retrieved."""
        retrieval = self._close(run_id)
        if retrieval is not None:
            retrieval.error = error
            self._problem(f"the retriever raised {type(error).__name__}: {error!s:.200}")
            self._put(retrieval)

    def drop(self, run_id: object) -> None:
        """A retrieval is not to be scored after all."""
        with self._lock:
            self._open.pop(str(run_id), None)

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until all that ended is scored and passed on; whether that was so within `timeout` seconds."""
        end = None if timeout is None else time.monotonic() + timeout
        done = self._queue.flush(timeout)
        self._sinks.flush(None if end is None else max(0.0, end - time.monotonic()))
        return done

    def result(self) -> EvaluationResult:
        """The result over all retrievals with gold that have ended so far.

        It is what `evaluate` gives for the same lists. Without `keep_documents` it has no `per_query` and `explain`.
        """
        self._queue.flush()
        with self._scoring:
            if self._kept:
                gold, retrieved, queries, ids = (list(column) for column in zip(*self._kept, strict=True))
                return evaluate(gold, retrieved, queries=queries, query_ids=ids, **self._evaluation)
            return self._scorer.result()

    def window_means(self) -> dict[str, float | None]:
        """The mean of each key over the last `window` retrievals; None where none of them has a value."""
        self._queue.flush()
        with self._scoring:
            return self._monitor.means()

    def _close(self, run_id: object) -> Retrieval | None:
        with self._lock:
            retrieval = self._open.pop(str(run_id), None)
        if retrieval is not None:
            retrieval.stop()
            self._sinks.locate(retrieval.framework, run_id, retrieval.targets)
        return retrieval

    def _score(self, batch: list[Retrieval]) -> None:
        """On the scorer's thread: score these, count them, and pass them on."""
        readable = [retrieval for retrieval in batch if retrieval.documents is not None or retrieval.error is not None]
        with self._scoring:
            outcomes = self._judge.score(readable)
            for retrieval, outcome in zip(readable, outcomes, strict=True):
                if isinstance(outcome, ScoredRetrieval):
                    self._keep(retrieval, outcome)
        n_unreadable = len(batch) - len(readable)
        for retrieval, outcome in zip(readable, outcomes, strict=True):
            if not isinstance(outcome, ScoredRetrieval):
                n_unreadable += 1
                self._problem(f"a retrieval cannot be scored: {type(outcome).__name__}: {outcome!s:.300}")
                continue
            with self._lock:
                self.counters.scored += outcome.result is not None
                self.counters.no_gold += outcome.result is None
                self.counters.no_target += self._sinks.lacks_target(retrieval.targets)
            self._watch(outcome)
            self._sinks.tell(outcome, retrieval.targets)
        with self._lock:
            self.counters.unreadable += n_unreadable
        self._check_supply()

    def _keep(self, retrieval: Retrieval, scored: ScoredRetrieval) -> None:
        gold = self._judge.gold_of(retrieval)
        if self._kept is not None and scored.result is not None and gold is not None:
            self._kept.append((gold[1], retrieval.ranking, retrieval.query, gold[0] or ""))

    def _watch(self, scored: ScoredRetrieval) -> None:
        try:
            self._monitor.add(scored.scores)
        except Exception as error:  # noqa: BLE001 - what the user's function raises stops nothing
            self._problem(f"on_departure: {type(error).__name__}: {error!s:.200}")

    def _check_supply(self) -> None:
        """Once, when there is enough to judge: warn of documents that can never match."""
        if self._supply_checked or self.counters.scored < ENOUGH_TO_JUDGE:
            return
        self._supply_checked = True
        try:
            self._scorer.check()
        except (InvalidInputError, KragEvalWarning) as error:  # a warning, where the application makes it an error
            self._problem(str(error))

    def _put(self, retrieval: Retrieval) -> None:
        accepted = self._queue.put(retrieval)
        with self._lock:
            self.counters.seen += 1
            self.counters.dropped += not accepted

    def _problem(self, message: str) -> None:
        with self._lock:
            self.counters.errors += 1
            first = not self.problems
            self.problems.append(message)
        _LOG.log(logging.WARNING if first else logging.DEBUG, "krag_eval: %s", message)
