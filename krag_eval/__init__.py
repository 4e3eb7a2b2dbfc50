"""krag_eval: did my retriever find the right documents, how well were they ranked, and why not?

>>> from krag_eval import evaluate_all
>>> evaluate_all([["a", "b"]], [["b", "x"]], k=2)["mrr"]
1.0
"""

import sys as _sys
from importlib import import_module as _import_module

import lazy_loader as _lazy_loader

from krag_eval._utils.moved import NAMES as _NAMES
from krag_eval._utils.moved import Moved as _Moved

# The public names stand in `__init__.pyi`. Each is loaded when it is first used.
_load, __dir__, __all__ = _lazy_loader.attach_stub(__name__, __file__)

_sys.meta_path.insert(0, _Moved())


def __getattr__(name: str) -> object:
    if name == "tell_names":
        _deprecate("`krag_eval.tell_names` returns the function unchanged. Remove it.")
        return lambda function: function
    if name in _NAMES:
        module, new = _NAMES[name]
        _deprecate(f"`krag_eval.{name}` is now `{module}.{new}`. Import it from there.")
        moved: object = getattr(_import_module(module), new)
        return moved
    value: object = _load(name)
    return value


def _deprecate(message: str) -> None:
    import warnings

    warnings.warn(message, DeprecationWarning, stacklevel=3)
