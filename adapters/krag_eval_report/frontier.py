"""Which systems are worth choosing, by quality against a cost such as latency or tokens: the Pareto frontier."""

from __future__ import annotations

import math
from collections.abc import Sequence


def pareto(
    quality: Sequence[float | None], cost: Sequence[float | None], *, lower_is_better: bool = False
) -> tuple[int, ...]:
    """Return the places of the systems that no other one beats, the cheapest first.

    One system beats another if it is at least as good and at least as cheap, and in one of the two better. Systems
    that are equal in both are all on the frontier. Those without a quality or a cost (None, NaN) are on none.

    Args:
        quality: The quality of each system, such as its mean recall.
        cost: The cost of each system in any unit, less is better, such as its median latency in seconds.
        lower_is_better: Whether less is also better of the quality, as of redundancy.

    Returns:
        Places in the sequences; those of equal cost in their order. Along them quality never falls.

    >>> pareto([0.7, 0.8, 0.75, 0.8], [0.010, 0.050, 0.090, None])
    (0, 1)
    """
    sign = -1.0 if lower_is_better else 1.0
    points = [
        (price, -sign * value, place)
        for place, (value, price) in enumerate(zip(quality, cost, strict=True))
        if value is not None and price is not None and not math.isnan(value) and not math.isnan(price)
    ]
    frontier: list[tuple[float, float, int]] = []
    for price, worth, place in sorted(points):
        if not frontier or worth < frontier[-1][1] or (price, worth) == frontier[-1][:2]:
            frontier.append((price, worth, place))
    return tuple(place for _, _, place in frontier)
