"""krag_eval at home in LlamaIndex.

* `KragRetrievalMetric`, `krag_metrics`: metrics for `RetrieverEvaluator(metrics=[...], retriever=...)`.
* `retrieval_scoring`: scores the retrievals of a running application.
* `score_response`, `score_responses`: score what reached the answer, after rerankers.
* `evaluate_retriever`, `aevaluate_retriever`: a retriever over an evaluation set.
* `read_llama_index_qa`: its question-and-context datasets as an `EvalSet`.

Importing this package imports neither LlamaIndex nor anything else of weight; a name is loaded when it is asked for.
"""

import typing as _typing

if _typing.TYPE_CHECKING:
    from krag_eval_llama_index.datasets import read_llama_index_qa
    from krag_eval_llama_index.events import RetrievalScoring, retrieval_scoring
    from krag_eval_llama_index.metrics import KragRetrievalMetric, krag_metrics
    from krag_eval_llama_index.responses import score_response, score_responses
    from krag_eval_llama_index.retrievers import aevaluate_retriever, evaluate_retriever

__all__ = [
    "KragRetrievalMetric",
    "RetrievalScoring",
    "aevaluate_retriever",
    "evaluate_retriever",
    "krag_metrics",
    "read_llama_index_qa",
    "retrieval_scoring",
    "score_response",
    "score_responses",
]

_PLACES = {
    "KragRetrievalMetric": "metrics",
    "RetrievalScoring": "events",
    "aevaluate_retriever": "retrievers",
    "evaluate_retriever": "retrievers",
    "krag_metrics": "metrics",
    "read_llama_index_qa": "datasets",
    "retrieval_scoring": "events",
    "score_response": "responses",
    "score_responses": "responses",
}


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module 'krag_eval_llama_index' has no attribute {name!r}")
    from importlib import import_module

    from krag_eval import MissingDependencyError

    try:
        value: object = getattr(import_module(f"krag_eval_llama_index.{_PLACES[name]}"), name)
    except ImportError as error:
        # `llama_index` is a namespace: it is there as soon as one of its integrations is.
        if error.name not in ("llama_index", "llama_index.core"):
            raise
        raise MissingDependencyError(f"krag_eval_llama_index.{name}", "llama-index-core", "llama-index") from error
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
