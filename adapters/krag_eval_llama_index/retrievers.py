"""A retriever or query engine of LlamaIndex, asked every question of an evaluation set and scored.

Nodes as documents that know which document they were cut from.
"""

from __future__ import annotations

import types
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.instrumentation.dispatcher import (  # type: ignore[attr-defined]  # documented there
    active_instrument_tags,
    instrument_tags,
)
from llama_index.core.schema import QueryBundle

import krag_eval
from krag_eval import Document, EvalSet, EvaluationResult, InvalidInputError, KragEvalWarning, as_evalset


def evaluate_retriever(
    retriever: BaseRetriever | BaseQueryEngine,
    evalset: object,
    k: int | str | Sequence[int | str | None] | None = (1, 3, 5, 10),
    *,
    node_postprocessors: Sequence[Any] = (),
    concurrency: int = 8,
    timeout: float | None = None,
    retries: int = 2,
    journal: Any = None,
    name: str | None = None,
    query_id_tag: str = "krag_query_id",
    **settings: Any,
) -> EvaluationResult:
    """Ask a retriever every question of an evaluation set, and score what it returns.

    A question whose call raises counts as nothing retrieved and is named in `result.errors`. The id of each question
    is given as an instrumentation tag, for `retrieval_scoring` and for traces. Nodes carry the id of the document
    that they were cut from (`ref_doc_id`) as `doc_id`, so that `level="document"` can be scored.

    Args:
        retriever: A retriever; or a query engine, whose rerankers then count. One that can retrieve without answering
            writes no answer; another is asked for an answer, whose source nodes count.
        evalset: An `EvalSet`, a list of questions or rows, or a pandas frame.
        k: One cut-off or several; None scores all ranks, `"2000tok"` what fits into 2,000 tokens. What is returned is
            cut; the retriever is never changed, so that its `similarity_top_k` must be large enough.
        node_postprocessors: Rerankers and filters that what is returned goes through, in this order.
        concurrency: How many questions are asked at a time.
        timeout: Seconds for one attempt.
        retries: How often a question whose call raises is asked again.
        journal: A JSONL file to which each row is written as it comes; a run that was broken off goes on from it.
        name: What the run is called; the name of the retriever's class by default.
        query_id_tag: The instrumentation tag.
        **settings: What `evaluate_run` takes (`level`, `doc_key`, `metrics`, `match_method`, ...) and `run_retriever`
            (`progress`, `max_error_rate`, ...).

    Returns:
        What `evaluate_run` gives for the run; `match_method` is `"id"` by default.

    Raises:
        InvalidInputError: Something given cannot be used.
        RunStoppedError: `max_error_rate` was passed.
    """
    questions = as_evalset(evalset)
    asked = _Asked(retriever, questions, node_postprocessors, query_id_tag)
    asked.check_depth(k)
    settings |= {"concurrency": concurrency, "timeout": timeout, "retries": retries, "journal": journal}
    return krag_eval.evaluate_retriever(asked.plain(), questions, k, name=name or asked.name, **settings)


async def aevaluate_retriever(
    retriever: BaseRetriever | BaseQueryEngine,
    evalset: object,
    k: int | str | Sequence[int | str | None] | None = (1, 3, 5, 10),
    *,
    node_postprocessors: Sequence[Any] = (),
    concurrency: int = 8,
    timeout: float | None = None,
    retries: int = 2,
    journal: Any = None,
    name: str | None = None,
    query_id_tag: str = "krag_query_id",
    **settings: Any,
) -> EvaluationResult:
    """The same on the event loop that is running; a retriever without an async method of its own runs in threads.

    Arguments, result and errors are those of `evaluate_retriever`.
    """
    questions = as_evalset(evalset)
    asked = _Asked(retriever, questions, node_postprocessors, query_id_tag)
    asked.check_depth(k)
    settings |= {"concurrency": concurrency, "timeout": timeout, "retries": retries, "journal": journal}
    ask = asked.coroutine() if asked.is_async else asked.plain()
    return await krag_eval.aevaluate_retriever(ask, questions, k, name=name or asked.name, **settings)


class _Asked:
    """A retriever that is told, with each question, which one it is."""

    def __init__(self, retriever: Any, evalset: EvalSet, postprocessors: Sequence[Any], query_id_tag: str) -> None:
        if isinstance(retriever, BaseQueryEngine):
            can_retrieve = type(retriever).retrieve is not BaseQueryEngine.retrieve
            plain, async_ = ("retrieve", "aretrieve") if can_retrieve else ("query", "aquery")
        elif isinstance(retriever, BaseRetriever):
            plain, async_ = "retrieve", "aretrieve"
        else:
            raise InvalidInputError(
                f"`retriever` is {retriever!r:.80}, which is no retriever and no query engine of LlamaIndex. "
                "Give `index.as_retriever(similarity_top_k=10)`; other kinds go to `krag_eval.run_retriever`."
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
        """Whether its async method does more than call the plain one, which would block the loop."""
        own = getattr(type(self._retriever), "_aretrieve", None)
        stand_in = own is BaseRetriever._aretrieve  # noqa: SLF001 - the hook that retrievers override
        return self._aask is not None and not stand_in

    def plain(self) -> Callable[[str], Any]:
        def retrieve(_: Any, question: str) -> Any:
            query = QueryBundle(question)
            with instrument_tags(self._tags(question)):
                nodes = _nodes(self._ask(query))
                for postprocessor in self._postprocessors:
                    nodes = postprocessor.postprocess_nodes(nodes, query_bundle=query)
            return nodes

        # Bound to it, so that the run records its class and not this function.
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
        """Warn where the retriever can never return as many nodes as are scored."""
        cut_offs = k if isinstance(k, (list, tuple, range)) else (k,)
        deepest = max((cut_off for cut_off in cut_offs if isinstance(cut_off, int)), default=0)
        most = getattr(self._retriever, "similarity_top_k", None)
        if isinstance(most, int) and most < deepest:
            warnings.warn(
                f"The retriever returns at most {most} nodes (its `similarity_top_k`), and `k` goes up to {deepest}: "
                f"all values beyond {most} are those of {most} nodes. Give it a larger `similarity_top_k`.",
                KragEvalWarning,
                stacklevel=3,
            )

    def _tags(self, question: str) -> dict[str, Any]:
        tags = dict(active_instrument_tags.get())
        if question in self._ids:  # a text that two questions share names none of them
            tags[self._query_id_tag] = self._ids[question]
        return tags


def _nodes(answer: Any) -> Any:
    """The nodes that were retrieved, or that an answer is based on."""
    return getattr(answer, "source_nodes", answer)


# Where the runs of `run_retriever` have it, and `evaluate_run(level="document")` looks for it.
DOC_KEY = "doc_id"


def as_documents(nodes: Iterable[Any]) -> list[Any]:
    """The nodes as documents, with the id of their source as `doc_id` unless their metadata have one.

    What cannot be read as a node stays what it is: whoever reads it next says what is wrong with it.
    """
    return [_as_document(node) for node in nodes]


def _as_document(node: Any) -> Any:
    try:
        inner = node.node
        metadata, source = dict(inner.metadata), inner.ref_doc_id
        if source is not None:
            metadata.setdefault(DOC_KEY, source)
        # Read here and not by `as_document`: asking a node for what it does not have is slow.
        return Document(id=inner.node_id, text=inner.get_content(), score=node.score, metadata=metadata)
    except Exception:  # noqa: BLE001 - a node may raise anything when it is asked for its text
        return node
