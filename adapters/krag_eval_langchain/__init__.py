"""krag_eval at home in LangChain and LangSmith."""

import typing as _typing

from krag_eval import MissingDependencyError

if _typing.TYPE_CHECKING:
    from krag_eval_langchain.handler import RetrievalScoringHandler
    from krag_eval_langchain.langsmith import (
        as_langsmith_evaluator,
        as_langsmith_summary_evaluator,
        retrieval_evaluator_runnable,
    )
    from krag_eval_langchain.offline import aevaluate_retriever, evaluate_retriever

__all__ = [
    "RetrievalScoringHandler",
    "aevaluate_retriever",
    "as_langsmith_evaluator",
    "as_langsmith_summary_evaluator",
    "evaluate_retriever",
    "retrieval_evaluator_runnable",
]

# Loaded when they are first asked for: the first needs langchain-core for its base class, the last for what it makes.
_LAZY = {
    "RetrievalScoringHandler": "handler",
    "aevaluate_retriever": "offline",
    "as_langsmith_evaluator": "langsmith",
    "as_langsmith_summary_evaluator": "langsmith",
    "evaluate_retriever": "offline",
    "retrieval_evaluator_runnable": "langsmith",
}


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module 'krag_eval_langchain' has no attribute {name!r}")
    from importlib import import_module

    try:
        module = import_module(f"krag_eval_langchain.{_LAZY[name]}")
    except ImportError as error:
        if error.name != "langchain_core":
            raise
        raise MissingDependencyError(f"krag_eval_langchain.{name}", "langchain-core", "langchain") from error
    value: object = getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
