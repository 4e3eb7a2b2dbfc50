"""Causes that were planted are named: in the bundled collection, and where real texts were cut into chunks."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from krag_eval.evaluation.causes import CAUSES
from tests.support.planted_misses import named, planted_in_a_chunking, planted_in_the_collection, table

SHARE = 0.95


def wrongly_named(counts: Counter[tuple[str, str]]) -> dict[str, float]:
    """The planted causes of which less than 95 % were named, with that share."""
    planted: Counter[str] = Counter()
    for (cause, _), count in counts.items():
        planted[cause] += count
    return {cause: share for cause, n in planted.items() if (share := counts[cause, cause] / n) < SHARE}


@pytest.mark.full
def test_causes_planted_in_the_bundled_collection_are_named() -> None:
    counts = named(planted_in_the_collection())
    planted = {cause for cause, _ in counts}
    of_sessions = {"not_cited", "never_searched_for", "searched_in_vain"}
    assert planted == {*CAUSES} - of_sessions - {"retriever_error", "nothing_retrieved", "near_miss", "wrong_chunk"}
    assert wrongly_named(counts) == {}, table(counts)
    assert [cause for cause, name in counts if name == "crowded_out"] == ["crowded_out"], table(counts)


@pytest.mark.parametrize("size", [100, 200, 400])
def test_causes_are_those_that_the_offsets_of_real_chunks_show(shared_data: Path, size: int) -> None:
    counts = named(planted_in_a_chunking(shared_data / "chunking_evaluation", size))
    assert counts.total() > 700
    assert wrongly_named(counts) == {}, table(counts)
    assert counts["never_retrieved", "never_retrieved"] == 344, "one per excerpt, and none is claimed to be near"
