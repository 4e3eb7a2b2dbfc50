"""Detect a change in a stream of numbers, at any time and with a stated probability of a false alarm."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np

from krag_eval.toolkit import FloatArray

CUTS = (0.05, 0.2, 0.5, 0.8)
"""The shares of the values below the places at which the bets divide them."""
ODDS = (1.35, 1.8, 3.5)
"""By how much a bet multiplies the odds of a value below its cut: for a small, a medium and a large change."""
RARE = ((0.002, 10.0), (0.01, 5.0), (0.01, 50.0))
"""Cuts and odds of the bets on values that hardly ever occurred before."""
RARE_WEIGHT = 0.2


class Ranks:
    """Turn values into p-values that are independent and uniform on [0, 1] as long as the values are exchangeable.

    The p-value of a value is its rank among all values so far, ties broken at random (smoothed conformal p-values).
    Values are rounded to three significant digits, which keeps the memory small and changes no guarantee.

    Args:
        random: Breaks the ties. Ranks of the same stream, one per hour for example, must share it.

    Source: Vovk, Gammerman & Shafer (2022), Algorithmic Learning in a Random World, second edition, chapter 8.
    """

    def __init__(self, random: Random) -> None:
        self._values: list[float] = []
        self._counts: list[int] = []
        self._n = 0
        self._random = random

    def add(self, value: float) -> float:
        """Add a finite value, and return its p-value; it is small if the value is small."""
        value = float(f"{value:.3g}")
        place = bisect_left(self._values, value)
        if place == len(self._values) or self._values[place] != value:
            self._values.insert(place, value)
            self._counts.insert(place, 0)
        below = sum(self._counts[:place])
        self._counts[place] += 1
        self._n += 1
        return (below + self._random.random() * self._counts[place]) / self._n


def choose_bets(first: Sequence[float], direction: str) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return cuts, logarithms of odds and weights of the bets against the values staying as they are.

    A bet divides the values in two, at a cut. If only a few values occur, as 0 and 1 do, it must lie between two of
    them: a cut through tied values, whose order is random, loses nearly all that could be won.

    Args:
        first: Finite values from the beginning of the stream, which is then tested without them.
        direction: Which change matters: `"down"`, `"up"` or `"both"`.

    Returns:
        Three arrays of shape (bets,). A negative cut -c stands for the largest values, of p-values above 1 - c. The
        weights add up to 1.
    """
    signs = {"down": (1.0,), "up": (-1.0,), "both": (1.0, -1.0)}[direction]
    bets: list[tuple[float, float, float]] = []
    for sign in signs:
        values = np.sort(np.array([sign * float(f"{value:.3g}") for value in first]))
        edges = (np.flatnonzero(np.diff(values)) + 1.5) / (len(values) + 1)
        cuts = sorted({float(edges[np.abs(edges - cut).argmin()]) for cut in CUTS}) if len(edges) else []
        usual = [(cut, odds) for cut in cuts for odds in ODDS]
        for chosen, weight in ((RARE, RARE_WEIGHT if usual else 1.0), (usual, 1 - RARE_WEIGHT)):
            bets += [(sign * cut, math.log(odds), weight / len(chosen)) for cut, odds in chosen]
    cuts_, odds_, weights = np.array(bets).T
    return cuts_, odds_, weights / weights.sum()


class ChangeDetector:
    """Sum the evidence that the distribution of p-values has changed at some time.

    Each bet multiplies the density of the p-values on one side of its cut. With the bet b_n(p) at step n, which has the
    mean 1 while the p-values are uniform,

        R_n = (1 + R_{n-1}) b_n(p_n)    (Shiryaev-Roberts: the sum of the likelihood ratios of all times of change)

    The mean of R_n is then n, and so is that of the weighted mean of several bets. By Doob's inequality the evidence
    reaches N / a within N steps with a probability of at most a, whatever the values are distributed like. Because
    values since a change enter the ranks, their p-values come closer to uniform again; therefore the bet of step n has
    the logarithm of its odds multiplied by s / n, where s is the step at which its change seems to have begun. That
    depends only on earlier p-values, so the mean stays 1.

    Arguments and results may have any number of leading dimensions: independent streams are then watched in parallel.

    Args:
        cuts: Shape (..., bets); see `choose_bets`.
        log_odds: Shape (..., bets).
        weights: Shape (..., bets).
        n: How many values the ranks hold already.

    Attributes:
        evidence: R_n, shape (...).
        starts: Per bet, the step before the most likely change (the last minimum of its cumulative sum), counted with
            the first `n` values; shape (..., bets).

    Source: Shin, Ramdas & Rinaldo (2023), E-detectors: a nonparametric framework for sequential change detection,
    New England Journal of Statistics in Data Science, doi:10.51387/23-NEJSDS51; Vovk (2021), Testing randomness online,
    Statistical Science 36(4), 595-611, doi:10.1214/20-STS817. The start is Page's (1954), Biometrika 41, 100-115.
    """

    def __init__(self, cuts: FloatArray, log_odds: FloatArray, weights: FloatArray, n: int) -> None:
        self._high = cuts < 0
        self._cuts = np.abs(cuts)
        self._log_odds, self._weights, self._n = log_odds, weights, n
        self._sums = np.zeros(cuts.shape)
        self._cusums = np.ones(cuts.shape)
        self.starts: Any = np.full(cuts.shape, n)
        self.evidence: Any = np.zeros(cuts.shape[:-1])

    def update(self, p: Any) -> None:
        """Add a p-value for each stream; shape (...), or a number if there is one stream."""
        n = self._n + 1
        odds = np.exp(self._log_odds * (self.starts / n))
        bets = np.where(self._won(np.asarray(p)[..., None]), odds, 1.0) / (1 - self._cuts + odds * self._cuts)
        self._sums = (1 + self._sums) * bets
        self._cusums = np.maximum(self._cusums, 1) * bets
        self.starts = np.where(self._cusums <= 1, n, self.starts)
        self.evidence = (self._sums * self._weights).sum(axis=-1)
        self._n = n

    def strongest(self) -> tuple[int, bool]:
        """Return the start of the bet with the most evidence of a single stream, and if it is for larger values."""
        bet = (self._sums * self._weights).argmax()
        return int(self.starts[bet]), bool(self._high[bet])

    def _won(self, p: FloatArray) -> Any:
        return np.where(self._high, 1 - p, p) <= self._cuts
