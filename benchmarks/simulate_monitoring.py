"""How often does a watch call nothing a change, and how soon does it see one? Simulated years of retrievals.

`python -m benchmarks.simulate_monitoring` takes half an hour or more and writes the tables into
benchmarks/monitoring.md; `--smoke` does everything once at a tiny size and writes nothing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binom, norm

from krag_eval._utils.arrays import FloatArray, IntArray
from krag_eval_monitor.changes import ChangeDetector, choose_bets
from krag_eval_monitor.watch import SIGNALS

PAGE = Path(__file__).resolve().with_name("monitoring.md")
START, END = "<!-- simulated -->", "<!-- end of simulated -->"
PER_DAY, ERROR, REFERENCE, POWER = 100, 0.05, 2_000, 0.8
YEAR = 365 * PER_DAY
# Each signal of a usual stream: values and how often they occur. Continuous ones have 50 equally frequent values.
USUAL = {
    "empty": (np.array([0, 1]), [0.98, 0.02]),
    "repeats": (np.array([0, 1, 2]), [0.85, 0.1, 0.05]),
    "retrieved": (np.arange(1, 11), [0.02] * 9 + [0.82]),
    "seconds": (np.exp(norm.ppf((np.arange(50) + 0.5) / 50)), [0.02] * 50),
    "top_score": (np.arange(50) / 50, [0.02] * 50),
    "hit_rate@5": (np.array([0, 1]), [0.2, 0.8]),
}


def ranks(codes: IntArray, seasons: IntArray, rng: np.random.Generator) -> FloatArray:
    """The p-values of streams, as `Ranks` makes them one by one.

    Args:
        codes: The place of each value among those that occur; shape (streams, n).
        seasons: The season of each step; shape (n,).
        rng: Breaks the ties.
    """
    p = np.empty(codes.shape)
    for season in np.unique(seasons):
        steps = np.flatnonzero(seasons == season)
        for stream in range(len(codes)):
            one = codes[stream, steps]
            below, equal = np.zeros((2, len(one)), np.int64)
            for code in np.unique(one):
                is_it = one == code
                so_far = np.cumsum(is_it)
                below[one > code] += so_far[one > code]
                equal[is_it] = so_far[is_it]
            p[stream, steps] = (below + rng.random(len(one)) * equal) / np.arange(1, len(one) + 1)
    return p


def first_alarms(
    values: FloatArray,
    p: FloatArray,
    direction: str,
    limit: float,
    reference: int,
) -> IntArray:
    """The step of the first alarm of each stream, counted from 1; 0 where there is none.

    Args:
        values: Those of the streams, shape (streams, n).
        p: Their p-values without the first quarter of the reference.
        direction: As in `choose_bets`.
        limit: Of the evidence.
        reference: How many first values are the reference.
    """
    design = reference // 4
    bets = [choose_bets(stream[:design].tolist(), direction) for stream in values]
    most = max(len(cuts) for cuts, _, _ in bets)
    # Streams may have different numbers of bets: those that are missing have no weight.
    cuts, odds, weights = (
        np.array([np.pad(arrays[i], (0, most - len(arrays[i]))) for arrays in bets]) for i in range(3)
    )
    detector = ChangeDetector(cuts, odds, weights, reference)
    alarms = np.zeros(len(values), np.int64)
    for step in range(reference, values.shape[1]):
        detector.update(p[:, step - design])
        alarms[(alarms == 0) & (detector.evidence >= limit)] = step + 1
        if alarms.all():
            break
    return alarms


def alarms_of(
    codes: IntArray,
    values: FloatArray,
    direction: str,
    rng: np.random.Generator,
    *,
    signals: int = 1,
    reference: int = REFERENCE,
    seasons: IntArray | None = None,
) -> IntArray:
    """The first alarm of streams that are given by codes of values."""
    design = reference // 4
    of_step = np.zeros(codes.shape[1], np.int64) if seasons is None else seasons
    p = ranks(codes[:, design:], of_step[design:], rng)
    return first_alarms(values[codes], p, direction, YEAR * signals / ERROR, reference)


def drawn(key: str, streams: int, n: int, rng: np.random.Generator) -> tuple[IntArray, FloatArray]:
    """Codes of independent values of a usual signal, and the values."""
    values, shares = USUAL[key]
    return np.searchsorted(np.cumsum(shares)[:-1], rng.random((streams, n)), side="right"), values.astype(float)


def quiet_table(years: int, n: int, rng: np.random.Generator) -> Iterator[str]:
    """Years without a change: how many have an alarm."""
    yield "| signal | direction | years with an alarm |"
    yield "| --- | --- | --: |"
    directions = {**SIGNALS, "hit_rate@5": "down"}
    any_alarm = np.zeros(years, bool)
    for key, direction in directions.items():
        found = np.concatenate(
            [
                alarms_of(*drawn(key, len(part), n, rng), direction, rng, signals=len(directions)) > 0
                for part in np.array_split(np.arange(years), max(1, years // 100))
            ]
        )
        any_alarm |= found
        yield f"| `{key}` | {direction} | {found.mean():.1%} |"
    yield f"| all six | | **{any_alarm.mean():.1%}** |"


def known_test(before: float, after: float) -> int:
    """How many questions the exact binomial test of a known hit rate needs, at its share of the year's error."""
    n = 20
    while not all(_power(n + more, before, after) >= POWER for more in range(10)):  # its power goes up in a saw
        n += 1
    return n


def _power(n: int, before: float, after: float) -> float:
    most = binom.ppf(ERROR * n / YEAR, n, before)
    most -= binom.cdf(most, n, before) > ERROR * n / YEAR
    return float(binom.cdf(most, n, after))


def two_sample_test(before: float, after: float, reference: int) -> int:
    """How many questions the test of two hit rates needs, if the first comes from so many."""
    for n in range(20, 100_000):
        pooled = (before * reference + after * n) / (reference + n)
        under_null = (pooled * (1 - pooled) * (1 / n + 1 / reference)) ** 0.5
        under_change = (after * (1 - after) / n + before * (1 - before) / reference) ** 0.5
        if (before - after - norm.isf(ERROR * n / YEAR) * under_null) / under_change >= norm.ppf(POWER):
            return n
    raise ValueError("no number of questions is enough")


def delay_table(streams: int, rng: np.random.Generator) -> Iterator[str]:
    """How many questions after a drop of the hit rate the alarm comes, beside what a fixed test needs."""
    yield (
        "| hit rate | values before | fixed test, rate known | fixed test, rate estimated | median | mean | "
        "median / estimated | seen within 1.5 times |"
    )
    yield "| --- | --: | --: | --: | --: | --: | --: | --: |"
    cases = [(0.8, 0.7, before) for before in (REFERENCE, 5_000, YEAR // 2)]
    cases += [(before, after, YEAR // 2) for before, after in ((0.95, 0.9), (0.9, 0.8), (0.8, 0.75), (0.6, 0.5))]
    for before, after, n_before in cases:
        known, estimated = known_test(before, after), two_sample_test(before, after, n_before)
        rates = np.repeat([before, after], [n_before, 12 * estimated])
        codes = (rng.random((streams, len(rates))) < rates).astype(np.int64)
        alarms = alarms_of(codes, np.array([0.0, 1.0]), "down", rng)
        delays = np.where(alarms == 0, len(rates), alarms)[(alarms == 0) | (alarms > n_before)] - n_before
        median, mean = np.median(delays), delays.mean()
        yield (
            f"| {before} to {after} | {n_before:,} | {known:,} | {estimated:,} | {median:,.0f} | {mean:,.0f} | "
            f"{median / estimated:.2f} | {(delays <= 1.5 * estimated).mean():.0%} |"
        )


def other_changes_table(streams: int, rng: np.random.Generator) -> Iterator[str]:
    """Changes of the other signals after half a year, each watched alone."""
    yield "| change after half a year | median delay | seen within 5,000 |"
    yield "| --- | --: | --: |"
    steps, quantiles = YEAR // 2, norm.ppf((np.arange(50) + 0.5) / 50)
    changes: list[tuple[str, str, list[float], str]] = [
        ("empty answers from 2 % to 4 %", "empty", [0.96, 0.04], "up"),
        ("empty answers from 2 % to 10 %", "empty", [0.9, 0.1], "up"),
        ("every twentieth list of 10 has 5", "retrieved", [0.02] * 4 + [0.06] + [0.02] * 4 + [0.78], "both"),
        *(
            (f"everything takes {by - 1:.0%} longer", "seconds", _shifted(quantiles, float(np.log(by))), "up")
            for by in (1.2, 1.5)
        ),
        ("one retrieval in 50 takes as long as the slowest 2 %", "seconds", [0.0196] * 49 + [0.0396], "up"),
        ("the best score is 0.3 standard deviations lower", "top_score", _shifted(quantiles, -0.3), "both"),
    ]
    for name, key, shares, direction in changes:
        codes, values = drawn(key, streams, steps + 5_000, rng)
        edges = np.cumsum(shares)[:-1] / sum(shares)
        codes[:, steps:] = np.searchsorted(edges, rng.random((streams, 5_000)), side="right")
        alarms = alarms_of(codes, values, direction, rng)
        delays = np.where(alarms == 0, codes.shape[1] + 1, alarms)[(alarms == 0) | (alarms > steps)] - steps
        median = f"{np.median(delays):,.0f}" if np.median(delays) <= 5_000 else "more than 5,000"
        yield f"| {name} | {median} | {(delays <= 5_000).mean():.0%} |"


def _shifted(quantiles: FloatArray, by: float) -> list[float]:
    """The shares of 50 classes, each of a fiftieth before, after everything has moved by so many deviations."""
    edges = norm.cdf(norm.ppf(np.arange(1, len(quantiles)) / len(quantiles)) - by)
    return [float(share) for share in np.diff(np.concatenate([[0.0], edges, [1.0]]))]


def limits_table(years: int, n: int, rng: np.random.Generator) -> Iterator[str]:
    """Years of a hit rate of .8 and of latencies that are not exchangeable: how many have an alarm."""
    yield "| a year without a sudden change | setting | years with an alarm |"
    yield "| --- | --- | --: |"
    hours = np.arange(n) * 24 // PER_DAY % 24
    weekend = (np.arange(n) // PER_DAY % 7 >= 5).astype(np.int64)
    wave = np.sin(2 * np.pi * hours / 24)

    def hits(rates: Any) -> IntArray:
        outcomes: IntArray = (rng.random((years, n)) < rates).astype(np.int64)
        return outcomes

    def bursts(length: int) -> IntArray:
        """The same outcome for each question that one user repeats, so many times on average."""
        fresh = rng.random((years, n)) < 1 / length
        places = np.maximum.accumulate(np.where(fresh, np.arange(n), 0), axis=1)
        return hits(np.full(n, 0.8))[np.arange(years)[:, None], places]

    cases: list[tuple[str, str, Callable[[], IntArray], IntArray | None]] = [
        ("hit rate .85 in the day, .75 at night", "", lambda: hits(0.8 + 0.05 * wave), None),
        ("hit rate .85 in the day, .75 at night", '`season="day"`', lambda: hits(0.8 + 0.05 * wave), hours),
        ("hit rate .9 in the day, .7 at night", "", lambda: hits(0.8 + 0.1 * wave), None),
        ("hit rate .9 in the day, .7 at night", '`season="day"`', lambda: hits(0.8 + 0.1 * wave), hours),
        ("hit rate .8, at weekends .7", "", lambda: hits(0.8 - 0.1 * weekend), None),
        ("hit rate .8, at weekends .7", '`season="week"`', lambda: hits(0.8 - 0.1 * weekend), hours + 24 * weekend),
        ("each question once", "", lambda: bursts(1), None),
        *(
            (f"each question {times} times in a row on average", "", lambda t=times: bursts(t), None)
            for times in (1.2, 1.5, 2, 3)
        ),
        ("hit rate falls from .8 to .7 over the year, evenly", "", lambda: hits(np.linspace(0.8, 0.7, n)), None),
    ]
    for name, setting, draw, seasons in cases:
        alarms = alarms_of(draw(), np.array([0.0, 1.0]), "down", rng, seasons=seasons)
        yield f"| {name} | {setting} | {(alarms > 0).mean():.1%} |"


def tables(smoke: bool) -> Iterator[str]:
    """The lines between the markers of the page."""
    years, few, n = (3, 2, 2_000) if smoke else (1_000, 400, YEAR)
    yield f"{years:,} years without a change, {n:,} retrievals each:\n"
    yield from quiet_table(years, n, np.random.default_rng(1))
    yield f"\nA hit rate that falls, watched alone, {few:,} streams a line:\n"
    yield from delay_table(few, np.random.default_rng(2))
    yield f"\nOther changes, {few // 2:,} streams a line:\n"
    yield from other_changes_table(few // 2, np.random.default_rng(3))
    yield f"\nWhat breaks the guarantee, {few:,} years of {n:,} retrievals a line:\n"
    yield from limits_table(few, n, np.random.default_rng(4))


def main() -> int:
    """Simulate, print, and write the tables into the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help="everything once, at a tiny size; writes no page")
    smoke = parser.parse_args().smoke
    lines = []
    for line in tables(smoke):
        print(line, flush=True)
        lines.append(line)
    if not smoke:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(START)
        after = rest.partition(END)[2]
        PAGE.write_text(f"{before}{START}\n" + "\n".join(lines) + f"\n{END}{after}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
