"""`KragRetrievalMetric` in the real `RetrieverEvaluator`: the numbers of `evaluate`, also where its own fail."""

from __future__ import annotations

import asyncio
import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core.evaluation import RetrieverEvaluator
from llama_index.core.evaluation.retrieval.metrics import NDCG, AveragePrecision, Recall
from llama_index.core.evaluation.retrieval.metrics_base import BaseRetrievalMetric
from llama_index.core.postprocessor import SimilarityPostprocessor

from krag_eval import METRICS, InvalidInputError, UnknownMetricError, evaluate
from krag_eval_llama_index import KragRetrievalMetric, krag_metrics
from tests.adapters.llama_index.world import GOLD, QUESTIONS, TEXTS, Scripted, ids_of, index

METHODS: dict[str, dict[str, Any]] = {
    "id": {"match_method": "id"},
    "text": {"match_method": "text"},
    "containment": {"match_method": "containment", "containment": "gold_in_retrieved"},
    "rougeL": {"match_method": "rougeL", "threshold": 0.4, "rouge_measure": "recall", "tokenizer": "characters"},
    "cascade": {"match_method": ["id", "text", "rouge1"], "threshold": 0.3},
}


@pytest.mark.sample(4)
@pytest.mark.parametrize("settings", METHODS.values(), ids=METHODS)
def test_every_metric_by_every_method_has_the_value_of_evaluate_for_the_same_nodes(settings: dict[str, Any]) -> None:
    retriever = index().as_retriever(similarity_top_k=6)
    evaluator = RetrieverEvaluator(metrics=krag_metrics(k=(1, 3, 10), **settings), retriever=retriever)
    expected = evaluate(list(GOLD.values()), [retriever.retrieve(q) for q in QUESTIONS], k=(1, 3, 10), **settings)
    for (query, gold_ids), row in zip(QUESTIONS.items(), expected.per_query, strict=True):
        scored = evaluator.evaluate(query, gold_ids, expected_texts=[TEXTS[id_] for id_ in gold_ids])
        assert scored.metric_vals_dict == {f"krag_{key}": value for key, value in row.values.items()}
        assert len(scored.metric_vals_dict) == len(METRICS) * 3
    assert 0 < (expected["recall@3"] or 0) < 1


def test_the_same_values_come_out_asynchronously_and_inside_a_running_loop() -> None:
    evaluator = RetrieverEvaluator(metrics=krag_metrics(["recall@3", "ndcg@3"]), retriever=index().as_retriever())

    async def both(query: str, ids: list[str]) -> list[dict[str, float]]:
        awaited = await evaluator.aevaluate(query, ids)
        return [awaited.metric_vals_dict, evaluator.evaluate(query, ids).metric_vals_dict]

    for query, ids in QUESTIONS.items():
        first, second = asyncio.run(both(query, ids))
        assert first == second == evaluator.evaluate(query, ids).metric_vals_dict


def test_node_postprocessors_come_before_the_metric() -> None:
    retriever = index().as_retriever(similarity_top_k=10)
    metrics = krag_metrics(["precision"])
    query, gold_ids = next(iter(QUESTIONS.items()))
    cut = SimilarityPostprocessor(similarity_cutoff=0.5)
    kept = cut.postprocess_nodes(retriever.retrieve(query), query_str=query)
    scored = RetrieverEvaluator(metrics=metrics, retriever=retriever, node_postprocessors=[cut])
    assert 0 < len(kept) < 10
    assert scored.evaluate(query, gold_ids).metric_vals_dict == {
        "krag_precision": len(set(ids_of(kept)) & set(gold_ids)) / len(kept)
    }


def test_an_empty_retrieval_scores_0_where_llama_index_raises() -> None:
    nothing = Scripted({"q": []})
    scored = RetrieverEvaluator(metrics=krag_metrics(k=3), retriever=nothing).evaluate("q", ["en/card"])
    assert set(scored.metric_vals_dict.values()) == {0.0}
    with pytest.raises(ValueError, match="must be provided"):
        RetrieverEvaluator(metrics=[Recall()], retriever=nothing).evaluate("q", ["en/card"])


def test_repeats_lift_no_value_above_1_where_they_lift_those_of_llama_index() -> None:
    lists: dict[str, Any] = {"expected_ids": ["a"], "retrieved_ids": ["a", "a", "a"]}
    values = {metric.metric_name: metric.compute(**lists).score for metric in krag_metrics(prefix="")}
    assert values == dict.fromkeys(METRICS, 1.0) | {"precision": 1 / 3, "f1": 0.5}
    assert min(metric.compute(**lists).score for metric in (AveragePrecision(), NDCG())) > 1


@given(st.lists(st.sampled_from("abcdef"), max_size=4), st.lists(st.sampled_from("abcdef"), max_size=8))
def test_every_value_lies_between_0_and_1_or_is_undefined(gold: list[str], retrieved: list[str]) -> None:
    for metric in krag_metrics(k=(2, None)):
        score = metric.compute(expected_ids=gold, retrieved_ids=retrieved).score
        assert 0 <= score <= 1 if gold else math.isnan(score)


def test_a_query_without_gold_is_undefined_and_pandas_leaves_it_out_of_the_mean() -> None:
    pd = pytest.importorskip("pandas")
    evaluator = RetrieverEvaluator(
        metrics=krag_metrics(["recall@5"]), retriever=Scripted({"known": ["en/card"], "unknown": ["en/card"]})
    )
    rows = [evaluator.evaluate("known", ["en/card"]), evaluator.evaluate("unknown", [])]
    frame = pd.DataFrame([row.metric_vals_dict for row in rows])
    assert frame["krag_recall@5"].mean() == 1.0
    assert rows[1].metric_dict["krag_recall@5"].metadata["n_gold"] == 0
    assert json.loads(rows[1].model_dump_json())["metric_dict"]["krag_recall@5"]["score"] is None


def test_a_metric_says_what_it_counted_and_with_which_settings() -> None:
    metric = KragRetrievalMetric("recall", k=2, match_method="id")
    metadata = metric.compute("q", ["a", "b"], ["b", "x", "a"]).metadata
    assert metadata == {
        "n_gold": 2,
        "n_retrieved": 3,
        "signature": evaluate([[{"id": "a"}]], [[{"id": "a"}]], k=2, match_method="id").signature,
    }


def test_metrics_that_differ_in_their_settings_alone_are_told_apart_by_their_prefix() -> None:
    metrics = krag_metrics("recall@5") + krag_metrics("recall@5", prefix="text_", match_method="text")
    retriever = Scripted({"q": ["en/fine"]})
    scored = RetrieverEvaluator(metrics=metrics, retriever=retriever).evaluate("q", ["other"], [TEXTS["en/fine"]])
    assert scored.metric_vals_dict == {"krag_recall@5": 0.0, "text_recall@5": 1.0}


def test_a_function_of_the_users_own_is_a_metric_too() -> None:
    def found(judged: Any, k: int | None) -> Any:
        return judged.covered_within(k) * 1.0

    (metric,) = krag_metrics([found], k=2)
    assert metric.metric_name == "krag_found@2"
    assert metric.compute(expected_ids=["a", "b"], retrieved_ids=["b", "a", "c"]).score == 2.0


def test_a_metric_can_be_dumped_and_read_back() -> None:
    metric = KragRetrievalMetric("ndcg", k=5, match_method=["id", "rougeL"], threshold={"rougeL": 0.7})
    again = KragRetrievalMetric.model_validate(metric.model_dump())
    assert again == metric
    assert metric.model_copy(update={"k": 3}).metric_name == "krag_ndcg@3"
    assert isinstance(metric, BaseRetrievalMetric)


def test_names_with_and_without_a_cut_off_give_a_metric_each() -> None:
    def names(*arguments: Any, **settings: Any) -> list[str]:
        return [metric.metric_name for metric in krag_metrics(*arguments, prefix="", **settings)]

    assert names("recall@5") == ["recall@5"]
    assert names(["recall", "ndcg@10"]) == ["recall", "ndcg@10"]
    assert names(["recall", "ndcg@10"], k=(1, None)) == ["recall@1", "recall", "ndcg@10"]
    assert names() == list(METRICS)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        pytest.param({"metric": "recal"}, "Unknown metric 'recal'. Did you mean 'recall'?", id="metric"),
        pytest.param({"metric": "recall", "k": 0}, "`k` must be an integer of at least 1, got 0", id="k"),
        pytest.param({"metric": "recall", "k": 5.0}, "`k` must be an integer of at least 1, got 5.0", id="float"),
        pytest.param(
            {"metric": "recall", "k": (1, 5)}, "Expected one metric at one cut-off, got", id="several cut-offs"
        ),
        pytest.param({"metric": ["recall", "mrr"]}, "Expected one metric at one cut-off, got", id="several metrics"),
        pytest.param({"metric": "recall", "match_method": "rogueL"}, "Did you mean 'rougeL'?", id="method"),
        pytest.param({"metric": "recall", "thresh": 0.5}, "has no argument 'thresh'", id="setting"),
        pytest.param({"metric": "recall", "id_key": "doc_id"}, "without metadata. Leave it out", id="id_key"),
    ],
)
def test_what_cannot_be_used_is_told_when_the_metric_is_made(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidInputError, match=says.replace("(", r"\(").replace("?", r"\?")):
        KragRetrievalMetric(**arguments)


@pytest.mark.parametrize("name", ["recall@", "recall@0", "recall@-1", "recall@all", "recall@5@6", "recall@５"])
def test_a_cut_off_that_cannot_be_read_is_told(name: str) -> None:
    with pytest.raises(InvalidInputError, match=r"an integer of at least 1"):
        krag_metrics([name])


def test_an_unknown_metric_or_no_metric_is_told() -> None:
    with pytest.raises(UnknownMetricError, match="micro_recall"):
        krag_metrics(["micro_recall@5"])
    with pytest.raises(InvalidInputError, match="must be a list of names"):
        krag_metrics([])


@pytest.mark.parametrize(
    ("settings", "given", "says"),
    [
        pytest.param(
            {"match_method": "rougeL"},
            {"expected_ids": ["a"], "retrieved_ids": ["a"], "retrieved_texts": ["one"]},
            "`expected_texts` is missing, but match_method='rougeL' compares it",
            id="no gold texts",
        ),
        pytest.param({}, {"retrieved_ids": ["a"]}, "`expected_ids` is missing", id="no gold ids"),
        pytest.param({}, {"expected_ids": ["a"]}, "`retrieved_ids` is missing", id="no retrieved ids"),
        pytest.param(
            {}, {"expected_ids": "a", "retrieved_ids": ["a"]}, "must be a list of strings, got 'a'", id="a string"
        ),
        pytest.param(
            {"match_method": ["id", "text"]},
            {"expected_ids": ["a", "b"], "expected_texts": ["one"], "retrieved_ids": [], "retrieved_texts": []},
            "Got 2 `expected_ids` but 1 `expected_texts`",
            id="not side by side",
        ),
    ],
)
def test_a_query_without_what_the_method_reads_is_told(
    settings: dict[str, Any], given: dict[str, Any], says: str
) -> None:
    with pytest.raises(InvalidInputError, match=says):
        KragRetrievalMetric("recall", k=5, **settings).compute(**given)


def test_by_text_the_number_of_gold_ids_does_not_matter() -> None:
    evaluator = RetrieverEvaluator(
        metrics=krag_metrics("recall@5", match_method="text"), retriever=Scripted({"q": ["en/fine"]})
    )
    texts = [TEXTS["en/fine"], TEXTS["en/card"]]
    assert evaluator.evaluate("q", [], expected_texts=texts).metric_vals_dict == {"krag_recall@5": 0.5}
