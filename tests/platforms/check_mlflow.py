# mlflow==3.17.2
"""The recipe of docs/platforms.md, in its platform."""

from __future__ import annotations

from importlib import import_module

from run import recipe  # type: ignore[import-not-found]

mlflow = import_module("mlflow")
rows = [
    {"inputs": {"question": "When?"}, "expectations": {"gold": ["d1", "d2"]}},
    {"inputs": {"question": "Where?"}, "expectations": {"gold": ["d7"]}},
    {"inputs": {"question": "None?"}, "expectations": {"gold": []}},
]
result = mlflow.genai.evaluate(
    data=rows, predict_fn=lambda question: ["d7", "d1"], scorers=[recipe("mlflow").retrieval]
)
assert result.metrics == {"recall_at_5/mean": 0.75, "mrr_at_5/mean": 0.75}, result.metrics
