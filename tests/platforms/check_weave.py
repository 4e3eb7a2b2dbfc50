# weave==0.54.0
"""The recipe of docs/platforms.md, in its platform."""

from __future__ import annotations

import asyncio
from importlib import import_module

from run import assert_names_field, recipe  # type: ignore[import-not-found]

weave = import_module("weave")


@weave.op  # type: ignore[untyped-decorator]
def search(question: str) -> list[str]:
    return ["d7", "d1"]


rows = [{"question": "When?", "expected": ["d1", "d2"]}, {"question": "Where?", "expected": ["d7"]}]
retrieval = recipe("weave").retrieval
evaluation = weave.Evaluation(dataset=rows, scorers=[retrieval])
summary = asyncio.run(evaluation.evaluate(search))
assert summary["retrieval"] == {"recall_at_5": {"mean": 0.75}, "mrr_at_5": {"mean": 0.75}}, summary
assert_names_field("expected", retrieval, ["d7"], question="Who?")
