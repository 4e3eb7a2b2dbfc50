"""Evaluators in real experiments: the values are those of `evaluate`, and arrive at their items and their run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from langchain_core.documents import Document
from langfuse import Evaluation, Langfuse
from llama_index.core.schema import NodeWithScore, TextNode

from examples.loopback_langfuse import LoopbackLangfuse
from krag_eval import EvalSet, InvalidInputError, KragEvalWarning, UnknownMetricError, evaluate
from krag_eval_langfuse import as_langfuse_evaluators, as_langfuse_run_evaluators, push_evalset
from tests.adapters.langfuse.wire import by_target

QUESTIONS = [f"질문 {i}" for i in range(23)]
GOLD = [[f"text {i}", f"other {i}"] if i % 5 else [] for i in range(23)]
RETRIEVED = [[f"noise {i}", f"text {i}"] + ["other 7"] * (i % 3) for i in range(23)]
BY_QUESTION = dict(zip(QUESTIONS, RETRIEVED, strict=True))
BOTH: dict[str, Any] = {"k": (1, 3), "match_method": "rougeL", "threshold": 0.6}


def items() -> list[Any]:
    return [{"input": question, "expected_output": gold} for question, gold in zip(QUESTIONS, GOLD, strict=True)]


def named(values: Any) -> dict[str, float]:
    return {f"krag.{key.replace('@', '_at_')}": value for key, value in values.items() if value is not None}


def values(evaluations: list[Any]) -> dict[str, float]:
    return {evaluation.name: evaluation.value for evaluation in evaluations}


@dataclass
class ItemResult:
    item: Any
    output: Any
    evaluations: list[Any] = field(default_factory=list)


def test_wire_an_experiment_has_the_values_of_evaluate_bit_for_bit(server: LoopbackLangfuse, client: Langfuse) -> None:
    result = client.run_experiment(
        name="local",
        data=items(),
        task=lambda *, item, **_: BY_QUESTION[item["input"]],
        evaluators=as_langfuse_evaluators(**BOTH),
        run_evaluators=as_langfuse_run_evaluators(**BOTH),
    )
    expected = evaluate(GOLD, RETRIEVED, **BOTH)
    assert values(result.run_evaluations) == named(expected.to_dict())
    assert [values(item.evaluations) for item in result.item_results] == [
        named(row.values) for row in expected.per_query
    ]
    client.flush()
    sent = [{**score, "observationId": score["traceId"]} for score in server.scores if "traceId" in score]
    assert by_target(sent) == {
        item.trace_id: values(item.evaluations) for item in result.item_results if item.evaluations
    }


@pytest.mark.full
def test_wire_a_dataset_experiment_scores_its_items_and_its_run(server: LoopbackLangfuse, client: Langfuse) -> None:
    evalset = EvalSet([{"id": f"q{i}", "question": q, "gold": GOLD[i]} for i, q in enumerate(QUESTIONS)], name="faq")
    push_evalset(client, evalset, "faq")
    result = client.get_dataset("faq").run_experiment(
        name="dataset",
        task=lambda *, item, **_: {"retrieved": [Document(text) for text in BY_QUESTION[item.input]], "answer": "..."},
        evaluators=as_langfuse_evaluators(**BOTH),
        run_evaluators=as_langfuse_run_evaluators(**BOTH),
    )
    client.flush()
    expected = evaluate(GOLD, RETRIEVED, **BOTH)
    of_run = [score for score in server.scores if "datasetRunId" in score]
    assert list(by_target(of_run).values()) == [named(expected.to_dict())]
    links_items = "POST /api/public/dataset-run-items" in server.requests  # as langfuse 4 does
    assert {score["datasetRunId"] for score in of_run} == {"loopback-run" if links_items else result.experiment_id}
    assert {score["metadata"]["signature"] for score in server.scores} == {expected.signature}
    assert of_run[0]["metadata"]["n_queries"] == len(QUESTIONS)
    assert not any(text in repr(server.scores) for text in ("질문", "text ", "noise"))


@pytest.mark.full
def test_wire_a_task_that_returns_an_error_counts_as_nothing_retrieved(
    server: LoopbackLangfuse, client: Langfuse
) -> None:
    def task(*, item: Any, **_: Any) -> Any:
        if item["input"] == QUESTIONS[1]:
            return TimeoutError("no answer")
        return {"error": "no answer"} if item["input"] == QUESTIONS[2] else BY_QUESTION[item["input"]]

    result = client.run_experiment(
        name="failing",
        data=items(),
        task=task,
        evaluators=as_langfuse_evaluators(3),
        run_evaluators=as_langfuse_run_evaluators(3),
    )
    expected = evaluate(GOLD, [RETRIEVED[0], [], [], *RETRIEVED[3:]], 3)
    assert values(result.run_evaluations) == named(expected.to_dict())


def evaluation_of(expected_output: Any, output: Any, **settings: Any) -> dict[str, float]:
    (evaluator,) = as_langfuse_evaluators(2, metrics=["recall", "mrr"], **settings)
    found: Any = evaluator(input="q", output=output, expected_output=expected_output, metadata=None)
    assert all(isinstance(one, Evaluation) for one in found)
    return values(found)


HALF = {"krag.recall_at_2": 0.5, "krag.mrr_at_2": 0.5}
TEXTS = ["x", "b"]
BY_ID: dict[str, Any] = {"match_method": "id"}


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("expected_output", "output", "settings"),
    [
        pytest.param(["a", "b"], TEXTS, {}, id="lists of texts"),
        pytest.param(["a", "b"], TEXTS, BY_ID, id="lists of ids"),
        pytest.param([1, 2], [7, "2"], BY_ID, id="numbers as ids"),
        pytest.param({"gold": ["a", "b"]}, {"retrieved": TEXTS}, {}, id="under a key"),
        pytest.param({"gold_chunk_ids": ["a", "b"]}, {"retrieved_ids": TEXTS}, BY_ID, id="ids under a key"),
        pytest.param({"gold": {"a": 2, "b": 1}}, TEXTS, BY_ID, id="graded ids"),
        pytest.param({"gold": {"a", "b"}}, TEXTS, {}, id="a set of gold"),
        pytest.param({"documents": [{"id": "a"}, {"id": "b"}]}, TEXTS, BY_ID, id="dicts"),
        pytest.param(["a", "b"], [Document("x"), Document("b")], {}, id="LangChain documents"),
        pytest.param(
            ["a", "b"],
            {"source_nodes": [NodeWithScore(node=TextNode(id_=one, text="?"), score=0.5) for one in TEXTS]},
            BY_ID,
            id="LlamaIndex nodes",
        ),
        pytest.param(
            ["a", "b"],
            [NodeWithScore(node=TextNode(id_=one, text="?"), score=0.5).model_dump(mode="json") for one in TEXTS],
            BY_ID,
            id="LlamaIndex nodes after JSON",
        ),
        pytest.param(
            ["a", "b"], [Document(one).model_dump(mode="json") for one in TEXTS], {}, id="LangChain after JSON"
        ),
        pytest.param(
            {"answer": "A", "sources": ["a", "b"]},
            {"answer": "A", "hits": TEXTS},
            {"gold": "sources", "retrieved": "hits"},
            id="named keys",
        ),
        pytest.param(
            {"sources": "a|b"},
            "x|b",
            {"gold": lambda expected: expected["sources"].split("|"), "retrieved": lambda output: output.split("|")},
            id="functions",
        ),
        pytest.param(
            {"gold_doc_ids": ["a", "b"]},
            [{"id": "c1", "metadata": {"doc_id": "x"}}, {"id": "c2", "metadata": {"doc_id": "b"}}],
            {"level": "document"},
            id="document ids",
        ),
        pytest.param(["a", "b"], TEXTS, {"level": "document"}, id="lists of document ids"),
        pytest.param(
            ["a", "b"],
            [{"id": "c1", "url": "x"}, {"id": "c2", "url": "b"}],
            {"match_method": "id", "id_key": "url"},
            id="bare gold ids with id_key",
        ),
        pytest.param(
            [["a.pdf", 1], ["b.pdf", 2]],
            [{"metadata": {"source": {"file": one}, "page": 2}, "text": "t"} for one in ("x.pdf", "b.pdf")],
            {"match_method": "id", "id_key": ("source.file", "page")},
            id="ids of several values",
        ),
        pytest.param(
            ["a", "b"], ItemResult(item=None, output=None), {"retrieved": lambda _: TEXTS}, id="an object as output"
        ),
    ],
)
def test_gold_and_retrieved_documents_are_found(expected_output: Any, output: Any, settings: Any) -> None:
    assert evaluation_of(expected_output, output, **settings) == HALF


def test_an_attribute_of_an_object_is_found() -> None:
    class Response:
        def __init__(self) -> None:
            self.source_nodes = self.hits = [TextNode(id_="x"), TextNode(id_="b")]

    assert evaluation_of(["a", "b"], Response(), match_method="id") == HALF
    assert evaluation_of(["a", "b"], Response(), match_method="id", retrieved="hits") == HALF


@pytest.mark.parametrize("expected_output", [None, [], {"gold": []}], ids=["unknown", "empty list", "empty gold"])
def test_an_item_with_nothing_to_find_has_no_scores(expected_output: Any) -> None:
    assert evaluation_of(expected_output, TEXTS) == {}


@pytest.mark.parametrize(
    ("expected_output", "output", "settings", "says"),
    [
        pytest.param("Paris", TEXTS, {}, "A string is probably the answer", id="an answer as gold"),
        pytest.param({"answer": "Paris"}, TEXTS, {}, "its keys are answer.*`gold=`", id="only an answer"),
        pytest.param(["a"], "Paris", {}, "no retrieved documents.*`retrieved=`", id="an answer as output"),
        pytest.param(["a"], {"answer": "b"}, {}, "its keys are answer", id="an output without documents"),
        pytest.param(["a"], {"context": "b"}, {}, "`retrieved` is of the type str", id="a joined context"),
        pytest.param(["a"], {"hits": []}, {"retrieved": "hit"}, "no key 'hit'", id="a wrong key"),
        pytest.param(["a"], 7, {"retrieved": "hit"}, "was not found", id="a wrong attribute"),
        pytest.param({"golds": []}, [], {"gold": "gold"}, "no key 'gold'", id="a wrong gold key"),
        pytest.param({"gold_doc_ids": ["a"]}, TEXTS, BY_ID, "level='document'", id="gold at the other level"),
        pytest.param(["a"], {"documents": {"x", "y"}}, {}, "`retrieved` is of the type set", id="an unordered ranking"),
        pytest.param([7.5], TEXTS, {}, "gold\\[0\\]", id="a gold that is no document"),
    ],
)
def test_what_cannot_be_found_is_said(expected_output: Any, output: Any, settings: Any, says: str) -> None:
    with pytest.raises(InvalidInputError, match=says):
        evaluation_of(expected_output, output, **settings)


def test_arguments_that_cannot_be_used_are_refused_when_they_are_given() -> None:
    for make in (as_langfuse_evaluators, as_langfuse_run_evaluators):
        with pytest.raises(UnknownMetricError, match="ndgc"):
            make(metrics="ndgc")
        with pytest.raises(InvalidInputError, match="`k`"):
            make(0)
        with pytest.raises(InvalidInputError, match="`prefix`"):
            make(prefix="@")
        with pytest.raises(InvalidInputError, match="no argument 'treshold'"):
            make(treshold=0.5)


def run_values(item_results: list[Any], **settings: Any) -> dict[str, float]:
    (evaluator,) = as_langfuse_run_evaluators(2, metrics=["recall", "mrr"], **settings)
    found: Any = evaluator(item_results=item_results)
    return values(found)


def test_items_without_expected_output_are_left_out_of_the_run() -> None:
    results = [
        ItemResult({"input": "1", "expected_output": ["a", "b"]}, TEXTS),
        ItemResult({"input": "2", "expected_output": None}, TEXTS),
        ItemResult({"input": "3"}, None),
    ]
    assert run_values(results) == {**HALF, "krag.micro_recall_at_2": 0.5}
    with pytest.raises(InvalidInputError, match="None of 2 items has an expected output"):
        run_values(results[1:])


@pytest.mark.full
def test_wire_one_output_that_is_none_is_a_failed_retrieval_and_loses_no_other_score(
    server: LoopbackLangfuse, client: Langfuse
) -> None:
    with pytest.warns(KragEvalWarning, match="the task returned None") as told:
        result = client.run_experiment(
            name="one None",
            data=items(),
            task=lambda *, item, **_: None if item["input"] in QUESTIONS[5:7] else BY_QUESTION[item["input"]],
            evaluators=as_langfuse_evaluators(3),
            run_evaluators=as_langfuse_run_evaluators(3),
        )
    assert sorted(str(warning.message)[:44] for warning in told) == [
        "2 of 23 items are scored as failed retrieval",
        "An item is scored as a failed retrieval: the",
    ]
    failed: list[Any] = [TimeoutError() if i in (5, 6) else RETRIEVED[i] for i in range(23)]
    expected = evaluate(GOLD, failed, 3)
    assert values(result.run_evaluations) == named(expected.to_dict())
    assert [values(one.evaluations) for one in result.item_results] == [named(row.values) for row in expected.per_query]
    assert (result.item_results[6].evaluations[0].metadata or {})["retriever_raised"] is True
    assert (result.run_evaluations[0].metadata or {})["n_failed"] == 2


def test_a_task_that_always_returns_none_is_an_error_of_the_run() -> None:
    results = [ItemResult({"expected_output": ["a"]}, None)] * 3
    with pytest.raises(InvalidInputError, match=r"for all 3 items the task returned None\. Return the documents"):
        run_values(results)


@pytest.mark.parametrize(
    "item",
    [
        ItemResult({"expected_output": "Paris"}, TEXTS),
        ItemResult({"expected_output": ["a"]}, "In three days."),
        ItemResult({"expected_output": ["a"]}, [{"score": 1}]),
        ItemResult({"expected_output": [7.5]}, TEXTS),
    ],
    ids=["an answer as gold", "an answer as output", "documents without text", "a gold that is none"],
)
def test_a_bad_item_costs_only_itself(item: ItemResult) -> None:
    good: Any = ItemResult({"expected_output": ["a", "b"]}, TEXTS)
    (evaluator,) = as_langfuse_run_evaluators(2, metrics=["recall", "mrr"])
    results: list[Any] = [good, item, good]
    with pytest.warns(
        KragEvalWarning, match=r"1 of 3 items cannot be scored and are left out\. The first one: .*item 1"
    ):
        found: Any = evaluator(item_results=results)
    assert values(found) == run_values([good, good])
    assert {(one.metadata["n_left_out"], one.metadata["n_queries"], one.comment) for one in found} == {
        (1, 2, "1 of 3 items cannot be scored and are left out")
    }
    with pytest.raises(InvalidInputError, match="item 0"):
        run_values([item])


def test_what_a_function_of_the_user_raises_costs_the_item() -> None:
    good, bad = ItemResult({"expected_output": {"gold": ["a", "b"]}}, TEXTS), ItemResult({"expected_output": {}}, TEXTS)
    with pytest.warns(KragEvalWarning, match="1 of 2 items cannot be scored"):
        assert run_values([good, bad], gold=lambda expected: expected["gold"])["krag.recall_at_2"] == 0.5
    with pytest.raises(KeyError, match="gold"):
        run_values([bad], gold=lambda expected: expected["gold"])


def test_wire_one_bad_item_loses_no_score_of_the_others(server: LoopbackLangfuse, client: Langfuse) -> None:
    with pytest.warns(KragEvalWarning, match="1 of 23 items"):
        result = client.run_experiment(
            name="one answer",
            data=items(),
            task=lambda *, item, **_: "An answer." if item["input"] == QUESTIONS[6] else BY_QUESTION[item["input"]],
            evaluators=as_langfuse_evaluators(3),
            run_evaluators=as_langfuse_run_evaluators(3),
        )
    expected = evaluate(GOLD[:6] + GOLD[7:], RETRIEVED[:6] + RETRIEVED[7:], 3)
    assert values(result.run_evaluations) == named(expected.to_dict())
    assert [values(item.evaluations) for item in result.item_results if item.output != "An answer."] == [
        named(row.values) for row in expected.per_query
    ]


def test_a_run_whose_documents_have_no_ids_says_so() -> None:
    with pytest.raises(InvalidInputError, match="id"):
        run_values([ItemResult({"expected_output": ["a"]}, [Document("b")])], match_method="id")
