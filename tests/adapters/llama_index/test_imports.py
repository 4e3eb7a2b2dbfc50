"""What importing `krag_eval_llama_index` loads, and what is said where LlamaIndex is missing or broken."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import krag_eval_llama_index

ROOT = Path(__file__).parents[3]
NEEDS_LLAMA_INDEX = ["KragRetrievalMetric", "RetrievalScoring", "krag_metrics", "retrieval_scoring"]
OTHERS = {"haystack", "langchain", "langchain_core", "langfuse", "langsmith", "mlflow", "openinference", "ragas"}


def in_a_fresh_interpreter(code: str) -> str:
    paths = os.pathsep.join([str(ROOT), str(ROOT / "adapters")])
    environment = {**os.environ, "PYTHONPATH": paths}
    return subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, env=environment
    ).stdout


def loaded_by(statement: str) -> set[str]:
    # What site-packages load by themselves (.pth files) is not ours: only the difference counts.
    code = f"import sys; before = set(sys.modules); {statement}; print('|', *(set(sys.modules) - before))"
    return {module.partition(".")[0] for module in in_a_fresh_interpreter(code).rpartition("|")[2].split()}


def test_the_import_loads_the_core_and_no_framework_at_all() -> None:
    loaded = loaded_by("import krag_eval_llama_index; dir(krag_eval_llama_index)")
    assert loaded - sys.stdlib_module_names == {"krag_eval", "krag_eval_llama_index", "lazy_loader"}


@pytest.mark.full
def test_scoring_responses_needs_no_framework_and_the_rest_no_other_than_its_own() -> None:
    assert "llama_index" not in loaded_by("from krag_eval_llama_index import score_responses")
    loaded = loaded_by("from krag_eval_llama_index import *")
    assert "llama_index" in loaded
    assert loaded & OTHERS == set()


def test_every_name_is_there_and_documented() -> None:
    names = dir(krag_eval_llama_index)
    assert [name for name in names if not getattr(krag_eval_llama_index, name).__doc__] == []
    assert {"KragRetrievalMetric", "retrieval_scoring"} <= set(names)
    with pytest.raises(AttributeError, match="No krag_eval_llama_index attribute retriever_scoring"):
        vars(krag_eval_llama_index)["__getattr__"]("retriever_scoring")


# `llama_index` is a namespace that each of its integrations fills: without the core it may still be there.
MISSING = """
import sys
class Without:
    def find_spec(self, name, path=None, target=None):
        if name == {missing!r} or name.startswith({missing!r} + "."):
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Without())
import krag_eval, krag_eval_llama_index
for name in {names!r}:
    try:
        getattr(krag_eval_llama_index, name)
    except ImportError as error:
        print(type(error).__name__, str(error), sep="|")
"""


@pytest.mark.full
@pytest.mark.parametrize("missing", ["llama_index", "llama_index.core"])
def test_without_llama_index_the_error_names_the_extra(missing: str) -> None:
    printed = in_a_fresh_interpreter(MISSING.format(missing=missing, names=NEEDS_LLAMA_INDEX))
    for name, line in zip(NEEDS_LLAMA_INDEX, printed.splitlines(), strict=True):
        kind, message = line.split("|")
        assert kind == "MissingDependencyError"
        assert f"`krag_eval_llama_index.{name}` needs the package 'llama-index-core', which is not installed" in message
        assert 'pip install "krag-eval[llama-index]"' in message


def test_a_llama_index_that_is_broken_inside_is_not_called_missing() -> None:
    printed = in_a_fresh_interpreter(MISSING.format(missing="llama_index_instrumentation", names=["krag_metrics"]))
    assert printed.strip() == "ModuleNotFoundError|No module named 'llama_index_instrumentation'"
