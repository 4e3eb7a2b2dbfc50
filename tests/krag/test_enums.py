"""Members of enums that users of krag define themselves, wherever krag takes a member of its own."""

from __future__ import annotations

from enum import Enum
from typing import Any

import pandas as pd
import pytest

from krag_eval import (
    InvalidInputError,
    OfflineRetrievalEvaluators,
    RougeOfflineRetrievalEvaluators,
    evaluate,
    evaluate_all,
)
from krag_eval.krag import evaluators as krag_evaluators
from krag_eval.krag import utils as krag_utils


class Averaging(Enum):  # as users of krag write their own
    BOTH = "both"
    MICRO = "micro"


class Criteria(Enum):
    ALL = "all"


class Tokens(Enum):
    WORDS = "whitespace"


class Method(Enum):
    ROUGE = "rouge1"
    TEXT = "text"


class Wrong(Enum):
    NONE = "none"


ROUGE: Any = Method.ROUGE
TEXT: Any = Method.TEXT


def test_members_of_an_enum_of_ones_own_work_by_their_values() -> None:
    gold, found = [["one two", "three"]], [["one two four", "three"]]
    own: dict[str, Any] = {"averaging_method": Averaging.MICRO, "matching_criteria": Criteria.ALL}
    plain: dict[str, Any] = {"averaging_method": "micro", "matching_criteria": "all"}
    assert evaluate_all(gold, found, 1, **own) == evaluate_all(gold, found, 1, **plain)
    for evaluator in (
        OfflineRetrievalEvaluators,
        RougeOfflineRetrievalEvaluators,
        krag_evaluators.OfflineRetrievalEvaluators,
    ):
        both = [
            evaluator(gold, found, method, tokenizer=tokenizer, **options).evaluate_all(2)
            for method, tokenizer, options in ((ROUGE, Tokens.WORDS, own), ("rouge1", "whitespace", plain))
        ]
        assert both[0] == both[1]
    one = evaluate(gold, found, match_method=[TEXT, ROUGE], tokenizer=Tokens.WORDS)
    assert one.signature == evaluate(gold, found, match_method=["text", "rouge1"], tokenizer="whitespace").signature
    frame = pd.DataFrame({"question": ["?"], "context": ["one two"], "source": ["s"], "doc_id": ["d"]})
    tables = [
        krag_utils.evaluate_retrieval_at_K(frame, 1, {"r": lambda _: ["one two"]}, **options)
        for options in (own, plain)
    ]
    assert tables[0][0].equals(tables[1][0])
    with pytest.raises(InvalidInputError, match="`relevance_level` has no place in krag's columns"):
        krag_utils.evaluate_retrieval_at_K(frame, 1, {"r": lambda _: ["one two"]}, relevance_level=2)
    no_method: dict[str, Any] = {"averaging_method": Wrong.NONE}
    with pytest.raises(InvalidInputError, match="'micro', 'macro', 'both', got 'none'"):
        evaluate_all(gold, found, 1, **no_method)
