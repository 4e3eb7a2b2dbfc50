"""A wrong name of an argument is answered where this adapter passes scoring settings on."""

from __future__ import annotations

import pytest

import krag_eval_langfuse
from krag_eval import UnknownArgumentError


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("as_langfuse_evaluators", {"top_k": 3}, "It is called `k` here"),
        ("as_langfuse_run_evaluators", {"metric": "mrr"}, "It is called `metrics` here"),
    ],
)
def test_a_name_from_elsewhere_is_answered_with_ours(name: str, arguments: dict[str, object], told: str) -> None:
    with pytest.raises(UnknownArgumentError, match=rf"^`{name}` has no argument .*{told}"):
        getattr(krag_eval_langfuse, name)(**arguments)
