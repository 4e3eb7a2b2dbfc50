"""Cosines of embeddings: by the formula, and the same to the last bit in any batch and order."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from krag_eval.documents.embeddings import cosines, embed
from tests.support.encoders import Recorder, real_encoder

LATE = ["The delivery is late", "배송이 늦습니다", "Доставка задерживается", "送货晚了", "Bananas are yellow"]


@pytest.mark.full
def test_translations_are_near_and_another_text_is_not() -> None:
    vectors = embed(LATE, real_encoder())
    similar = cosines(vectors, np.zeros(3, np.int64), np.array([1, 2, 3]))
    assert similar.min() > 0.45
    assert cosines(vectors, np.arange(4), np.full(4, 4)).max() < 0.1


@pytest.mark.parametrize("scale", [1e-320, 1e-200, 1.0, 1e200, 1e308])
def test_no_vector_is_too_short_or_too_long(scale: float) -> None:
    vectors = embed(["a", "b"], Recorder({"a": [scale, 0], "b": [scale, scale]}))
    assert cosines(vectors, np.array([0]), np.array([1]))[0] == pytest.approx(math.sqrt(0.5), abs=1e-7)


VECTORS = st.integers(1, 40).flatmap(
    lambda size: st.lists(
        st.lists(st.floats(-1e6, 1e6, width=32), min_size=size, max_size=size), min_size=1, max_size=12
    )
)


@given(rows=VECTORS, batch_size=st.integers(1, 13), data=st.data())
def test_no_batch_and_no_order_changes_a_bit_of_a_cosine(rows: list[list[float]], batch_size: int, data: Any) -> None:
    texts = [f"text {place}" for place in range(len(rows))]
    known = dict(zip(texts, rows, strict=True))
    left, right = map(np.ravel, np.mgrid[: len(rows), : len(rows)])
    expected = cosines(embed(texts, Recorder(known)), left, right)

    order = data.draw(st.permutations(range(len(rows))))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("krag_eval.documents.embeddings._TEXTS_AT_ONCE", batch_size)
        shuffled = embed([texts[place] for place in order], Recorder(known))
    back = np.argsort(order)
    one_by_one = [cosines(shuffled, back[[one]], back[[two]])[0] for one, two in zip(left, right, strict=True)]
    assert one_by_one == expected.tolist()
    # Adding up in the order of a BLAS product gives the same bits.
    vectors = embed(texts, Recorder(known))
    product = np.clip(vectors @ vectors.T, -1, 1)
    assert (product.ravel()[left != right] == expected[left != right]).all()


@given(rows=VECTORS)
def test_a_cosine_is_that_of_the_formula_and_1_for_a_text_with_itself(rows: list[list[float]]) -> None:
    texts = [f"text {place}" for place in range(len(rows))]
    vectors = embed(texts, Recorder(dict(zip(texts, rows, strict=True))))
    for one in range(len(rows)):
        for two in range(len(rows)):
            length = math.hypot(*rows[one]) * math.hypot(*rows[two])
            expected = math.fsum(a * b for a, b in zip(rows[one], rows[two], strict=True)) / length if length else 0
            actual = cosines(vectors, np.array([one]), np.array([two]))[0]
            assert actual == pytest.approx(expected, abs=1e-6)
            if one == two and length:
                assert actual == 1
