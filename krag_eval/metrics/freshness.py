"""Freshness: how recent are the documents that were retrieved?"""

from __future__ import annotations

import math
from datetime import UTC, datetime

from krag_eval._utils.arrays import FloatArray, np
from krag_eval._utils.checks import as_moment, as_number, check_number
from krag_eval._utils.errors import refuse
from krag_eval.documents.readers import reader_of, split_pair
from krag_eval.matching import Batch
from krag_eval.metrics.judgments import CutOff, Judgments, within

_SECONDS_PER_DAY = 86_400.0


def freshness(
    judged: Judgments, k: CutOff = None, *, batch: Batch, half_life: float, now: str, date_key: str = "date"
) -> FloatArray:
    """Return the mean freshness of the documents with a date among the first `k` ranks.

        freshness@k = mean over the dated ranks r <= k of 2^(-age(r) / half_life), with age(r) >= 0

    Shape: (n_queries,), float64. Range: above 0 to 1, higher is more recent. NaN where no document within k has a date;
    gold documents play no part. `undated@k` beside it says which share of the ranks has none.

    Args:
        judged: How many documents were retrieved.
        k: The cut-off.
        batch: The documents; a date is read from the metadata under `date_key`.
        half_life: After how many days a document is half as fresh, above 0.
        now: The day or time that ages are counted from, in ISO 8601; UTC where no zone is given.
        date_key: The metadata key of the date: a date, a datetime, a string in ISO 8601, or seconds since 1970.

    Edge cases:
        * A date after `now` has age 0.

    Source: exponential decay by half-life, as in the time-weighted retrieval that frameworks offer.
    """
    ages = _ages(batch, _as_moment(now, "now"), date_key)
    check_number("half_life", half_life, "It is in days.", above=0)
    dated = np.flatnonzero(~np.isnan(ages))
    query, rank = batch.predicted.places_of(dated)
    inside = within(query, rank, k)
    fresh = np.exp2(-np.maximum(ages[dated], 0.0) / half_life)
    count = np.bincount(query[inside], minlength=len(judged))
    total = np.bincount(query[inside], weights=fresh[inside], minlength=len(judged))
    return np.asarray(np.divide(total, count, out=np.full(len(judged), np.nan), where=count > 0))


def undated(judged: Judgments, k: CutOff = None, *, batch: Batch, now: str, date_key: str = "date") -> FloatArray:
    """Return the share of the first `k` ranks without a date, which `freshness` leaves out.

        undated@k = ranks within k without a date / min(k, number retrieved)

    Shape: (n_queries,), float64. Range: 0 to 1. NaN where nothing was retrieved.

    Args:
        judged: How many documents were retrieved.
        k: The cut-off.
        batch: The documents.
        now: As for `freshness`.
        date_key: As for `freshness`.

    Edge cases:
        * What cannot be read as a date is none.

    Source: the number that every mean over dated documents has to be read with.
    """
    without = np.flatnonzero(np.isnan(_ages(batch, _as_moment(now, "now"), date_key)))
    return judged.share_of_ranks(*batch.predicted.places_of(without), k)


def _ages(batch: Batch, now: datetime, date_key: str) -> FloatArray:
    """Return the age of each retrieved document in days; NaN where it has no date."""
    return np.array([_age(document, now, date_key) for document in batch.predicted.documents], dtype=np.float64)


def _age(document: object, now: datetime, date_key: str) -> float:
    inner, _ = split_pair(document)
    reader = reader_of(inner)
    given = None if reader is None else reader.metadata(inner).get(date_key)
    if given is None and reader is not None and reader.own_keys and isinstance(inner, dict):
        given = inner.get(date_key)
    moment = _moment(given)
    return math.nan if moment is None else (now - moment).total_seconds() / _SECONDS_PER_DAY


def _as_moment(given: object, name: str) -> datetime:
    moment = _moment(given)
    if moment is None:
        refuse(name, "a date in ISO 8601, such as 2026-01-31", given)
    return moment


def _moment(given: object) -> datetime | None:
    seconds = as_number(given)
    if seconds is None:
        return as_moment(given.strip() if isinstance(given, str) else given)
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, OSError, ValueError):
        return None
