"""Fingerprints of a retriever's source, which tell a rerun whether the retriever was changed."""

from __future__ import annotations

import functools
import hashlib
import inspect
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from modulefinder import ModuleFinder
from pathlib import Path
from typing import Any


def source_of_module(name: str, path: str) -> dict[str, Any] | None:
    """Return the fingerprints of an imported module and of the modules of the same folder that it imports.

    Args:
        name: The module.
        path: The retriever in it, as `module:object`.

    Returns:
        The path and one fingerprint per file; None for an installed module, whose version is recorded instead.
    """
    file = Path(getattr(sys.modules.get(name), "__file__", None) or "")
    if file.suffix != ".py" or _is_installed(file):
        return None
    root = file.resolve().parents[name.count(".") + (file.name == "__init__.py")]
    finder = ModuleFinder(path=[str(root)], excludes=["krag_eval"])
    finder.import_hook(name)
    files = sorted({Path(found) for module in finder.modules.values() if (found := vars(module).get("__file__"))})
    return {"object": path, "files": {one.relative_to(root).as_posix(): _digest(one.read_bytes()) for one in files}}


def source_of_object(retriever: object) -> dict[str, Any] | None:
    """Return the fingerprint of the source of a function, or of an object's class; None if it cannot be read for sure.

    What a function calls, and what an object was made with, is not in it.
    """
    while isinstance(retriever, functools.partial):
        retriever = retriever.func
    owner = getattr(retriever, "__self__", retriever)
    definition: Any = owner if inspect.isfunction(owner) else type(owner)
    name = getattr(definition, "__qualname__", "<")
    try:
        if name.endswith("<lambda>") or _is_installed(Path(inspect.getfile(definition))):
            return None
        return {"object": name, "code": _digest(inspect.getsource(definition).encode())}
    except (OSError, TypeError):  # written in C, or typed at a prompt
        return None


def source_changes(recorded: Mapping[str, Any] | None, wanted: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield what differs between two fingerprints; nothing if they cannot be compared."""
    if not recorded or not wanted or set(recorded) != set(wanted):
        return
    is_same = recorded["object"] == wanted["object"]
    if "code" in wanted:  # functions of other names may wrap each other
        if is_same and recorded["code"] != wanted["code"]:
            yield f"the code of {wanted['object']} was edited"
        return
    if not is_same:
        yield f"{recorded['object']} in the journal, {wanted['object']} now"
    old, new = recorded.get("files") or {}, wanted.get("files") or {}
    for name in sorted({*old, *new}):
        if old.get(name) != new.get(name):
            yield f"{name} was {'edited' if name in old and name in new else 'added' if name in new else 'removed'}"


def _is_installed(file: Path) -> bool:
    folders = {sysconfig.get_path(name) for name in ("purelib", "platlib", "stdlib")}
    return any(file.resolve().is_relative_to(Path(folder).resolve()) for folder in folders)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]
