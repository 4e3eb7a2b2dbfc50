"""The bar chart of the evaluator classes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from krag_eval import MissingDependencyError, OfflineRetrievalEvaluators, RAGEvaluator, evaluate_all
from tests.evaluation.test_evaluators import GOLD, KEYS, RETRIEVED

DRAW = """
import os, sys
os.environ.pop("DISPLAY", None)
from krag_eval import OfflineRetrievalEvaluators
figure = OfflineRetrievalEvaluators([["a", "b"], ["c"]], [["a"], ["x"]]).visualize_results(k=3)
axes, = figure.axes
names = [label.get_text() for label in axes.get_yticklabels()]
print(type(figure).__module__, "matplotlib.pyplot" in sys.modules, axes.get_title(loc="left"))
print(dict(zip(names, [float(bar.get_width()) for bar in axes.patches], strict=True)))
"""


@pytest.mark.full
def test_the_bar_chart_shows_the_values_without_a_display_and_without_pyplot() -> None:
    root = Path(__file__).parents[3]
    output = subprocess.run([sys.executable, "-c", DRAW], cwd=root, check=True, capture_output=True, text=True).stdout
    first, second = output.splitlines()
    assert first == "matplotlib.figure False Retrieval metrics at k = 3"
    values = evaluate_all([["a", "b"], ["c"]], [["a"], ["x"]], k=3)
    assert second == repr({key: values[key] for key in reversed(KEYS)})


def test_an_undefined_value_has_no_bar_and_says_so() -> None:
    figure = OfflineRetrievalEvaluators([[]], [["x"]]).visualize_results()
    assert {label.get_text() for label in figure.axes[0].texts} == {"undefined"}


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("matplotlib", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingDependencyError, match=r'needs.*matplotlib.*pip install "krag-eval\[report\]"'):
        RAGEvaluator().evaluate_all(GOLD, RETRIEVED, visualize=True)
