"""What a live scorer says about the last retrievals, and what it asks of a monitor; `krag_eval_monitor` is one."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from krag_eval import InvalidInputError
from krag_eval.toolkit import refuse, show

Band = tuple[float | None, float | None]
Scores = Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class Alert:
    """A mean that left its band, or a change that a `Watch` found.

    Attributes:
        key: The key of the values, such as `recall@5` or `empty`.
        mean: The mean over the window, or since the change.
        low: The lower end of the band, or None.
        high: The upper end of the band, or None.
        n: How many retrievals in the window, or since the change, have a value.
        since: The number of the first retrieval after the change, by estimate, counted from 1; None for a band. If the
            change is more than 10,000 values ago, the oldest of these.
        since_time: When that retrieval ended, or None.
        reference: The mean before the change.
        questions: Up to ten questions whose retrievals tell most about the change, the most telling one first.
    """

    key: str
    mean: float
    low: float | None
    high: float | None
    n: int
    since: int | None = None
    since_time: datetime | None = None
    reference: float | None = None
    questions: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.since is not None:
            time = "" if self.since_time is None else f" ({self.since_time:%Y-%m-%d %H:%M} {self.since_time.tzname()})"
            examples = "".join(f", {show(question)}" for question in self.questions[:3])
            return (
                f"{self.key} changed from {self.reference:.4g} to {self.mean:.4g} with retrieval {self.since:,}{time}, "
                f"{self.n:,} values ago" + (f"; see{examples[1:]}" if examples else "")
            )
        if is_leak(self.key, self.mean) and self.n == 1:
            return f"a forbidden document was retrieved for {', '.join(map(show, self.questions))} ({self.key})"
        low, high = "-inf" if self.low is None else self.low, "inf" if self.high is None else self.high
        return f"{self.key} is {self.mean:.4f} over the last {self.n} retrievals, outside of [{low}, {high}]"


def is_leak(key: str, value: float | None) -> bool:
    """Return whether this is the value of a retrieval that returned a forbidden document."""
    return key.partition("@")[0] == "leak" and value == 1


class Watched(Protocol):
    """What has been seen of one stream of retrievals."""

    def add(self, retrieval: Any, documents: Any) -> list[Alert]:
        """Add a retrieval, and return the alerts that it causes."""

    def status(self) -> dict[str, dict[str, int]]:
        """Return the counts of each signal."""


class StartsToWatch(Protocol):
    """What to watch, as `krag_eval_monitor.Watch` says it."""

    def start(self, keys: Sequence[str] | None = None) -> Watched:
        """Begin with a new stream, which has metrics with these keys."""


def check_alerts(
    bands: Mapping[str, Band] | None, on_alert: object, watch: object = None, *, has_rules: bool = False
) -> None:
    """Check that bands or something to watch, and a function for alerts, are given together.

    If the gold has rules on what must not be retrieved, leaks alone may cause alerts.

    Raises:
        InvalidInputError: One of them is missing, or `on_alert` is not a function.
    """
    if watch is not None and not hasattr(watch, "start"):
        refuse("watch", "a Watch", watch, "Make one with `krag_eval_monitor.Watch()`.")
    if on_alert is not None and not callable(on_alert):
        refuse("on_alert", "a function that takes an Alert", on_alert)
    causes_alerts = bool(bands) or watch is not None
    if causes_alerts != (on_alert is not None) and (causes_alerts or not has_rules):
        raise InvalidInputError(
            f"`{'bands' if watch is None else 'watch'}` and `on_alert` belong together. "
            "Pass bands such as {'recall@5': (0.7, None)}, or a Watch, and a function that takes an Alert, or neither."
        )


def mean_of(rows: Sequence[Scores] | deque[Scores], key: str) -> tuple[float | None, int]:
    """Return the mean of a key over these retrievals, and how many of them have a value; None if none has."""
    values = [value for row in rows if (value := row.get(key)) is not None]
    return (math.fsum(values) / len(values) if values else None), len(values)
