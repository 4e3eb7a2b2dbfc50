"""Random resamples and signs: the same bits for the same seed, whatever else is computed, and exact sums."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from krag_eval.statistics import resampling
from krag_eval.statistics.resampling import Units, resampled_sums, signed_sums


def test_the_streams_are_the_same_everywhere_and_ever() -> None:
    whole = np.array([[1.0, 1000.0], [10.0, 2000.0], [100.0, 4000.0]])  # each sum says which rows were drawn
    assert resampled_sums(whole, 4, seed=7).tolist() == [[111, 7000], [201, 9000], [102, 6000], [111, 7000]]
    assert signed_sums(whole, 4, seed=7).tolist() == [[-91, -3000], [89, 1000], [-111, -7000], [-109, -5000]]


@pytest.mark.parametrize("draw", [resampled_sums, signed_sums])
def test_neither_blocks_nor_threads_nor_other_columns_change_a_bit(draw: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Units.of(np.random.default_rng(0).random((130, 5))).whole
    once = draw(whole, 300, 1)
    for draws_at_once in (1, 130, 1000):
        monkeypatch.setattr(resampling, "_DRAWS_AT_ONCE", draws_at_once)
        assert (draw(whole, 300, 1) == once).all()
    with monkeypatch.context() as patch:
        patch.setattr(resampling, "_WORTH_A_THREAD", 1)
        patch.setattr(os, "cpu_count", lambda: 3)
        assert (draw(whole, 300, 1) == once).all()
    assert (draw(whole[:, 3:4], 300, 1)[:, 0] == once[:, 3]).all()
    assert (draw(whole, 200, 1) == once[:200]).all()
    assert (draw(whole, 300, 2) != once).any()


def test_resamples_and_signs_have_the_right_spread() -> None:
    values = np.arange(50.0)[:, None]
    assert resampled_sums(values, 20_000, 0).std() == pytest.approx(values.std() * math.sqrt(50), rel=0.02)
    assert resampled_sums(np.ones((9, 1)), 50, 0).tolist() == [[9]] * 50
    assert signed_sums(values, 20_000, 0).std() == pytest.approx(math.sqrt((values**2).sum()), rel=0.02)


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=40))
def test_sums_of_units_are_exact_and_near_the_values(values: list[float]) -> None:
    units = Units.of(np.array(values)[:, None])
    exact = sum(Fraction(value) for value in units.whole[:, 0].tolist())
    assert units.whole.sum() == units.whole[::-1].sum() == exact
    largest = max(map(abs, values))
    assert units.mean(units.whole.sum(axis=0))[0] == pytest.approx(math.fsum(values) / len(values), abs=largest * 1e-12)


@pytest.mark.full
def test_neither_threads_nor_the_processor_change_a_bit() -> None:
    script = (
        "import hashlib, numpy as np\n"
        "from krag_eval.statistics.resampling import Units, resampled_sums, signed_sums\n"
        "whole = Units.of(np.random.default_rng(0).random((600, 9)) / 3).whole\n"
        "sums = [draw(whole, 400, 1).tobytes() for draw in (resampled_sums, signed_sums)]\n"
        "print(hashlib.sha256(b''.join(sums)).hexdigest())\n"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", script], env=os.environ | how, capture_output=True, text=True, check=True
        ).stdout
        for how in ({"OPENBLAS_NUM_THREADS": "1"}, {"OPENBLAS_NUM_THREADS": "2", "OPENBLAS_CORETYPE": "Nehalem"})
    }
    assert len(printed) == 1
