"""The modules and names of the package krag: its users replace `krag.` by `krag_eval.krag.` and change nothing else."""

from __future__ import annotations

import importlib
from typing import Any

from krag_eval._utils.errors import InvalidInputError
from krag_eval._utils.version import __version__

__all__ = ["__version__"]


def load_class(needed_by: str, package: str, *modules: str, instead: str) -> Any:
    """Return a class of LangChain that krag imports itself, from the first module that can be imported.

    Args:
        needed_by: What needs it, as the user wrote it.
        package: The package to install.
        *modules: Where the class may be, each as `module:class`.
        instead: What to write without that package.

    Raises:
        InvalidInputError: None of the modules is installed.
    """
    for place in modules:
        module, _, name = place.partition(":")
        try:
            return getattr(importlib.import_module(module), name)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{module}.".startswith(f"{error.name}."):
                raise
    raise InvalidInputError(
        f"`{needed_by}` needs {package.replace(' ', ' and ')}, which cannot be imported. "
        f"Install it with: pip install {package}; or {instead}."
    )
