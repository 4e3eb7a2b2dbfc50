"""How often the gate passes what it must not, fails what it must not, and decides: enumerated or simulated.

Alone: `python -m benchmarks.simulated_gate`; `--smoke` does everything once at a tiny size.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from functools import cache

import numpy as np
from scipy.stats import beta, binom

from krag_eval import calibrate
from krag_eval._utils.arrays import BoolArray, FloatArray, IntArray
from krag_eval.analysis.gate import FEWEST_CLUSTERS
from krag_eval.analysis.planning import without_a_difference
from krag_eval.statistics.bootstrap import mean_intervals
from krag_eval.statistics.bounded_mean import BoundedMean
from krag_eval.statistics.significance import holm

TAIL = 0.025
"""What a gate at the default confidence promises: P(PASS) of a forbidden drop, and P(FAIL) of a met policy."""

_PAIR = np.array([-1.0, 0.0, 1.0])


def enumerated(smoke: bool) -> Iterator[str]:
    """Hits and misses, exactly."""
    yield "\nThe largest P(PASS) of a drop that is just forbidden, over all win and loss rates, enumerated:\n"
    yield from enumerated_table([30] if smoke else [30, 57, 100, 200, 300, 500], 100 if smoke else 2_000)


def of_shapes(smoke: bool) -> Iterator[str]:
    """All other values."""
    yield "\nThe same for other shapes, and P(FAIL) where all questions and ten slices just keep what is allowed:\n"
    yield from shapes_table([30] if smoke else [30, 100, 300, 1_000, 3_000], 20 if smoke else 4_000)


def of_clusters(smoke: bool) -> Iterator[str]:
    """Questions that depend on each other."""
    yield "\nThe same on clusters of 1 to about 45 questions, 10 on average, P(PASS) and P(FAIL) of one requirement:\n"
    yield from clusters_table(20 if smoke else 4_000)


def planned(smoke: bool) -> Iterator[str]:
    """Do as many questions as planned pass?"""
    yield "\nQuestions as `BoundedMean.needed` plans them for a PASS in 80 % where nothing is lost:\n"
    yield from planned_table(20 if smoke else 2_000)
    yield "\nThe same on clusters, as `questions_needed` with `cluster` plans them from pilots of 400 questions:\n"
    yield from planned_clusters_table(*((2, 4) if smoke else (40, 50)))


def nightly(smoke: bool) -> Iterator[str]:
    """A gate that looks every night."""
    yield "\nA nightly gate with 6 requirements on 300 questions, two systems that are equally good:\n"
    yield from nights_table(*((2, 20) if smoke else (400, 365)))


GATE_TABLES = enumerated, of_shapes, of_clusters, planned, nightly


def share(count: float, samples: int) -> str:
    """Return a share with its standard error, in percent."""
    part = count / samples
    return f"{100 * part:.2f} ± {100 * max(part * (1 - part) / samples, 0.25 / samples**2) ** 0.5:.2f} %"


@cache
def pairs(wins: int, losses: int, n: int) -> BoundedMean:
    """The differences of two systems that find a document or do not."""
    return BoundedMean.of(_PAIR, times=np.array([losses, n - wins - losses, wins]), least=-1.0, most=1.0)


def passing(n: int, allowed: float, wins: IntArray) -> IntArray:
    """Return the most questions that may be lost, for ascending numbers of questions won; -1 if none may."""
    found: list[int] = []
    most = -1
    for won in wins.tolist():
        too_many = n - won + 1  # by the gate's monotony it is looked for by halving, upwards from the last one
        step = 1 if found else too_many
        while step and most < n - won:
            at = min(most + step, too_many - 1)
            if pairs(won, at, n).p_at_most(-allowed) <= TAIL:
                most = at
            else:
                too_many = at
            step = (too_many - most) // 2 if too_many - most > 1 else 0
        found.append(min(most, n - won))
    return np.array(found)


def share_passing(n: int, wins: IntArray, most_lost: IntArray, p_win: float, p_loss: float) -> float:
    """The probability of a pass, over all samples that may be drawn with these numbers of questions won."""
    lost = np.where(most_lost >= 0, binom.cdf(most_lost, n - wins, min(p_loss / (1 - p_win), 1.0)), 0.0)
    return float(binom.pmf(wins, n, p_win) @ lost)


def enumerated_table(sizes: list[int], rounds: int) -> Iterator[str]:
    """The gate's bound beside the resampled interval by which the gate decided until 2026."""
    yield "| questions | allowed drop | samples | asked | the gate | resampled |"
    yield "| --: | --: | --- | --- | --: | --: |"
    for n in sizes:
        for allowed in (0.02, 0.05, 0.1, 0.3):
            wins = np.arange(n + 1)
            most_lost, resampled = passing(n, allowed, wins), _resampled_passes(n, allowed, rounds)
            rates = [0.0, 0.0]
            for p_win in np.linspace(0, (1 - allowed) / 2 - 1e-9, 60).tolist():
                by_gate = share_passing(n, wins, most_lost, p_win, p_win + allowed)
                by_loss = binom.pmf(wins[None, :], n - wins[:, None], min((p_win + allowed) / (1 - p_win), 1.0))
                old = float(binom.pmf(wins, n, p_win) @ (by_loss * resampled).sum(axis=1))
                rates = [max(rates[0], by_gate), max(rates[1], old)]
            cells = " | ".join(f"{100 * rate:.2f} %" for rate in rates)
            yield f"| {n} | {allowed:g} | all | at most 2.5 % | {cells} |"


def _resampled_passes(n: int, allowed: float, rounds: int) -> BoolArray:
    """Return whether the resampled interval of each number of wins and losses lies above the allowed drop."""
    passes = np.zeros((n + 1, n + 1), dtype=bool)
    for won in range(n + 1):
        expected = won + n * allowed  # lost where the drop is just what is allowed
        spread = (2 * expected) ** 0.5
        lost = np.arange(max(int(expected - 4 * spread - 12), 0), min(int(expected + spread), n - won) + 1)
        if len(lost):
            passes[won, : lost[0]] = True
            place = np.arange(n)[:, None]
            drawn = np.where(place < lost, -1.0, np.where(place < lost + won, 1.0, 0.0))
            reach = np.ones(len(lost))
            passes[won, lost] = mean_intervals(drawn, (-reach, reach), 1 - 2 * TAIL, rounds, 0)[0] >= -allowed - 1e-12
    return passes


def shapes() -> dict[str, tuple[FloatArray, FloatArray]]:
    """Differences of single questions that are no mere wins and losses: their values, and how often each comes."""
    steps = np.arange(101) / 100
    skewed = np.diff(beta(0.3, 3.0).cdf(np.append(steps, 1.01)))
    small = np.array([-0.02, 0.03])
    ranks = 1 / np.arange(1, 11)
    moves, times = np.unique(np.round(ranks[:, None] - ranks, 12), return_counts=True)
    return {
        "skewed: losses as beta(0.3, 3)": (-steps, skewed / skewed.sum()),
        "rare losses: 1 % lose 1, others -0.02 or +0.03": (np.append(-1.0, small), np.array([0.01, 0.495, 0.495])),
        "rare losses: 0.3 % lose 1, others +0.01": (np.array([-1.0, 0.01]), np.array([0.003, 0.997])),
        "ceiling: 3 % lose 0.1, 0.5 or 1": (np.array([-1, -0.5, -0.1, 0.0]), np.array([0.01, 0.01, 0.01, 0.97])),
        "tied: 80 % unchanged, others change ranks": (moves, 0.2 * times / 100 + 0.8 * (np.abs(moves) < 1e-9)),
    }


def shapes_table(sizes: list[int], samples: int) -> Iterator[str]:
    """What the gate says of other shapes."""
    yield "| differences | questions | samples | asked | PASS | FAIL |"
    yield "| --- | --: | --- | --- | --: | --: |"
    for name, (values, chances) in shapes().items():
        truth = float(values @ chances)
        for n in sizes:
            rng, passed, failed = np.random.default_rng(n), 0, 0
            of_family = max(samples // 4, 2)
            for number in range(samples):
                slices = rng.multinomial(n // 10, chances, 10)
                whole = _of(values, slices.sum(axis=0))
                passed += whole.p_at_most(truth) <= TAIL
                if number < of_family:
                    failed += _fails([whole, *(_of(values, times) for times in slices)], truth)
            cells = f"{share(passed, samples)} | {share(failed, of_family)}"
            yield f"| {name} | {n:,} | {samples:,} and {of_family:,} | both at most 2.5 % | {cells} |"


def _of(values: FloatArray, times: IntArray) -> BoundedMean:
    return BoundedMean.of(values, times=times, least=-1.0, most=1.0)


def _fails(family: list[BoundedMean], bound: float) -> bool:
    """Return whether a gate with these requirements fails; a mean far above the bound needs no computation."""
    return min(holm([one.p_at_least(bound) if one.estimate < bound else 1.0 for one in family])) <= TAIL


def clusters_table(samples: int) -> Iterator[str]:
    """What the gate says of questions in clusters whose sizes differ."""
    yield "| clusters | losses | samples | asked | PASS | FAIL |"
    yield "| --: | --- | --: | --- | --: | --: |"
    for n_clusters in (20, 50):
        for name, heavy, by_size in (
            ("10 % in each cluster", False, 0.0),
            ("all in one of ten clusters", True, 0.0),
            ("more in large clusters", False, 0.01),
        ):
            rng, passed, failed = np.random.default_rng(n_clusters), 0, 0
            of_size, chance = np.arange(1, 46), 0.9 ** np.arange(45) / (0.9 ** np.arange(45)).sum()
            rate = np.minimum(0.1 + by_size * (of_size - 10), 0.9).clip(0)
            truth = -float(chance @ (of_size * rate)) / float(chance @ of_size)
            for _ in range(samples):
                sizes = rng.choice(of_size, n_clusters, p=chance)
                lost = rng.binomial(sizes, rate[sizes - 1])
                lost = np.where(rng.random(n_clusters) < rate[sizes - 1], sizes, 0) if heavy else lost
                mean = BoundedMean.of(-lost.astype(np.float64), sizes.astype(np.float64), least=-1.0, most=1.0)
                passed += mean.p_at_most(truth) <= TAIL
                failed += mean.p_at_least(truth) <= TAIL
            cells = f"{share(passed, samples)} | {share(failed, samples)}"
            yield f"| {n_clusters} | {name} | {samples:,} | both at most 2.5 % | {cells} |"


def planned_table(samples: int) -> Iterator[str]:
    """How often as many questions as planned pass."""
    yield "| differences | allowed drop | samples | planned | asked | reached |"
    yield "| --- | --: | --- | --: | --: | --: |"
    for differ in (0.02, 0.1, 0.2, 0.4):
        for allowed in (0.05, 0.1):
            pilot = BoundedMean(
                _PAIR, np.ones(3), np.array([differ / 2, 1 - differ, differ / 2]), least=-1.0, most=1.0, n=1
            )
            n = round(pilot.needed(-allowed, TAIL, 0.8) or 0)
            reached = power_of_pairs(n, allowed, differ)
            row = f"all | {n:,} | 80 % | {100 * reached:.1f} %"
            yield f"| {differ:.0%} of the questions won or lost | {allowed:g} | {row} |"
    for name, (values, chances) in shapes().items():
        truth, rng = float(values @ chances), np.random.default_rng(1)
        n = round(
            (BoundedMean(values, np.ones(len(values)), chances, -1.0, 1.0, 1).needed(truth - 0.05, TAIL, 0.8)) or 0
        )
        passed = sum(
            _of(values, times).p_at_most(truth - 0.05) <= TAIL for times in rng.multinomial(n, chances, samples)
        )
        yield f"| {name} | 0.05 more than the mean | {samples:,} | {n:,} | 80 % | {share(passed, samples)} |"


_OF_PILOT = 400


def planned_clusters_table(pilots: int, samples: int) -> Iterator[str]:
    """How often as many questions as planned pass: over pilots, and over samples of the size that each plans."""
    yield "| clusters | intra-class correlation | allowed drop | samples | planned | asked | reached |"
    yield "| --- | --: | --: | --: | --: | --: | --: |"
    of_size = np.arange(1, 46)
    uneven = 0.9**of_size / (0.9**of_size).sum()
    designs = {"of 10": (np.array([10]), np.ones(1)), "of 1 to 45, 9 on average": (of_size, uneven)}
    for name, (sizes, chances) in designs.items():
        for correlation in (0.0, 0.1, 0.3):
            for allowed in (0.05, 0.1):
                rng, passed, plans = np.random.default_rng(1), 0, list[int]()
                for _ in range(pilots):
                    n_clusters = round(_OF_PILOT / float(chances @ sizes))
                    values, labels = _in_clusters(rng, rng.choice(sizes, n_clusters, p=chances), correlation)
                    plans.append(math.ceil(without_a_difference(values, labels).needed(-allowed, TAIL, 0.8) or 0))
                    n_planned = max(math.ceil(plans[-1] / float(chances @ sizes)), FEWEST_CLUSTERS)
                    for _ in range(samples):
                        values, labels = _in_clusters(rng, rng.choice(sizes, n_planned, p=chances), correlation)
                        mean = BoundedMean.of(values, least=-1.0, most=1.0, labels=labels)
                        passed += mean.p_at_most(-allowed) <= TAIL
                spread = f"{np.quantile(plans, 0.1):,.0f} to {np.quantile(plans, 0.9):,.0f}"
                row = f"{pilots} pilots, {samples} each | {spread} | 80 % | {share(passed, pilots * samples)}"
                yield f"| {name} | {correlation:g} | {allowed:g} | {row} |"


def _in_clusters(rng: np.random.Generator, sizes: IntArray, correlation: float) -> tuple[FloatArray, IntArray]:
    """Return differences of questions, 20 % of them won or lost, and their clusters.

    A question has the outcome of its cluster with the probability sqrt(correlation), and else one of its own.
    """
    labels = np.repeat(np.arange(len(sizes)), sizes)
    chances = [_DIFFERENT / 2, 1 - _DIFFERENT, _DIFFERENT / 2]
    together = rng.choice(_PAIR, len(sizes), p=chances)[labels]
    alone = rng.choice(_PAIR, len(labels), p=chances)
    return np.where(rng.random(len(labels)) < correlation**0.5, together, alone), labels


def power_of_pairs(n: int, allowed: float, differ: float) -> float:
    """Return P(PASS) where as many questions are won as lost."""
    wins = _likely(n, differ / 2)
    return share_passing(n, wins, passing(n, allowed, wins), differ / 2, differ / 2)


def _likely(n: int, p: float) -> IntArray:
    """Return the numbers of n that come with a probability of more than about 1e-9."""
    return np.arange(max(int(binom.ppf(1e-9, n, p)), 0), min(int(binom.ppf(1 - 1e-9, n, p)), n) + 1)


def nights_table(years: int, nights: int) -> Iterator[str]:
    """How many years, of so many nights, have a false alarm; 6 requirements a night, with differences of real sizes."""
    yield (
        "| questions of a night | policy | samples | asked | years with a false alarm | nights to find a drop of 0.10 |"
    )
    yield "| --- | --- | --- | --- | --: | --: |"
    for kind in ("the same", "fresh"):
        for shared in (1, nights):
            rng, n_waits = np.random.default_rng(20261122), max(years // 4, 2)
            alarms = sum(any(_alarms(kind, nights, rng, 0.0, shared)) for _ in range(years))
            waits = [
                next((i for i, alarm in enumerate(_alarms(kind, nights, rng, 0.10, shared), 1) if alarm), nights)
                for _ in range(n_waits)
            ]
            asked = "at most 2.5 %" if shared > 1 else "-"
            cells = f"{share(alarms, years)} | {np.median(waits):.0f}"
            yield f"| {kind} | `nights = {shared}` | {years} and {n_waits} years | {asked} | {cells} |"


_DIFFERENT, _NIGHTLY = 0.2, 300


def _alarms(kind: str, nights: int, rng: np.random.Generator, drop: float, shared: int) -> Iterator[bool]:
    """Yield whether each night fails; the first of the six has lost `drop`.

    Of the same questions, 1 % of the outcomes change from night to night.
    """
    lost = np.full(6, _DIFFERENT / 2)
    lost[0] += drop / 2
    fixed = rng.random((_NIGHTLY, 6))
    for _ in range(nights):
        drawn = rng.random((_NIGHTLY, 6))
        if kind == "the same":
            drawn = fixed = np.where(rng.random((_NIGHTLY, 6)) < 0.01, drawn, fixed)
        losses, changed = (drawn < lost).sum(axis=0).tolist(), (drawn < _DIFFERENT).sum(axis=0).tolist()
        p_values = [_p_fail(one - gone, gone) for one, gone in zip(changed, losses, strict=True)]
        yield min(holm(p_values)) * shared <= TAIL


@cache
def _p_fail(wins: int, losses: int) -> float:
    return pairs(wins, losses, _NIGHTLY).p_at_least(0.0) if wins < losses else 1.0


def calibrated_table(samples: int) -> Iterator[str]:
    """How often a chosen threshold keeps its precision."""
    yield "| pairs | samples | asked | true precision at least 0.90, or none chosen | a threshold was chosen |"
    yield "| --: | --: | --: | --: | --: |"
    gold = [f"w{i}" for i in range(40)]
    texts = [" ".join(gold[:shared] + [f"x{i}" for i in range(40 - shared)]) for shared in range(41)]
    matching = 1 / (1 + np.exp(-14 * (np.arange(41) / 40 - 0.55)))
    truth = np.cumsum(matching[::-1])[::-1] / np.arange(41, 0, -1)
    for n in (30, 50, 100, 200, 400):
        rng, kept, chosen = np.random.default_rng(n), 0, 0
        for _ in range(samples):
            drawn = rng.integers(0, 41, n)
            labels = rng.random(n) < matching[drawn]
            labels[0] |= not labels.any()
            rows = [(texts[40], texts[i], bool(label)) for i, label in zip(drawn, labels, strict=True)]
            threshold = calibrate(rows, precision=0.90).threshold
            chosen += threshold is not None
            kept += threshold is None or bool(truth[round(threshold * 40)] >= 0.90)
        yield f"| {n} | {samples:,} | 95 % | {share(kept, samples)} | {share(chosen, samples)} |"


if __name__ == "__main__":
    for table in GATE_TABLES:
        for line in table("--smoke" in sys.argv):
            print(line, flush=True)
