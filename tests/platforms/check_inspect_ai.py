# inspect-ai==0.3.285
"""The recipe of docs/platforms.md, in its platform."""

from __future__ import annotations

import os
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

from run import assert_names_field, free_port, recipe, serving, take_picture  # type: ignore[import-not-found]

inspect_ai = import_module("inspect_ai")
sample = import_module("inspect_ai.dataset").Sample


@import_module("inspect_ai.solver").solver  # type: ignore[untyped-decorator]
def search() -> Any:
    async def solve(state: Any, generate: Any) -> Any:
        state.metadata["retrieved"] = ["d7", "d1"]
        return state

    return solve


samples = [sample(input="When?", target=["d1", "d2"]), sample(input="Where?", target=["d7"])]
scorer = recipe("inspect_ai").retrieval
with tempfile.TemporaryDirectory() as folder:

    def run(samples: list[Any], solver: list[Any]) -> Any:
        task = inspect_ai.Task(dataset=samples, solver=solver, scorer=scorer())
        return inspect_ai.eval(task, model=None, log_dir=folder, display="none")[0]

    assert_names_field("target", lambda: run([sample(input="Who?")], [search()]).error.message)
    assert_names_field("retrieved", lambda: run(samples, []).error.message)
    log = run(samples, [search()])
    assert log.status == "success", log.error
    means = {score.name: score.metrics["mean"].value for score in log.results.scores}
    assert means == {"recall_at_5": 0.75, "mrr_at_5": 0.75}, means
    if "KRAG_EVAL_PICTURES" in os.environ:
        port = str(free_port())
        address = f"http://127.0.0.1:{port}"
        view = [str(Path(sys.executable).with_name("inspect")), "view", "start", "--log-dir", folder]
        with serving([*view, "--host", "127.0.0.1", "--port", port], address):
            take_picture("inspect", f"{address}/#/logs/{Path(log.location).name}")
