"""Scores for Langfuse: their targets, ids and names."""

from __future__ import annotations

import math
import re
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from krag_eval import InvalidInputError
from krag_eval.evaluation import QueryResult
from krag_eval.toolkit import refuse

Primitive = str | int | float | bool
_NAMESPACE = uuid.UUID("6d1f4f0e-6f0b-5d5c-9c5e-0d3a3c1b7f54")
_SEPARATOR = "\x1f"
_IDS = ("trace_id", "observation_id", "session_id", "dataset_run_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What a score belongs to: a trace, an observation in a trace, a session or a dataset run.

    Attributes:
        trace_id: The trace.
        observation_id: The observation; it needs its trace.
        session_id: The session.
        dataset_run_id: The dataset run, which is the experiment.
        of_trace: `environment`, `session_id`, `user_id` and `release` of the trace, as far as they are known. They are
            sent with its scores, and do not identify the target.

    Raises:
        InvalidInputError: None or several of these are given, or an id is not a string.

    >>> Target(trace_id="t1", observation_id="o1").to_dict()
    {'trace_id': 't1', 'observation_id': 'o1'}
    """

    trace_id: str | None = None
    observation_id: str | None = None
    session_id: str | None = None
    dataset_run_id: str | None = None
    of_trace: Mapping[str, str] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        for name in _IDS:
            value = getattr(self, name)
            if value is not None and not (isinstance(value, str) and value):
                refuse(name, "a non-empty string", value)
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
        return {name: value for name in _IDS if (value := getattr(self, name)) is not None}

    @property
    def metadata(self) -> dict[str, Primitive]:
        """What is known of the trace, without the environment, for which scores have a field."""
        return {name: value for name, value in self.of_trace.items() if name != "environment"}


@dataclass(frozen=True, slots=True)
class Score:
    """One value for one target.

    Attributes:
        id: Its id; Langfuse overwrites a score of the same id, name and day.
        name: Its name.
        value: Its value: a finite number, 0 or 1 if it is BOOLEAN, the name of a category if it is CATEGORICAL.
        target: What it belongs to.
        timestamp: Its time, with a time zone.
        metadata: Its metadata, JSON primitives by name.
        environment: Its environment; None for that of the client.
        data_type: A key of `DATA_TYPES`.
        config_id: The id of its score config in Langfuse, or None.
    """

    id: str
    name: str
    value: float | str
    target: Target
    timestamp: datetime
    metadata: Mapping[str, Primitive]
    environment: str | None = None
    data_type: str = "NUMERIC"
    config_id: str | None = None

    def to_row(self) -> dict[str, Any]:
        """Return the score as a JSON object."""
        row: dict[str, Any] = {"id": self.id, "name": self.name, "value": self.value, "data_type": self.data_type}
        row |= {"target": self.target.to_dict(), "timestamp": self.timestamp.isoformat()}
        return row | {"metadata": dict(self.metadata), "environment": self.environment, "config_id": self.config_id}


DATA_TYPES: Mapping[str, Callable[[Any], float | str]] = {"NUMERIC": float, "BOOLEAN": float, "CATEGORICAL": str}


def score_from_row(row: Mapping[str, Any]) -> Score:
    """Return the score that `to_row` wrote; TypeError, KeyError or ValueError if the row is anything else."""
    data_type = row.get("data_type", "NUMERIC")
    return Score(
        id=row["id"],
        name=row["name"],
        value=DATA_TYPES[data_type](row["value"]),
        target=Target(**row["target"]),
        timestamp=datetime.fromisoformat(row["timestamp"]),
        metadata=row["metadata"],
        environment=row["environment"],
        data_type=data_type,
        config_id=row.get("config_id"),
    )


def make_scores(
    values: Mapping[str, float | str | None],
    target: Target,
    names: ScoreNames,
    identity: Iterable[str],
    timestamp: datetime,
    metadata: Mapping[str, Primitive],
    *,
    of_run: bool = False,
) -> list[Score]:
    """Return the scores of the values that are defined.

    Args:
        values: By key such as `recall@5`; values that are None or not finite give no score.
        target: What all of them belong to.
        names: Their names.
        identity: The run and the query. The same identity gives the same ids.
        timestamp: The time of all of them.
        metadata: The metadata of all of them, without secrets.
        of_run: These are means over a run, not the values of one query.
    """
    place = [*identity, *(f"{name}={value}" for name, value in target.to_dict().items())]
    scores = []
    for key, value in values.items():
        if value is None or not (isinstance(value, str) or math.isfinite(value)):
            continue
        data_type, config_id = names.kind_of(key, value, of_run=of_run)
        scores.append(
            Score(
                id=score_id(*place, names[key]),
                name=names[key],
                value=value if isinstance(value, str) else float(value),
                target=target,
                timestamp=timestamp,
                metadata=metadata,
                environment=target.of_trace.get("environment"),
                data_type=data_type,
                config_id=config_id,
            )
        )
    return scores


def texts(query_id: str | None, query: str | None) -> dict[str, Primitive]:
    """Return the metadata that is sent only on request: ids too may be texts."""
    return {name: text for name, text in (("query_id", query_id), ("query", query)) if text is not None}


def score_id(*parts: str) -> str:
    """Return an id that is always the same for the same parts, on any machine.

    >>> score_id("run", "trace_id=t1", "krag.mrr") == score_id("run", "trace_id=t1", "krag.mrr")
    True
    """
    return str(uuid.uuid5(_NAMESPACE, _SEPARATOR.join(parts)))


VERDICTS = ("all_found", "some_found", "none_found", "nothing_retrieved", "retriever_error")
"""The categories of the score `verdict`."""
# They are 0 or 1 for each query.
_BOOLEAN = ("hit_rate", "hit_rate_all", "success", "doc_hit", "empty")
# Keys beside those of a result.
_FURTHER = ("verdict", "cause", "retrieved", "repeats", "empty")


def _verdict(query: QueryResult) -> str | None:
    """Return whether the gold documents of a query were found, at the largest cut-off; None without gold or recall."""
    recalls = [(key.partition("@")[2], value) for key, value in query.values.items() if key.split("@")[0] == "recall"]
    recall = max(recalls, key=lambda one: (one[0] == "", one[0].isdecimal() and int(one[0])), default=("", None))[1]
    if recall is None:
        return None
    if query.error is not None:
        return "retriever_error"
    if not query.n_retrieved:
        return "nothing_retrieved"
    return "all_found" if recall == 1 else "some_found" if recall else "none_found"


_LONGEST = 35
_ALLOWED = re.compile(r"[A-Za-z0-9_ .()-]*\Z")


class ScoreNames:
    """The names and the types of scores by the keys of a result: `recall@5` becomes `krag.recall_at_5`.

    Langfuse accepts scores of any name, but score configs (range, description, annotation queues) only for names of at
    most 35 letters, digits, spaces and `_ . ( ) -`. A name that cannot have a config is refused, not shortened: two
    shortened names could be the same.

    Args:
        prefix: The prefix of every name.
        booleans: Values that are 0 or 1 for each query are BOOLEAN.
        verdicts: Each query has a CATEGORICAL score `verdict`.
        config_ids: The ids of score configs by key.

    Raises:
        InvalidInputError: The prefix has other characters or is too long, or `config_ids` is no mapping of strings.

    >>> ScoreNames("krag.")["micro_recall@5"]
    'krag.micro_recall_at_5'
    """

    def __init__(self, prefix: Any, *, booleans: bool = False, verdicts: bool = False, config_ids: Any = None) -> None:
        if not isinstance(prefix, str) or not _ALLOWED.match(prefix) or len(prefix) >= _LONGEST:
            must = f"fewer than {_LONGEST} letters, digits, spaces and _ . ( ) -, of which score configs have names"
            refuse("prefix", must, prefix, "Use a short prefix, such as 'krag.'.")
        given = {} if config_ids is None else config_ids
        if not isinstance(given, Mapping) or not all(
            isinstance(one, str) and one for pair in given.items() for one in pair
        ):
            must = "a mapping from keys such as 'recall@5' to the ids of score configs in Langfuse"
            refuse("config_ids", must, config_ids)
        self._prefix, self._booleans, self._verdicts, self._config_ids = prefix, booleans, verdicts, dict(given)
        self._names: dict[str, str] = {}

    def __getitem__(self, key: str) -> str:
        """Return the name for a key.

        Raises:
            InvalidInputError: No score config can have this name.
        """
        name = self._names.get(key)
        if name is None:
            # At a budget of tokens, the name of this metric would be too long by one letter.
            name = self._prefix + key.replace("searches_to_evidence", "search_to_evidence").replace("@", "_at_")
            if not _ALLOWED.match(name) or len(name) > _LONGEST:
                raise InvalidInputError(
                    f"The score {name!r:.80} cannot have a score config in Langfuse: names have at most {_LONGEST} "
                    "letters, digits, spaces and _ . ( ) -. Rename the metric or use a shorter `prefix`."
                )
            self._names[key] = name
        return name

    def kind_of(self, key: str, value: float | str, *, of_run: bool) -> tuple[str, str | None]:
        """Return the type of a value and the id of its score config.

        The mean of values that are BOOLEAN is NUMERIC: it has no config, because that is one of BOOLEAN scores.
        """
        if isinstance(value, str):
            return "CATEGORICAL", self._config_ids.get(key)
        if self._booleans and key.partition("@")[0] in _BOOLEAN:
            return ("NUMERIC", None) if of_run else ("BOOLEAN", self._config_ids.get(key))
        return "NUMERIC", self._config_ids.get(key)

    def verdict(self, query: QueryResult) -> dict[str, str | None]:
        """Return the verdict on a query by its key, if verdicts are wanted."""
        return {"verdict": _verdict(query)} if self._verdicts else {}

    def check(self, keys: Iterable[str], known: Iterable[str] = ()) -> None:
        """Check all keys of an evaluation before the first score is sent.

        Args:
            keys: The keys.
            known: Further keys that `config_ids` may have.

        Raises:
            InvalidInputError: A key has no valid name, two keys have the same name, or `config_ids` or `verdicts` need
                a key that the evaluation does not have.
        """
        keys = list(keys)
        allowed = dict.fromkeys([*keys, *known, *_FURTHER])
        for key in self._config_ids:
            if key not in allowed:
                raise InvalidInputError(
                    f"`config_ids` names {key!r:.60}, which is no key of this evaluation. Its keys are: "
                    f"{', '.join(allowed)}."
                )
        if self._verdicts and not any(key.partition("@")[0] == "recall" for key in keys):
            raise InvalidInputError("`verdicts` needs recall, which is not computed. Add 'recall' to `metrics`.")
        taken: dict[str, str] = {}
        for key in keys:
            other = taken.setdefault(self[key], key)
            if other != key:
                raise InvalidInputError(
                    f"The keys {other!r} and {key!r} would both be the score {self[key]!r}. "
                    "Each key needs its own name: rename the metric."
                )
