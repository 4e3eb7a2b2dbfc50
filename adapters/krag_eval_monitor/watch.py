"""Watch a stream of retrievals for changes, with or without gold, and with a stated probability of a false alarm."""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, NamedTuple

from krag_eval import Document, InvalidInputError, Run, RunRow
from krag_eval.toolkit import (
    as_id,
    as_key,
    as_number,
    check_count,
    check_number,
    did_you_mean,
    one_of,
    read_leniently,
    refuse,
    show,
    warn,
)
from krag_eval_live import Alert, ScoredRetrieval
from krag_eval_monitor.changes import ChangeDetector, Ranks, choose_bets

SIGNALS = {"empty": "up", "repeats": "up", "retrieved": "both", "seconds": "up", "top_score": "both"}
"""What every stream has, and in which direction a change of it matters."""
OVERLAP = "overlap"
DIRECTIONS = ("down", "up", "both")
SEASONS = ("day", "week")
FEWEST = 100
RECENT = 100
MOST_KEPT = 10_000
MOST_SHOWN = 10
# Threads end retrievals a little out of order; from here on it is the clock.
CLOCK_TOLERANCE = timedelta(seconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """What to watch in a stream of retrievals, and how often a false alarm may happen.

    A question that is the same as one of the last 100 different ones is not counted again: retrievals that depend on
    each other would cause false alarms.

    While the retrievals are exchangeable (their order tells nothing), the probability of any alarm within a year of
    `365 * retrievals_per_day` retrievals is at most `false_alarms_per_year`, for all signals together and whatever
    their distributions are. With more retrievals than that, it grows in proportion.

    Attributes:
        signals: The keys to watch, or for each key the direction that matters: `"down"`, `"up"` or `"both"`. By
            default `empty`, `repeats`, `retrieved`, `seconds` and `top_score`, and with canaries `overlap`. With gold
            also metrics such as `hit_rate@5`, for which `"down"` is the default.
        reference: How many first values of a signal say what is usual, at least 100. There is no alarm among them. Or
            a recorded run, whose rows come first.
        retrievals_per_day: The expected traffic.
        false_alarms_per_year: The probability of an alarm within a year without a change, between 0 and 1.
        season: `"day"` compares a value with values of the same hour of the day, in UTC, `"week"` also tells weekdays
            from weekends. By default, with all values.
        canaries: Questions with a known result: a run recorded with the last index, or a mapping from the id or text of
            a question to the retrieved ids. `overlap` is the share of these ids that is found again within as many
            ranks. Among the other signals, retrievals for these questions count only for metrics.

    Raises:
        InvalidInputError: A value cannot be used.
    """

    signals: Sequence[str] | Mapping[str, str] | None = None
    reference: int | Run = 2_000
    retrievals_per_day: float = 100
    false_alarms_per_year: float = 0.05
    season: str | None = None
    canaries: Run | Mapping[str, Sequence[object]] | None = None

    def __post_init__(self) -> None:
        size = len(self.reference.rows) if isinstance(self.reference, Run) else check_count("reference", self.reference)
        if size < FEWEST:
            raise InvalidInputError(f"`reference` has {size} retrievals, too few to say what is usual. Give {FEWEST}.")
        meaning = "Give what you expect: the probability of a false alarm is that of 365 such days."
        check_number("retrievals_per_day", self.retrievals_per_day, meaning, above=0)
        check_number("false_alarms_per_year", self.false_alarms_per_year, above=0, below=1)
        if self.season is not None:
            one_of("season", self.season, SEASONS)
        _canary_ids(self.canaries)
        self.directions()

    def directions(self, keys: Sequence[str] | None = None) -> dict[str, str]:
        """Return the direction of each signal.

        Args:
            keys: The keys of metrics that exist; None if they are not known.

        Raises:
            InvalidInputError: There is no signal, or a key or a direction does not exist.
        """
        further = {} if self.canaries is None else {OVERLAP: "down"}
        if self.signals is None:
            return SIGNALS | further
        given = self.signals if isinstance(self.signals, Mapping) else {}
        if isinstance(self.signals, str) or not self.signals:
            refuse("signals", "a list of keys", self.signals, "Give ['empty'].")
        known = [*SIGNALS, *further, *(keys or ())]
        chosen: dict[str, str] = {}
        for name in self.signals:
            key = name if name in known or keys is None else as_key(name)
            if keys is not None and key not in known:
                more = " `overlap` needs `canaries`." if key == OVERLAP else did_you_mean(name, known)
                raise InvalidInputError(f"`signals` names {show(name)}.{more} Known keys: {', '.join(known)}.")
            chosen[key] = one_of("signals", given.get(name, (SIGNALS | further).get(key, "down")), DIRECTIONS)
        return chosen

    def start(self, keys: Sequence[str] | None = None) -> Watching:
        """Begin to watch a new stream.

        Args:
            keys: The keys of metrics that exist; None if they are not known.

        Raises:
            InvalidInputError: A signal does not exist.
        """
        return Watching(self, keys)

    def find_changes(self, retrievals: Run | Iterable[object]) -> list[Alert]:
        """Return the alerts of recorded retrievals, in the order in which they were made.

        Args:
            retrievals: A run, its rows, the `ScoredRetrieval` objects of a sink, or mappings from signals to values
                with, if known, `question` and `time` (a datetime). Numbers in alerts count them from 1.

        Raises:
            InvalidInputError: A retrieval is something else.

        Warns:
            KragEvalWarning: A signal has too few values for a reference, or values that are no numbers.
        """
        watching = self.start()
        alerts = [
            alert
            for one in (retrievals.rows.values() if isinstance(retrievals, Run) else retrievals)
            for alert in watching.add(one)
        ]
        for key, counts in watching.status().items():
            if key != "stream" and (counts["unusable"] or counts["values"] < watching.reference):
                few = " It was not watched. Give more retrievals, or a smaller reference."
                warn(
                    f"{key}: {counts['values']:,} values, {counts['missing']:,} missing, {counts['unusable']:,} not "
                    f"finite numbers; the reference takes {watching.reference:,}."
                    + (few if counts["values"] < watching.reference else "")
                )
        if watching.stream["backwards"]:
            late = watching.stream["backwards"]
            warn(f"In {late:,} retrievals the time is before that of the last. Give them in order.")
        return alerts


class _Moment(NamedTuple):
    """Which retrieval it was."""

    number: int
    time: datetime | None
    question: str


class Watching:
    """What a `Watch` has seen of one stream; for one thread at a time.

    Args:
        watch: What to watch.
        keys: The keys of metrics that exist; None if they are not known.

    Attributes:
        reference: How many first values of each signal are its reference.
        stream: How many retrievals were `backwards`, more than a second before the last one, or `repeated`.

    Raises:
        InvalidInputError: A signal does not exist.
    """

    def __init__(self, watch: Watch, keys: Sequence[str] | None = None) -> None:
        run = watch.reference if isinstance(watch.reference, Run) else None
        self.reference = len(run.rows) if run is not None else int(watch.reference)  # type: ignore[arg-type]
        self.stream = {"backwards": 0, "repeated": 0}
        self._season, self._canaries = watch.season, _canary_ids(watch.canaries)
        directions = watch.directions(keys)
        # Doob's inequality for each signal, Bonferroni's for all of them.
        limit = 365 * watch.retrievals_per_day * len(directions) / watch.false_alarms_per_year
        self._signals = [_Signal(*item, self.reference, limit) for item in directions.items()]
        self._last: datetime | None = None
        self._recent: deque[str] = deque(maxlen=RECENT)
        self._n = 0
        for row in run.rows.values() if run is not None else ():
            self.add(row)
        self._n = 0

    def add(self, retrieval: object, documents: Sequence[Document] | None = None) -> list[Alert]:
        """Add a retrieval, and return an alert for each signal that has changed.

        Args:
            retrieval: What `Watch.find_changes` takes as one.
            documents: Those of a `ScoredRetrieval`, which does not hold them.
        """
        question, time, values = self._read(retrieval, documents)
        self._n += 1
        if question and OVERLAP not in values:
            if question in self._recent:
                self.stream["repeated"] += 1
                return []
            self._recent.append(question)
        if time is not None:
            time = time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
            if self._last is not None and time < self._last - CLOCK_TOLERANCE:
                self.stream["backwards"] += 1
            self._last = time
        moment = _Moment(self._n, time, question)
        is_weekend = self._season == "week" and time is not None and time.weekday() >= 5
        season = None if self._season is None or time is None else (time.hour, is_weekend)
        found = (signal.add(values.get(signal.key), moment, season) for signal in self._signals)
        return [alert for alert in found if alert is not None]

    def status(self) -> dict[str, dict[str, int]]:
        """Return the counts of each signal and of the `stream`.

        A signal has so many `values`, `missing` and `unusable` ones, and is `watched` once it has a reference.
        """
        counts = {signal.key: signal.counts | {"watched": signal.is_watched} for signal in self._signals}
        return counts | {"stream": dict(self.stream)}

    def _read(
        self, retrieval: object, documents: Sequence[Document] | None
    ) -> tuple[str, datetime | None, Mapping[str, Any]]:
        if isinstance(retrieval, Mapping):
            time = retrieval.get("time")
            return str(retrieval.get("question", "")), time if isinstance(time, datetime) else None, retrieval
        metrics: Mapping[str, float | None] = {}
        counts: Mapping[str, float | None]
        if isinstance(retrieval, RunRow):
            documents, names, time = retrieval.found, [retrieval.query_id], None
            repeats = len(documents) - len({document.id or document.text for document in documents})
            counts = {"retrieved": len(documents), "repeats": repeats, "empty": int(not documents)}
        elif isinstance(retrieval, ScoredRetrieval):
            names, time, counts = [retrieval.query_id or "", retrieval.query], retrieval.ended_at, retrieval.scores
            metrics = metrics if retrieval.result is None else retrieval.result.values
        else:
            refuse("retrieval", "a RunRow, a ScoredRetrieval or a mapping", retrieval)
        ids = next((self._canaries[name] for name in names if name in self._canaries), None)
        if ids is not None:
            return names[-1], time, {**metrics, OVERLAP: _overlap(documents or (), ids)}
        seconds = retrieval.seconds if retrieval.error is None else None
        return names[-1], time, {**counts, "seconds": seconds, "top_score": documents[0].score if documents else None}


class _Signal:
    """The values of one key since its reference began."""

    def __init__(self, key: str, direction: str, reference: int, limit: float) -> None:
        self.key = key
        self.counts = {"values": 0, "missing": 0, "unusable": 0}
        self._direction, self._reference, self._limit = direction, reference, limit
        self._random = Random(key)  # the same alarms for the same stream
        self._start_anew()

    def _start_anew(self) -> None:
        self._first: list[float] = []  # only to choose the bets; the ranks begin after it
        self._ranks: defaultdict[object, Ranks] = defaultdict(lambda: Ranks(self._random))
        self._detector: ChangeDetector | None = None
        self._kept: deque[tuple[int, float, _Moment]] = deque(maxlen=MOST_KEPT)
        self._n, self._sum = 0, 0.0

    @property
    def is_watched(self) -> bool:
        return self._detector is not None

    def add(self, value: object, moment: _Moment, season: object) -> Alert | None:
        """Add a value, and return an alert if the signal has changed."""
        number = as_number(value)
        if number is None or not math.isfinite(number):
            self.counts["missing" if value is None else "unusable"] += 1
            return None
        self.counts["values"] += 1
        self._n += 1
        self._sum += number
        if self._n <= self._reference // 4:
            self._first.append(number)
            return None
        p = self._ranks[season].add(number)
        self._kept.append((self._n, number, moment))
        if self._detector is not None:
            self._detector.update(p)
            if self._detector.evidence >= self._limit:
                alert = self._alert(self._detector)
                self._start_anew()
                return alert
        elif self._n >= self._reference:
            self._detector = ChangeDetector(*choose_bets(self._first, self._direction), self._n)
        return None

    def _alert(self, detector: ChangeDetector) -> Alert:
        start, is_rise = detector.strongest()
        since = [kept for kept in self._kept if kept[0] > start]
        total = math.fsum(value for _, value, _ in since)
        reference = (self._sum - total) / (self._n - len(since))
        telling = sorted((kept for kept in since if kept[1] != reference), key=lambda kept: kept[1], reverse=is_rise)
        questions = [moment.question for _, value, moment in telling if (value > reference) == is_rise]
        first = since[0][2]
        return Alert(
            self.key,
            total / len(since),
            None,
            None,
            len(since),
            since=first.number,
            since_time=first.time,
            reference=reference,
            questions=tuple(dict.fromkeys(questions))[:MOST_SHOWN],
        )


def _canary_ids(canaries: object) -> dict[str, tuple[str, ...]]:
    if canaries is None:
        return {}
    if isinstance(canaries, Run):
        canaries = {query_id: row.ranking for query_id, row in canaries.rows.items()}
    if not isinstance(canaries, Mapping) or not canaries:
        cure = "Record one with `run_retriever`, or leave it out."
        refuse("canaries", "a run or a mapping from questions to ids", canaries, cure)
    found: dict[str, tuple[str, ...]] = {}
    for question, documents in canaries.items():
        listed = [] if isinstance(documents, str) or not isinstance(documents, Iterable) else list(documents)
        ids = [as_id(one) or read_leniently(one).id for one in listed]
        if None in ids or (not listed and documents != [] and documents != ()):
            refuse(f"canaries[{show(question)}]", "a list of ids", documents, "Give ['d1', 'd2'].")
        found[as_id(question) or str(question)] = tuple(dict.fromkeys(id_ for id_ in ids if id_ is not None))
    return found


def _overlap(documents: Sequence[Document], ids: tuple[str, ...]) -> float:
    if not ids:
        return float(not documents)
    return len({*ids} & {document.id for document in documents[: len(ids)]}) / len(ids)
