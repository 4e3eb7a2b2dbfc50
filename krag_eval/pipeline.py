"""From documents to judgments: read both sides, match them, judge them."""

from __future__ import annotations

from dataclasses import dataclass

from krag_eval.checks import check_count
from krag_eval.columns import Side
from krag_eval.errors import InvalidInputError
from krag_eval.id_rows import IdBatch, IdSide
from krag_eval.judgments import Judgments, judge
from krag_eval.matching import Batch, Matches, find_matches
from krag_eval.settings import Settings
from krag_eval.supply import Supply


@dataclass(frozen=True, slots=True)
class Judged:
    """Input that was matched and judged; any metric at any cut-off follows without matching again.

    Attributes:
        batch: The input, as columns.
        matches: Who matches whom.
        judgments: Who earned what.
        supply: What the documents have of what the methods read.
    """

    batch: Batch
    matches: Matches
    judgments: Judgments
    supply: Supply


def match_and_judge(
    actual: object, predicted: object, settings: Settings, *, bare_ids: bool = False, n_jobs: int = 1
) -> Judged:
    """Read both sides, match and judge them.

    Args:
        actual: The gold documents of each query.
        predicted: The retrieved documents of each query.
        settings: The scoring settings.
        bare_ids: The documents are nothing but ids.
        n_jobs: How many processes may match, where it pays; one where texts are embedded.

    Raises:
        InvalidInputError: The input cannot be read, the sides differ in length, there is no query, or the documents
            do not have what the methods read.
    """
    judged = judge_batch(actual, predicted, settings, bare_ids=bare_ids, n_jobs=check_count("n_jobs", n_jobs))
    judged.supply.check(settings)
    if settings.uses_ids:
        from krag_eval.matching.spelling import warn_of_spelling  # streams and live scoring need none of it

        warn_of_spelling(judged.batch, judged.matches)
    return judged


def judge_batch(
    actual: object,
    predicted: object,
    settings: Settings,
    *,
    bare_ids: bool = False,
    first_query: int = 0,
    n_jobs: int = 1,
) -> Judged:
    """Match and judge one part of the input, whose queries are counted from `first_query` in messages."""
    batch = read_batch(actual, predicted, settings, bare_ids=bare_ids, first_query=first_query)
    if n_jobs > 1 and settings.uses_texts and not settings.uses_embeddings:  # a model stays in its process
        from krag_eval.parallel import find_matches_in_parallel  # multiprocessing is slow to import

        matches = find_matches_in_parallel(batch, n_jobs)
    else:
        matches = find_matches(batch)
    return judged_of(batch, matches)


def judged_of(batch: Batch, matches: Matches) -> Judged:
    """Judge what was matched."""
    return Judged(batch, matches, judge(batch, matches), Supply.of(batch, matches))


def read_batch(
    actual: object, predicted: object, settings: Settings, *, bare_ids: bool = False, first_query: int = 0
) -> Batch:
    """Read both sides as columns, and see that they belong together."""
    if bare_ids:
        id_sides = IdSide("actual", actual, first_query), IdSide("predicted", predicted, first_query)
        _check_lengths(*id_sides)
        return IdBatch(*id_sides, settings)
    gold = Side("actual", actual, settings.id_key, settings.grade_key, first_query)
    retrieved = Side("predicted", predicted, settings.id_key, settings.grade_key, first_query)
    _check_lengths(gold, retrieved)
    return Batch(gold, retrieved, settings)


def _check_lengths(gold: Side, retrieved: Side) -> None:
    if len(gold) != len(retrieved):
        raise InvalidInputError(
            f"`actual` has {len(gold)} queries and `predicted` has {len(retrieved)}. "
            "They must have one list for each query, in the same order; use [] where nothing was retrieved."
        )
    if not len(gold):
        raise InvalidInputError("`actual` and `predicted` are empty. Give at least one query.")
