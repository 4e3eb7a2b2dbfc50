"""Several tests at once."""

from __future__ import annotations

from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """The p-values adjusted by Holm's step-down method: compare them with alpha as they are.

    The least is multiplied by the number m of tests, the next by m - 1, and so on; none may fall below the one before
    it, and none exceed 1. At most a share alpha of families has a false alarm, however the tests hang together.

    Source: Holm (1979), Scandinavian Journal of Statistics 6(2), 65-70.

    >>> [round(p, 4) for p in holm([0.01, 0.04, 0.03, 0.005])]
    [0.03, 0.06, 0.06, 0.02]
    """
    adjusted = [1.0] * len(p_values)
    at_least = 0.0
    for place, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        at_least = min(max(at_least, p_values[index] * (len(p_values) - place)), 1.0)
        adjusted[index] = at_least
    return adjusted
