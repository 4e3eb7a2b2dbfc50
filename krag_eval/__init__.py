"""krag_eval: did my retriever find the right documents, how well were they ranked, and why not?

>>> from krag_eval import evaluate_all
>>> evaluate_all([["a", "b"]], [["b", "x"]], k=2)["mrr"]
1.0
"""

import importlib.util as _importlib_util

import lazy_loader as _lazy_loader

# The public names stand in `__init__.pyi`. Each is loaded when it is first used.
_load, __dir__, __all__ = _lazy_loader.attach_stub(__name__, __file__)

# `import *` asks for every name, and would fail at those whose package is not installed.
if _importlib_util.find_spec("pyarrow") is None:
    _NEED_PYARROW = {"BadRow", "ColumnarScorer", "PartialState", "RepeatFinder", "score_logs"}
    __all__ = [name for name in __all__ if name not in _NEED_PYARROW]

_RENAMED = {"Departure": "Alert", "examine": "audit_labels"}


def __getattr__(name: str) -> object:
    if name in _RENAMED:
        _deprecate(f"`krag_eval.{name}` is now called `krag_eval.{_RENAMED[name]}`. Use that name.")
        name = _RENAMED[name]
    elif name == "tell_names":
        _deprecate("`krag_eval.tell_names` returns the function unchanged. Remove it.")
        return lambda function: function
    value: object = _load(name)
    return value


def _deprecate(message: str) -> None:
    import warnings

    warnings.warn(message, DeprecationWarning, stacklevel=3)
