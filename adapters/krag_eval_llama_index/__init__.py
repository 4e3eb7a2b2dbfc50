"""Use krag_eval with LlamaIndex.

* `KragRetrievalMetric`, `krag_metrics`: metrics for `RetrieverEvaluator(metrics=[...], retriever=...)`.
* `retrieval_scoring`: score the retrievals of a running application.
* `score_response`, `score_responses`: score the nodes that reached the answer, after rerankers.
* `evaluate_retriever`, `aevaluate_retriever`: evaluate a retriever on a question set.
* `read_llama_index_qa`: read a question-and-context dataset of LlamaIndex as an `EvalSet`.

Importing this package does not import LlamaIndex.
"""

import lazy_loader as _lazy_loader

from krag_eval.toolkit import needing as _needing

# `llama_index` is a namespace package: it exists as soon as one of its integrations is installed.
_MODULES = ("llama_index", "llama_index.core")

# The public names are listed in `__init__.pyi`. Each is loaded on first use.
_load, __dir__, __all__ = _lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> object:
    with _needing(f"krag_eval_llama_index.{name}", "llama-index-core", "llama-index", module=_MODULES):
        value: object = _load(name)
    return value
