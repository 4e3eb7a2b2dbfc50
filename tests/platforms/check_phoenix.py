# arize-phoenix==20.26.1
"""The recipe of docs/platforms.md, in its platform: with the real server, on loopback."""

from __future__ import annotations

import json
import sys
import urllib.request
from importlib import import_module
from pathlib import Path

from run import assert_names_field, free_port, recipe, serving, take_picture  # type: ignore[import-not-found]

GOLD = {
    "When?": {"gold": ["d1", "d2"]},
    "Who?": {"gold": ["d9"]},
    "Nothing?": {"gold": []},
    "Where?": {"answer": "here"},
}

port = str(free_port())
address = f"http://127.0.0.1:{port}"
here = {"PHOENIX_WORKING_DIR": str(Path.cwd()), "PHOENIX_HOST": "127.0.0.1", "PHOENIX_PORT": port}
here |= {"PHOENIX_GRPC_PORT": str(free_port()), "PHOENIX_TELEMETRY_ENABLED": "false"}
with serving([str(Path(sys.executable).with_name("phoenix")), "serve"], f"{address}/healthz", **here):
    client = import_module("phoenix.client").Client(base_url=address)
    dataset = client.datasets.create_dataset(
        name="questions", inputs=[{"question": question} for question in GOLD], outputs=list(GOLD.values())
    )
    found = client.experiments.run_experiment(
        dataset=dataset,
        task=lambda input: ["d7", "d1"],  # noqa: A006 - Phoenix binds arguments by their names
        evaluators=[recipe("phoenix").retrieval],
        experiment_name="retrieval",
        print_summary=False,
    )
    with urllib.request.urlopen(f"{address}/v1/experiments/{found['experiment_id']}/json", timeout=30) as answer:
        stored = json.load(answer)
    rows = {row["input"]["question"]: row["annotations"] for row in stored}
    scores = {question: {one["name"]: one["score"] for one in given} for question, given in rows.items()}
    (lacking,) = rows.pop("Where?")
    assert_names_field("gold", lambda: lacking["error"])
    assert {question: scores[question] for question in rows} == {
        "When?": {"recall_at_5": 0.5, "mrr_at_5": 0.5},
        "Who?": {"recall_at_5": 0.0, "mrr_at_5": 0.0},
        "Nothing?": {},
    }, scores
    take_picture("phoenix", f"{address}/datasets/{dataset.id}/compare?experimentId={found['experiment_id']}")
