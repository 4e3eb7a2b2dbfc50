"""From documents to judgments: read both sides, match them, judge them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass

from krag_eval.columns import Side
from krag_eval.errors import InvalidInputError, KragEvalWarning
from krag_eval.id_rows import IdBatch, IdSide
from krag_eval.judgments import Judgments, judge
from krag_eval.matching import Batch, Matches, find_matches
from krag_eval.settings import Settings


@dataclass(frozen=True, slots=True)
class Judged:
    """Input that was matched and judged; any metric at any cut-off follows without matching again.

    Attributes:
        batch: The input, as columns.
        matches: Who matches whom.
        judgments: Who earned what.
        unmatchable: For each side, documents that lack what the method reads.
    """

    batch: Batch
    matches: Matches
    judgments: Judgments
    unmatchable: Mapping[str, int]


def match_and_judge(actual: object, predicted: object, settings: Settings, *, bare_ids: bool = False) -> Judged:
    """Read both sides, match and judge them.

    Args:
        actual: The gold documents of each query.
        predicted: The retrieved documents of each query.
        settings: The scoring settings.
        bare_ids: The documents are nothing but ids.

    Raises:
        InvalidInputError: The input cannot be read, the sides differ in length, there is no query, or not one
            document of a side has what the methods read.
    """
    judged = judge_batch(actual, predicted, settings, bare_ids=bare_ids)
    for side in (judged.batch.actual, judged.batch.predicted):
        check_matchable(side.name, judged.unmatchable[side.name], int(side.offsets[-1]), settings)
    if settings.uses_ids and no_id_matches(judged):
        warn_of_ids(judged.batch)
    return judged


def judge_batch(
    actual: object, predicted: object, settings: Settings, *, bare_ids: bool = False, first_query: int = 0
) -> Judged:
    """Match and judge one part of the input, whose queries are counted from `first_query` in messages."""
    gold: Side
    retrieved: Side
    if bare_ids:
        gold, retrieved = IdSide("actual", actual, first_query), IdSide("predicted", predicted, first_query)
    else:
        gold = Side("actual", actual, settings.id_key, settings.grade_key, first_query)
        retrieved = Side("predicted", predicted, settings.id_key, settings.grade_key, first_query)
    if len(gold) != len(retrieved):
        raise InvalidInputError(
            f"`actual` has {len(gold)} queries and `predicted` has {len(retrieved)}. "
            "They must have one list for each query, in the same order; use [] where nothing was retrieved."
        )
    if not len(gold):
        raise InvalidInputError("`actual` and `predicted` are empty. Give at least one query.")
    if isinstance(gold, IdSide) and isinstance(retrieved, IdSide):
        batch: Batch = IdBatch(gold, retrieved, settings)
        unmatchable: dict[str, int] = {gold.name: 0, retrieved.name: 0}
    else:
        batch = Batch(gold, retrieved, settings)
        unmatchable = {side.name: _unmatchable(side, settings) for side in (gold, retrieved)}
    matches = find_matches(batch)
    return Judged(batch, matches, judge(batch, matches), unmatchable)


def _unmatchable(side: Side, settings: Settings) -> int:
    """How many documents of a side lack everything that the methods read."""
    columns = [side.ids] if settings.uses_ids else []
    columns += [side.texts] if settings.uses_texts else []
    if any(all(column) for column in columns):
        return 0
    return sum(1 for values in zip(*columns, strict=True) if not any(values))


def check_matchable(side: str, lacking: int, documents: int, settings: Settings) -> None:
    """Refuse a side of which not one document has what the methods read.

    Raises:
        InvalidInputError: `lacking` documents are all `documents` that the side has.
    """
    if not documents or lacking < documents:
        return
    reads = " nor ".join(["an id"] * settings.uses_ids + ["a text"] * settings.uses_texts)
    where = f" under the metadata key {settings.id_key!r}" if settings.id_key and settings.uses_ids else ""
    cure = (
        'Match by text instead, for example with match_method="text", or call `evaluate_ids` if the strings are ids.'
        if settings.uses_ids
        else 'Match by id instead, with match_method="id", or give the documents their texts.'
    )
    raise InvalidInputError(
        f"Not one document of `{side}` has {reads}{where}, "
        f"which match_method={'+'.join(settings.methods)!r} reads. {cure}"
    )


def no_id_matches(judged: Judged) -> bool:
    """Whether both sides have ids and not one pair matches by them."""
    batch, by_id = judged.batch, judged.matches.methods.index("id")
    return batch.actual.has_ids and batch.predicted.has_ids and not (judged.matches.method == by_id).any()


def warn_of_ids(batch: Batch) -> None:
    """Say what the ids of the two sides look like."""
    warnings.warn(
        f"Not one id matches. Gold ids look like {_examples(batch.actual)}, retrieved ids like "
        f"{_examples(batch.predicted)}. If the ids that should match stand in the metadata, name their key with "
        "`id_key`; if the two sides do not share ids, match by 'text', 'containment' or 'rougeL'.",
        KragEvalWarning,
        stacklevel=4,
    )


def _examples(side: Side, most: int = 3) -> str:
    ids = dict.fromkeys(i for i in side.ids if i is not None)
    return ", ".join(f"{i!r:.40}" for i in list(ids)[:most])
