"""How long a retriever took for one question: the usual percentiles."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass


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
        """The percentiles of these; None where there are none."""
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
        """The attributes by name."""
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
