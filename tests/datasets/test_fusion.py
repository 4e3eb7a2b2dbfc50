"""Reciprocal rank fusion: scores, ties, what counts as the same document, and what is said about gaps."""

from __future__ import annotations

import itertools
import warnings
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krag_eval import (
    Document,
    InvalidInputError,
    KragEvalWarning,
    Run,
    RunRow,
    fuse,
)


def run(name: str, **rankings: Any) -> Run:
    rows = [
        {"query_id": id_, **(row if isinstance(row, dict) else {"retrieved": ids(*row)})}
        for id_, row in rankings.items()
    ]
    return Run.of(name, map(RunRow.from_dict, rows))


def ids(*names: str) -> list[dict[str, str]]:
    return [{"id": name} for name in names]


def ranking(fused: Run, query_id: str = "q") -> list[str | None]:
    return [document.id for document in fused.rows[query_id].retrieved]


def scores(fused: Run, query_id: str = "q") -> dict[str | None, float | None]:
    return {document.id: document.score for document in fused.rows[query_id].retrieved}


def test_the_score_is_the_sum_of_one_over_60_plus_the_rank() -> None:
    fused = fuse([run("a", q=["x", "y"]), run("b", q=["y", "z"])])
    assert ranking(fused) == ["y", "x", "z"]
    assert scores(fused) == {"y": 1 / 62 + 1 / 61, "x": 1 / 61, "z": 1 / 62}
    assert (fused.name, fused.parameters) == ("a+b", {"fusion": "rrf", "k": 60, "runs": ["a", "b"]})


def test_weights_k_depth_and_name_can_be_chosen() -> None:
    runs = {"a": run("a", q=["x", "y", "z"]), "b": run("b", q=["y", "x", "w"])}
    fused = fuse(runs, 1, weights=[1, 3], depth=2, name="hybrid")
    assert scores(fused) == {"y": 1 / 3 + 3 / 2, "x": 1 / 2 + 3 / 3}
    assert ranking(fused) == ["y", "x"]
    assert fused.name == "hybrid"
    assert fused.parameters == {"fusion": "rrf", "k": 1, "runs": ["a", "b"], "weights": [1, 3], "depth": 2}


def test_equal_scores_are_ordered_by_the_best_rank_and_then_by_the_order_of_the_runs() -> None:
    a, b, c = run("a", q=["p", "q", "r"]), run("b", q=["q", "r", "p"]), run("c", q=["r", "p", "q"])
    assert len(set(scores(fuse([a, b, c])).values())) == 1  # 1/61 + 1/62 + 1/63, whichever comes first
    assert ranking(fuse([a, b, c])) == ["p", "q", "r"]
    assert ranking(fuse([c, b, a])) == ["r", "q", "p"]
    assert ranking(fuse([run("a", q=["x", "s"]), run("b", q=["y", "s"])])) == ["s", "x", "y"]
    # 1/61 + 1/62 + 1/67 has another last bit than 1/62 + 1/67 + 1/61, if each sum is rounded.
    rotated = [["p", "q", *"1234", "r"], ["r", "p", *"5678", "q"], ["q", "r", *"stuv", "p"]]
    three = scores(fuse([run(str(n), q=names) for n, names in enumerate(rotated)]))
    assert len({three["p"], three["q"], three["r"]}) == 1
    # 1/3 + 1/6 = 1/2: t is second in one run alone, s is never better than third.
    tie = fuse([run("a", q=["k", "t", "s"]), run("b", q=["k", "l", "m", "n", "o", "s"])], 0)
    assert ranking(tie)[:3] == ["k", "t", "l"]


def test_documents_are_the_same_by_id_else_by_normalized_text() -> None:
    a = Run.of(
        "a", [RunRow.from_dict({"query_id": 1, "retrieved": [{"id": "x", "text": "one"}, {"text": "Two  words"}]})]
    )
    b = Run.of(
        "b", [RunRow.from_dict({"query_id": 1, "retrieved": [{"text": "two words"}, {"id": "x"}, {"text": "one"}]})]
    )
    documents = fuse([a, b]).rows["1"].retrieved
    assert [(d.id, d.text) for d in documents] == [("x", "one"), (None, "two words"), (None, "one")]


def test_ids_are_read_from_the_metadata_key_that_is_named() -> None:
    def chunk(id_: str, source: str) -> dict[str, Any]:
        return {"id": id_, "metadata": {"source": source}}

    a = Run.of("a", [RunRow.from_dict({"query_id": "q", "retrieved": [chunk("1", "A"), chunk("2", "B")]})])
    b = Run.of("b", [RunRow.from_dict({"query_id": "q", "retrieved": [chunk("9", "B"), chunk("8", "B")]})])
    fused = fuse([a, b], id_key="source")
    assert ranking(fused) == ["9", "1"]
    assert [document.score for document in fused.rows["q"].retrieved] == [1 / 62 + 1 / 61, 1 / 61]


def test_a_repeat_within_a_ranking_adds_nothing_and_keeps_its_rank() -> None:
    assert scores(fuse([run("a", q=["x", "x", "y"]), run("b", q=["y"])])) == {"y": 1 / 63 + 1 / 61, "x": 1 / 61}


def test_a_document_keeps_the_text_that_any_run_has_and_the_metadata_of_its_best_rank() -> None:
    best = {"id": "x", "metadata": {"page": 1}}
    a = Run.of("a", [RunRow.from_dict({"query_id": "q", "retrieved": [{"id": "y"}, {"id": "x", "text": "long"}]})])
    b = Run.of("b", [RunRow.from_dict({"query_id": "q", "retrieved": [best]})])
    (document, _) = fuse([a, b]).rows["q"].retrieved
    assert (document.id, document.text, document.metadata) == ("x", "long", {"page": 1})


def test_rankings_of_one_query_give_documents() -> None:
    assert fuse([["b", "a"], [("a", 0.9), "c"], []]) == [  # the string of a pair may be an id too
        Document(id="a", text="a", score=1 / 62 + 1 / 61),
        Document(text="b", score=1 / 61),
        Document(text="c", score=1 / 62),
    ]
    assert fuse([[], []]) == []


def test_questions_that_some_runs_lack_are_fused_from_the_others_with_a_warning() -> None:
    a, b = run("a", p=["x"], q=["x"]), run("b", q=["x"], r=["y"])
    with pytest.warns(KragEvalWarning) as caught:
        fused = fuse([a, b])
    assert [str(warning.message) for warning in caught] == [
        "Questions that are not in every run are fused from the others, if any: r, p (1 in 'a', 1 in 'b')."
    ]
    assert list(fused.rows) == ["p", "q", "r"]
    assert scores(fused, "p") == {"x": 1 / 61}


def test_a_failed_retrieval_leaves_the_ranking_to_the_others_and_remains_an_error_where_all_failed() -> None:
    error = {"error": "Timeout: late"}
    a, b = run("a", p=error, q=error, r=["x"]), run("b", p=["x"], q={"error": "Other"}, r=["x"])
    with pytest.warns(KragEvalWarning, match=r"^Questions that failed in some run .*: p, q \(2 in 'a', 1 in 'b'\)\.$"):
        fused = fuse([a, b])
    assert (ranking(fused, "p"), fused.errors) == (["x"], {"q": "Timeout: late"})


def test_runs_that_share_no_document_are_said_to_have_ids_of_two_kinds() -> None:
    a = run("bm25", p=["1", "2"], q=["3"])
    b = Run.of("dense", [RunRow.from_dict({"query_id": i, "retrieved": [{"text": "A chunk"}]}) for i in "pq"])
    with pytest.warns(
        KragEvalWarning, match=r"^No document is in more than one of the runs: 'bm25' has id '1', .*text 'a chunk'"
    ):
        fuse([a, b])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fuse([run("a", p=["1"], q=["2"]), run("b", p=["1"], q=["9"])])  # one document is enough
        fuse([run("a", p=["1"]), run("b", p=[])])  # nothing that could be shared


@pytest.mark.parametrize(
    ("arguments", "settings", "message"),
    [
        ((run("a", q=["x"]),), {}, r"`runs` must be a list of at least two, got a Run. Give a list"),
        (([run("a", q=["x"])],), {}, r"at least two, got \["),
        (([run("a", q=["x"]), ["x"]],), {}, r"mixes runs and rankings"),
        ((["a.jsonl", "b.jsonl"],), {}, r"`runs` holds a str.*`read_run\(path\)`"),
        (
            ([[["x"]], [["y"]]],),
            {},
            r"`runs\[0\]`: rank 1 is a list.*\[fuse\(rankings\) for rankings in zip\(run_a, run_b\)\]",
        ),
        (([["x"], [3.5]],), {}, r"`runs\[1\]`: rank 1: "),
        (([["x"], ["y"]], -1), {}, r"`k` must be a number of at least 0, got -1"),
        (([["x"], ["y"]], float("nan")), {}, r"`k` must be"),
        (([["x"], ["y"]], True), {}, r"`k` must be"),
        (([["x"], ["y"]],), {"weights": [1]}, r"`weights` must be 2 numbers above 0"),
        (([["x"], ["y"]],), {"weights": [1, 0]}, r"`weights` must be 2 numbers above 0.*Leave out"),
        (([["x"], ["y"]],), {"weights": 2}, r"`weights` must be"),
        (([["x"], ["y"]],), {"depth": 0}, r"`depth` must be an integer of at least 1"),
        (([["x"], ["y"]],), {"name": "both"}, r"`name` is the name of a run"),
    ],
)
def test_what_cannot_be_fused_is_refused(arguments: Any, settings: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        fuse(*arguments, **settings)


def test_what_the_error_about_lists_suggests_works() -> None:
    run_a, run_b = [["x"], ["y"]], [["x"], ["z"]]
    fused = [fuse(rankings) for rankings in zip(run_a, run_b)]  # noqa: B905 - copied from the message
    assert [[document.text for document in documents] for documents in fused] == [["x"], ["y", "z"]]


RANKINGS = st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=8, unique=True), min_size=2, max_size=5)


@given(rankings=RANKINGS, k=st.integers(0, 80), weights=st.lists(st.integers(1, 9), min_size=5, max_size=5))
def test_the_order_is_that_of_exact_fractions(rankings: list[list[str]], k: int, weights: list[int]) -> None:
    exact: dict[str, Fraction] = {}
    for ranked, weight in zip(rankings, weights, strict=False):
        for rank, name in enumerate(ranked, 1):
            exact[name] = exact.get(name, Fraction(0)) + Fraction(weight, k + rank)
    fused = fuse(rankings, k, weights=weights[: len(rankings)])
    assert {document.text: document.score for document in fused} == pytest.approx(
        {name: float(score) for name, score in exact.items()}, abs=1e-15, rel=1e-15
    )
    values = [exact[document.text or ""] for document in fused]
    assert all(before >= after or before == pytest.approx(after) for before, after in itertools.pairwise(values))


def test_the_string_of_a_pair_is_the_id_that_another_ranking_has() -> None:
    assert [document.id for document in fuse([[{"id": "d2"}, {"id": "d1"}], [("d1", 0.9), ("d3", 0.8)]])] == [
        "d1",
        "d2",
        "d3",
    ]
