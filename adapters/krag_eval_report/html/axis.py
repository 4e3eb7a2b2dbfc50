"""An axis on which values and their intervals are drawn: where it begins and ends, and its ticks."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

_MOST_TICKS = 6


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis.

    Attributes:
        low: Where it begins.
        high: Where it ends.
        step: The distance of its ticks.
        is_signed: Whether its numbers have a sign.
    """

    low: float
    high: float
    step: float
    is_signed: bool = False

    @classmethod
    def of(cls, values: Iterable[float], *, most: float = math.inf, is_signed: bool = False) -> Axis:
        """Return an axis that holds these values, with ticks at round numbers.

        >>> Axis.of([0.52, 0.94], most=1.0).ticks()
        [('0.5', 0.0), ('0.6', 20.0), ('0.7', 40.0), ('0.8', 60.0), ('0.9', 80.0), ('1.0', 100.0)]
        """
        known = [value for value in values if math.isfinite(value)] or [0.0, 1.0]
        low, high = min(known), max(known)
        spread = (high - low) or max(abs(high), 1.0)
        unit = 10.0 ** math.floor(math.log10(spread / _MOST_TICKS))
        step = next(unit * factor for factor in (1, 2, 5, 10, 20) if spread / (unit * factor) <= _MOST_TICKS - 1)
        begin = math.floor(low / step + 1e-9) * step
        end = max(min(math.ceil(high / step - 1e-9) * step, most), begin + step)
        return cls(begin, end, step, is_signed)

    def at(self, value: float) -> float:
        """Return the place of a value in percent of the length, from 0 to 100."""
        return round(100 * min(max((value - self.low) / (self.high - self.low), 0.0), 1.0), 2)

    def ticks(self) -> list[tuple[str, float]]:
        """Return the ticks: the number as it is printed, and its place in percent."""
        digits = max(0, -math.floor(math.log10(self.step) + 1e-9))
        n = round((self.high - self.low) / self.step)
        values = [self.low + place * self.step for place in range(n + 1)]
        return [(self._printed(value, digits), self.at(value)) for value in values if value <= self.high + 1e-9]

    def _printed(self, value: float, digits: int) -> str:
        if abs(value) < self.step / 2:
            return "0"
        return f"{value:{'+' if self.is_signed else ''}.{digits}f}".replace("-", "\u2212")
