"""The public names of the package krag: read from its source, and as they were recorded from the wheel of 0.0.32.

To record them anew: `.venv-peers/bin/python -m tests.support.krag_names`.
"""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Iterator
from pathlib import Path

RECORDED = Path(__file__).parents[1] / "krag" / "names_of_krag_0.0.32.txt"


def recorded_names() -> list[str]:
    """Each as `module.name(parameters)`, or `module.Class.attribute`."""
    return [line for line in RECORDED.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]


def names_of_krag() -> list[str]:
    """The same, of the krag that is installed. It is not imported: that takes a dozen packages."""
    spec = importlib.util.find_spec("krag")
    assert spec is not None
    assert spec.origin is not None
    return [name for path in sorted(Path(spec.origin).parent.glob("[!_]*.py")) for name in _of_module(path)]


def _of_module(path: Path) -> Iterator[str]:
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        name = f"{path.stem}.{getattr(node, 'name', '')}"
        if isinstance(node, ast.FunctionDef) and _is_public(node.name):
            yield f"{name}({_parameters(node, 0)})"
        elif isinstance(node, ast.ClassDef) and _is_public(node.name):
            yield from _of_class(name, node)


def _of_class(name: str, node: ast.ClassDef) -> Iterator[str]:
    methods = {one.name: one for one in node.body if isinstance(one, ast.FunctionDef)}
    fields = [one.target for one in node.body if isinstance(one, ast.AnnAssign)]
    members = [target for one in node.body if isinstance(one, ast.Assign) for target in one.targets]
    yield f"{name}({_parameters(methods['__init__'])})" if "__init__" in methods else name
    attributes = {one.id: None for one in [*fields, *members] if isinstance(one, ast.Name)}
    for one in ast.walk(node):
        if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store) and ast.unparse(one.value) == "self":
            attributes[one.attr] = None
    yield from (f"{name}.{attribute}" for attribute in attributes if _is_public(attribute))
    yield from (f"{name}.{key}({_parameters(method)})" for key, method in methods.items() if _is_public(key))


def _parameters(function: ast.FunctionDef, n_bound: int = 1) -> str:
    """Parameters with their defaults, without their types."""
    arguments = function.args
    for argument in arguments.args:
        argument.annotation = None
    arguments.args = arguments.args[n_bound:]
    return ast.unparse(arguments)


def _is_public(name: str) -> bool:
    return not name.startswith("_")


if __name__ == "__main__":
    note = "# The public names of krag 0.0.32, recorded from its wheel by tests/support/krag_names.py."
    RECORDED.write_text("\n".join([note, *names_of_krag(), ""]), encoding="utf-8")
