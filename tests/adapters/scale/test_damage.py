"""Random damage to every kind of file that is written and read again: refused by name, reported, or without effect."""

from __future__ import annotations

import pytest

from tests.support.damage_cases import FILES, LOST, classify

pytestmark = pytest.mark.full


@pytest.mark.parametrize("kind", FILES)
def test_no_damage_is_read_as_other_data_or_loses_anything_without_a_word(kind: str) -> None:
    if kind.startswith("outbox"):
        pytest.importorskip("krag_eval_langfuse.outbox")
    counts = classify(FILES[kind], 60 if kind.startswith("outbox") else 150, seed=18)
    assert counts.keys() <= {"refused", "identical", LOST}, counts
    assert counts["refused"] + counts[LOST] > 20
