"""What the pictures read of a report: its metrics, its cut-offs and the values at them."""

from __future__ import annotations

from collections.abc import Sequence

from krag_eval.report.records import Report, ReportedSystem


def cut_offs_of(report: Report) -> list[str]:
    """The cut-offs as endings of keys: ranks ascending, all ranks (an empty ending), budgets of tokens ascending."""
    return sorted(dict.fromkeys(at for system in report.systems for at in system.result.tally.counts), key=_order)


def is_budget(at: str) -> bool:
    """Whether a cut-off is a budget of tokens."""
    return at != "" and not at.removeprefix("@").isdecimal()


def tick_of(at: str) -> str:
    """A cut-off in words.

    >>> [tick_of(at) for at in ("@5", "", "@2000tok")]
    ['5', 'all', '2000 tok']
    """
    name = at.removeprefix("@")
    return (f"{name.removesuffix('tok')} tok" if name.endswith("tok") else name) or "all"


def metrics_of(report: Report) -> list[str]:
    """The names of all metrics, in the order of the results."""
    return list(dict.fromkeys(key.partition("@")[0] for system in report.systems for key in system.result.tally.means))


def value_of(system: ReportedSystem, key: str) -> float | None:
    """The value of a key; None where it is undefined, or the system does not have it."""
    return system.result[key] if key in system.result.tally.means else None


def interval_of(system: ReportedSystem, key: str) -> tuple[float, float] | None:
    """The interval of a value; None where there is none."""
    return None if system.result.intervals is None else system.result.intervals.get(key)


def largest_cut_off(report: Report) -> str:
    """The largest number of ranks; where there are budgets alone, the largest of these."""
    cut_offs = cut_offs_of(report)
    return next((at for at in reversed(cut_offs) if not is_budget(at)), cut_offs[-1])


def spread_evenly(items: Sequence[str], most: int) -> list[str]:
    """At most so many items, the first and the last among them.

    >>> spread_evenly("abcdefg", 3)
    ['a', 'd', 'g']
    """
    if len(items) <= most:
        return list(items)
    if most < 2:
        return [items[-1]]
    return [items[round(place * (len(items) - 1) / (most - 1))] for place in range(most)]


def _order(at: str) -> tuple[int, int]:
    digits = at.removeprefix("@").removesuffix("tok")
    return (1, 0) if at == "" else (2 if is_budget(at) else 0, int(digits) if digits.isdecimal() else 0)
