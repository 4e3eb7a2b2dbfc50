"""What importing the adapter loads, and what it says where OpenTelemetry's SDK is missing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
WITHOUT = """
import sys, json
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name == "opentelemetry.sdk":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
import krag_eval_otel
try:
    krag_eval_otel.RetrievalSpanProcessor
except ImportError as error:
    print(json.dumps([type(error).__name__, str(error)]))
"""
LOADED = (
    "import sys, json, krag_eval_otel; print(json.dumps([n for n in sys.modules if n.startswith('opentelemetry.sdk')]))"
)


def fresh(program: str) -> Any:
    """What a fresh interpreter prints, as JSON."""
    paths = os.pathsep.join([str(ROOT), str(ROOT / "adapters")])
    environment = {**os.environ, "PYTHONPATH": paths}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_the_sdk_is_loaded_when_it_is_needed() -> None:
    assert fresh(LOADED) == []


def test_a_missing_sdk_is_named_with_its_cure() -> None:
    kind, message = fresh(WITHOUT)
    assert kind == "MissingDependencyError"
    assert "krag_eval_otel.RetrievalSpanProcessor" in message
    assert 'pip install "krag-eval[otel]"' in message
