"""Source nodes of responses, after rerankers, scored as `evaluate` and `evaluate_run` score the same lists."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from llama_index.core.base.response.schema import Response
from llama_index.core.llms import MockLLM
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from krag_eval import EvalSet, InvalidInputError, Question, evaluate
from krag_eval_llama_index import score_response, score_responses
from tests.adapters.llama_index.world import GOLD, QUESTIONS, index
from tests.support.argument_orders import check_old_order
from tests.support.marks import nothing_may_match

EVALSET = EvalSet(
    [{"id": f"q{i}", "question": q, "gold_chunk_ids": ids} for i, (q, ids) in enumerate(QUESTIONS.items())]
)


class Backwards(BaseNodePostprocessor):
    """A reranker that turns the list around and leaves out its end."""

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        return nodes[::-1][:4]


def engine(**settings: Any) -> Any:
    return RetrieverQueryEngine.from_args(
        index().as_retriever(similarity_top_k=6), llm=MockLLM(), node_postprocessors=[Backwards()], **settings
    )


def answered(**settings: Any) -> list[Any]:
    made = engine(**settings)
    return [made.query(query) for query in QUESTIONS]


def reranked() -> list[Sequence[Any]]:
    retriever = index().as_retriever(similarity_top_k=6)
    return [retriever.retrieve(query)[::-1][:4] for query in QUESTIONS]


@pytest.mark.sample(3)
@pytest.mark.parametrize("mode", ["plain", "streamed", "async"])
def test_what_is_scored_is_what_came_out_of_the_reranker(mode: str) -> None:
    if mode == "async":
        made = engine()

        async def ask() -> list[Any]:
            return await asyncio.gather(*(made.aquery(query) for query in QUESTIONS))

        responses = asyncio.run(ask())
    else:
        responses = answered(streaming=mode == "streamed")
    for settings in ({"match_method": "id"}, {"match_method": "rougeL", "threshold": 0.6}):
        scored = score_responses(list(GOLD.values()), responses, k=(1, 4), **settings)
        expected = evaluate(list(GOLD.values()), reranked(), k=(1, 4), **settings)
        assert scored.to_dict() == expected.to_dict()
        assert 0 < (scored["recall@4"] or 0) < 1
        assert str(scored.explain(0)) == str(expected.explain(0))


def test_one_response_is_scored_alone() -> None:
    responses, all_of_them = answered(), evaluate(list(GOLD.values()), reranked(), k=4)
    place = next(row.index for row in all_of_them.per_query if row.values["recall@4"])
    values = all_of_them.per_query[place].values
    assert score_response(list(GOLD.values())[place], responses[place], k=4).per_query[0].values == values
    by_id = score_response(EVALSET[place], responses[place], k=4)
    assert {key: by_id[key] for key in values} == dict(values)


def test_responses_by_the_id_of_their_question_are_scored_in_any_order_and_a_missing_one_is_nothing() -> None:
    responses = dict(zip(EVALSET.ids, answered(), strict=True))
    in_order = score_responses(EVALSET, list(responses.values()), k=4)
    assert score_responses(EVALSET, dict(reversed(responses.items())), k=4).to_dict() == in_order.to_dict()
    assert in_order["recall@4"] == evaluate(list(GOLD.values()), reranked(), k=4, match_method="id")["recall@4"]
    assert score_responses(list(EVALSET), responses, k=4).to_dict() == in_order.to_dict()

    found = next(row.id for row in in_order.per_query if row.values["recall@4"])
    del responses[str(found)]
    rows = {row.id: row for row in score_responses(EVALSET, responses, k=4).per_query}
    assert (rows[found].n_retrieved, rows[found].values["recall@4"]) == (0, 0.0)


def test_an_exception_in_the_place_of_a_response_is_nothing_retrieved_and_is_reported() -> None:
    responses = [TimeoutError("too slow"), *answered()[1:]]
    for result in (
        score_responses(list(GOLD.values()), responses, match_method="id"),
        score_responses(EVALSET, responses),
    ):
        assert result.per_query[0].values["recall@5"] == 0.0
        (error,) = result.errors.values()
        assert error.endswith("TimeoutError: too slow")


def test_chunks_are_scored_by_their_documents_where_the_set_knows_these() -> None:
    nodes = [NodeWithScore(node=TextNode(id_=f"c{i}", text="t", metadata={"doc_id": d})) for i, d in enumerate("xab")]
    questions = [Question(id="q", gold_doc_ids=("a", "b"))]
    result = score_responses(questions, [Response("", source_nodes=nodes)], k=2, level="document")
    assert (result["recall@2"], result["mrr@2"]) == (0.5, 0.5)


@nothing_may_match
def test_a_response_without_nodes_scores_0() -> None:
    assert score_response(["something"], Response("I do not know."), k=1)["recall@1"] == 0.0


@pytest.mark.parametrize(
    ("responses", "gold", "says"),
    [
        pytest.param(["an answer"], [["gold"]], r"has no `source_nodes`, got 'an answer'", id="str"),
        pytest.param([None], [["gold"]], r"`responses\[0\]` has no `source_nodes`, got None", id="None"),
        pytest.param([Response("")], EVALSET, r"Got 1 `responses` for 7 questions", id="too few"),
        pytest.param({"q1": Response("")}, [["gold"]], "but `gold` has no query ids", id="no ids"),
        pytest.param({"q99": Response("")}, EVALSET, "which the evaluation set does not have", id="another set"),
        pytest.param([Response("")], [["gold"], ["more"]], "has 2 queries and `predicted` has 1", id="lengths"),
    ],
)
def test_what_cannot_be_scored_is_told(responses: Any, gold: Any, says: str) -> None:
    with pytest.raises(InvalidInputError, match=says):
        score_responses(gold, responses)


def test_responses_before_the_gold_are_taken_with_a_warning() -> None:
    names: dict[str, Any] = {"score_response": score_response, "score_responses": score_responses}
    names |= {"gold": EVALSET, "responses": answered(), "response": answered()[0]}
    check_old_order(
        "score_responses(responses, gold, 4)", "score_responses(gold, responses, k=4)", "{}.to_dict()", names
    )
    names |= {"gold": EVALSET[0]}
    check_old_order("score_response(response, gold)", "score_response(gold, response)", "{}.to_dict()", names)
