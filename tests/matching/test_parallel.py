"""Several processes: the same bits, only where it pays, and clear words where it cannot work."""

from __future__ import annotations

from typing import Any

import pytest

from krag_eval import InvalidInputError, evaluate
from krag_eval.evaluation.results import EvaluationResult
from krag_eval.matching import parallel
from tests.support.marks import nothing_may_match

WORDS = [f"word{i}" for i in range(40)]
GOLD = [[" ".join(WORDS[i % 7 : i % 7 + 12]), {"id": f"g{i}", "text": f"passage {i}"}] for i in range(60)]
RETRIEVED = [[" ".join(WORDS[j : j + 14]) for j in range(i % 5, i % 5 + 6)] + [{"id": f"g{i}"}] for i in range(60)]


def run(n_jobs: int, **settings: Any) -> EvaluationResult:
    return evaluate(GOLD, RETRIEVED, (1, 5), n_jobs=n_jobs, **settings)


def found(result: EvaluationResult) -> list[list[float]]:
    assert result.detail is not None
    matches = result.detail.matches
    return [c.tolist() for c in (matches.actual, matches.predicted, matches.similarity, matches.method)]


@nothing_may_match
@pytest.mark.parametrize("match_method", ["text", "containment", "rougeL", ["id", "text", "rouge2", "rouge1"]])
@pytest.mark.parametrize("always", [True, False], ids=["in processes", "as it pays"])
def test_any_number_of_processes_gives_the_same_bits(
    monkeypatch: pytest.MonkeyPatch, match_method: str | list[str], always: bool
) -> None:
    if always:
        monkeypatch.setattr(parallel, "_PAYS_FROM", -1.0)
    one, several = run(1, match_method=match_method), run(2, match_method=match_method)
    assert found(one) == found(several)
    assert one.to_json() == several.to_json()
    assert str(one.explain(3)) == str(several.explain(3))


def test_no_process_is_started_for_a_moment_of_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "run_in_processes", None)  # calling it would fail
    assert run(8, match_method="rouge1").to_dict() == run(1, match_method="rouge1").to_dict()


def test_a_tokenizer_that_cannot_be_sent_to_a_process_is_an_error_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "_PAYS_FROM", -1.0)
    with pytest.raises(InvalidInputError, match=r"cannot be pickled .* `def` at the top level of a module"):
        run(2, match_method="rouge1", tokenizer=lambda text: text.split())


@pytest.mark.parametrize("n_jobs", [0, -1, True, 1.5, None])
def test_n_jobs_is_a_number_of_processes(n_jobs: Any) -> None:
    with pytest.raises(InvalidInputError, match="`n_jobs` must be an integer of at least 1"):
        run(n_jobs)
