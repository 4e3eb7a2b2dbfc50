"""What importing the adapter loads, and what it says where LangChain is missing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import krag_eval_langchain

ROOT = Path(__file__).parents[3]
# Each with the import of LangChain that it stands on.
NEED_LANGCHAIN = {
    "RetrievalScoringHandler": "from langchain_core.callbacks import BaseCallbackHandler",
    "retrieval_evaluator_runnable": "from langchain_core.runnables import Runnable, RunnableLambda",
}
FRAMEWORKS = "langchain langchain_classic langfuse langgraph llama_index openinference opentelemetry haystack mlflow"


def fresh(program: str) -> Any:
    """What a fresh interpreter prints, as JSON."""
    paths = os.pathsep.join([str(ROOT), str(ROOT / "adapters")])
    done = subprocess.run(
        [sys.executable, "-c", program],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": paths},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


LOADED = "import sys, json\nbefore = set(sys.modules)\n{}\nprint(json.dumps(sorted(set(sys.modules) - before)))"
WITHOUT = """
import sys, json
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "langchain_core":
            raise ModuleNotFoundError(f"No module named {{name!r}}", name={error_name!r})
sys.meta_path.insert(0, Absent())
import krag_eval_langchain
answers = {{}}
for name in {names!r}:
    try:
        getattr(krag_eval_langchain, name)
    except ImportError as error:
        answers[name] = [type(error).__name__, str(error)]
print(json.dumps(answers))
"""


def roots(modules: list[str]) -> set[str]:
    return {module.partition(".")[0] for module in modules}


def test_importing_the_adapter_loads_no_framework() -> None:
    loaded = roots(fresh(LOADED.format("import krag_eval_langchain")))
    assert loaded & {"langchain_core", "langsmith", *FRAMEWORKS.split()} == set()
    assert "krag_eval_langchain" in loaded


@pytest.mark.full
def test_most_names_load_no_framework() -> None:
    names = ", ".join(sorted(set(dir(krag_eval_langchain)) - NEED_LANGCHAIN.keys()))
    loaded = roots(fresh(LOADED.format(f"from krag_eval_langchain import {names}")))
    assert loaded & {"langchain_core", "langsmith", *FRAMEWORKS.split()} == set()


@pytest.mark.full
@pytest.mark.parametrize(("name", "by_itself"), NEED_LANGCHAIN.items(), ids=NEED_LANGCHAIN)
def test_the_others_load_langchain_core_and_what_that_loads(name: str, by_itself: str) -> None:
    loaded = roots(fresh(LOADED.format(f"from krag_eval_langchain import {name}")))
    assert "langchain_core" in loaded
    assert loaded & {"langsmith", *FRAMEWORKS.split()} <= roots(fresh(LOADED.format(by_itself)))


@pytest.mark.full
def test_without_langchain_core_the_error_names_the_extra() -> None:
    missing = "`krag_eval_langchain.{}` needs the package 'langchain-core', which is not installed. "
    cure = 'Install it with: pip install "krag-eval[langchain]"'
    assert fresh(WITHOUT.format(names=dir(krag_eval_langchain), error_name="langchain_core")) == {
        name: ["MissingDependencyError", missing.format(name) + cure] for name in NEED_LANGCHAIN
    }


def test_a_langchain_core_that_is_broken_inside_is_not_called_missing() -> None:
    answers = fresh(WITHOUT.format(names=["RetrievalScoringHandler"], error_name="pydantic_core"))
    kind, message = answers["RetrievalScoringHandler"]
    assert (kind, "krag-eval[langchain]" in message) == ("ModuleNotFoundError", False)


def test_the_names_are_listed_and_others_are_not_there() -> None:
    assert {"RetrievalScoringHandler", "evaluate_retriever"} <= set(dir(krag_eval_langchain))
    with pytest.raises(AttributeError, match="No krag_eval_langchain attribute evaluate_retrievers"):
        vars(krag_eval_langchain)["__getattr__"]("evaluate_retrievers")
