"""Check cut-offs, and turn budgets of tokens into ranks."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

from krag_eval._utils.arrays import IntArray, np
from krag_eval._utils.errors import Argument, InvalidInputError, refuse, show
from krag_eval.documents.tokenizers import TOKENIZERS, tokenize_all
from krag_eval.matching import Batch
from krag_eval.matching.id_batch import IdBatch
from krag_eval.metrics.judgments import CutOff

_MOST = 1 << 40  # ranks, or tokens of a text: those of all queries can be summed
_BUDGET = re.compile(r"([1-9][0-9]{0,299}) ?tok")


@dataclass(frozen=True, slots=True, order=True)
class TokenBudget:
    """The first ranks whose texts fit into so many tokens together.

    Attributes:
        tokens: The budget, at least 1.
    """

    tokens: int

    def __str__(self) -> str:
        return f"{self.tokens}tok"


GivenCutOff = int | TokenBudget | None


def check_cut_offs(k: object) -> tuple[GivenCutOff, ...]:
    """Return one cut-off or several as a sorted tuple without repeats: ranks, token budgets, None (all ranks).

    Raises:
        InvalidInputError: A cut-off is not None, no integer of at least 1 and no budget such as `"2000tok"`, or there
            is none.
    """
    given: Sequence[object] = tuple(k) if isinstance(k, (list, tuple, range)) else (k,)
    cut_offs = {_check_one(one) for one in given}
    if not cut_offs:
        raise InvalidInputError(
            Argument("k"), " is empty. Give at least one cut-off, for example ", Argument("k", (1, 5, 10)), "."
        )
    ranks = sorted(one for one in cut_offs if isinstance(one, int))
    budgets = sorted(one for one in cut_offs if isinstance(one, TokenBudget))
    return (*ranks, *budgets, *([None] if None in cut_offs else []))


def _check_one(one: object) -> GivenCutOff:
    if one is None or isinstance(one, TokenBudget):
        return one
    if isinstance(one, str) and (budget := _BUDGET.fullmatch(one)):
        return TokenBudget(int(budget[1]))
    if isinstance(one, bool) or not isinstance(one, Integral) or one < 1:
        of_str = (' A budget of tokens is written "2000tok"; metrics are given as ', Argument("metrics"), ".")
        hint = of_str if isinstance(one, str) else ()
        refuse("k", "an integer of at least 1", one, "Leave it out to score every rank.", *hint)
    if int(one) > _MOST:
        refuse("k", f"at most {_MOST:,}: no ranking is longer", one, "Give None to score every rank.")
    return int(one)


def check_ranks(k: object, needed_by: str) -> list[int]:
    """Return one cut-off or several, all of them ranks.

    Raises:
        InvalidInputError: One is no integer of at least 1; all ranks and budgets of tokens are refused, too.
    """
    given: Sequence[object] = tuple(k) if isinstance(k, (list, tuple, range)) else (k,)
    for one in given or (k,):
        if isinstance(one, bool) or not isinstance(one, Integral) or one < 1:
            must = f" must be ranks of at least 1 for {needed_by}, got {'all' if one is None else show(one)}."
            raise InvalidInputError(Argument("k"), must, " Give ranks such as 1, 5 and 10.")
    return [one for one in check_cut_offs(k) if isinstance(one, int)]


Ranks = Mapping[GivenCutOff, CutOff]


def ranks_within(cut_offs: Sequence[GivenCutOff], batch: Batch) -> Ranks:
    """Return each cut-off as ranks: one number, or for a token budget the number that fits in each query.

    The first document that does not fit whole ends the context: it and all below it are left out.
    """
    return {k: _fitting(k, batch) if isinstance(k, TokenBudget) else k for k in cut_offs}


def _fitting(budget: TokenBudget, batch: Batch) -> IntArray:
    if isinstance(batch, IdBatch):
        raise InvalidInputError(f"k='{budget}' counts tokens, and bare ids have none. Call `evaluate`, with texts.")
    codes, offsets = batch.texts.predicted, batch.predicted.offsets
    n_tokens = np.append(count_tokens_of(batch.unique_texts, batch.settings.count_tokens), 0)[codes]  # no text: code -1
    spent = np.append(0, np.cumsum(n_tokens))
    query = batch.predicted.query_of(np.arange(len(codes)))
    fits = spent[1:] - spent[offsets[query]] <= budget.tokens
    return np.bincount(query[fits], minlength=len(batch))


def count_tokens_of(texts: Sequence[str], count_tokens: Any) -> IntArray:
    """Return how many tokens each text has, counted as the scoring setting `count_tokens` says.

    Raises:
        InvalidInputError: A count is no integer of at least 0.
    """
    if count_tokens is None:
        return np.fromiter(map(len, tokenize_all(TOKENIZERS["words"], texts)), dtype=np.int64, count=len(texts))
    encode = None if isinstance(count_tokens, type) else getattr(count_tokens, "encode", None)
    counts = [count_tokens(text) if encode is None else len(encode(text)) for text in texts]
    for text, count in zip(texts, counts, strict=True):
        if isinstance(count, bool) or not isinstance(count, Integral) or count < 0 or int(count) > _MOST:
            raise InvalidInputError(
                f"`count_tokens` returned {show(count, 40)} for {show(text, 40)}. "
                "It must return how many tokens a text has."
            )
    return np.array(counts, dtype=np.int64)
