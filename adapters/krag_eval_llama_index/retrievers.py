"""Evaluate a retriever or query engine of LlamaIndex on a set of questions."""

from __future__ import annotations

import types
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.instrumentation.dispatcher import (  # type: ignore[attr-defined]  # documented there
    active_instrument_tags,
    instrument_tags,
)
from llama_index.core.schema import QueryBundle

import krag_eval
from krag_eval import EvalSet, EvaluationResult, as_evalset
from krag_eval.toolkit import DEFAULT_CUT_OFFS, gold_first, refuse, warn


@gold_first(old="retriever, evalset")
def evaluate_retriever(
    evalset: object,
    retriever: BaseRetriever | BaseQueryEngine,
    k: int | str | Sequence[int | str | None] | None = DEFAULT_CUT_OFFS,
    *,
    node_postprocessors: Sequence[Any] = (),
    name: str | None = None,
    query_id_tag: str = "krag_query_id",
    **settings: Any,
) -> EvaluationResult:
    """Ask a retriever every question of an evaluation set, and score what it returns.

    A question whose call fails counts as nothing retrieved and is listed in `result.errors`. The id of each question
    is set as an instrumentation tag, for `retrieval_scoring` and for traces. Each node gets the id of its source
    document (`ref_doc_id`) as `doc_id`, so that `level="document"` can be scored.

    Args:
        evalset: An `EvalSet`, `{question: gold}`, a list of questions, or a table.
        retriever: A retriever; or a query engine, which is scored after its rerankers. An engine that can retrieve
            without answering writes no answer; any other is asked for an answer, and its source nodes are scored.
        k: One cut-off or several; None scores all ranks, `"2000tok"` what fits into 2,000 tokens. The answer is
            cut; the retriever is never changed, so its `similarity_top_k` must be large enough.
        node_postprocessors: Rerankers and filters to apply to the answer, in this order.
        name: The name of the run; by default the name of the retriever's class.
        query_id_tag: The instrumentation tag that holds the id of the question.
        **settings: What `krag_eval.evaluate_retriever` takes: the arguments of `run_retriever` (`concurrency`,
            `timeout`, `retries`, `journal`, `progress`, `max_error_rate`, ...) and of `evaluate_run` (`level`,
            `doc_key`, `metrics`, `match_method`, ...).

    Returns:
        The result of `evaluate_run` for the run; `match_method` is `"id"` by default.

    Raises:
        InvalidInputError: An argument is invalid.
        RunStoppedError: More calls failed than `max_error_rate` allows.
    """
    questions = as_evalset(evalset)
    asked = _Asked(questions, retriever, node_postprocessors, query_id_tag)
    asked.check_depth(k)
    return krag_eval.evaluate_retriever(questions, asked.sync(), k, name=name or asked.name, **settings)


@gold_first(old="retriever, evalset")
async def aevaluate_retriever(
    evalset: object,
    retriever: BaseRetriever | BaseQueryEngine,
    k: int | str | Sequence[int | str | None] | None = DEFAULT_CUT_OFFS,
    *,
    node_postprocessors: Sequence[Any] = (),
    name: str | None = None,
    query_id_tag: str = "krag_query_id",
    **settings: Any,
) -> EvaluationResult:
    """Ask and score like `evaluate_retriever`, on the running event loop.

    A retriever without an async method of its own runs in threads.

    Arguments, result and errors are those of `evaluate_retriever`.
    """
    questions = as_evalset(evalset)
    asked = _Asked(questions, retriever, node_postprocessors, query_id_tag)
    asked.check_depth(k)
    ask = asked.coroutine() if asked.is_async else asked.sync()
    return await krag_eval.aevaluate_retriever(questions, ask, k, name=name or asked.name, **settings)


class _Asked:
    """A retriever that is asked with the id of each question as an instrumentation tag."""

    def __init__(self, evalset: EvalSet, retriever: Any, postprocessors: Sequence[Any], query_id_tag: str) -> None:
        if isinstance(retriever, BaseQueryEngine):
            can_retrieve = type(retriever).retrieve is not BaseQueryEngine.retrieve
            plain, async_ = ("retrieve", "aretrieve") if can_retrieve else ("query", "aquery")
        elif isinstance(retriever, BaseRetriever):
            plain, async_ = "retrieve", "aretrieve"
        else:
            refuse(
                "retriever",
                "a retriever or query engine of LlamaIndex",
                retriever,
                "Pass `index.as_retriever(similarity_top_k=10)`, or use `krag_eval.evaluate_retriever` for other "
                "kinds.",
            )
        self._retriever = retriever
        self._ask: Any = getattr(retriever, plain)
        self._aask: Any = getattr(retriever, async_, None)
        self._postprocessors, self._query_id_tag = list(postprocessors), query_id_tag
        texts = Counter(evalset.texts)
        self._ids = {q.question: q.id for q in evalset if q.question and texts[q.question] == 1}
        self.name = type(retriever).__name__

    @property
    def is_async(self) -> bool:
        """Whether its async method does more than call the sync one, which would block the loop."""
        own = getattr(type(self._retriever), "_aretrieve", None)
        stand_in = own is BaseRetriever._aretrieve  # noqa: SLF001 - the hook that retrievers override
        return self._aask is not None and not stand_in

    def sync(self) -> Callable[[str], Any]:
        def retrieve(_: Any, question: str) -> Any:
            query = QueryBundle(question)
            with instrument_tags(self._tags(question)):
                nodes = _nodes(self._ask(query))
                for postprocessor in self._postprocessors:
                    nodes = postprocessor.postprocess_nodes(nodes, query_bundle=query)
            return nodes

        # Bound to the retriever, so that the run records its class and not this function.
        return types.MethodType(retrieve, self._retriever)

    def coroutine(self) -> Callable[[str], Any]:
        async def aretrieve(_: Any, question: str) -> Any:
            query = QueryBundle(question)
            with instrument_tags(self._tags(question)):
                nodes = _nodes(await self._aask(query))
                for postprocessor in self._postprocessors:
                    nodes = await postprocessor.apostprocess_nodes(nodes, query_bundle=query)
            return nodes

        return types.MethodType(aretrieve, self._retriever)

    def check_depth(self, k: Any) -> None:
        """Warn if the retriever can never return as many nodes as are scored."""
        cut_offs = k if isinstance(k, (list, tuple, range)) else (k,)
        deepest = max((cut_off for cut_off in cut_offs if isinstance(cut_off, int)), default=0)
        most = getattr(self._retriever, "similarity_top_k", None)
        if isinstance(most, int) and most < deepest:
            warn(
                f"The retriever returns at most {most} nodes (its `similarity_top_k`), but `k` goes up to {deepest}: "
                f"values beyond {most} are computed from {most} nodes. Use a larger `similarity_top_k`."
            )

    def _tags(self, question: str) -> dict[str, Any]:
        tags = dict(active_instrument_tags.get())
        if question in self._ids:  # a text shared by two questions identifies neither
            tags[self._query_id_tag] = self._ids[question]
        return tags


def _nodes(answer: Any) -> Any:
    """Return the retrieved nodes, or those that an answer is based on."""
    return getattr(answer, "source_nodes", answer)
