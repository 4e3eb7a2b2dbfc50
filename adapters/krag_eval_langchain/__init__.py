"""Use krag_eval with LangChain and LangSmith."""

import lazy_loader as _lazy_loader

from krag_eval.toolkit import needing as _needing

# The public names are listed in `__init__.pyi`. Each is loaded on first use.
_load, __dir__, __all__ = _lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> object:
    with _needing(f"krag_eval_langchain.{name}", "langchain-core", "langchain", module="langchain_core"):
        value: object = _load(name)
    return value
