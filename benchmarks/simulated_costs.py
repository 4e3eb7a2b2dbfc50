"""What the promise of the gate costs: the questions that other procedures need for a PASS where nothing was lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from scipy.special import stdtrit
from scipy.stats import beta, binom

from benchmarks.simulated_gate import TAIL, passing, power_of_pairs, share_passing
from krag_eval._utils.arrays import BoolArray, FloatArray

_POWER = 0.8
CASES = ((0.02, 0.02), (0.02, 0.05), (0.05, 0.05), (0.05, 0.1), (0.05, 0.2), (0.1, 0.1), (0.1, 0.2), (0.1, 0.4))
"""Allowed drops, each with the share of the questions that only one of the two systems wins."""


def costs_table(smoke: bool) -> Iterator[str]:
    """The questions needed, by procedure; Student's t is as it is used, and promises nothing."""
    samples = 100 if smoke else 4_000
    yield (
        "| allowed drop | won or lost | samples of the bets | the gate | Berger & Boos | betting "
        "| Student's t, no promise | P(PASS) of the forbidden, the gate | Student's t |"
    )
    yield "| --: | --: | --: | --: | --: | --: | --: | --: | --: |"
    for allowed, differ in CASES[-1:] if smoke else CASES:
        by_gate = _fewest(lambda n, a=allowed, d=differ: power_of_pairs(n, a, d), 20, 10_000)  # type: ignore[misc]
        exact = _fewest(partial(_power_of_berger_boos, allowed, differ), by_gate // 2, 2 * by_gate)
        bet = _fewest(partial(_power_of_bets, allowed, differ, samples), by_gate // 2, 8 * by_gate)
        student = _fewest(lambda n, a=allowed, d=differ: _power(_student(n, a, *_pairs(n, d)), n, d), 2, 2 * by_gate)  # type: ignore[misc]
        wrong = max(_wrong_of_student(student, allowed, p) for p in np.linspace(0, (1 - allowed) / 2, 20).tolist())
        wins = np.arange(by_gate + 1)
        most = passing(by_gate, allowed, wins)
        right = max(
            share_passing(by_gate, wins, most, p, p + allowed)
            for p in np.linspace(0, (1 - allowed) / 2 - 1e-9, 60).tolist()
        )
        cells = [f"{n:,} ({n / by_gate - 1:+.0%})" for n in (exact, bet, student)]
        row = f"{by_gate:,} | {' | '.join(cells)} | {100 * right:.2f} % | {100 * wrong:.2f} %"
        yield f"| {allowed:g} | {differ:g} | {samples:,} | {row} |"


def _fewest(power: Callable[[int], float], few: int, enough: int) -> int:
    """Return the fewest questions with a power of 80 %, by halving: power rises but for its saw teeth."""
    while enough - few > 1:
        middle = (few + enough) // 2
        few, enough = (few, middle) if power(middle) >= _POWER else (middle, enough)
    return enough


def _pairs(n: int, differ: float, further: float = 1.0) -> tuple[FloatArray, FloatArray]:
    """Return the numbers of wins and of losses that are likely where as many are won as lost."""
    spread = 5.5 * further * (n * differ / 2) ** 0.5 + 6 * further
    one = np.arange(max(int(n * differ / 2 - spread), 0), min(int(n * differ / 2 + spread), n) + 1, dtype=np.float64)
    return one[:, None], one[None, :]


def _chance(n: int, wins: FloatArray, losses: FloatArray, p_win: float, p_loss: float) -> FloatArray:
    return np.asarray(binom.pmf(wins, n, p_win) * binom.pmf(losses, n - wins, min(p_loss / (1 - p_win), 1.0)))


def _power(passes: BoolArray, n: int, differ: float) -> float:
    return float(_chance(n, *_pairs(n, differ), differ / 2, differ / 2)[passes].sum())


def _student(n: int, allowed: float, wins: FloatArray, losses: FloatArray) -> BoolArray:
    mean = (wins - losses) / n
    error = np.sqrt(np.maximum((wins + losses) / n - mean**2, 0) / (n - 1))
    return np.asarray(mean + stdtrit(n - 1, TAIL) * error > -allowed)


def _wrong_of_student(n: int, allowed: float, p_win: float) -> float:
    wins, losses = np.arange(n + 1.0)[:, None], np.arange(n + 1.0)[None, :]
    passes = _student(n, allowed, wins, losses) & (wins + losses <= n)
    return float(np.nan_to_num(_chance(n, wins, losses, p_win, p_win + allowed))[passes].sum())


_ERROR_OF_NUISANCE = 0.001


def _power_of_berger_boos(allowed: float, differ: float, n: int) -> float:
    """Return the power of the exact unconditional test that orders samples by their score statistic.

    Its p-value is the largest over all shares of discordant pairs in their interval of 99.9 %, plus 0.1 %.

    Source: Tango (1998), Statistics in Medicine 17, for the statistic; Berger & Boos (1994), JASA 89(427).
    """
    wins, losses = _pairs(n, differ, 1.6)
    score = _tango(n, allowed, wins, losses)
    order = np.argsort(-score, axis=None)
    inner = [
        np.isin(whole.ravel(), part.ravel()) for whole, part in zip((wins, losses), _pairs(n, differ), strict=True)
    ]
    is_likely = inner[0][:, None] & inner[1][None, :]
    of_likely = score[is_likely]
    last = np.searchsorted(-score.ravel()[order], -of_likely + 1e-9, side="right") - 1
    discordant = (wins + losses)[is_likely]
    low, high = (
        beta.ppf(_ERROR_OF_NUISANCE / 2, discordant, n - discordant + 1),
        beta.ppf(1 - _ERROR_OF_NUISANCE / 2, discordant + 1, n - discordant),
    )
    low = np.maximum(np.nan_to_num(low), allowed)
    p_value = np.zeros(len(of_likely))
    for nuisance in np.linspace(low.min(), max(float(high.max()), allowed), 60):
        p_win = max((nuisance - allowed) / 2, 0.0)
        tail = np.cumsum(_chance(n, wins, losses, p_win, p_win + allowed).ravel()[order])[last]
        p_value = np.where((nuisance >= low) & (nuisance <= high), np.maximum(p_value, tail), p_value)
    passes = p_value + _ERROR_OF_NUISANCE <= TAIL
    return float(_chance(n, wins, losses, differ / 2, differ / 2)[is_likely][passes].sum())


def _tango(n: int, allowed: float, wins: FloatArray, losses: FloatArray) -> FloatArray:
    half = -losses - wins + (2 * n - losses + wins) * allowed
    gained = (np.sqrt(half**2 + 8 * n * wins * allowed * (1 - allowed)) - half) / (4 * n)
    return np.asarray((n * allowed - (losses - wins)) / np.sqrt(n * (2 * gained + allowed * (1 - allowed))))


def _power_of_bets(allowed: float, differ: float, samples: int, n: int) -> float:
    """Return how often the capital of one who bets against the drop is 40 times as large, at the end or before.

    The bets are those of the paper for n questions that are planned: it depends on the order of the questions.

    Source: Waudby-Smith & Ramdas (2024), JRSS B 86(1), doi:10.1093/jrsssb/qkad009, 4.1 and appendix B.
    """
    rng, won = np.random.default_rng(n), 0
    for start in range(0, samples, 500):
        drawn = rng.random((min(500, samples - start), n), dtype=np.float32)
        values = np.where(drawn < differ / 2, 0.0, np.where(drawn < differ, 1.0, 0.5))
        before = np.arange(1, n + 1)
        mean = (0.5 + np.cumsum(values, axis=1)) / (before + 1)
        variance = (0.25 + np.cumsum((values - mean) ** 2, axis=1)) / (before + 1)
        variance = np.column_stack([np.full(len(values), 0.25), variance[:, :-1]])
        bound = (1 - allowed) / 2
        bets = np.minimum(np.sqrt(2 * np.log(1 / TAIL) / (n * variance)), 0.75 / bound)
        capital = np.cumsum(np.log1p(bets * (values - bound)), axis=1)
        won += int((capital.max(axis=1) >= np.log(1 / TAIL)).sum())
    return won / samples
