"""What happened to the prompts of a language model, in numbers."""

from __future__ import annotations

import dataclasses
import threading
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCounters:
    """What happened to the prompts of a language model so far.

    Attributes:
        prompts: How many prompts were to be answered.
        calls: How often the model was called for them, every attempt counted.
        rate_limits: Calls that were answered with a rate limit (HTTP 429).
        time_outs: Calls that gave no answer in time.
        unreachable: Calls that failed otherwise: no connection, an error of the server (5xx), an unknown error.
        bad_json: Answers that were no JSON object of the schema that was asked for.
        refusals: Answers by which the model refused.
        failures: Prompts that were given up, after all attempts.
        input_tokens: Tokens of the prompts, as far as the model said; None where it never did.
        output_tokens: Tokens of the answers, likewise.
    """

    prompts: int = 0
    calls: int = 0
    rate_limits: int = 0
    time_outs: int = 0
    unreachable: int = 0
    bad_json: int = 0
    refusals: int = 0
    failures: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None

    def __sub__(self, earlier: ModelCounters) -> ModelCounters:
        """What happened since `earlier`."""
        mine, theirs = dataclasses.asdict(self), dataclasses.asdict(earlier)
        since: dict[str, Any] = {k: v if v is None else v - (theirs[k] or 0) for k, v in mine.items()}
        return ModelCounters(**since)

    def to_dict(self) -> dict[str, int | None]:
        """The counters by name, for JSON."""
        return dataclasses.asdict(self)

    def __str__(self) -> str:
        """What is not zero, in words.

        >>> print(ModelCounters(prompts=30, calls=33, rate_limits=2, bad_json=1, input_tokens=9000, output_tokens=500))
        30 prompts, 33 calls, 2 rate limits, 1 bad json, 9,000 input tokens, 500 output tokens
        """
        told = {k: v for k, v in self.to_dict().items() if v}
        return ", ".join(f"{value:,} {name.replace('_', ' ')}" for name, value in told.items()) or "not called"


class Counting:
    """Counters that threads share."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counters = ModelCounters()

    @property
    def counters(self) -> ModelCounters:
        """What was counted so far."""
        return self._counters

    def add(self, **counts: int | None) -> None:
        """Add to counters by name; None adds nothing, and leaves what is unknown unknown."""
        with self._lock:
            new = {k: (getattr(self._counters, k) or 0) + v for k, v in counts.items() if v is not None}
            self._counters = dataclasses.replace(self._counters, **new)
