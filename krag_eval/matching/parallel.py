"""Match in several processes if that saves time."""

from __future__ import annotations

import pickle
import time
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import pairwise
from multiprocessing import get_context

import numpy as np

from krag_eval._utils.arrays import IntArray
from krag_eval._utils.errors import InvalidInputError
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
    work = [(_columns(batch, start, stop), batch.settings) for start, stop in pairwise(bounds[1:])]
    try:
        pickle.dumps(batch.settings)
        with ProcessPoolExecutor(n_jobs, mp_context=get_context("spawn")) as pool:
            parts += pool.map(_match, *zip(*work, strict=True))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise InvalidInputError(
            f"`n_jobs={n_jobs}` sends the tokenizer and the normalizer to other processes, and one of them cannot be "
            f"pickled ({error}). Define it with `def` at the top of a module, or leave `n_jobs` at 1."
        ) from error
    except BrokenProcessPool as error:
        raise InvalidInputError(
            f"The processes of `n_jobs={n_jobs}` ended at once. A script that uses them must keep its own calls under "
            '`if __name__ == "__main__":`. Otherwise leave `n_jobs` at 1.'
        ) from error
    return _join(batch, bounds, parts)


_Columns = tuple[list[str | None] | None, list[str | None] | None, IntArray, int]


def _columns(batch: Batch, start: int, stop: int) -> tuple[_Columns, _Columns]:
    """Return what the methods read of some queries: ids, texts, offsets and first query of each side."""
    columns = []
    for side in (batch.actual, batch.predicted):
        first, last = int(side.offsets[start]), int(side.offsets[stop])
        ids = side.ids[first:last] if batch.settings.uses_ids else None
        texts = side.texts[first:last] if batch.settings.uses_texts else None
        columns.append((ids, texts, side.offsets[start : stop + 1] - first, side.first_query + start))
    return columns[0], columns[1]


def _match(columns: tuple[_Columns, _Columns], settings: Settings) -> Matches:
    """Match these columns; this is what a process does."""
    actual, predicted = columns
    return find_matches(Batch(Side.of_columns("actual", *actual), Side.of_columns("predicted", *predicted), settings))


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
