"""What users pass by mistake: each gets an error that names place and value, or a defined result."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from krag_eval import (
    InvalidInputError,
    KragDocument,
    KragEvalWarning,
    OfflineRetrievalEvaluators,
    RAGEvaluator,
    UnknownMetricError,
    evaluate,
    evaluate_all,
)
from krag_eval import RougeOfflineRetrievalEvaluators as Rouge

Settings = dict[str, Any]
A = [["a"]]
TEXT_METHODS = ["text", "containment", "rouge1", "rouge2", "rougeL"]
FLAT = "looks like a flat list. It must hold one list for each query. For a single query write [[...]]."
ONE_LIST = "must be a list with one list of documents for each query"
EVALUATORS = [evaluate_all, OfflineRetrievalEvaluators, Rouge, lambda *documents, **wrong: RAGEvaluator(**wrong)]
# A warning is an error here, so either of the two will do: what counts is that nobody gets a silent 0.
LOUD = (InvalidInputError, KragEvalWarning)


def shown(value: object) -> str:
    return f"{value!r:.9}"


def message_of(call: Callable[[], object]) -> str:
    with pytest.raises(InvalidInputError) as refused:
        call()
    return str(refused.value)


# Actual, predicted, and what the message has to say.
WRONG_SHAPES: dict[str, tuple[Any, Any, str]] = {
    "unequal lengths": (A, [["a"], ["b"]], "`actual` has 1 queries and `predicted` has 2. They must have one list"),
    "no query": ([], [], "`actual` and `predicted` are empty. Give at least one query."),
    "flat gold": (["a", "b"], [*A, *A], f"`actual[0]` is a str, not a list of documents: `actual` {FLAT}"),
    "flat strings": (A, ["a"], f"`predicted[0]` is a str, not a list of documents: `predicted` {FLAT}"),
    "flat mappings": ([{"id": "a"}], A, f"`actual[0]` is a dict, not a list of documents: `actual` {FLAT}"),
    "flat documents": (A, [KragDocument("a")], "`predicted[0]` is a KragDocument, not a list of documents: `pred"),
    "flat after the first": ([["a"], "b"], [["a"], ["b"]], "`actual[1]` is a str, not a list of documents: `actual`"),
    "flat (document, score) pairs": (A, [(KragDocument("a"), 0.9)], f"`predicted` {FLAT}"),
    "flat (document, grade) pairs": ([("a", 2)], A, f"`actual` {FLAT}"),
    "None for a side": (None, A, f"`actual` {ONE_LIST}, got None."),
    "a string for a side": ("ab", A, f"`actual` {ONE_LIST}, got 'ab'."),
    "None for a gold row": ([None], A, "`actual[0]` is None, not a list of documents. Use []"),
    "None for a row": ([*A, *A], [["a"], None], "`predicted[1]` is None, not a list of documents. Use []"),
    "None for a document": (A, [["a", None]], "`predicted[0][1]` (query 0, rank 2): a NoneType is not a document"),
    "too deep": ([[["a"]]], A, "a list is not a document: it has neither an id nor a text. Is it nested once too"),
    "a set for a ranking": (A, [{"a"}], "`predicted[0]` is a set, which has no order. Give the ranking as a list"),
    "bytes for a row": (A, [b"a"], "`predicted[0]` is a bytes, not a list of documents."),
    "bytes for a document": ([[b"a"]], A, "`actual[0][0]` (query 0, rank 1): a bytes is not a document"),
    "an int for a row": ([7], A, "`actual[0]` is an int, not a list of documents."),
    "bare ints": (A, [[7]], "`predicted[0][0]` (query 0, rank 1): an int is not a document: it has neither an id nor"),
    "bare numpy ints": (A, [np.array([7, 8])], "it has neither an id nor a text. For bare ids call `evaluate_ids`, or"),
    "a class for a document": (A, [[KragDocument]], "`predicted[0][0]` (query 0, rank 1): a type is not a document"),
    "an exception for gold": ([ValueError("x")], A, "`actual[0]` is a ValueError, not a list of documents."),
    "neither id nor text": (
        A,
        [["a", {}]],
        "`predicted[0][1]` (query 0, rank 2): a dict has neither an id nor a text.",
    ),
}


@pytest.mark.sample(5)
@pytest.mark.parametrize("case", WRONG_SHAPES)
def test_documents_in_the_wrong_shape_are_refused(case: str) -> None:
    actual, predicted, said = WRONG_SHAPES[case]
    assert said in message_of(lambda: evaluate(actual, predicted))
    assert said in message_of(lambda: evaluate_all(actual, predicted, k=3))


def test_a_mapping_for_one_side_is_asked_about() -> None:
    by_query = {"q1": ["a"]}
    assert "`predicted` is given by query and `actual` is not." in message_of(lambda: evaluate(A, by_query))
    assert f"`predicted` {ONE_LIST}, got {by_query}." in message_of(lambda: evaluate_all(A, by_query, k=3))


def test_a_flat_list_of_langchain_documents_is_called_one() -> None:
    from langchain_core.documents import Document

    assert f"`predicted` {FLAT}" in message_of(lambda: evaluate(A, [Document(page_content="a")]))


@pytest.mark.parametrize("rows", [[(t for t in "ab")], [map(str, "ab")], [np.array(["a", "b"])], iter([("a", "b")])])
def test_any_ordered_iterable_is_a_row(rows: Any) -> None:
    assert evaluate([["b"]], rows, k=2)["mrr@2"] == 0.5


# Settings, and what the message has to say.
WRONG_VALUES: list[tuple[Settings, str]] = [
    *[({"k": k}, f"`k` must be an integer of at least 1, got {k!r}.") for k in (0, -1, True, False, 2.5, "5", {1})],
    ({"k": (1, 0)}, "`k` must be an integer of at least 1, got 0. Leave it out to score every rank."),
    ({"k": []}, "`k` is empty. Give at least one cut-off"),
    ({"match_method": "rouge_l"}, "got 'rouge_l'. Did you mean 'rougeL'?"),
    ({"match_method": ["id", "contain"]}, "got 'contain'. Did you mean 'containment'?"),
    ({"match_method": ["id", 3]}, "'span', got 3."),
    ({"match_method": None}, "`match_method` must be a name or a list of names, got None"),
    ({"match_method": []}, "`match_method` must be a name or a list of names, got []"),
    ({"metrics": ["ndgc"]}, "Unknown metric 'ndgc'. Did you mean 'ndcg'? Known metrics: hit_rate, hit_rate_all, mrr"),
    ({"metrics": "ndcg@5", "k": 3}, "The metric 'ndcg@5' names its cut-off, and k=3 does not contain it."),
    ({"metrics": []}, "`metrics` must be a list of names or functions, got []"),
    ({"metrics": [3]}, "Unknown metric 3"),
    ({"metrics": [lambda judged, k: np.zeros(2)]}, "'<lambda>' must return 1 finite numbers"),
    ({"metrics": [lambda judged, k: [math.inf]]}, "'<lambda>' must return 1 finite numbers"),
    ({"metrics": [lambda judged, k: [-math.inf]]}, "'<lambda>' must return 1 finite numbers"),
    ({"metrics": [lambda judged, k: [2**2000]]}, "'<lambda>' must return 1 finite numbers"),
    ({"metrics": [lambda judged, k: np.zeros(1), lambda judged, k: np.ones(1)]}, "<lambda>"),
    ({"match_method": "rouge1", "tokenizer": "word"}, "Unknown tokenizer 'word'. Did you mean 'words'?"),
    ({"match_method": "rouge1", "tokenizer": None}, "`tokenizer` must be a name"),
    ({"match_method": "rouge1", "tokenizer": lambda text: text}, "It must return a list of strings."),
    ({"match_method": "rouge1", "tokenizer": lambda text: [1]}, "returned a token of type int: 1"),
    ({"match_method": "rouge1", "threshold": {"rouge2": 0.3}}, "'rouge2'"),
    ({"match_method": "rouge1", "use_stemmer": "no"}, "`use_stemmer`"),
    ({"rouge_measure": "f_measure"}, "got 'f_measure'. Did you mean 'fmeasure'?"),
    ({"containment": "gold_in_retreived"}, "got 'gold_in_retreived'. Did you mean 'gold_in_retrieved'?"),
    ({"precision_denominator": "retreived"}, "got 'retreived'. Did you mean 'retrieved'?"),
    ({"gain": "lin"}, "got 'lin'. Did you mean 'linear'?"),
    ({"normalize": "nfkc"}, "`normalize` must be a function from text to text, or None for raw texts, got 'nfkc'."),
    ({"normalize": lambda text: None}, "`normalize` returned None. It must return a string."),
    ({"id_key": 3}, "`id_key` must be a metadata key, or a list of several, got 3."),
    ({"queries": "q"}, "`queries` must be a list with one string for each of 1 queries"),
    ({"query_ids": ["q", "r"]}, "`query_ids` must be a list with one string for each of 1 queries, got ['q', 'r']."),
]


@pytest.mark.sample(7)
@pytest.mark.parametrize(("settings", "said"), WRONG_VALUES, ids=[said for _, said in WRONG_VALUES])
def test_a_setting_that_cannot_be_used_is_refused(settings: Settings, said: str) -> None:
    assert said in message_of(lambda: evaluate(A, A, **settings))


@pytest.mark.sample(3)
@pytest.mark.parametrize("threshold", [1.1, -0.1, float("nan"), "0.5", None, True, [0.5], 10**400], ids=shown)
@pytest.mark.parametrize("wrap", [lambda t: t, lambda t: {"rouge1": t}], ids=["one", "by method"])
def test_a_threshold_outside_0_to_1_is_refused(wrap: Callable[[object], Any], threshold: object) -> None:
    said = message_of(lambda: evaluate(A, A, match_method="rouge1", threshold=wrap(threshold)))
    assert f"`threshold` must be a number from 0 to 1, got {shown(threshold)}" in said


@pytest.mark.sample(3)
@pytest.mark.parametrize("call", EVALUATORS)
@pytest.mark.parametrize(
    ("name", "value", "known", "nearest"),
    [
        ("averaging_method", "macr", "'micro', 'macro', 'both'", "macro'"),
        ("matching_criteria", "al", "'all', 'partial'", "'all'"),
        ("treshold", 0.4, "averaging_method, matching_criteria,", "threshold'"),
    ],
)
def test_evaluators_refuse_unknown_names_with_the_nearest_one(
    call: Callable[..., object], name: str, value: object, known: str, nearest: str
) -> None:
    said = message_of(lambda: call(A, A, **{name: value}))
    assert known in said
    assert re.search(rf"Did you mean [a-z_']*{nearest}\?", said)


def test_evaluators_refuse_what_is_not_theirs() -> None:
    several: Any = [1, 5]
    not_its_name: Settings = {"threshold": 0.8}
    assert "`k` must be one integer here, got [1, 5]" in message_of(lambda: evaluate_all(A, A, several))
    assert "`k` must be an integer of at least 1, got 0" in message_of(lambda: Rouge(A, A).calculate_mrr(0))
    assert "'rougeL', 'rougeLsum', got 'text'" in message_of(lambda: Rouge(A, A, "text"))
    assert "rouge_threshold" in message_of(lambda: RAGEvaluator(**not_its_name))


def test_an_unknown_metric_is_also_a_key_error_and_reads_as_a_sentence() -> None:
    with pytest.raises(KeyError, match=r"^Unknown metric 'ndgc'") as refused:
        evaluate(A, A, metrics=["ndgc"])
    assert isinstance(refused.value, UnknownMetricError | ValueError)


def test_numpy_integers_and_cut_offs_beyond_any_ranking_are_fine() -> None:
    of_numpy: Any = [np.int64(3), np.int32(1)]
    assert evaluate(A, A, k=of_numpy, metrics="mrr").keys() == ["mrr@1", "mrr@3"]
    assert evaluate(A, A, k=1 << 40, metrics=["mrr", "precision"])[f"precision@{1 << 40}"] == 1


@pytest.mark.parametrize("k", [(1 << 40) + 1, 10**30, 10**400])
@pytest.mark.parametrize("denominator", ["retrieved", "k"])
def test_cut_offs_that_could_not_be_summed_are_refused(k: int, denominator: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        evaluate(A, A, k=(1, k), precision_denominator=denominator)
    assert refused.value.argument == "k"


def test_built_in_functions_serve_as_tokenizer_and_normalizer() -> None:
    settings: Settings = {"tokenizer": str.split, "normalize": str.lower, "match_method": ["text", "rouge1"]}
    assert evaluate([["A b"]], [["a B", "A c"]], k=2, **settings)["precision@2"] == 1


@pytest.mark.sample(5)
@pytest.mark.parametrize("match_method", TEXT_METHODS)
@pytest.mark.parametrize("text", ["\ud800", "a\0b", "배송 \udfff!", "\0\0"], ids=ascii)
def test_lone_surrogates_and_nul_are_characters_like_any_other(text: str, match_method: str) -> None:
    result = evaluate([[f"returns of {text}"]], [["", f"returns of {text}"]], k=2, match_method=match_method)
    assert (result["mrr@2"], dict(result.unmatchable)) == (0.5, {"actual": 0, "predicted": 1})


@pytest.mark.sample(5)
@pytest.mark.parametrize("match_method", TEXT_METHODS)
@pytest.mark.parametrize("text", ["", " \n", "\u200b", "..."], ids=ascii)
def test_an_empty_text_matches_nothing_and_neither_does_one_without_tokens(text: str, match_method: str) -> None:
    text = text if "rouge" in match_method else text.strip(".")
    result = evaluate([["two words"], [text, "a"]], [["two words", text], [text]], k=2, match_method=match_method)
    assert (result["recall@2"], result["precision@2"]) == (0.5, 0.25)


def test_single_documents_without_what_the_method_reads_are_counted() -> None:
    gold, retrieved = [["a", {"id": "1"}]], [[{"id": "1"}, "a", {"id": "2", "text": ""}]]
    assert evaluate(gold, retrieved).unmatchable == {"actual": 1, "predicted": 2}
    assert evaluate(gold, retrieved, match_method="id").unmatchable == {"actual": 1, "predicted": 1}
    assert evaluate(gold, retrieved, match_method=["id", "text"]).unmatchable == {"actual": 0, "predicted": 0}


@pytest.mark.parametrize(
    ("actual", "predicted", "settings", "said"),
    [
        (
            [{"id": "a"}],
            ["a"],
            {},
            ["No gold document has a text, which match_method='text' reads", "match_method='id'"],
        ),
        (["a"], [{"id": "a"}], {}, ["No retrieved document has a text", "match_method='id'"]),
        (
            ["a"],
            [{"id": "a"}],
            {"match_method": "id"},
            ["No gold document has an id", 'actual = [[{"id": one} for one'],
        ),
        ([{"id": "a"}], ["a"], {"match_method": "id", "id_key": "doc"}, ["under the metadata key 'doc'"]),
        (
            [{"id": "a"}],
            ["b"],
            {"match_method": ["id", "text"]},
            ["gold documents have only ids", "only texts"],
        ),
        (
            [{"id": "a"}],
            [{"id": "b"}],
            {"match_method": "id"},
            ["Not one id matches", "'a'", "'b'", "No other setting"],
        ),
        (["환불"], ["환불"], {"match_method": "rouge1", "tokenizer": "rouge_score"}, ["token"]),
    ],
)
def test_sides_that_can_never_match_are_never_a_silent_0(
    actual: list[object], predicted: list[object], settings: Settings, said: list[str]
) -> None:
    with pytest.raises(LOUD) as told:
        evaluate([actual], [predicted], **settings)
    assert [part for part in said if part not in str(told.value)] == []


@pytest.mark.full
@pytest.mark.parametrize("match_method", ["text", "containment", "rouge1", "rouge2", "rougeL"])
def test_a_document_of_5_megabytes_takes_seconds(match_method: str) -> None:
    document, started = " ".join(f"w{i % 997}x{i % 1009}" for i in range(600_000)), time.perf_counter()
    assert len(document) > 5_000_000
    result = evaluate([[document, "w1x1 w2x2 w3x3"]], [["zz", document]], match_method=match_method, k=2)
    assert (result["mrr@2"], result["recall@2"]) == (0.5, 1 if match_method == "containment" else 0.5)
    assert time.perf_counter() - started < 10


@pytest.mark.sample(3)
@pytest.mark.parametrize("match_method", [*TEXT_METHODS, "id"])
def test_10_000_retrieved_for_one_query_take_seconds(match_method: str) -> None:
    retrieved, started = [{"id": i, "text": f"passage number {i}."} for i in range(10_000)], time.perf_counter()
    result = evaluate([retrieved[-1:]], [retrieved], match_method=match_method, threshold=1, k=None)
    assert (result["mrr"], result["recall"]) == (1 / 10_000, 1)
    assert time.perf_counter() - started < 10


def test_a_retriever_that_raised_counts_as_nothing_retrieved_and_is_reported() -> None:
    result = evaluate([["a"], ["b"]], [["a"], TimeoutError("after 5 s")], k=1)
    assert (result["recall@1"], result["micro_recall@1"], result.undefined["recall@1"]) == (0.5, 0.5, 0)
    assert result.errors == {1: "TimeoutError: after 5 s"}
    assert (result.per_query[1].n_retrieved, result.per_query[1].error) == (0, "TimeoutError: after 5 s")
