"""Score the source nodes of responses: what reached the answer, after every reranker."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from krag_eval import (
    Document,
    EvalSet,
    EvaluationResult,
    InvalidInputError,
    Question,
    Run,
    RunRow,
    evaluate,
    evaluate_run,
)
from krag_eval.toolkit import DEFAULT_CUT_OFFS, gold_first


class _Answered(Protocol):
    @property
    def source_nodes(self) -> Any: ...


Response = _Answered | BaseException


@gold_first(old="response, gold")
def score_response(
    gold: object, response: Response, k: int | Sequence[int | None] | None = DEFAULT_CUT_OFFS, **settings: Any
) -> EvaluationResult:
    """Score the source nodes of one response of a query engine or chat engine.

    Args:
        gold: The gold documents of the query as a list, or its `krag_eval.Question`.
        response: What the engine returned, streamed or not; or the exception that it raised, which counts as nothing
            retrieved.
        k: One cut-off or several.
        **settings: As for `score_responses`.

    Raises:
        InvalidInputError: The response has no source nodes, or an argument is invalid.
    """
    return score_responses([gold], [response], k, **settings)


@gold_first(old="responses, gold")
def score_responses(
    gold: object,
    responses: Sequence[Response] | Mapping[str, Response],
    k: int | Sequence[int | None] | None = DEFAULT_CUT_OFFS,
    **settings: Any,
) -> EvaluationResult:
    """Score the source nodes of many responses.

    Each node gets the id of its source document (`ref_doc_id`) as `doc_id` in its metadata, so that `id_key="doc_id"`
    and `level="document"` work.

    Args:
        gold: A list with the gold documents of each query, scored as by `krag_eval.evaluate`; or an `EvalSet` or a
            list of `Question`, scored as by `krag_eval.evaluate_run`, which matches by id by default.
        responses: What the engine returned for each query, in the order of the gold; or, with questions as gold, a
            mapping by the id of the question, where a missing response counts as nothing retrieved. An exception in
            place of a response counts as nothing retrieved and is reported.
        k: One cut-off or several.
        **settings: Further arguments of that function, such as `match_method`, `metrics`, `queries` or `level`.

    Raises:
        InvalidInputError: A response has no source nodes, or an argument is invalid.

    >>> from llama_index.core.base.response.schema import Response
    >>> from llama_index.core.schema import NodeWithScore, TextNode
    >>> nodes = [NodeWithScore(node=TextNode(id_=name, text=name)) for name in ("n7", "n1")]
    >>> result = score_responses([[{"id": "n1"}]], [Response("From 9 to 18.", source_nodes=nodes)], match_method="id")
    >>> result["mrr@5"]
    0.5
    """
    questions = _questions(gold)
    if questions is None:
        if isinstance(responses, Mapping):
            raise InvalidInputError(
                "`responses` is a mapping, but `gold` has no query ids. Pass two lists in the same order, or an "
                "EvalSet as `gold`."
            )
        return evaluate(gold, [_nodes(response, place) for place, response in enumerate(responses)], k, **settings)
    if not isinstance(responses, Mapping):
        if len(responses) != len(questions):
            raise InvalidInputError(
                f"Got {len(responses)} `responses` for {len(questions)} questions. Pass one response per "
                "question, in the same order, or a mapping from question ids to responses."
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
    """Return the source nodes of a response, or the exception in its place."""
    if isinstance(response, BaseException):
        return response
    nodes = getattr(response, "source_nodes", None)
    if nodes is None:
        raise InvalidInputError(
            f"`responses[{place!r}]` has no `source_nodes`, got {response!r:.60}. "
            "Pass what `query` or `chat` of an engine returned."
        )
    return as_documents(nodes)


def _row(question_id: str, nodes: list[Any] | BaseException) -> RunRow:
    if isinstance(nodes, BaseException):
        return RunRow(query_id=question_id, error=f"{type(nodes).__name__}: {nodes}")
    return RunRow.from_dict({"query_id": question_id, "retrieved": nodes})


def as_documents(nodes: Iterable[Any]) -> list[Any]:
    """Return nodes as documents, with the id of their source as `doc_id` unless their metadata already has one.

    Anything that cannot be read as a node is returned unchanged, and refused where documents are read.
    """
    return [_as_document(node) for node in nodes]


def _as_document(node: Any) -> Any:
    try:
        inner = node.node
        metadata, source = dict(inner.metadata), inner.ref_doc_id
        if source is not None:
            metadata.setdefault("doc_id", source)  # the key that `evaluate_run(level="document")` reads by default
        # Not left to `as_document`: asking a node for attributes that it does not have is slow.
        return Document(id=inner.node_id, text=inner.get_content(), score=node.score, metadata=metadata)
    except Exception:  # noqa: BLE001 - a node may raise anything when its text is read
        return node
