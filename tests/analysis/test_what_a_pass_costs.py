"""The shares of docs/what-a-pass-means.md: how often a gate passes a system that is as good as the one before."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest

from krag_eval.statistics.bounded_mean import BoundedMean

PAGE = Path(__file__).parents[2] / "docs" / "what-a-pass-means.md"
DIFFER = (0.02, 0.05, 0.1, 0.2)
ROWS = [
    (int(n.replace(",", "")), float(allowed), [int(cell) for cell in shares.split("|")])
    for n, allowed, shares in re.findall(
        r"^\| ([\d,]+) \| (0\.\d+) \| ([\d |]+) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE
    )
]


def passes(wins: int, losses: int, n: int, allowed: float) -> bool:
    counts = np.array([losses, n - wins - losses, wins])
    difference = BoundedMean.of(np.array([-1.0, 0.0, 1.0]), times=counts, least=-1.0, most=1.0)
    return difference.p_at_most(-allowed) <= 0.025


def chance_of(wins: int, losses: int, n: int, differ: float) -> float:
    """Return the probability of so many wins and losses, of which half of `differ` each are expected."""
    same = n - wins - losses
    ways = math.lgamma(n + 1) - math.lgamma(wins + 1) - math.lgamma(losses + 1) - math.lgamma(same + 1)
    return math.exp(ways + (wins + losses) * math.log(differ / 2) + same * math.log1p(-differ))


def share_that_passes(n: int, allowed: float, differ: float) -> float:
    """Sum the probabilities of all outcomes that pass; the more wins, the sooner one does."""
    share, fewest = 0.0, 0
    most = int(n * differ / 2 + 8 * math.sqrt(n * differ / 2) + 8)
    for losses in range(min(most, n) + 1):
        while fewest <= min(most, n - losses) and not passes(fewest, losses, n, allowed):
            fewest += 1
        share += sum(chance_of(wins, losses, n, differ) for wins in range(fewest, min(most, n - losses) + 1))
    return share


@pytest.mark.full
@pytest.mark.parametrize(("n", "allowed", "shares"), ROWS, ids=[f"{n}, {allowed}" for n, allowed, _ in ROWS])
def test_the_page_says_how_often_an_unchanged_system_passes(n: int, allowed: float, shares: list[int]) -> None:
    assert [round(100 * share_that_passes(n, allowed, differ)) for differ in DIFFER] == shares


def test_the_table_has_its_rows() -> None:
    assert len(ROWS) >= 8
