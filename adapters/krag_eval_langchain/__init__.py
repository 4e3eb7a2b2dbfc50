"""krag_eval at home in LangChain and LangSmith."""

import lazy_loader as _lazy_loader

# The public names stand in `__init__.pyi`. Each is loaded when it is first used.
_load, __dir__, __all__ = _lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> object:
    try:
        value: object = _load(name)
    except ImportError as error:
        if error.name != "langchain_core":
            raise
        from krag_eval import MissingDependencyError

        raise MissingDependencyError(f"krag_eval_langchain.{name}", "langchain-core", "langchain") from error
    return value
