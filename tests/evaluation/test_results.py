"""What comes out of an evaluation: keys, rows, explanations, signature, JSON and pandas."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from krag_eval import (
    METRICS,
    Document,
    InvalidInputError,
    MissingDependencyError,
    UnknownMetricError,
    __version__,
    evaluate,
)
from krag_eval.evaluation.explanation import Match
from tests.support.marks import nothing_may_match

GOLD: list[list[Any]] = [["a", "b"], [], ["c"]]
RETRIEVED: list[Any] = [["b", "x", "a"], ["y"], TimeoutError("late")]
V = f"v:{__version__}"


def small(**settings: Any) -> Any:
    return evaluate(GOLD, RETRIEVED, **{"k": (1, None), "metrics": ["recall", "mrr"], **settings})


def test_the_keys_are_metric_by_cut_off_with_the_micro_value_after_the_mean() -> None:
    result = small()
    assert result.keys() == ["recall@1", "micro_recall@1", "recall", "micro_recall", "mrr@1", "mrr"]
    assert list(result) == result.keys()
    assert dict(result) == result.to_dict()


def test_all_metrics_are_there_by_default_at_1_3_5_and_10() -> None:
    keys = evaluate([["a"]], [["a"]]).keys()
    bare = [f"{name}@{k}" for name in METRICS for k in (1, 3, 5, 10)]
    micro = [f"micro_{name}@{k}" for name in ("recall", "precision", "f1") for k in (1, 3, 5, 10)]
    assert sorted(keys) == sorted(bare + micro)


def test_a_bare_name_is_the_macro_mean_and_micro_pools() -> None:
    result = small()
    assert result["recall@1"] == result["macro_recall@1"] == (1 / 2 + 0) / 2
    assert result["micro_recall@1"] == 1 / 3
    assert result["mrr"] == result["macro_mrr"] == 1 / 2
    assert ("macro_recall@1" in result, "micro_recall@1" in result, "micro_mrr@1" in result) == (True, True, False)


def test_an_unknown_key_suggests_the_nearest() -> None:
    with pytest.raises(UnknownMetricError, match=r"no value 'recal@1'. Did you mean 'recall@1'\? It has: recall@1, "):
        small()["recal@1"]
    assert "recal@1" not in small()


def test_undefined_queries_are_none_left_out_and_counted() -> None:
    result = small()
    assert result.undefined == {"recall@1": 1, "recall": 1, "mrr@1": 1, "mrr": 1}
    assert (result.no_answer.n_queries, result.no_answer.empty_share, result.no_answer.mean_retrieved) == (1, 0, 1)
    nothing = evaluate([[], []], [[], ["x", "y"]], k=1)
    assert set(nothing.to_dict().values()) == {None}
    assert set(nothing.undefined.values()) == {2}
    assert (nothing.no_answer.empty_share, nothing.no_answer.mean_retrieved) == (1 / 2, 1)


def test_json_comes_back_as_the_same_values_with_null_for_undefined() -> None:
    result = small(query_ids=["p", "q", "r"])
    back = json.loads(result.to_json(), parse_constant=pytest.fail)
    assert back == {
        "signature": result.signature,
        "n_queries": 3,
        "metrics": result.to_dict(),
        "undefined": result.undefined,
        "no_answer": {"n_queries": 1, "empty_share": 0.0, "mean_retrieved": 1.0},
        "unjudged": 0,
        "unmatchable": {"actual": 0, "predicted": 0},
        "errors": {"2": "TimeoutError: late"},
    }
    undefined = evaluate([[]], [["x"]]).to_json(indent=None)
    assert "NaN" not in undefined
    assert set(json.loads(undefined)["metrics"].values()) == {None}


@nothing_may_match
def test_json_can_be_written_to_a_file_whatever_the_retriever_said(tmp_path: Path) -> None:
    text = evaluate([["a"]], [ValueError("배송 \ud800")]).to_json()
    (tmp_path / "result.json").write_text(text, encoding="utf-8")
    assert json.loads(text)["errors"] == {"0": "ValueError: 배송 \ud800"}


def test_the_rows_are_a_sequence_in_the_order_of_the_input() -> None:
    rows = small(queries=["A?", "B?", "C?"], query_ids=["p", "q", "r"]).per_query
    assert len(rows) == 3
    assert [(row.index, row.id, row.query, row.n_gold, row.n_retrieved, row.error) for row in rows] == [
        (0, "p", "A?", 2, 3, None),
        (1, "q", "B?", 0, 1, None),
        (2, "r", "C?", 1, 0, "TimeoutError: late"),
    ]
    assert dict(rows[0].values) == {"recall@1": 1 / 2, "recall": 1, "mrr@1": 1, "mrr": 1}
    assert set(rows[1].values.values()) == {None}
    assert (rows[-1], rows[1:], rows[::-2]) == (rows[2], [rows[1], rows[2]], [rows[2], rows[0]])
    for outside in (3, -4):
        with pytest.raises(IndexError, match=f"query {outside} of 3"):
            rows[outside]


def test_a_row_is_one_flat_dict_that_json_takes_also_by_a_numpy_index() -> None:
    row = small().per_query[np.int64(2)].to_dict()
    expected = {"index": 2, "id": None, "query": None, "n_gold": 1, "n_retrieved": 0, "error": "TimeoutError: late"}
    assert json.loads(json.dumps(row)) == expected | {"recall@1": 0, "recall": 0, "mrr@1": 0, "mrr": 0}


EXPLAINED = evaluate(
    [[({"id": "a", "text": "Aa"}, 2), ({"id": "z", "text": "Zz"}, 0), ({"id": "a"}, 3), "one two three", "Mm"]],
    [[{"id": "n", "text": "Nn"}, {"id": "a"}, {"id": "A", "text": "aa"}, {"id": "a"}, "one two x", {"id": "z"}]],
    match_method=["id", "text", "rouge1"],
    queries=["Where is it?"],
)


def test_an_explanation_says_what_became_of_each_gold_document() -> None:
    explained = EXPLAINED.explain(0)
    assert (explained.index, explained.query, explained.error) == (0, "Where is it?", None)
    assert explained.gold[0].document == Document(id="a", text="Aa", grade=2)
    assert [outcome.match for outcome in explained.gold] == [
        Match(gold=0, rank=2, method="id", similarity=1.0),
        None,
        Match(gold=0, rank=2, method="id", similarity=1.0),
        Match(gold=3, rank=5, method="rouge1", similarity=2 / 3),
        None,
    ]
    assert [outcome.is_counted for outcome in explained.gold] == [True, False, True, True, True]
    assert [outcome.repeat_of for outcome in explained.gold] == [None, None, 0, None, None]
    assert explained.missed == (explained.gold[4],)


def test_an_explanation_says_what_each_rank_earned() -> None:
    ranks = EXPLAINED.explain(-1).ranks
    assert [rank.rank for rank in ranks] == [1, 2, 3, 4, 5, 6]
    assert [rank.repeat_of for rank in ranks] == [None, None, None, 2, None, None]
    assert [rank.is_relevant for rank in ranks] == [False, True, True, False, True, False]
    assert [rank.is_credited for rank in ranks] == [False, True, False, False, True, False]
    assert [[match.method for match in rank.matches] for rank in ranks[:3]] == [[], ["id", "id"], ["text"]]


def test_an_explanation_can_be_printed() -> None:
    assert str(EXPLAINED.explain(0)).splitlines() == [
        "Query 0: Where is it?",
        "  gold: 3, found: 2",
        "    [0] a 'Aa' (grade 3, gain 7): found at rank 2 by id (1.000)",
        "    [1] z 'Zz': not counted, its grade is 0",
        "    [2] a: the same as [0]",
        "    [3] 'one two three' (grade 1, gain 1): found at rank 5 by rouge1 (0.667)",
        "    [4] 'Mm' (grade 1, gain 1): missed",
        "  retrieved: 6",
        "      1. n 'Nn': -",
        "      2. a: credited: matches [0] by id (1.000), [2] by id (1.000); gain 7 of [0]",
        "      3. A 'aa': relevant: matches [0] by text (1.000); no gain in ndcg",
        "      4. a: repeats rank 2",
        "      5. 'one two x': credited: matches [3] by rouge1 (0.667); gain 1 of [3]",
        "      6. z: -",
    ]
    assert "  the retriever raised TimeoutError: late" in str(small().explain(2)).splitlines()


@pytest.mark.parametrize("index", [3, -4, "0", 1.5, None])
def test_explaining_a_query_that_is_not_there_says_which_there_are(index: Any) -> None:
    with pytest.raises(InvalidInputError, match=f"There is no query {index!r}: this result has queries 0 to 2."):
        small().explain(index)


def test_the_printed_result_is_a_table_with_what_it_leaves_out_and_the_signature() -> None:
    assert repr(small()).splitlines() == [
        "EvaluationResult of 3 queries",
        "                     @1      all",
        "  recall         0.2500   0.5000",
        "  micro_recall   0.3333   0.6667",
        "  mrr            0.5000   0.5000",
        "  1 query without gold documents: left out of every value above",
        "  1 failed retrieval: counted as nothing retrieved. The first error: TimeoutError: late",
        "  1 of 2 queries misses gold documents at any rank: .misses() lists them",
        f"  match:text|norm:nfkc-casefold|repeat:once|pden:retrieved|gain:exp|hit:partial|k:1,all|{V}",
    ]
    lacking = repr(evaluate([["a", {"id": 1}]], [["a"]]))
    assert "1 document of `actual` without what the method reads: never matched" in lacking


def test_the_signature_is_the_line_of_the_contract() -> None:
    contract = (
        "match:rougeL>=0.7|measure:fmeasure|tok:words|stem:no|norm:nfkc-casefold|repeat:once|pden:retrieved|gain:exp"
    )
    result = evaluate(GOLD, RETRIEVED, match_method="rougeL", threshold=0.7)
    assert result.signature == f"{contract}|hit:partial|k:1,3,5,10|{V}"  # "all" is the metric hit_rate_all here


# What is said where, and the settings beside match_method="rouge1" that make it say so.
SAID: list[tuple[str, dict[str, Any]]] = [
    ("match:rouge1>=0.5|measure:", {}),
    ("match:id+text+rougeL>=0.9|", {"match_method": ["id", "text", "rougeL"], "threshold": {"rougeL": 0.9}}),
    ("match:containment(gold_in_retrieved)|norm:", {"match_method": "containment", "containment": "gold_in_retrieved"}),
    ("match:id|repeat:", {"match_method": "id"}),
    ("|measure:recall|tok:", {"rouge_measure": "recall"}),
    ("|tok:characters|stem:yes|norm:", {"tokenizer": "characters", "use_stemmer": True}),
    ("|tok:builtins.sorted|", {"tokenizer": sorted}),
    ("|norm:none|repeat:once|", {"normalize": None}),
    ("|idkey:doc|repeat:", {"match_method": ["id", "rouge1"], "id_key": "doc"}),
    ("|idmap:basename|repeat:", {"match_method": ["id", "rouge1"], "id_map": "basename"}),
    ("|idmap:str.lower|repeat:", {"match_method": ["id", "rouge1"], "id_map": str.lower}),
    ("|gradekey:stars|repeat:", {"grade_key": "stars"}),
    ("|pden:k|gain:lin|hit:", {"precision_denominator": "k", "gain": "linear"}),
    (f"|k:2,7,all|{V}", {"k": (7, None, 2)}),
]


@pytest.mark.sample(3)
@pytest.mark.parametrize(("said", "settings"), SAID, ids=[said for said, _ in SAID])
def test_the_signature_says_every_setting_that_can_change_a_number(said: str, settings: dict[str, Any]) -> None:
    document = {"id": "i", "text": "t", "doc": "d"}
    result = evaluate([[document]], [[document]], **{"match_method": "rouge1", **settings})
    assert said in result.signature


@nothing_may_match
def test_two_thresholds_that_decide_differently_have_two_signatures() -> None:
    gold, retrieved = [["a b c"]], [["a x y"]]  # ROUGE-1 is exactly the double next to 1 / 3
    results = [evaluate(gold, retrieved, match_method="rouge1", threshold=t) for t in (1 / 3, 0.3333334)]
    assert [result["recall@1"] for result in results] == [1, 0]
    assert results[0].signature != results[1].signature


def test_pandas_gets_one_row_a_query_and_nan_for_undefined() -> None:
    pandas = pytest.importorskip("pandas")
    frame = small(query_ids=["p", "q", "r"]).to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame.index) == [0, 1, 2]
    assert list(frame.columns) == "id query n_gold n_retrieved error recall@1 recall mrr@1 mrr".split()  # noqa: SIM905
    assert list(frame["id"]) == ["p", "q", "r"]
    assert frame["recall@1"].mean() == small()["recall@1"]
    assert list(frame["mrr"].isna()) == [False, True, False]
    assert list(evaluate([[]], [["x"]], k=1, metrics="mrr").to_pandas().dtypes[["mrr@1"]]) == [np.dtype("float64")]


def test_without_pandas_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingDependencyError, match=r'to_pandas.*pandas.*pip install "krag-eval\[pandas\]"'):
        small().to_pandas()


@pytest.mark.parametrize(
    ("sizes", "k", "is_said"),
    [
        ([5] * 5, (1, 10), True),
        ([5] * 5, "10tok", False),
        ([5] * 5, 5, False),
        ([5] * 4, 10, False),
        ([5, 5, 5, 5, 4], 10, False),
        ([5, 5, 5, 5, 5, 0], 10, True),
        ([0] * 5, 10, False),
    ],
)
@pytest.mark.filterwarnings("ignore:Nothing was retrieved")
def test_the_printed_result_says_where_no_list_is_as_long_as_the_largest_cut_off(
    sizes: list[int], k: Any, is_said: bool
) -> None:
    printed = repr(evaluate([["0"]] * len(sizes), [list("01234")[:size] for size in sizes], k))
    assert ("  no query has more than 5 retrieved documents: larger cut-offs add nothing" in printed) == is_said
