"""Evaluate a LangChain retriever on a set of questions."""

from __future__ import annotations

import types
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import krag_eval
from krag_eval import EvalSet, EvaluationResult, as_evalset
from krag_eval.toolkit import DEFAULT_CUT_OFFS, gold_first, refuse
from krag_eval_langchain.rows import RETRIEVED, Field, Place


@gold_first(old="retriever, evalset")
def evaluate_retriever(
    evalset: object,
    retriever: Any,
    k: int | str | Sequence[int | str | None] | None = DEFAULT_CUT_OFFS,
    *,
    name: str | None = None,
    config: Mapping[str, Any] | None = None,
    query_id_key: str = "krag_query_id",
    input_key: str | None = None,
    retrieved: Place = None,
    **settings: Any,
) -> EvaluationResult:
    """Ask a retriever every question of an evaluation set, and score what it returns.

    A question whose call fails counts as nothing retrieved and is listed in `result.errors`.

    Args:
        evalset: An `EvalSet`, `{question: gold}`, a list of questions, or a table.
        retriever: A `BaseRetriever`, or any `Runnable` that returns documents or a mapping that holds them.
        k: One cut-off or several; None scores all ranks, `"2000tok"` what fits into 2,000 tokens.
            The answer is cut to what is scored; the retriever is never changed.
        name: The name of the run; by default the retriever's own name.
        config: A `RunnableConfig` for every call, for example with callbacks and tags.
        query_id_key: The key in the metadata of each call that holds the id of the question.
        input_key: The key of the question, for runnables that take a dict; by default they take the question itself.
        retrieved: Where the documents are, if the retriever returns a mapping: a key, several keys of which the first
            one present is used, or a function that returns them.
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
    asked = _Asked(questions, retriever, config, query_id_key, input_key, retrieved)
    ask = asked.coroutine() if asked.is_only_async else asked.sync()
    return krag_eval.evaluate_retriever(questions, ask, k, name=name or asked.name, **settings)


@gold_first(old="retriever, evalset")
async def aevaluate_retriever(
    evalset: object,
    retriever: Any,
    k: int | str | Sequence[int | str | None] | None = DEFAULT_CUT_OFFS,
    *,
    name: str | None = None,
    config: Mapping[str, Any] | None = None,
    query_id_key: str = "krag_query_id",
    input_key: str | None = None,
    retrieved: Place = None,
    **settings: Any,
) -> EvaluationResult:
    """Ask and score like `evaluate_retriever`, on the running event loop.

    A retriever without an async method of its own runs in threads.

    Arguments, result and errors are those of `evaluate_retriever`.
    """
    questions = as_evalset(evalset)
    asked = _Asked(questions, retriever, config, query_id_key, input_key, retrieved)
    ask = asked.coroutine() if asked.is_async else asked.sync()
    return await krag_eval.aevaluate_retriever(questions, ask, k, name=name or asked.name, **settings)


class _Asked:
    """A retriever that receives the id of each question in the metadata of the call."""

    def __init__(
        self,
        evalset: EvalSet,
        retriever: Any,
        config: Mapping[str, Any] | None,
        query_id_key: str,
        input_key: str | None,
        retrieved: Place,
    ) -> None:
        if isinstance(retriever, type) or not (hasattr(retriever, "invoke") and hasattr(retriever, "ainvoke")):
            cure = "Pass RunnableLambda(function)."
            refuse("retriever", "a LangChain retriever or another Runnable", retriever, cure)
        self._retriever, self._config, self._query_id_key = retriever, dict(config or {}), query_id_key
        self._input_key = input_key
        self._field = None if retrieved is None else Field("retrieved", retrieved, RETRIEVED)
        texts = Counter(evalset.texts)
        self._ids = {q.question: q.id for q in evalset if q.question and texts[q.question] == 1}
        self.name = str(retriever.get_name()) if hasattr(retriever, "get_name") else type(retriever).__name__

    @property
    def is_async(self) -> bool:
        """Whether its async method does more than run the sync one in a thread."""
        method = getattr(type(self._retriever), "_aget_relevant_documents", None)
        return method is None or method.__module__ != "langchain_core.retrievers"

    @property
    def is_only_async(self) -> bool:
        """Whether it is a RunnableLambda that wraps only an async function."""
        return hasattr(self._retriever, "afunc") and not hasattr(self._retriever, "func")

    def sync(self) -> Callable[[str], Any]:
        def invoke(retriever: Any, question: str) -> Any:
            return self._take(retriever.invoke(*self._arguments(question)))

        # Bound to the retriever, so that the run records its class and not this function.
        return types.MethodType(invoke, self._retriever)

    def coroutine(self) -> Callable[[str], Any]:
        async def ainvoke(retriever: Any, question: str) -> Any:
            return self._take(await retriever.ainvoke(*self._arguments(question)))

        return types.MethodType(ainvoke, self._retriever)

    def _arguments(self, question: str) -> tuple[object, dict[str, Any]]:
        metadata = dict(self._config.get("metadata") or {})
        if question in self._ids:  # a text shared by two questions identifies neither
            metadata[self._query_id_key] = self._ids[question]
        given = question if self._input_key is None else {self._input_key: question}
        return given, {**self._config, "metadata": metadata}

    def _take(self, answer: Any) -> Any:
        return answer if self._field is None else self._field.read(answer)
