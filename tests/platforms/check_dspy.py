# dspy==3.4.1
"""The recipe of docs/platforms.md, in its platform."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from run import recipe  # type: ignore[import-not-found]

dspy: Any = import_module("dspy")


class Search(dspy.Module):  # type: ignore[misc]
    def forward(self, question: str) -> Any:
        return dspy.Prediction(retrieved=["d7", "d1"])


examples = [dspy.Example(question="When?", gold=gold).with_inputs("question") for gold in (["d1", "d2"], ["d7"])]
score = dspy.Evaluate(devset=examples, metric=recipe("dspy").recall, display_progress=False)(Search()).score
assert score == 75, score
