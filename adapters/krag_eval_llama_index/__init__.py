"""krag_eval at home in LlamaIndex.

* `KragRetrievalMetric`, `krag_metrics`: metrics for `RetrieverEvaluator(metrics=[...], retriever=...)`.
* `retrieval_scoring`: scores the retrievals of a running application.
* `score_response`, `score_responses`: score what reached the answer, after rerankers.
* `evaluate_retriever`, `aevaluate_retriever`: a retriever over an evaluation set.
* `read_llama_index_qa`: its question-and-context datasets as an `EvalSet`.

Importing this package imports neither LlamaIndex nor anything else of weight; a name is loaded when it is asked for.
"""

import lazy_loader as _lazy_loader

# The public names stand in `__init__.pyi`. Each is loaded when it is first used.
_load, __dir__, __all__ = _lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> object:
    try:
        value: object = _load(name)
    except ImportError as error:
        # `llama_index` is a namespace: it is there as soon as one of its integrations is.
        if error.name not in ("llama_index", "llama_index.core"):
            raise
        from krag_eval import MissingDependencyError

        raise MissingDependencyError(f"krag_eval_llama_index.{name}", "llama-index-core", "llama-index") from error
    return value
