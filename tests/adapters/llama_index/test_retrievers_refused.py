"""What `evaluate_retriever` refuses before it asks anything, and what it warns about."""

from __future__ import annotations

from typing import Any

import pytest

from krag_eval import InvalidInputError, KragEvalWarning
from tests.adapters.llama_index.evaluating import EVALSET, Evaluate, sync_and_async
from tests.adapters.llama_index.world import Scripted, index


@sync_and_async
def test_a_retriever_that_returns_fewer_than_k_is_told_about(run: Evaluate) -> None:
    with pytest.warns(KragEvalWarning, match="at most 2 nodes .its `similarity_top_k`., but `k` goes up to 10"):
        run(EVALSET, index().as_retriever())


@pytest.mark.sample(3)
@sync_and_async
@pytest.mark.parametrize(
    ("settings", "says"),
    [
        pytest.param({"match_methods": "id"}, "has no argument 'match_methods'", id="setting"),
        pytest.param({"metrics": ["recal"]}, "Did you mean 'recall'", id="metric"),
        pytest.param({"level": "page"}, "`level` must be one of", id="level"),
        pytest.param({"k": 0}, "`k` must be an integer of at least 1", id="k"),
    ],
)
def test_a_setting_that_cannot_be_used_is_told_before_anything_is_asked(
    run: Evaluate, settings: dict[str, Any], says: str
) -> None:
    asked = Scripted({})  # would raise for every question
    with pytest.raises(InvalidInputError, match=says):
        run(EVALSET, asked, max_error_rate=0.0, **settings)


@sync_and_async
@pytest.mark.parametrize("retriever", [lambda question: [], "text", Scripted, None])
def test_what_is_no_retriever_of_llama_index_is_told(run: Evaluate, retriever: Any) -> None:
    with pytest.raises(InvalidInputError, match="must be a retriever or query engine of LlamaIndex"):
        run(EVALSET, retriever)
