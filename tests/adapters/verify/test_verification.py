"""The same numbers by ir_measures, query by query, whatever is in a run."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krag_eval import EvalSet, InvalidInputError, MissingDependencyError, Run, RunRow, evaluate_run
from krag_eval_verify.verification import AGREEMENT, Verification, verify
from tests.support.label_audit_cases import run
from tests.support.marks import nothing_may_match

pytestmark = pytest.mark.peer

AT_EACH_CUT_OFF = {
    "hit_rate": "Success",
    "mrr": "RR",
    "recall": "R",
    "precision": "P",
    "map": "AP",
    "ndcg": "nDCG",
    "ndcg_linear": "nDCG",
}


def keys(verification: Verification) -> list[str]:
    return [row.key for row in verification.rows]


def test_every_measure_is_compared_at_every_cut_off() -> None:
    evalset = EvalSet([{"id": "q", "gold": [{"id": "a"}, {"id": "b"}]}, {"id": "r", "gold": [{"id": "c"}]}])
    verification = verify(evalset, run("bm25", {"q": ["b", "x", "a"], "r": ["x", "c"]}), k=(1, 3))
    assert {row.key: row.measure for row in verification.rows} == {
        f"{ours}@{k}": f"{theirs}@{k}" for ours, theirs in AT_EACH_CUT_OFF.items() for k in (1, 3)
    } | {"r_precision": "Rprec"}
    assert (verification.n_queries, verification.notes, verification.agrees) == (2, (), True)
    recall = next(row for row in verification.rows if row.key == "recall@1")
    assert (recall.ours, recall.theirs, recall.difference, recall.query_id) == (0.25, 0.25, 0.0, None)
    assert {*verification.versions} == {"ir-measures", "pytrec-eval-terrier"}
    assert "pden:k" in verification.signature
    assert "they agree" in repr(verification)


GRADES = st.sampled_from([0, 1, 2, 5])
IDS = st.sampled_from(["a", "b", "c", "d e", "é", "ё", "가", "中", "x\ty"])
QUESTION = st.tuples(st.lists(st.tuples(IDS, GRADES), max_size=5), st.lists(IDS, max_size=9))


@nothing_may_match
@given(questions=st.lists(QUESTION, min_size=1, max_size=4))
@pytest.mark.filterwarnings("ignore:Not one id matches")
def test_both_programs_agree_on_any_grades_repeats_and_empty_rankings(questions: list[Any]) -> None:
    evalset = EvalSet(
        [{"id": n, "gold": [{"id": i, "grade": g} for i, g in gold]} for n, (gold, _) in enumerate(questions)]
    )
    rankings = run("random", {str(n): ranking for n, (_, ranking) in enumerate(questions)})
    positive = [n for n, (gold, _) in enumerate(questions) if any(grade for _, grade in gold)]
    if not positive:
        with pytest.raises(InvalidInputError, match="No question has a gold document"):
            verify(evalset, rankings)
        return
    verification = verify(evalset, rankings, k=(1, 2, 5, 20))
    assert verification.largest.difference < 1e-12
    assert verification.n_queries == len(positive)
    assert len(verification.rows) == len(AT_EACH_CUT_OFF) * 4 + 1


def test_repeats_negatives_and_failures_are_told() -> None:
    evalset = EvalSet(
        [
            {"id": "q", "gold": [{"id": "a"}, {"id": "b"}]},
            {"id": "failed", "gold": [{"id": "a"}]},
            {"id": "absent", "gold": [{"id": "a"}]},
            {"id": "negative", "gold": []},
        ]
    )
    runs = run("s", {"q": ["a", "a", "b", "a"], "failed": "TimeoutError: late", "negative": ["a"]})
    verification = verify(evalset, runs, k=(2, 3))
    assert verification.notes == (
        "Questions without a gold document, undefined here and not counted there: 1.",
        "Retrieved documents that repeat an earlier one, not relevant for either program: 2.",
        "Retrievals that failed, nothing retrieved for either program: 1.",
    )
    # The repeat keeps its rank: b is found at rank 3, not 2.
    recall = {row.key: row.theirs for row in verification.rows}
    assert (recall["recall@2"], recall["recall@3"]) == (0.5 / 3, 1 / 3)
    assert verification.agrees


def test_documents_without_an_id_count_and_never_match() -> None:
    evalset = EvalSet([{"id": "q", "gold": [{"id": "a"}, {"text": "no id"}]}])
    verification = verify(evalset, run("s", {"q": [{"text": "no id"}, "a", {"text": "no id"}]}), k=2)
    recall = next(row for row in verification.rows if row.key == "recall@2")
    assert (recall.ours, recall.theirs, verification.agrees) == (0.5, 0.5, True)


@pytest.mark.parametrize(
    ("grades", "left_out", "said"),
    [
        ([2, 0.5], {"ndcg", "ndcg_linear"}, "takes whole numbers as grades"),
        ([2, 16], set(), None),
        ([2, 17], {"ndcg"}, "nDCG with exponential gain is left out"),
        ([2, 1e9], {"ndcg", "ndcg_linear"}, "nDCG is left out: trec_eval keeps a counter for each gain"),
    ],
)
def test_grades_that_trec_eval_cannot_take_leave_ndcg_out(
    grades: list[float], left_out: set[str], said: str | None
) -> None:
    gold = [{"id": f"g{n}", "grade": grade} for n, grade in enumerate(grades)]
    verification = verify(EvalSet([{"id": "q", "gold": gold}]), run("s", {"q": ["g1", "x", "g0"]}), k=3)
    assert {*AT_EACH_CUT_OFF} - {key.partition("@")[0] for key in keys(verification)} == left_out
    assert [note for note in verification.notes if said and said in note] == list(verification.notes)
    assert len(verification.notes) == (said is not None)
    assert verification.agrees


def test_at_document_level_chunks_of_one_document_are_repeats() -> None:
    evalset = EvalSet([{"id": "q", "gold_doc_ids": ["D1", "D2"]}, {"id": "r", "gold_chunk_ids": ["c"]}])
    chunks = [{"id": f"c{n}", "metadata": {"doc_id": doc}} for n, doc in enumerate(["D1", "D1", "D2"])]
    verification = verify(evalset, run("s", {"q": chunks}), k=(2, 3), level="document")
    assert {row.key: row.theirs for row in verification.rows if row.key.startswith("recall")} == {
        "recall@2": 0.5,
        "recall@3": 1.0,
    }
    assert (verification.n_queries, verification.agrees) == (1, True)


def test_keys_of_the_metadata_are_read_for_both_programs() -> None:
    evalset = EvalSet([{"id": "q", "gold": [{"id": "x", "metadata": {"key": "a", "worth": 3}}]}])
    runs = run("s", {"q": [{"id": "y", "metadata": {"key": "b"}}, {"id": "z", "metadata": {"key": "a"}}]})
    verification = verify(evalset, runs, k=2, id_key="key", grade_key="worth")
    assert {row.key: row.theirs for row in verification.rows}["mrr@2"] == 0.5
    assert "nDCG(gains={3:7})@2" in {row.measure for row in verification.rows}
    assert verification.agrees


def test_a_difference_is_named_with_its_query(monkeypatch: pytest.MonkeyPatch) -> None:
    evalset = EvalSet([{"id": n, "gold": [{"id": "a"}]} for n in ("q", "r")])

    def forgets_the_last(evalset_: Any, run_: Run, *arguments: Any, **options: Any) -> Any:
        rows = [run_.rows["q"], RunRow(query_id="r")]
        return evaluate_run(evalset_, Run.of("s", rows), *arguments, **options)

    monkeypatch.setattr("krag_eval_verify.verification.evaluate_run", forgets_the_last)
    verification = verify(evalset, run("s", {"q": ["a"], "r": ["x", "a"]}), k=(1, 2))
    differing = {row.key: (row.ours, row.theirs, row.difference, row.query_id) for row in verification.rows}
    assert differing["recall@2"] == (0.5, 1.0, 1.0, "r")
    assert differing["recall@1"] == (0.5, 0.5, 0.0, None)
    assert not verification.agrees
    assert verification.verdict == "Largest difference of a query: 1.0e+00, they differ in hit_rate@2 (query r)."
    assert verification.to_dict()["agrees"] is False
    assert verification.largest.difference > AGREEMENT


@pytest.mark.parametrize("k", ["100tok", (1, None), 0])
def test_cut_offs_are_ranks(k: Any) -> None:
    with pytest.raises(InvalidInputError, match="`k` must be"):
        verify(EvalSet([{"id": "q", "gold": [{"id": "a"}]}]), run("s", {"q": ["a"]}), k=k)


@pytest.mark.parametrize(
    ("module", "package"), [("ir_measures", "ir-measures"), ("pytrec_eval", "pytrec-eval-terrier")]
)
def test_what_is_not_installed_is_named_with_its_extra(
    monkeypatch: pytest.MonkeyPatch, module: str, package: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingDependencyError, match=rf'{package}.*pip install "krag-eval\[verify\]"'):
        verify(EvalSet([{"id": "q", "gold": [{"id": "a"}]}]), run("s", {"q": ["a"]}))


def test_a_package_that_is_broken_inside_is_not_called_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    import_ = importlib.import_module

    def broken(name: str) -> Any:
        if name == "ir_measures":
            raise ModuleNotFoundError("No module named 'inner'", name="inner")
        return import_(name)

    monkeypatch.setattr(importlib, "import_module", broken)
    with pytest.raises(ModuleNotFoundError, match="inner") as error:
        verify(EvalSet([{"id": "q", "gold": [{"id": "a"}]}]), run("s", {"q": ["a"]}))
    assert not isinstance(error.value, MissingDependencyError)


def test_trec_eval_is_not_asked_about_needs() -> None:
    evalset = EvalSet([{"id": "q", "gold": [{"any_of": [{"id": "a"}, {"id": "b"}]}]}])
    with pytest.raises(InvalidInputError, match="has needs with several alternatives"):
        verify(evalset, run("bm25", {"q": ["a"]}), k=2)


def test_a_run_is_no_path() -> None:
    anything: Any = "run.jsonl"
    with pytest.raises(InvalidInputError, match=r"`run` must be a Run, got 'run\.jsonl'\."):
        verify([{"id": "q", "gold": [{"id": "a"}]}], anything)
