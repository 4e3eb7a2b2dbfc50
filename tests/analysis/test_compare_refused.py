"""What cannot be compared is refused, and the message says where the two sides differ."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from krag_eval import (
    EvalSet,
    InvalidInputError,
    KragEvalWarning,
    MissingDependencyError,
    Run,
    RunRow,
    UnknownMetricError,
    evaluate,
    evaluate_ids,
    evaluate_stream,
)
from krag_eval.analysis.comparison import compare

GOLD = [["a"], ["b"], ["c"]]
FOUND = evaluate_ids(GOLD, GOLD, k=1)
SET = EvalSet([{"id": id_, "gold_chunk_ids": [id_], "type": "fact"} for id_ in "abc"])


def run(found: str, asked: str = "abc") -> Run:
    rows = [{"query_id": id_, "retrieved": [{"id": id_ if id_ in found else "x"}]} for id_ in asked]
    return Run.of("r", map(RunRow.from_dict, rows))


def refused(*given: Any, **how: Any) -> str:
    with pytest.raises(InvalidInputError) as caught:
        compare(*given, **how)
    return str(caught.value)


def with_ids(ids: list[str], gold: list[list[str]] = GOLD) -> Any:
    return evaluate_ids(gold, gold, k=1, query_ids=ids)


def test_other_scoring_rules_are_refused_and_each_difference_is_named() -> None:
    texts = [["a b c"]] * 3
    one = evaluate(texts, texts, k=(1, 3), match_method="rougeL", threshold=0.5)
    other = evaluate(texts, texts, k=(1, 5), match_method="rougeL", threshold=0.7, gain="linear")
    assert refused({"one": one, "other": other}) == (
        "'one' and 'other' were scored by different rules, so their numbers do not compare: "
        "match is rougeL>=0.5 for 'one' and rougeL>=0.7 for 'other'; gain is exp for 'one' and lin for 'other'; "
        "k is 1,3 for 'one' and 1,5 for 'other'. Score both with the same settings."
    )
    by_id = evaluate([[{"id": "a"}]] * 3, [[{"id": "a"}]] * 3, k=(1, 3), match_method="id")
    assert "measure is fmeasure for 'one' and not set for 'ids'" in refused({"one": one, "ids": by_id})


def test_other_queries_are_refused_and_named() -> None:
    assert refused({"one": with_ids(["q1", "q2", "q3"]), "other": with_ids(["q1", "q4", "q5"])}) == (
        "The queries of the result of 'one' and the result of 'other' differ: 2 are only in the result of 'one': 'q2', "
        "'q3'; 2 are only in the result of 'other': 'q4', 'q5'. Score both on the same questions."
    )
    many = [f"q{n}" for n in range(9)]
    long = evaluate_ids([["a"]] * 9, [["a"]] * 9, k=1, query_ids=many)
    assert "'q0', 'q1', 'q2', 'q3', 'q4' and 4 more" in refused({"one": long, "other": with_ids(["x", "y", "z"])})


def test_another_number_of_queries_is_refused_where_they_have_no_ids() -> None:
    fewer = evaluate_ids(GOLD[:2], GOLD[:2], k=1)
    assert "There are 3 queries in the result of 'one' and 2 in the result of 'other'" in refused(
        {"one": FOUND, "other": fewer}
    )
    assert "There are 3 queries in the evaluation set and 2 in" in refused(SET, {"one": fewer, "other": fewer})


def test_the_same_queries_in_another_order_are_refused() -> None:
    message = refused({"one": with_ids(["a", "b", "c"]), "other": with_ids(["a", "c", "b"])})
    assert "the same queries in another order: query 1 is 'b' here and 'c' there" in message


def test_the_queries_of_another_set_are_refused() -> None:
    wrong = with_ids(["a", "b", "z"])
    assert "1 are only in the evaluation set: 'c'" in refused(SET, {"one": wrong, "other": wrong})


@pytest.mark.parametrize("gold", [[["a"], ["b", "d"], ["c"]], [["a"], ["z"], ["c"]]])
def test_other_gold_documents_are_refused(gold: list[list[str]]) -> None:
    assert "differ, first for the query '1'" in refused({"one": FOUND, "other": evaluate_ids(gold, gold, k=1)})
    named = refused({"one": with_ids(list("pqr")), "other": with_ids(list("pqr"), gold)})
    assert "The gold documents of 'one' and 'other' differ, first for the query 'q'." in named
    texts = evaluate(GOLD, GOLD, k=1), evaluate(gold, gold, k=1)
    assert "differ, first for the query '1'" in refused(dict(zip(("one", "other"), texts, strict=True)))


def test_a_run_that_lacks_questions_of_another_is_refused_unless_told() -> None:
    systems = {"all": run("abc"), "short": run("a", asked="a")}
    assert refused(SET, systems) == (
        "The run 'short' has no row for 2 of 3 questions that other runs have: 'b', 'c'. Run the retriever for them, "
        "or count them as nothing retrieved with missing='empty', if that is what a missing row means."
    )
    row = compare(SET, systems, missing="empty", k=1)["recall@1"]
    assert (row.n, row.mean) == (3, 1 / 3)


def test_questions_that_no_run_has_are_counted_with_a_warning() -> None:
    systems = {"one": run("ab", asked="ab"), "other": run("a", asked="ab")}
    with pytest.warns(KragEvalWarning, match=r"1 of 3 questions have no row in any run .* for all: 'c'\."):
        assert compare(SET, systems, k=1)["recall@1"].n == 3


def test_streams_and_results_without_detail_are_refused() -> None:
    stream = evaluate_stream(zip(GOLD, GOLD, strict=True), k=1, bare_ids=True)
    assert "The result of 'other' was streamed" in refused({"one": FOUND, "other": stream})


def test_the_number_of_metrics_in_common_must_not_be_zero() -> None:
    one, other = evaluate_ids(GOLD, GOLD, 1, metrics="mrr"), evaluate_ids(GOLD, GOLD, 1, metrics="recall")
    with pytest.warns(KragEvalWarning, match="left out"):
        message = refused({"one": one, "other": other})
    assert "'one' has mrr@1; 'other' has recall@1" in message


@pytest.mark.parametrize(
    ("systems", "arguments", "how", "message"),
    [
        ([FOUND, FOUND], (), {}, "`systems` must be a mapping from names to runs or results, got ["),
        ({"one": FOUND}, (), {}, "A comparison needs at least two systems, got 1."),
        ({"one": FOUND, "two": GOLD}, (), {}, "`systems['two']` must be a Run, or the result of an evaluation, got ["),
        ({"one": FOUND, "two": FOUND}, (), {"baseline": "tow"}, "Did you mean 'two'? They are: one, two."),
        ({"one": run("a"), "two": run("b")}, (), {}, "Runs are scored against an evaluation set"),
        ({"one": FOUND, "two": FOUND}, (), {"by": "type"}, "Slices by 'type' need the evaluation set."),
        ({"one": FOUND, "two": FOUND}, (), {"metrics": "mrr"}, "`metrics` and scoring settings are for runs"),
        ({"one": FOUND, "two": FOUND}, (), {"gain": "linear"}, "`metrics` and scoring settings are for runs"),
        ({"one": FOUND, "two": FOUND}, (), {"margin": -1}, "`margin` must be a number of at least 0, got -1."),
        ({"one": FOUND, "two": FOUND}, (), {"confidence": 95}, "`confidence` must be a number between 0 and 1"),
        ({"one": FOUND, "two": FOUND}, (), {"n_bootstrap": 10}, "`n_bootstrap` must be an integer of at least 100"),
        ({"one": FOUND, "two": FOUND}, (), {"n_randomisation": 0}, "`n_randomisation` must be an integer"),
        ({"one": FOUND, "two": FOUND}, (), {"seed": None}, "`seed` must be an integer of at least 0"),
        ({"one": run("a"), "two": run("b")}, (SET,), {"by": "tpye"}, "Did you mean 'type'?"),
        ({"one": run("a"), "two": run("b")}, (SET,), {"by": 3}, "`by` must be a field of the questions"),
        ({"one": run("a"), "two": run("b")}, (SET,), {"missing": "no"}, "`missing` must be one of 'refuse', 'empty'"),
    ],
)
def test_what_cannot_be_used_is_named(systems: Any, arguments: Any, how: dict[str, Any], message: str) -> None:
    assert message in refused(*arguments, systems, **how)


def test_a_field_with_a_value_for_each_question_is_no_slicing() -> None:
    ids = [str(n) for n in range(101)]
    many = EvalSet([{"id": id_, "gold_chunk_ids": [id_]} for id_ in ids])
    result = evaluate_ids([[id_] for id_ in ids], [[id_] for id_ in ids], k=1, query_ids=ids)
    assert "'id' has 101 different values" in refused(many, {"one": result, "two": result}, by="id")


def test_a_row_that_is_not_there_is_named() -> None:
    comparison = compare({"one": FOUND, "two": FOUND, "three": FOUND})
    with pytest.raises(UnknownMetricError, match=r"no row \('two', 'recal@1'\). Did you mean 'recall@1'\?"):
        comparison["two", "recal@1"]
    with pytest.raises(UnknownMetricError, match="Ask for a system and a key; systems: two, three"):
        comparison["recall@1"]


def test_without_scipy_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.raises(MissingDependencyError, match=r'`compare` needs .* pip install "krag-eval\[stats\]"'):
        compare({"one": FOUND, "two": FOUND})


def test_doc_hit_of_one_system_alone_is_left_out_with_a_warning() -> None:
    known = EvalSet([{"id": "q0", "gold_chunk_ids": ["g0"], "gold_doc_ids": ["D"]}])
    with_ids = Run.of(
        "w", [RunRow.from_dict({"query_id": "q0", "retrieved": [{"id": "g0", "metadata": {"doc_id": "D"}}]})]
    )
    bare = Run.of("b", [RunRow.from_dict({"query_id": "q0", "retrieved": [{"id": "g0"}]})])
    with pytest.warns(KragEvalWarning, match=r"doc_hit@10 of 'with' is left out of the comparison"):
        comparison = compare(known, {"with": with_ids, "without": bare}, metrics=None)
    assert "doc_hit@10" not in comparison.keys
