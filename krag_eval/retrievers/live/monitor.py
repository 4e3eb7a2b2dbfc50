"""Watch the means over the last retrievals, and alert when one of them leaves its band."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from krag_eval._utils.checks import as_number, check_count
from krag_eval._utils.errors import InvalidInputError, did_you_mean, show
from krag_eval.metrics.names import as_key

Band = tuple[float | None, float | None]


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
        low, high = "-inf" if self.low is None else self.low, "inf" if self.high is None else self.high
        return f"{self.key} is {self.mean:.4f} over the last {self.n} retrievals, outside of [{low}, {high}]"


class Monitor:
    """Keep the values of the last `window` retrievals.

    There is one alert when a mean leaves its band, and the next one only after it has been back in its band. Means are
    checked once the window is full.

    Args:
        window: How many retrievals.
        bands: For the keys to watch, the lowest and the highest mean that is allowed; None leaves an end open.
        keys: The keys that exist.

    Raises:
        InvalidInputError: A band cannot be used.
    """

    def __init__(self, window: int, bands: Mapping[str, Band] | None, keys: tuple[str, ...]) -> None:
        named = {key if key in keys else as_key(key): band for key, band in (bands or {}).items()}
        self._bands = {key: _check_band(key, band, keys) for key, band in named.items()}
        self._last: deque[Mapping[str, float | None]] = deque(maxlen=check_count("window", window))
        self._outside: set[str] = set()

    def means(self) -> dict[str, float | None]:
        """Return the mean of each key over the window; None if no retrieval in it has a value."""
        rows = list(self._last)
        return {key: _mean(rows, key)[0] for key in dict.fromkeys(key for row in rows for key in row)}

    def add(self, scores: Mapping[str, float | None]) -> list[Alert]:
        """Add a retrieval, and return alerts for the means that now leave their band."""
        self._last.append(scores)
        alerts: list[Alert] = []
        if len(self._last) < (self._last.maxlen or 0):
            return alerts
        for key, (low, high) in self._bands.items():
            mean, n = _mean(self._last, key)
            if mean is None:
                continue
            outside = (low is not None and mean < low) or (high is not None and mean > high)
            if outside and key not in self._outside:
                self._outside.add(key)
                alerts.append(Alert(key, mean, low, high, n))
            elif not outside:
                self._outside.discard(key)
        return alerts


def check_alerts(bands: Mapping[str, Band] | None, on_alert: object, watch: object = None) -> None:
    """Check that bands or something to watch, and a function for alerts, are given together.

    Raises:
        InvalidInputError: One of them is missing, or `on_alert` is not a function.
    """
    if on_alert is not None and not callable(on_alert):
        raise InvalidInputError(f"`on_alert` must be a function that takes an Alert, got {show(on_alert)}.")
    if (bool(bands) or watch is not None) != (on_alert is not None):
        raise InvalidInputError(
            f"`{'bands' if watch is None else 'watch'}` and `on_alert` belong together. "
            "Pass bands such as {'recall@5': (0.7, None)}, or a Watch, and a function that takes an Alert, or neither."
        )


def _mean(
    rows: deque[Mapping[str, float | None]] | list[Mapping[str, float | None]], key: str
) -> tuple[float | None, int]:
    values = [value for row in rows if (value := row.get(key)) is not None]
    return (math.fsum(values) / len(values) if values else None), len(values)


def _check_band(key: str, band: object, keys: tuple[str, ...]) -> Band:
    if key not in keys:
        raise InvalidInputError(f"`bands` names {key!r}.{did_you_mean(key, keys)} Known keys: {', '.join(keys)}.")
    if not isinstance(band, (tuple, list)) or len(band) != 2:
        raise InvalidInputError(f"The band of {key!r} must be a pair such as (0.7, None), got {show(band)}.")
    low, high = band
    for end in (low, high):
        if end is not None and as_number(end) is None:
            raise InvalidInputError(f"The band of {key!r} must hold numbers or None, got {show(band)}.")
    if low is not None and high is not None and low > high:
        raise InvalidInputError(f"The band of {key!r} ends below its start: {band!r:.60}. Give (lowest, highest).")
    return low, high
