"""What a retriever returned for the questions of an evaluation set, and how long it took."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol

from krag_eval._utils.checks import as_number, check_kind, one_of
from krag_eval._utils.errors import Argument, InvalidInputError, RetrieverError, show, warn
from krag_eval._utils.formatting import number_of
from krag_eval._utils.objects import ShortRepr
from krag_eval._utils.plugins import ShownInNotebooks
from krag_eval.datasets.by_query import by_query, ranked_documents
from krag_eval.datasets.evalset import EvalSet
from krag_eval.datasets.question import check_new
from krag_eval.datasets.sessions import (
    Search,
    Stage,
    check_stages,
    document_rows,
    last_ranking,
    read_documents,
    read_searches,
    read_stages,
)
from krag_eval.documents.document import Document
from krag_eval.documents.readers import OWN_ID, IdKey, as_id, id_at, id_keys, looks_like_id, nfc, says_place

if TYPE_CHECKING:
    from krag_eval._utils.redaction import Redactor

RUN_FIELDS = {"query_id", "retrieved", "error", "seconds"}
SESSION_FIELDS = ("searches", "stages", "cited")
FLATTENED = ("first", "last", "concatenated")
# How to get one ranking of a session, for messages.
FLATTEN = (Argument("flatten", "first", '`run.flatten("first")`'), ', "last" or "concatenated".')


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RunRow(ShortRepr):
    """What was retrieved for one question: a ranking, or a session of several searches.

    Attributes:
        query_id: The id of the question.
        retrieved: The documents, best first: those of the last stage, or of the only search. Empty if the retriever
            raised, and in a session of several searches, unless it says what the application used in the end.
        error: What the retriever raised, as `Type: message` without credentials, or None.
        seconds: How long the call that counts took, without waiting and without retries; None if it was not measured.
        searches: The searches of a session, in order; empty where there was one, of which nothing else is known.
        stages: The stages of the pipeline, in order; the last one is what the application used.
        cited: The documents that the answer cites; None if that is not known.
        further: Fields of the file that krag_eval does not know.
    """

    query_id: str
    retrieved: tuple[Document, ...] = ()
    error: str | None = None
    seconds: float | None = None
    searches: tuple[Search, ...] = ()
    stages: tuple[Stage, ...] = ()
    cited: tuple[Document, ...] | None = None
    further: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "query_id", nfc(self.query_id))
        if self.error is not None:
            object.__setattr__(self, "error", _redactor()(self.error))
        elif not self.retrieved and (self.stages or len(self.searches) == 1):
            last = self.stages[-1] if self.stages else self.searches[0]
            object.__setattr__(self, "retrieved", last.retrieved)
        check_stages(self.stages)

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> RunRow:
        """Read `{"query_id", "retrieved": [documents] or "error": message, "seconds"?}`.

        In place of `retrieved` there may be `searches` or `stages`; `cited` may be beside each.

        Raises:
            InvalidInputError: The row has no id, no ranking, or one that cannot be read.
        """
        query_id = as_id(row.get("query_id"))
        if query_id is None:
            found = f"is {show(row['query_id'])}" if "query_id" in row else "is missing"
            raise InvalidInputError(f"`query_id` {found}. Each row needs a string or an integer there.")
        error, searches, stages = row.get("error"), read_searches(row), read_stages(row)
        if searches and stages:
            raise InvalidInputError("The row has `searches` and `stages`. Give each search the `stages` of its own.")
        if row.get("retrieved") is None and searches:
            retrieved = searches[0].retrieved if len(searches) == 1 else ()
        else:
            retrieved = last_ranking(row, stages, has_failed=error is not None)
        return cls(
            query_id=query_id,
            retrieved=retrieved,
            error=None if error is None else str(error),
            seconds=as_number(row.get("seconds")),
            searches=searches,
            stages=stages,
            cited=None if row.get("cited") is None else read_documents(row, "cited"),
            further={name: value for name, value in row.items() if name not in {*RUN_FIELDS, *SESSION_FIELDS}},
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the row to write."""
        row: dict[str, Any] = {"query_id": self.query_id}
        if not (self.is_session or self.stages or (self.searches and self.retrieved == self.searches[0].retrieved)):
            row["retrieved"] = document_rows(self.retrieved)
        row |= {name: value for name in ("error", "seconds") if (value := getattr(self, name)) is not None}
        row |= {name: [one.to_dict() for one in parts] for name in SESSION_FIELDS[:2] if (parts := getattr(self, name))}
        row |= {} if self.cited is None else {"cited": document_rows(self.cited)}
        return row | dict(self.further)

    @property
    def is_session(self) -> bool:
        """Whether there are several searches and no ranking that the application used in the end."""
        return len(self.searches) > 1 and not self.retrieved

    @property
    def ranking(self) -> tuple[Document, ...]:
        """The documents, best first, for what reads one ranking per question.

        Raises:
            InvalidInputError: The row is a session of several searches.
        """
        if self.is_session:
            raise InvalidInputError(
                f"The question {self.query_id!r:.60} has a session of {len(self.searches)} searches, and this needs "
                "one ranking. Take one with ",
                *FLATTEN,
                " `evaluate_run` scores sessions as such.",
            )
        return self.retrieved

    @property
    def found(self) -> tuple[Document, ...]:
        """All documents of the row: the ranking, or those of the searches, one after another."""
        return tuple(chain.from_iterable(s.retrieved for s in self.searches)) if self.is_session else self.retrieved


@dataclass(frozen=True, repr=False, kw_only=True)
class Run(ShownInNotebooks):
    """What one retriever returned for the questions of an evaluation set.

    Attributes:
        name: Its name in tables and reports.
        rows: By the id of the question.
        parameters: What the user recorded about the retriever, without credentials: chunk size, overlap, model.
        recorded: What the runner recorded: k, fingerprint of the evaluation set, versions, time.
        n_rejected: How many bad lines of its file were skipped.
    """

    name: str
    rows: Mapping[str, RunRow]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    recorded: Mapping[str, Any] = field(default_factory=dict)
    n_rejected: int = 0

    def __post_init__(self) -> None:
        for name in ("parameters", "recorded"):
            if getattr(self, name):
                object.__setattr__(self, name, _redactor().of(getattr(self, name)))

    @classmethod
    def of(cls, name: str, rows: Iterable[RunRow], **fields: Any) -> Run:
        """Return a run made of rows.

        Raises:
            InvalidInputError: A question has two rows.
        """
        by_id: dict[str, RunRow] = {}
        for row in rows:
            check_new(row.query_id, by_id, "the query")
            by_id[row.query_id] = row
        return cls(name=name, rows=by_id, **fields)

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        n_documents = sum(len(row.found) for row in self.rows.values())
        errors = f", {number_of(len(self.errors), 'error')}" if self.errors else ""
        return f"Run({self.name!r:.80}, {number_of(len(self), 'row')}, {number_of(n_documents, 'document')}{errors})"

    @property
    def repetition(self) -> str | None:
        """Which of several runs of the same system this is: its parameter `repetition`; None if it has none."""
        given = self.parameters.get("repetition", self.recorded.get("repetition"))
        return None if given is None else str(given)

    @property
    def errors(self) -> dict[str, str]:
        """The errors of the questions whose retriever raised, by question id."""
        return {query_id: row.error for query_id, row in self.rows.items() if row.error is not None}

    @property
    def latency(self) -> Latency | None:
        """How long the successful calls took; None if no time was recorded."""
        return Latency.of(row.seconds for row in self.rows.values() if row.error is None and row.seconds is not None)

    @property
    def has_sessions(self) -> bool:
        """Whether a row is a session of several searches, so that metrics of one ranking say nothing."""
        return any(row.is_session for row in self.rows.values())

    @property
    def has_filter(self) -> bool:
        """Whether a stage says that it is a filter."""
        rows = [row for row in self.rows.values() if row.error is None]
        stages = [stage for row in rows for stage in (*row.stages, *(s for one in row.searches for s in one.stages))]
        return any(stage.is_filter() for stage in stages)

    def flatten(self, searches: str) -> Run:
        """Return the run with one ranking per question, for metrics of rankings; sessions lose their searches.

        Args:
            searches: `"first"` or `"last"` keeps that search of each session, `"concatenated"` the documents of all,
                one search after another: what the second search found first then stands below all of the first.

        Raises:
            InvalidInputError: It is none of these.
        """
        which = one_of("searches", searches, FLATTENED)
        rows = {}
        for query_id, row in self.rows.items():
            retrieved = row.found
            if row.is_session and which != "concatenated":
                retrieved = row.searches[0 if which == "first" else -1].retrieved
            rows[query_id] = replace(row, retrieved=retrieved, searches=()) if row.searches else row
        return replace(self, rows=rows)

    def rankings(self, evalset: EvalSet, *, of_sessions: bool = False) -> list[Sequence[Document] | RetrieverError]:
        """Return the documents or the error for each question of the set, in its order; nothing if it has no row.

        Rows for questions that the set does not have are left out, as trec_eval does, with a warning.

        Args:
            evalset: The questions.
            of_sessions: Whether a session has all documents of its searches; it is refused otherwise.

        Raises:
            InvalidInputError: The run has rows, and none of them is for a question of the set; or one is a session.
        """
        unknown = self.unknown(evalset)
        if unknown:
            warn(
                f"The run {self.name!r} has rows for {number_of(len(unknown), 'query')} that the evaluation set does "
                f"not have, such as {unknown[0]!r:.60}: they are left out, as trec_eval does."
            )
        rows = (self.rows.get(question_id) for question_id in evalset.ids)
        return [_ranking(row, of_sessions=of_sessions) for row in rows]

    def unknown(self, evalset: EvalSet) -> list[str]:
        """Return the ids of the rows for questions that the set does not have.

        Raises:
            InvalidInputError: These are all rows.
        """
        unknown = [query_id for query_id in self.rows if evalset.get(query_id) is None]
        if unknown and len(unknown) == len(self.rows):
            raise InvalidInputError(
                f"The run {self.name!r} has the query {unknown[0]!r:.60}, which the evaluation set does not have, and "
                f"none that it has, such as {next(iter(evalset.ids), '')!r:.60}. Is it the run of another set?"
            )
        return unknown

    def missing(self, evalset: EvalSet) -> list[str]:
        """Return the ids of the questions without a row; these count as nothing retrieved."""
        return [question_id for question_id in evalset.ids if question_id not in self.rows]


def without_unknown(run: Run, id_key: IdKey | None) -> Run:
    """Return the run with each row as an error that has a document of which neither an id nor a text is known."""
    rows = run.rows
    suspects = {query for query, row in rows.items() for one in row.retrieved if not (one.id or one.text)}
    suspects |= {query for query, row in rows.items() if row.searches or row.cited}
    errors = {query: row for query in suspects if (row := known(rows[query], id_key)) is not rows[query]}
    return replace(run, rows={**rows, **errors}) if errors else run


def known(row: RunRow, id_key: IdKey | None, place: str = "") -> RunRow:
    """Return the row, as an error if it has a document of which neither an id nor a text is known.

    Args:
        row: The row.
        id_key: The key of the metadata under which ids are read.
        place: Where the row was read, `path:line`; it may still be scored under another key then.
    """
    found = row.retrieved if row.cited is None and not row.searches else (*row.found, *(row.cited or ()))
    if None not in [document.id or document.text for document in found]:  # one sweep, as nearly all have one
        return row
    for number, one in enumerate(found):
        fields = one.metadata
        if one.id is None and one.text is None and id_at(fields, id_key or OWN_ID) is None and not says_place(fields):
            keys = id_keys(fields)
            if not (keys and place):
                error = f"`retrieved[{number}]`: expected documents or ids, got metadata with keys " + (
                    f"{', '.join(keys)}: one of them may be its id, as `id_key`" if keys else ", ".join([*fields][:5])
                )
                return RunRow(query_id=row.query_id, error=f"{place}: {error}" if place else error, seconds=row.seconds)
    return row


def _redactor() -> Redactor:
    from krag_eval._utils.redaction import default_redactor  # only errors and parameters need it

    return default_redactor()


def _ranking(row: RunRow | None, *, of_sessions: bool) -> Sequence[Document] | RetrieverError:
    if row is None:
        return []
    if row.error is not None:
        return RetrieverError(row.error)
    return list(row.found if of_sessions else row.ranking)


class _Table(Protocol):
    @property
    def columns(self) -> Any: ...


class _OfRanx(Protocol):
    @property
    def run(self) -> Any: ...


class _Scored(Protocol):
    @property
    def doc_id(self) -> Any: ...

    @property
    def score(self) -> Any: ...


Rankings = Run | Mapping[Any, Any] | _Table | _OfRanx | Sequence[_Scored]
"""What `as_run` reads; no evaluation set is one of these."""


def as_run(given: Any, name: str | None = None) -> Run:
    """Return a run, or rankings by query as a run: what `krag_eval.datasets.by_query` reads, such as a `Run` of ranx.

    A string in a list is a text, and also an id if it is one word: the method of matching decides.

    Raises:
        InvalidInputError: It is nothing of these, or a ranking cannot be read.
    """
    tables = None if isinstance(given, Run) else by_query(given)
    if tables is None:
        check_run(given)
        return given  # type: ignore[no-any-return]
    rows = []
    for query, ranking in tables.items():
        retrieved = ranked_documents(ranking, f"`run[{query!r:.60}]`")
        if isinstance(retrieved, (list, tuple)):
            retrieved = [Document(id=looks_like_id(d), text=d) if type(d) is str else d for d in retrieved]
        rows.append(RunRow.from_dict({"query_id": query, "retrieved": retrieved}))
    own_name = getattr(given, "name", None)
    return Run.of(name or (own_name if isinstance(own_name, str) and own_name else "run"), rows)


def check_run(run: object) -> None:
    """Check that the value is a run.

    Raises:
        InvalidInputError: It is something else, such as a path.
    """
    check_kind("run", run, Run, "Read a file with `read_run(path)`; plain lists are scored by `evaluate`.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """How long the calls of a run took, each measured alone: no waiting for a slot, no earlier attempts.

    Attributes:
        n: How many calls there are.
        mean: Seconds, as the other attributes.
        p50: Half of the calls took at most this.
        p95: 95 % of them. Percentiles between two calls are interpolated linearly, as numpy does.
        p99: 99 % of them.
        max: The longest.

    >>> latency = Latency.of([0.1, 0.2, 0.3])
    >>> latency.p50, latency.max, str(latency)
    (0.2, 0.3, 'p50 200 ms, p95 290 ms, p99 298 ms')
    """

    n: int
    mean: float
    p50: float
    p95: float
    p99: float
    max: float

    @classmethod
    def of(cls, seconds: Iterable[float]) -> Latency | None:
        """Return the percentiles of these times; None if there are none."""
        ordered = sorted(seconds)
        if not ordered:
            return None
        return cls(
            n=len(ordered),
            mean=math.fsum(ordered) / len(ordered),
            p50=_percentile(ordered, 0.50),
            p95=_percentile(ordered, 0.95),
            p99=_percentile(ordered, 0.99),
            max=ordered[-1],
        )

    def to_dict(self) -> dict[str, float]:
        """Return the attributes by name."""
        return asdict(self)

    def __str__(self) -> str:
        return ", ".join(f"{name} {_in_words(getattr(self, name))}" for name in ("p50", "p95", "p99"))


def _percentile(ordered: list[float], share: float) -> float:
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def _in_words(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds >= 1 else f"{seconds * 1000:.3g} ms"
