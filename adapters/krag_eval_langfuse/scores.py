"""Scores for Langfuse: their targets, ids and names."""

from __future__ import annotations

import math
import re
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from krag_eval import InvalidInputError

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
        InvalidInputError: None or several of these are given, or an id is not a string.

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
                raise InvalidInputError(f"`{field.name}` is {value!r:.60}. It must be a non-empty string.")
        if sum(value is not None for value in (self.trace_id, self.session_id, self.dataset_run_id)) != 1:
            raise InvalidInputError(
                f"A score needs exactly one target, got {self.to_dict() or 'none'}. "
                "Pass a trace (with or without an observation), a session or a dataset run."
            )
        if self.observation_id is not None and self.trace_id is None:
            raise InvalidInputError(
                f"The observation {self.observation_id!r} has no trace. Langfuse looks up observations by their trace: "
                "pass both."
            )

    def to_dict(self) -> dict[str, str]:
        """Return the ids that are set, by name."""
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
        metadata: Its metadata, JSON primitives by name.
        environment: Its environment; None for that of the client.
    """

    id: str
    name: str
    value: float
    target: Target
    timestamp: datetime
    metadata: Mapping[str, Primitive]
    environment: str | None = None

    def to_row(self) -> dict[str, Any]:
        """Return the score as a JSON object."""
        row: dict[str, Any] = {"id": self.id, "name": self.name, "value": self.value}
        row |= {"target": self.target.to_dict(), "timestamp": self.timestamp.isoformat()}
        return row | {"metadata": dict(self.metadata), "environment": self.environment}


def score_from_row(row: Mapping[str, Any]) -> Score:
    """Return the score that `to_row` wrote; TypeError, KeyError or ValueError if the row is anything else."""
    timestamp = datetime.fromisoformat(row["timestamp"])
    metadata, environment = row["metadata"], row["environment"]
    return Score(row["id"], row["name"], float(row["value"]), Target(**row["target"]), timestamp, metadata, environment)


def make_scores(
    values: Mapping[str, float | None],
    target: Target,
    names: ScoreNames,
    identity: Iterable[str],
    timestamp: datetime,
    metadata: Mapping[str, Primitive],
) -> list[Score]:
    """Return the scores of the values that are defined.

    Args:
        values: By key such as `recall@5`; values that are None or not finite give no score.
        target: What all of them belong to.
        names: Their names.
        identity: The run and the query. The same identity gives the same ids.
        timestamp: The time of all of them.
        metadata: The metadata of all of them, without secrets.
    """
    place = [*identity, *(f"{name}={value}" for name, value in target.to_dict().items())]
    return [
        Score(score_id(*place, names[key]), names[key], float(value), target, timestamp, metadata)
        for key, value in values.items()
        if value is not None and math.isfinite(value)
    ]


def texts(query_id: str | None, query: str | None) -> dict[str, Primitive]:
    """Return the metadata that is sent only on request: ids too may be texts."""
    return {name: text for name, text in (("query_id", query_id), ("query", query)) if text is not None}


def score_id(*parts: str) -> str:
    """Return an id that is always the same for the same parts, on any machine.

    >>> score_id("run", "trace_id=t1", "krag.mrr") == score_id("run", "trace_id=t1", "krag.mrr")
    True
    """
    return str(uuid.uuid5(_NAMESPACE, _SEPARATOR.join(parts)))


_LONGEST = 35
_ALLOWED = re.compile(r"[A-Za-z0-9_ .()-]*\Z")


class ScoreNames:
    """The names of scores by the keys of a result: `recall@5` becomes `krag.recall_at_5`.

    Langfuse accepts scores of any name, but score configs (range, description, annotation queues) only for names of at
    most 35 letters, digits, spaces and `_ . ( ) -`. A name that cannot have a config is refused, not shortened: two
    shortened names could be the same.

    Args:
        prefix: The prefix of every name.

    Raises:
        InvalidInputError: The prefix has other characters or is too long.

    >>> ScoreNames("krag.")["micro_recall@5"]
    'krag.micro_recall_at_5'
    """

    def __init__(self, prefix: Any) -> None:
        if not isinstance(prefix, str) or not _ALLOWED.match(prefix) or len(prefix) >= _LONGEST:
            raise InvalidInputError(
                f"`prefix` is {prefix!r:.60}. The names of score configs in Langfuse have at most {_LONGEST} letters, "
                "digits, spaces and _ . ( ) -. Use a short prefix of these, such as 'krag.'."
            )
        self._prefix = prefix
        self._names: dict[str, str] = {}

    def __getitem__(self, key: str) -> str:
        """Return the name for a key.

        Raises:
            InvalidInputError: No score config can have this name.
        """
        name = self._names.get(key)
        if name is None:
            name = self._prefix + key.replace("@", "_at_")
            if not _ALLOWED.match(name) or len(name) > _LONGEST:
                raise InvalidInputError(
                    f"The score {name!r:.80} cannot have a score config in Langfuse: names have at most {_LONGEST} "
                    "letters, digits, spaces and _ . ( ) -. Rename the metric or use a shorter `prefix`."
                )
            self._names[key] = name
        return name

    def check(self, keys: Iterable[str]) -> None:
        """Check all keys of an evaluation before the first score is sent.

        Raises:
            InvalidInputError: A key has no valid name, or two keys have the same name.
        """
        taken: dict[str, str] = {}
        for key in keys:
            other = taken.setdefault(self[key], key)
            if other != key:
                raise InvalidInputError(
                    f"The keys {other!r} and {key!r} would both be the score {self[key]!r}. "
                    "Each key needs its own name: rename the metric."
                )
