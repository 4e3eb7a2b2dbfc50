"""Metrics for incomplete labels: by hand, by law, and against ir_measures and trec_eval."""

from __future__ import annotations

from typing import Any

import ir_measures
import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

from krag_eval import EvalSet, InvalidInputError, KragEvalWarning, compare, evaluate, evaluate_ids, evaluate_run, sweep
from tests.support.marks import nothing_may_match

NAMES = ["judged", "bpref", "infap", "precision_upper", "hit_rate_upper", "mrr_upper"]
QRELS_AND_RUNS = st.lists(
    st.tuples(
        st.dictionaries(st.sampled_from("abcdefgh"), st.integers(-1, 3), max_size=8),
        st.lists(st.sampled_from("abcdefghij"), max_size=10, unique=True),
    ),
    min_size=1,
    max_size=6,
)
pytestmark = [
    nothing_may_match,
    pytest.mark.filterwarnings("ignore:No document has grade 0", "ignore:.* have a grade below 0"),
]


def scored(pairs: list[tuple[dict[str, int], list[str]]], metrics: str, k: Any = None, **settings: Any) -> list[Any]:
    """Score qrels against rankings."""
    gold = [[{"id": d, "metadata": {"relevance": g}} for d, g in row.items()] for row, _ in pairs]
    found = [[{"id": d} for d in ranking] for _, ranking in pairs]
    result = evaluate(gold, found, k=k, metrics=metrics, match_method="id", **settings)
    return [next(iter(row.values.values())) for row in result.per_query]


def as_trec(pairs: list[tuple[dict[str, int], list[str]]]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return qrels and run; without a ranking trec_eval returns nothing for a query."""
    qrels = {str(q): grades for q, (grades, _) in enumerate(pairs) if grades}
    return qrels, {str(q): {d: -float(r) for r, d in enumerate(row)} for q, (_, row) in enumerate(pairs) if row}


@given(QRELS_AND_RUNS, st.booleans(), st.sampled_from(["bpref", "infAP", "map", "P_3", "recip_rank"]))
def test_measures_equal_trec_eval_on_whole_and_on_condensed_rankings(pairs: Any, is_condensed: bool, name: str) -> None:
    pairs = [*pairs, ({"z": 1, "y": 0}, ["z"])]
    qrels, run = as_trec(pairs)
    if is_condensed:  # trec_eval crashes if nothing is left
        run = {q: row for q, row in run.items() if any(qrels.get(q, {}).get(d, -1) >= 0 for d in row)}
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {name.replace("P_3", "P.3")}, judged_docs_only_flag=is_condensed)
    expected = evaluator.evaluate(run)
    ours = {"infAP": "infap", "recip_rank": "mrr", "P_3": "precision"}.get(name, name)
    settings = {"unjudged": "remove"} if is_condensed else {}
    k = 3 if name == "P_3" else None
    for query, value in enumerate(scored(pairs, ours, k, precision_denominator="k", **settings)):
        if any(grade > 0 for grade in pairs[query][0].values()):
            assert value == pytest.approx(expected.get(str(query), {}).get(name, 0.0), abs=1e-12)
        else:
            assert value is None


@given(QRELS_AND_RUNS, st.sampled_from([1, 3, 20]))
def test_judged_equals_ir_measures(pairs: Any, k: int) -> None:
    pairs = [*pairs, ({"z": 1, "y": 0}, ["z"])]
    measure = ir_measures.Judged @ k
    expected = {m.query_id: m.value for m in ir_measures.iter_calc([measure], *as_trec(pairs))}
    for query, value in enumerate(scored(pairs, "judged", k)):
        labels = pairs[query][0]
        assert value == (pytest.approx(expected.get(str(query), 0.0), abs=1e-12) if labels else None)


@pytest.mark.full
@given(QRELS_AND_RUNS, st.sampled_from([1, 3, None]))
def test_bare_ids_give_the_same_values_as_documents(pairs: Any, k: Any) -> None:
    pairs = [(grades, ranking * 2) for grades, ranking in pairs]
    gold, found = [grades for grades, _ in pairs], [ranking for _, ranking in pairs]
    choices: list[dict[str, Any]] = [{}, {"unjudged": "remove"}]
    for settings in choices:
        names = NAMES if settings else [*NAMES, "map"]
        bare = evaluate_ids(gold, found, k=k, metrics=names, **settings)
        for name in names:
            key = next(key for key in bare if key.partition("@")[0] == name)
            assert [row.values[key] for row in bare.per_query] == scored(pairs, name, k, **settings)


@given(QRELS_AND_RUNS, st.sampled_from([1, 3, None]))
def test_bounds_enclose_every_completion_of_the_labels(pairs: Any, k: Any) -> None:
    pairs = [({d: max(g, 0) for d, g in grades.items()}, ranking) for grades, ranking in pairs]
    all_relevant = [({d: grades.get(d, 1) for d in [*grades, *ranking]}, ranking) for grades, ranking in pairs]
    for name in ("precision", "hit_rate", "mrr"):
        lower, upper = scored(pairs, name, k), scored(pairs, f"{name}_upper", k)
        for query, most in enumerate(scored(all_relevant, name, k)):
            if lower[query] is not None:
                assert lower[query] <= upper[query] == most
            else:
                assert upper[query] is None


@given(
    st.lists(st.sampled_from(["p q", "p", "q r", "s"]), max_size=4),
    st.lists(st.sampled_from(["p q", "p", "q r", "s"]), max_size=3),
    st.lists(st.sampled_from(["p q", "p", "q r", "s", "t u"]), max_size=8),
)
def test_every_value_lies_between_0_and_1_under_any_matching(gold: Any, zeros: Any, found: Any) -> None:
    labels = [(text, 1) for text in gold] + [(text, 0) for text in zeros]
    result = evaluate([labels], [found], k=3, metrics=NAMES, match_method="containment")
    assert [key for key, value in result.to_dict().items() if value is not None and not 0 <= value <= 1] == []


def test_by_hand() -> None:
    gold = [{"a": 2, "b": 1, "c": 0}]
    result = evaluate_ids(gold, [["x", "c", "a", "y"]], k=3, metrics=NAMES)
    e = 0.00001
    assert result.to_dict() == {
        "judged@3": 2 / 3,
        "bpref": 0,
        "infap": pytest.approx((1 / 3 + 1 / 3 * e / (1 + 2 * e)) / 2, abs=1e-15),
        "precision_upper@3": 2 / 3,
        "hit_rate_upper@3": 1,
        "mrr_upper@3": 1,
    }
    condensed = evaluate_ids(gold, [["x", "c", "a", "y"]], k=3, metrics="mrr", unjudged="remove")
    assert condensed["mrr@3"] == 1 / 2
    assert "|unjudged:remove|" in condensed.signature
    assert "a" in repr(condensed.explain(0))


def test_nothing_retrieved_is_0_and_without_labels_undefined() -> None:
    result = evaluate_ids([{"a": 1, "b": 0}, []], [[], ["a"]], k=3, metrics=NAMES)
    assert [*result.per_query[0].values.values()] == [0] * 6
    assert [*result.per_query[1].values.values()] == [None] * 6


def test_a_set_without_zeros_is_warned_of_unless_it_says_that_all_is_listed() -> None:
    rows = [{"id": 1, "gold_chunk_ids": ["a"]}]
    run = {"1": {"a": 1.0, "x": 0.5}}
    with pytest.warns(KragEvalWarning, match="No document has grade 0"):
        evaluate_run(rows, run, k=2, metrics="judged")
    said = EvalSet([{**rows[0], "judged": "all"}])
    assert evaluate_run(said, run, k=2, metrics="judged")["judged@2"] == 1 / 2


def test_compare_takes_the_metrics_and_the_setting() -> None:
    results = {
        name: evaluate_ids([{"a": 1, "b": 0}] * 6, [row] * 6, k=2, metrics=["bpref", "judged"], unjudged="remove")
        for name, row in (("one", ["b", "a"]), ("two", ["a", "x"]))
    }
    assert "bpref" in repr(compare(results, seed=1))
    assert results["two"]["bpref"] == 1


def test_wrong_uses_are_told() -> None:
    with pytest.raises(InvalidInputError, match="`unjudged`"):
        evaluate_ids([["a"]], [["a"]], unjudged="drop")
    with pytest.raises(InvalidInputError, match="A sweep scores whole rankings"):
        sweep([["a b"]], [["a b"]], match_method="rougeL", unjudged="remove")
