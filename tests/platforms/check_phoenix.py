# arize-phoenix==20.26.1
"""The recipe of docs/platforms.md, in its platform: with the real server, on loopback."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

from run import recipe  # type: ignore[import-not-found]

GOLD = {"When?": ["d1", "d2"], "Who?": ["d9"], "Nothing?": []}


def free_port() -> str:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return str(listening.getsockname()[1])


def ask(address: str) -> Any:
    with urllib.request.urlopen(address, timeout=30) as answer:
        return json.load(answer)


port = free_port()
address = f"http://127.0.0.1:{port}"
here = {"PHOENIX_WORKING_DIR": str(Path.cwd()), "PHOENIX_HOST": "127.0.0.1", "PHOENIX_PORT": port}
here |= {"PHOENIX_GRPC_PORT": free_port(), "PHOENIX_TELEMETRY_ENABLED": "false"}
log = Path("phoenix.log").open("w", encoding="utf-8")  # noqa: SIM115 - the server writes it until it is ended
serve = [str(Path(sys.executable).with_name("phoenix")), "serve"]
server = subprocess.Popen(serve, env={**os.environ, **here}, stdout=log, stderr=log)
try:
    for _ in range(900):
        try:
            urllib.request.urlopen(f"{address}/healthz", timeout=2).close()
        except OSError:
            assert server.poll() is None, Path("phoenix.log").read_text(encoding="utf-8")[-2000:]
            time.sleep(0.2)
        else:
            break

    from phoenix.client import Client  # type: ignore[import-not-found, unused-ignore]

    client = Client(base_url=address)
    dataset = client.datasets.create_dataset(
        name="questions",
        inputs=[{"question": question} for question in GOLD],
        outputs=[{"gold": gold} for gold in GOLD.values()],
    )
    found = client.experiments.run_experiment(
        dataset=dataset,
        task=lambda input: ["d7", "d1"],  # noqa: A006 - Phoenix binds arguments by their names
        evaluators=[recipe("phoenix").retrieval],
        print_summary=False,
    )
    stored = ask(f"{address}/v1/experiments/{found['experiment_id']}/json")
    scores = {row["input"]["question"]: {one["name"]: one["score"] for one in row["annotations"]} for row in stored}
    assert scores == {
        "When?": {"recall_at_5": 0.5, "mrr_at_5": 0.5},
        "Who?": {"recall_at_5": 0.0, "mrr_at_5": 0.0},
        "Nothing?": {},
    }, scores
finally:
    server.terminate()
    server.wait(30)
    log.close()
