"""Scores of what reached the answer: the source nodes of responses, after every reranker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from krag_eval import (
    EvalSet,
    EvaluationResult,
    InvalidInputError,
    Question,
    Run,
    RunRow,
    evaluate,
    evaluate_run,
)
from krag_eval_llama_index.retrievers import as_documents


def score_response(
    response: object, gold: object, k: int | Sequence[int | None] | None = (1, 3, 5, 10), **settings: Any
) -> EvaluationResult:
    """Score the source nodes of one response of a query engine or chat engine.

    Args:
        response: What the engine returned, streamed or not; or what it raised, which counts as nothing retrieved.
        gold: The gold documents of its query as a list, or its `krag_eval.Question`.
        k: One cut-off or several.
        **settings: As for `score_responses`.

    Raises:
        InvalidInputError: The response has no source nodes, or something given cannot be used.
    """
    return score_responses([response], [gold], k, **settings)


def score_responses(
    responses: Sequence[object] | Mapping[str, object],
    gold: object,
    k: int | Sequence[int | None] | None = (1, 3, 5, 10),
    **settings: Any,
) -> EvaluationResult:
    """Score the source nodes of many responses.

    Nodes carry the id of the document that they were cut from (`ref_doc_id`) as `doc_id` in their metadata, so that
    `id_key="doc_id"` and `level="document"` can be scored.

    Args:
        responses: What the engine returned for each query, in the order of the gold; or, with questions as gold, by
            the id of the question, where one that is missing counts as nothing retrieved. An exception in the place
            of a response counts as nothing retrieved and is reported.
        gold: A list with the gold documents of each query, scored as by `krag_eval.evaluate`; or an `EvalSet` or a
            list of `Question`, scored as by `krag_eval.evaluate_run`, which matches by id unless told otherwise.
        k: One cut-off or several.
        **settings: What that function takes further, such as `match_method`, `metrics`, `queries` or `level`.

    Raises:
        InvalidInputError: A response has no source nodes, or something given cannot be used.

    >>> from llama_index.core.base.response.schema import Response
    >>> from llama_index.core.schema import NodeWithScore, TextNode
    >>> nodes = [NodeWithScore(node=TextNode(id_=name, text=name)) for name in ("n7", "n1")]
    >>> result = score_responses([Response("From 9 to 18.", source_nodes=nodes)], [[{"id": "n1"}]], match_method="id")
    >>> result["mrr@5"]
    0.5
    """
    questions = _questions(gold)
    if questions is None:
        if isinstance(responses, Mapping):
            raise InvalidInputError(
                "`responses` is a mapping, but `gold` has no ids of queries. Give lists in the same order, or an "
                "EvalSet as `gold`."
            )
        return evaluate(gold, [_nodes(response, place) for place, response in enumerate(responses)], k, **settings)
    if not isinstance(responses, Mapping):
        if len(responses) != len(questions):
            raise InvalidInputError(
                f"There are {len(responses)} `responses` for {len(questions)} questions. Give one for each, in the "
                "order of the questions, or a mapping from the id of a question to its response."
            )
        responses = dict(zip(questions.ids, responses, strict=True))
    rows = [_row(question_id, _nodes(response, question_id)) for question_id, response in responses.items()]
    return evaluate_run(questions, Run.of("responses", rows), k, **settings)


def _questions(gold: object) -> EvalSet | None:
    if isinstance(gold, EvalSet):
        return gold
    if isinstance(gold, (list, tuple)) and gold and all(isinstance(one, Question) for one in gold):
        return EvalSet(gold)
    return None


def _nodes(response: object, place: object) -> list[Any] | BaseException:
    """The source nodes of a response, or what was raised in its place."""
    if isinstance(response, BaseException):
        return response
    nodes = getattr(response, "source_nodes", None)
    if nodes is None:
        raise InvalidInputError(
            f"`responses[{place!r}]` is {response!r:.60}, which has no `source_nodes`. "
            "Pass what `query` or `chat` of an engine returned."
        )
    return as_documents(nodes)


def _row(question_id: str, nodes: list[Any] | BaseException) -> RunRow:
    if isinstance(nodes, BaseException):
        return RunRow(query_id=question_id, error=f"{type(nodes).__name__}: {nodes}")
    return RunRow.from_dict({"query_id": question_id, "retrieved": nodes})
