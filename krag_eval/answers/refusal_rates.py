"""Refusals where they are right, and where they are wrong."""

from __future__ import annotations

import numpy as np

from krag_eval.columns import BoolArray, FloatArray


def negative_rejection(is_negative: BoolArray, is_refusal: BoolArray) -> FloatArray:
    """Whether a question that nothing in the corpus answers was refused; its mean is the share of these.

    Shape: (n_answers,), float64. Values: 0 and 1, higher is better; NaN where an answer is expected.

    Source: the "negative rejection" of Chen et al. (2024), doi:10.1609/aaai.v38i16.29728.

    >>> negative_rejection(np.array([True, True, False]), np.array([True, False, False])).tolist()
    [1.0, 0.0, nan]
    """
    return np.where(is_negative, is_refusal, np.nan)


def false_refusal(is_negative: BoolArray, is_refusal: BoolArray) -> FloatArray:
    """Whether a question that has an answer was refused; its mean is the share of these.

    Shape: (n_answers,), float64. Values: 0 and 1, lower is better; NaN where no answer is expected.

    >>> false_refusal(np.array([True, True, False]), np.array([True, False, False])).tolist()
    [nan, nan, 0.0]
    """
    return np.where(is_negative, np.nan, is_refusal)
