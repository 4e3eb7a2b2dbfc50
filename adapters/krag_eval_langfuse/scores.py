"""A score on its way to Langfuse: exactly one target, a finite value, an id that is the same each time.

What a score is called in Langfuse: names that its score configs accept too.
"""

from __future__ import annotations

import math
import re
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from krag_eval import InvalidInputError, QueryResult, ScoredRetrieval

Primitive = str | int | float | bool
_NAMESPACE = uuid.UUID("6d1f4f0e-6f0b-5d5c-9c5e-0d3a3c1b7f54")
_SEPARATOR = "\x1f"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What a score belongs to: a trace, an observation in a trace, a session or a dataset run.

    Attributes:
        trace_id: The trace.
        observation_id: The observation; it needs its trace.
        session_id: The session.
        dataset_run_id: The dataset run, which is the experiment.

    Raises:
        InvalidInputError: It is none of these or several, or an id is no string.

    >>> Target(trace_id="t1", observation_id="o1").to_dict()
    {'trace_id': 't1', 'observation_id': 'o1'}
    """

    trace_id: str | None = None
    observation_id: str | None = None
    session_id: str | None = None
    dataset_run_id: str | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None and not (isinstance(value, str) and value):
                raise InvalidInputError(f"`{field.name}` is {value!r:.60}. An id in Langfuse is a string. Give that.")
        if sum(value is not None for value in (self.trace_id, self.session_id, self.dataset_run_id)) != 1:
            raise InvalidInputError(
                f"A score needs exactly one target, got {self.to_dict() or 'none'}. "
                "Give a trace (with or without an observation), a session or a dataset run."
            )
        if self.observation_id is not None and self.trace_id is None:
            raise InvalidInputError(
                f"The observation {self.observation_id!r} has no trace. Langfuse finds an observation by its trace: "
                "give both."
            )

    def to_dict(self) -> dict[str, str]:
        """What is set, by name."""
        return {field.name: value for field in fields(self) if (value := getattr(self, field.name)) is not None}


@dataclass(frozen=True, slots=True)
class Score:
    """One number for one target.

    Attributes:
        id: Its id; Langfuse overwrites a score of the same id, name and day.
        name: Its name.
        value: Its value, finite.
        target: What it belongs to.
        timestamp: Its time, with a time zone.
        metadata: What else is said about it, in JSON primitives.
        environment: The environment that it belongs to; None takes the client's.
    """

    id: str
    name: str
    value: float
    target: Target
    timestamp: datetime
    metadata: Mapping[str, Primitive]
    environment: str | None = None

    def to_row(self) -> dict[str, Any]:
        """The score as JSON can hold it."""
        row: dict[str, Any] = {"id": self.id, "name": self.name, "value": self.value}
        row |= {"target": self.target.to_dict(), "timestamp": self.timestamp.isoformat()}
        return row | {"metadata": dict(self.metadata), "environment": self.environment}


def score_from_row(row: Mapping[str, Any]) -> Score:
    """The score that `to_row` wrote down; TypeError, KeyError or ValueError where it was something else."""
    timestamp = datetime.fromisoformat(row["timestamp"])
    metadata, environment = row["metadata"], row["environment"]
    return Score(row["id"], row["name"], float(row["value"]), Target(**row["target"]), timestamp, metadata, environment)


def make_scores(
    values: Mapping[str, float | None],
    target: Target,
    *,
    names: ScoreNames,
    identity: Iterable[str],
    timestamp: datetime,
    metadata: Mapping[str, Primitive],
) -> list[Score]:
    """The scores for the values that are defined.

    Args:
        values: By key such as `recall@5`; None, and whatever is not finite, makes no score.
        target: What all of them belong to.
        names: Their names.
        identity: What makes their ids the same again: the run, and which query it is.
        timestamp: The time of all of them.
        metadata: The metadata of all of them, without keys.
    """
    place = [*identity, *(f"{name}={value}" for name, value in target.to_dict().items())]
    return [
        Score(score_id(*place, names[key]), names[key], float(value), target, timestamp, metadata)
        for key, value in values.items()
        if value is not None and math.isfinite(value)
    ]


def scores_of_retrieval(
    retrieval: ScoredRetrieval,
    target: Target,
    *,
    names: ScoreNames,
    run_id: str | None,
    include_text: bool,
    clean: Callable[[Mapping[str, Primitive]], Mapping[str, Primitive]],
) -> list[Score]:
    """The scores of one live retrieval: their ids follow from it, their time is that of its end.

    Args:
        retrieval: The retrieval.
        target: What its scores belong to.
        names: Their names.
        run_id: The run that they belong to, if any.
        include_text: Say what was asked.
        clean: Takes keys out of metadata.
    """
    metadata: dict[str, Primitive] = {"seconds": retrieval.seconds}
    if retrieval.name is not None:
        metadata["retriever"] = retrieval.name
    if retrieval.error is not None:
        metadata["retriever_raised"] = True
    if retrieval.result is not None:
        metadata["n_gold"] = retrieval.result.n_gold
    if include_text:
        metadata |= texts(retrieval.query_id, retrieval.query)
    return make_scores(
        retrieval.scores,
        target,
        names=names,
        identity=(run_id or "", f"retrieval={retrieval.run_id}"),
        timestamp=retrieval.ended_at,
        metadata=clean(metadata),
    )


def metadata_of(query: QueryResult) -> dict[str, Primitive]:
    """What is said of a query of an offline evaluation."""
    said: dict[str, Primitive] = {"query_index": query.index, "n_gold": query.n_gold}
    said["n_retrieved"] = query.n_retrieved
    return said | {"retriever_raised": True} if query.error is not None else said


def texts(query_id: str | None, query: str | None) -> dict[str, Primitive]:
    """What is only said when it was asked for: ids, too, may be texts."""
    return {name: text for name, text in (("query_id", query_id), ("query", query)) if text is not None}


def score_id(*parts: str) -> str:
    """The same id for the same parts, today and on any other machine.

    >>> score_id("run", "trace_id=t1", "krag.mrr") == score_id("run", "trace_id=t1", "krag.mrr")
    True
    """
    return str(uuid.uuid5(_NAMESPACE, _SEPARATOR.join(parts)))


LONGEST = 35
_ALLOWED = re.compile(r"[A-Za-z0-9_ .()-]*\Z")


class ScoreNames:
    """The names of scores by the keys of a result: `recall@5` becomes `krag.recall_at_5`.

    Langfuse takes a score of any name, but a score config (its range, its description, its place in annotation
    queues) only for names of at most 35 letters, digits, blanks and `_ . ( ) -`. A name that no config could ever be
    made for is refused, not shortened: two shortened names could be the same.

    Args:
        prefix: What every name begins with.

    Raises:
        InvalidInputError: The prefix holds other characters or leaves no room.

    >>> ScoreNames("krag.")["micro_recall@5"]
    'krag.micro_recall_at_5'
    """

    def __init__(self, prefix: Any) -> None:
        if not isinstance(prefix, str) or not _ALLOWED.match(prefix) or len(prefix) >= LONGEST:
            raise InvalidInputError(
                f"`prefix` is {prefix!r:.60}. The names of score configs in Langfuse are at most {LONGEST} letters, "
                "digits, blanks and _ . ( ) - long. Give a short prefix of these, such as 'krag.'."
            )
        self._prefix = prefix
        self._names: dict[str, str] = {}

    def __getitem__(self, key: str) -> str:
        """The name for a key.

        Raises:
            InvalidInputError: No score config could have this name.
        """
        name = self._names.get(key)
        if name is None:
            name = self._prefix + key.replace("@", "_at_")
            if not _ALLOWED.match(name) or len(name) > LONGEST:
                raise InvalidInputError(
                    f"The score {name!r:.80} cannot have a score config in Langfuse: names there are at most {LONGEST} "
                    "letters, digits, blanks and _ . ( ) - long. Give the metric another name or a shorter `prefix`."
                )
            self._names[key] = name
        return name

    def check(self, keys: Iterable[str]) -> None:
        """Look at all keys of an evaluation before the first score is sent.

        Raises:
            InvalidInputError: A key has no name, or two have the same.
        """
        taken: dict[str, str] = {}
        for key in keys:
            other = taken.setdefault(self[key], key)
            if other != key:
                raise InvalidInputError(
                    f"The keys {other!r} and {key!r} would both be the score {self[key]!r}. "
                    "Each key needs a name of its own: rename the metric."
                )
