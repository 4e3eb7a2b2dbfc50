# dspy==3.4.1
"""The recipe of docs/platforms.md, in its platform."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from run import assert_names_field, recipe  # type: ignore[import-not-found]

dspy: Any = import_module("dspy")


class Search(dspy.Module):  # type: ignore[misc]
    def forward(self, question: str) -> Any:
        return dspy.Prediction(retrieved=["d7", "d1"])


examples = [dspy.Example(question="When?", gold=gold).with_inputs("question") for gold in (["d1", "d2"], ["d7"])]
metric = recipe("dspy").recall
score = dspy.Evaluate(devset=examples, metric=metric, display_progress=False)(Search()).score
assert score == 75, score
assert_names_field("gold", metric, dspy.Example(golds=["d1"]), dspy.Prediction(retrieved=[]))
assert_names_field("retrieved", metric, examples[0], dspy.Prediction(answer="Soon."))
