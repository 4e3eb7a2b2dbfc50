"""What the packages beside the core may use, and users do not: errors, checks, files, progress, tables, command line.

`adapters/` holds packages that are written with the public names of `krag_eval`, the records of its rooms and these
names alone; import-linter checks it. A name here keeps its meaning within a release of krag-eval, which holds both
sides. It may change in the next one, without a warning: packages of others should use the public names.
"""

import ast as _ast
import functools as _functools
import importlib as _importlib
import pathlib as _pathlib


# The names stand in `toolkit.pyi`. Each is loaded when it is first used.
@_functools.cache
def _places() -> dict[str, str]:
    stub = _ast.parse(_pathlib.Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    froms = [node for node in stub.body if isinstance(node, _ast.ImportFrom)]
    return {alias.name: f"krag_eval.{node.module}" for node in froms for alias in node.names}


def __getattr__(name: str) -> object:
    if name not in _places():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name, obj=None)
    place = _importlib.import_module(_places()[name])
    found = getattr(place, name) if hasattr(place, name) else _importlib.import_module(f"{place.__name__}.{name}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(_places())
