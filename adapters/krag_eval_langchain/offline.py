"""A retriever of LangChain, asked every question of an evaluation set and scored."""

from __future__ import annotations

import types
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import krag_eval
from krag_eval import EvalSet, EvaluationResult, InvalidInputError, as_evalset
from krag_eval_langchain.fields import RETRIEVED, Field, Place


def evaluate_retriever(
    retriever: Any,
    evalset: object,
    k: int | str | Sequence[int | str | None] | None = (1, 3, 5, 10),
    *,
    concurrency: int = 8,
    timeout: float | None = None,
    retries: int = 2,
    journal: Any = None,
    name: str | None = None,
    config: Mapping[str, Any] | None = None,
    query_id_key: str = "krag_query_id",
    input_key: str | None = None,
    retrieved: Place = None,
    **settings: Any,
) -> EvaluationResult:
    """Ask a retriever every question of an evaluation set, and score what it returns.

    A question whose call raises counts as nothing retrieved and is named in `result.errors`.

    Args:
        retriever: A `BaseRetriever`, or any `Runnable` that returns documents or a mapping that holds them.
        evalset: An `EvalSet`, a list of questions or rows, or a pandas frame.
        k: One cut-off or several; None scores all ranks, `"2000tok"` what fits into 2,000 tokens.
            The answer is cut to what is scored; the retriever is never changed.
        concurrency: How many questions are asked at a time.
        timeout: Seconds for one attempt.
        retries: How often a question whose call raises is asked again.
        journal: A JSONL file to which each row is written as it comes; a run that was broken off goes on from it.
        name: What the run is called; the retriever's own name by default.
        config: A `RunnableConfig` for every call, with callbacks and tags for example.
        query_id_key: The key in the metadata of each call under which the id of the question is given.
        input_key: The runnable takes a dict with the question under this key, and not the question itself.
        retrieved: Where the documents stand in what is returned, where that is a mapping: a key, several of which the
            first that is there counts, or a function that takes them out.
        **settings: What `evaluate_run` takes (`level`, `doc_key`, `metrics`, `match_method`, ...) and `run_retriever`
            (`progress`, `max_error_rate`, ...).

    Returns:
        What `evaluate_run` gives for the run; `match_method` is `"id"` by default.

    Raises:
        InvalidInputError: Something given cannot be used.
        RunStoppedError: `max_error_rate` was passed.
    """
    questions = as_evalset(evalset)
    asked = _Asked(retriever, questions, config, query_id_key, input_key, retrieved)
    settings |= {"concurrency": concurrency, "timeout": timeout, "retries": retries, "journal": journal}
    ask = asked.coroutine() if asked.is_only_async else asked.plain()
    return krag_eval.evaluate_retriever(ask, questions, k, name=name or asked.name, **settings)


async def aevaluate_retriever(
    retriever: Any,
    evalset: object,
    k: int | str | Sequence[int | str | None] | None = (1, 3, 5, 10),
    *,
    concurrency: int = 8,
    timeout: float | None = None,
    retries: int = 2,
    journal: Any = None,
    name: str | None = None,
    config: Mapping[str, Any] | None = None,
    query_id_key: str = "krag_query_id",
    input_key: str | None = None,
    retrieved: Place = None,
    **settings: Any,
) -> EvaluationResult:
    """The same on the event loop that is running; a retriever without an async method of its own runs in threads.

    Arguments, result and errors are those of `evaluate_retriever`.
    """
    questions = as_evalset(evalset)
    asked = _Asked(retriever, questions, config, query_id_key, input_key, retrieved)
    settings |= {"concurrency": concurrency, "timeout": timeout, "retries": retries, "journal": journal}
    ask = asked.coroutine() if asked.is_async else asked.plain()
    return await krag_eval.aevaluate_retriever(ask, questions, k, name=name or asked.name, **settings)


class _Asked:
    """A retriever that is told, with each question, which one it is."""

    def __init__(
        self,
        retriever: Any,
        evalset: EvalSet,
        config: Mapping[str, Any] | None,
        query_id_key: str,
        input_key: str | None,
        retrieved: Place,
    ) -> None:
        if isinstance(retriever, type) or not (hasattr(retriever, "invoke") and hasattr(retriever, "ainvoke")):
            raise InvalidInputError(
                f"`retriever` is {retriever!r:.80}, which has no `invoke` and `ainvoke`. "
                "Give a retriever of LangChain, another Runnable, or RunnableLambda(function)."
            )
        self._retriever, self._config, self._query_id_key = retriever, dict(config or {}), query_id_key
        self._input_key = input_key
        self._field = None if retrieved is None else Field("retrieved", retrieved, RETRIEVED)
        texts = Counter(evalset.texts)
        self._ids = {q.question: q.id for q in evalset if q.question and texts[q.question] == 1}
        self.name = str(retriever.get_name()) if hasattr(retriever, "get_name") else type(retriever).__name__

    @property
    def is_async(self) -> bool:
        """Whether it does not just hand its plain method to a thread."""
        method = getattr(type(self._retriever), "_aget_relevant_documents", None)
        return method is None or method.__module__ != "langchain_core.retrievers"

    @property
    def is_only_async(self) -> bool:
        """Whether it is a RunnableLambda around nothing but an async function."""
        return hasattr(self._retriever, "afunc") and not hasattr(self._retriever, "func")

    def plain(self) -> Callable[[str], Any]:
        def invoke(retriever: Any, question: str) -> Any:
            return self._take(retriever.invoke(*self._arguments(question)))

        # Bound to it, so that the run records its class and not this function.
        return types.MethodType(invoke, self._retriever)

    def coroutine(self) -> Callable[[str], Any]:
        async def ainvoke(retriever: Any, question: str) -> Any:
            return self._take(await retriever.ainvoke(*self._arguments(question)))

        return types.MethodType(ainvoke, self._retriever)

    def _arguments(self, question: str) -> tuple[object, dict[str, Any]]:
        metadata = dict(self._config.get("metadata") or {})
        if question in self._ids:  # a text that two questions share names none of them
            metadata[self._query_id_key] = self._ids[question]
        given = question if self._input_key is None else {self._input_key: question}
        return given, {**self._config, "metadata": metadata}

    def _take(self, answer: Any) -> Any:
        return answer if self._field is None else self._field.take(answer)
