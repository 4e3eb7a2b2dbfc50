"""Match in several processes if that saves time."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np

from krag_eval._utils.arrays import IntArray
from krag_eval._utils.processes import run_in_processes
from krag_eval.documents.columns import Side
from krag_eval.matching import find_matches
from krag_eval.matching.batch import Batch, Matches
from krag_eval.matching.settings import Settings

# A worker needs about half a second to start; below this many seconds of matching it does not earn them.
_PAYS_FROM = 2.0
_TRIED_FIRST = 0.02


def find_matches_in_parallel(batch: Batch, n_jobs: int) -> Matches:
    """Return the matches of `find_matches`, bit for bit, from up to `n_jobs` processes.

    A small part of the queries is matched here first. Only if the rest will take some seconds, it is divided among
    processes; each matches its queries with one thread.

    Raises:
        InvalidInputError: The settings cannot be sent to a process, or the processes cannot be started.
    """
    n_queries = len(batch)
    first = max(1, int(n_queries * _TRIED_FIRST))
    bounds = [0, first, n_queries]
    started = time.perf_counter()
    parts = [_match(_columns(batch, 0, first), batch.settings)]
    expected = (time.perf_counter() - started) / first * (n_queries - first)
    if expected < _PAYS_FROM or n_queries - first < n_jobs:
        if first < n_queries:
            parts.append(_match(_columns(batch, first, n_queries), batch.settings))
        return _join(batch, bounds[: len(parts) + 1], parts)
    n_parts = min(n_queries - first, 4 * n_jobs)
    bounds = [0, *(first + np.arange(n_parts + 1) * (n_queries - first) // n_parts).tolist()]
    left = [_columns(batch, start, stop) for start, stop in pairwise(bounds[1:])]
    match = partial(_match, settings=batch.settings)
    found = dict(run_in_processes(match, left, n_jobs, lambda part: f"{len(part)} queries", "n_jobs"))
    parts += [found[part] for part in left]
    return _join(batch, bounds, parts)


# Ids, texts, offsets and the first query.
_Side = tuple[list[str | None] | None, list[str | None] | None, IntArray, int]


@dataclass(frozen=True, slots=True, eq=False)
class _Columns:
    """What the methods read of some queries."""

    actual: _Side
    predicted: _Side

    def __len__(self) -> int:
        return len(self.actual[2]) - 1


def _columns(batch: Batch, start: int, stop: int) -> _Columns:
    columns = []
    for side in (batch.actual, batch.predicted):
        first, last = int(side.offsets[start]), int(side.offsets[stop])
        ids = side.ids[first:last] if batch.settings.uses_ids else None
        texts = side.texts[first:last] if batch.settings.uses_texts else None
        columns.append((ids, texts, side.offsets[start : stop + 1] - first, side.first_query + start))
    return _Columns(*columns)


def _match(part: _Columns, settings: Settings) -> Matches:
    """Match these queries; this is what a process does."""
    actual, predicted = Side.of_columns("actual", *part.actual), Side.of_columns("predicted", *part.predicted)
    return find_matches(Batch(actual, predicted, settings))


def _join(batch: Batch, bounds: list[int], parts: list[Matches]) -> Matches:
    """Return the matches of consecutive queries as one."""
    actual = [part.actual + batch.actual.offsets[start] for start, part in zip(bounds, parts, strict=False)]
    predicted = [part.predicted + batch.predicted.offsets[start] for start, part in zip(bounds, parts, strict=False)]
    return Matches(
        np.concatenate(actual),
        np.concatenate(predicted),
        np.concatenate([part.similarity for part in parts]),
        np.concatenate([part.method for part in parts]),
        parts[0].methods,
        tuple(sum(counts) for counts in zip(*(part.n_found for part in parts), strict=True)),
    )
