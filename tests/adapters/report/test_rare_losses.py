"""Equal systems on a set with twelve slices: how rarely the first screen says that something lost."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from krag_eval import EvalSet, Run, RunRow
from krag_eval_report import build_report
from krag_eval_report.sections.overview import overview_section

N_REPORTS, N_SLICES, N_PER_SLICE = 100, 12, 25
LOSS = re.compile(r"\b(worse|lost most|worst|below the mean)\b", re.IGNORECASE)


def drawn(rng: np.random.Generator, n_runs: int) -> tuple[EvalSet, dict[str, Run]]:
    """Runs that find the gold document of each question at rank 1, at rank 3 or not at all, by the same chances."""
    rows: list[dict[str, Any]] = [
        {"id": f"q{i}", "gold": [{"id": f"g{i}"}], "metadata": {"topic": f"t{i % N_SLICES}"}}
        for i in range(N_SLICES * N_PER_SLICE)
    ]
    runs = {}
    for name in "abc"[:n_runs]:
        at = rng.choice([0, 2, 9], size=len(rows), p=[0.5, 0.2, 0.3])
        found = [["x", "y", "z"] for _ in rows]
        for i, rank in enumerate(at.tolist()):
            if rank < 3:
                found[i][rank] = f"g{i}"
        documents = [{"query_id": f"q{i}", "retrieved": [{"id": one} for one in ids]} for i, ids in enumerate(found)]
        runs[name] = Run.of(name, list(map(RunRow.from_dict, documents)))
    return EvalSet(rows), runs


@pytest.mark.full
@pytest.mark.parametrize("n_runs", [1, 2])
def test_of_a_hundred_reports_of_equal_systems_at_most_five_name_a_loss(n_runs: int) -> None:
    rng = np.random.default_rng(44)
    named = []
    for _ in range(N_REPORTS):
        questions, runs = drawn(rng, n_runs)
        said = " ".join(overview_section(build_report(questions, runs, by="topic", k=3)).paragraphs)
        if found := LOSS.search(said):
            named.append(found[0])
    assert len(named) <= 5, named
