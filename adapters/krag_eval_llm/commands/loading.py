"""Load the language model that the command line names."""

from __future__ import annotations

from typing import Any

from krag_eval_cli.loading import load_object


def load_llm(path: str, option: str = "--llm") -> Any:
    """Return the language model that an option names: `module:object`, `gguf:FILE` or `http://HOST/v1#MODEL`.

    Raises:
        InvalidInputError: It cannot be loaded.
        MissingDependencyError: A model is to run here, and the extra `local-llm` is not installed.
    """
    kind, _, file = path.partition(":")
    if kind not in ("gguf", "http", "https"):
        return load_object(path, option, "a language model")
    from krag_eval_llm.local import LocalModel, ServedModel  # slow to import

    return LocalModel(file) if kind == "gguf" else ServedModel(path)
