"""A wrong name of an argument is answered where this adapter passes scoring settings on."""

from __future__ import annotations

from typing import Any

import pytest

import krag_eval_llama_index
from krag_eval import UnknownArgumentError

GOLD = {"When?": ["At nine."]}


adapter: Any = krag_eval_llama_index  # a type checker would stop these mistakes


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("retrieval_scoring", {"gold": GOLD, "top_k": 3}, "`retrieval_scoring` .*It is called `k` here"),
        ("retrieval_scoring", {"qrels": GOLD}, "`retrieval_scoring` .*It is called `gold` here"),
        ("krag_metrics", {"top_k": 3}, "It is called `k` here"),
        ("KragRetrievalMetric", {"metric": "mrr", "cutoff": 3}, "`KragRetrievalMetric` .*It is called `k` here"),
    ],
)
def test_a_name_from_elsewhere_is_answered_with_ours(name: str, arguments: dict[str, object], told: str) -> None:
    with pytest.raises(UnknownArgumentError, match=told):
        getattr(adapter, name)(**arguments)
