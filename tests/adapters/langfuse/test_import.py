"""Importing the adapter costs little, and without langfuse it says what to install."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
BLOCK = """
import sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "langfuse":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Block())
"""
USES = {
    "LangfuseScoreHandler": "LangfuseScoreHandler(session_id='s')",
    "as_langfuse_evaluators": "as_langfuse_evaluators()",
    "as_langfuse_run_evaluators": "as_langfuse_run_evaluators()",
    "score_traces": "score_traces({'q': ['a']})",
}
CASES = [
    pytest.param(*use, id=use[0], marks=[pytest.mark.full] * (number > 0)) for number, use in enumerate(USES.items())
]


def fresh(code: str) -> str:
    """What a fresh interpreter prints."""
    paths = os.pathsep.join([str(ROOT), str(ROOT / "adapters")])
    environment = {**os.environ, "PYTHONPATH": paths}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)
    assert done.stderr == ""
    return done.stdout


@pytest.mark.full
def test_importing_the_adapter_imports_no_framework() -> None:
    code = (
        "import sys; before = set(sys.modules); from krag_eval_langfuse import *; print(*(set(sys.modules) - before))"
    )
    loaded = {module.partition(".")[0] for module in fresh(code).split()}
    assert "krag_eval_langfuse" in loaded
    assert loaded & {"langfuse", "opentelemetry", "langchain_core", "llama_index", "httpx", "pydantic"} == set()


@pytest.mark.full
@pytest.mark.parametrize(("needed_by", "use"), CASES)
def test_without_langfuse_the_error_names_the_extra(needed_by: str, use: str) -> None:
    printed = fresh(
        f"{BLOCK}\nfrom krag_eval_langfuse import *\nfrom krag_eval import MissingDependencyError\n"
        f"try:\n    {use}\nexcept MissingDependencyError as error:\n    print(error)"
    )
    assert printed == (
        f"`{needed_by}` needs the package 'langfuse', which is not installed. "
        'Install it with: pip install "krag-eval[langfuse]"\n'
    )


@pytest.mark.full
def test_a_langfuse_that_is_broken_inside_is_not_called_missing() -> None:
    printed = fresh(
        "import sys, types\nsys.modules['langfuse'] = None\n"
        "from krag_eval_langfuse.client import load_langfuse\nfrom krag_eval import MissingDependencyError\n"
        "try:\n    load_langfuse('x')\nexcept MissingDependencyError:\n    print('missing')\n"
        "sys.modules['langfuse'] = types.ModuleType('langfuse')\n"
        "try:\n    load_langfuse('x', 'langfuse.api')\n"
        "except ImportError as error:\n    print(type(error).__name__, error.name)"
    )
    assert printed == "missing\nModuleNotFoundError langfuse.api\n"


def test_every_public_name_is_there() -> None:
    import krag_eval_langfuse

    assert "LangfuseScoreHandler" in dir(krag_eval_langfuse)
    assert [name for name in dir(krag_eval_langfuse) if not hasattr(krag_eval_langfuse, name)] == []
