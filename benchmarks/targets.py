"""Check the measurements against our targets, and say where the time goes if one is missed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from benchmarks.harness import Row


def report(tables: Mapping[str, list[Row]]) -> Iterator[str]:
    """Yield how many targets were reached, then each missed one with its profile; nothing if there are no targets."""
    rows = [row for table in tables.values() for row in table if row.asked is not None]
    if not rows:
        return
    missed = [row for row in rows if not row.reached]
    yield f"Targets: {len(rows) - len(missed)} of {len(rows)} reached"
    profiled: set[str] = set()
    for row in missed:
        work, peer, ours, _, ratio, target, _ = row.cells()
        compared = f", compared with {peer}" if peer else ""
        yield f"\nMissed: {work}{compared}: {ratio or ours}, target {target}. {row.reason}".rstrip()
        if row.profile and work not in profiled:
            yield f"Where our time goes (cProfile, which slows calls down):\n\n{row.profile}"
            profiled.add(work)
