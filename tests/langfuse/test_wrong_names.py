"""A wrong name of an argument is answered by whatever this adapter offers."""

from __future__ import annotations

from typing import Any

import pytest

import krag_eval_langfuse
from krag_eval import UnknownArgumentError
from krag_eval_langfuse import LangfuseScoreHandler

handler: Any = LangfuseScoreHandler  # a type checker would stop these mistakes


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("as_langfuse_evaluators", {"top_k": 3}, "It is called `k` here"),
        ("as_langfuse_run_evaluators", {"metric": "mrr"}, "It is called `metrics` here"),
        ("score_traces", {"langfuse": None, "qrels": {}}, "It is called `client` here"),
        ("push_evalset", {"dataset": []}, "It is called `evalset` here"),
        ("evalset_from_langfuse_dataset", {"wings": 2}, "It takes: "),
        ("resend_outbox", {"file": "scores.jsonl"}, "It is called `path` here"),
    ],
)
def test_a_name_from_elsewhere_is_answered_with_ours(name: str, arguments: dict[str, object], told: str) -> None:
    with pytest.raises(UnknownArgumentError, match=rf"^`{name}` has no argument .*{told}"):
        getattr(krag_eval_langfuse, name)(**arguments)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"public_key": "pk"}, r"Make a client with it and pass that: Langfuse\(public_key=\.\.\.\)\."),
        ({"langfuse": None}, "It is called `client` here"),
        ({"trace_id": "t"}, "It is called `trace_ids` here"),
        ({"session": "s"}, "Did you mean 'session_id'"),
    ],
)
def test_the_handler_says_what_a_name_is_called_here(given: dict[str, object], told: str) -> None:
    with pytest.raises(UnknownArgumentError, match=f"`LangfuseScoreHandler` has no argument .*{told}"):
        handler(**given)
