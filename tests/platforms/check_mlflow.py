# mlflow==3.17.2
"""The recipe of docs/platforms.md, in its platform."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path

from run import assert_names_field, free_port, recipe, serving, take_picture  # type: ignore[import-not-found]

mlflow = import_module("mlflow")
rows = [
    {"inputs": {"question": "When?"}, "expectations": {"gold": ["d1", "d2"]}},
    {"inputs": {"question": "Where?"}, "expectations": {"gold": ["d7"]}},
    {"inputs": {"question": "None?"}, "expectations": {"gold": []}},
    {"inputs": {"question": "Who?"}, "expectations": {"answer": "me"}},
]
result = mlflow.genai.evaluate(
    data=rows, predict_fn=lambda question: ["d7", "d1"], scorers=[recipe("mlflow").retrieval]
)
assert result.metrics == {"recall_at_5/mean": 0.75, "mrr_at_5/mean": 0.75}, result.metrics
traces = mlflow.search_traces(run_id=result.run_id, return_type="list")
assert_names_field("gold", lambda: [one.error for trace in traces for one in trace.info.assessments])
if "KRAG_EVAL_PICTURES" in os.environ:
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    store = ["--backend-store-uri", os.environ["MLFLOW_TRACKING_URI"], "--port", str(port), "--workers", "1"]
    with serving([str(Path(sys.executable).with_name("mlflow")), "server", *store], f"{address}/health"):
        take_picture("mlflow", f"{address}/#/experiments/0/evaluation-runs?selectedRunUuid={result.run_id}")
