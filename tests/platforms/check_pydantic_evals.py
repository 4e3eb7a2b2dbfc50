# pydantic-evals==2.62.0
"""The recipe of docs/platforms.md, in its platform."""

from __future__ import annotations

from importlib import import_module

from run import assert_names_field, recipe  # type: ignore[import-not-found]

evals = import_module("pydantic_evals")
retrieval = recipe("pydantic_evals").Retrieval
cases = [
    evals.Case(name="one", inputs="When?", expected_output=["d1", "d2"]),
    evals.Case(name="two", inputs="None?", expected_output=[]),
    evals.Case(name="three", inputs="Who?"),
]
dataset = evals.Dataset(name="shop", cases=cases, evaluators=[retrieval()])
report = dataset.evaluate_sync(lambda question: ["d7", "d1"], progress=False)
scores = [{name: score.value for name, score in case.scores.items()} for case in report.cases]
assert scores == [{"recall_at_5": 0.5, "mrr_at_5": 0.5}, {}, {}], scores
assert_names_field("expected_output", lambda: report.cases[2].evaluator_failures)
