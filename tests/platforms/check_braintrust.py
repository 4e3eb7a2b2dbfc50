# braintrust==0.47.0 autoevals==0.4.1
"""The recipe of docs/platforms.md, in its platform."""

from __future__ import annotations

from importlib import import_module

from run import assert_names_field, recipe  # type: ignore[import-not-found]

rows = [{"input": "When?", "expected": ["d1", "d2"]}, {"input": "Where?", "expected": ["d7"]}, {"input": "Who?"}]
result = import_module("braintrust").Eval(
    "shop",
    data=lambda: rows,
    task=lambda question: ["d7", "d1"],
    scores=[recipe("braintrust").retrieval],
    no_send_logs=True,
)
means = {name: score.score for name, score in result.summary.scores.items()}
assert means == {"recall_at_5": 0.75, "mrr_at_5": 0.75}, means
assert_names_field("expected", lambda: [row.metadata for row in result.results if row.input == "Who?"])
