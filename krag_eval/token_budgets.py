"""A budget of tokens as ranks: how many of the first documents fit into it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from krag_eval.checks import GivenCutOff, TokenBudget
from krag_eval.columns import IntArray
from krag_eval.errors import InvalidInputError
from krag_eval.id_rows import IdBatch
from krag_eval.judgments import CutOff
from krag_eval.matching import Batch
from krag_eval.tokenizers import TOKENIZERS
from krag_eval.tokenizing import tokenize_all

Ranks = Mapping[GivenCutOff, CutOff]


def ranks_within(cut_offs: Sequence[GivenCutOff], batch: Batch) -> Ranks:
    """Each cut-off as ranks: one number, or for a token budget the number that fits in each query.

    A document that does not fit whole ends the context: it and what stands below it are out.
    """
    # What is beyond any ranking is cut to what summed counts can hold.
    return {
        k: _fitting(k, batch) if isinstance(k, TokenBudget) else None if k is None else min(k, 1 << 40)
        for k in cut_offs
    }


def _fitting(budget: TokenBudget, batch: Batch) -> IntArray:
    if isinstance(batch, IdBatch):
        raise InvalidInputError(f"k='{budget}' counts tokens, and bare ids have none. Call `evaluate`, with texts.")
    codes, offsets = batch.texts.predicted, batch.predicted.offsets
    n_tokens = np.append(_count(batch.unique_texts, batch.settings.count_tokens), 0)[codes]  # no text: code -1
    spent = np.append(0, np.cumsum(n_tokens))
    query = batch.predicted.query_of(np.arange(len(codes)))
    fits = spent[1:] - spent[offsets[query]] <= budget.tokens
    return np.bincount(query[fits], minlength=len(batch))


def _count(texts: Sequence[str], count_tokens: Any) -> IntArray:
    counter = _counter(count_tokens)
    if counter is None:
        return np.fromiter(map(len, tokenize_all(TOKENIZERS["words"], texts)), dtype=np.int64, count=len(texts))
    counts = [counter(text) for text in texts]
    for text, count in zip(texts, counts, strict=True):
        if isinstance(count, bool) or not isinstance(count, Integral) or count < 0:
            raise InvalidInputError(
                f"`count_tokens` returned {count!r:.40} for {text!r:.40}. It must return how many tokens a text has."
            )
    return np.array(counts, dtype=np.int64)


def _counter(given: Any) -> Callable[[str], Any] | None:
    """What counts the tokens of a text: the function given, or the `encode(text)` of an object; None counts words."""
    encode = None if isinstance(given, type) else getattr(given, "encode", None)
    counter: Callable[[str], Any] | None = given if encode is None else lambda text: len(encode(text))
    return counter
