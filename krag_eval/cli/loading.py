"""What is named on the command line as `module:object`: a retriever, an embedding model."""

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
from krag_eval.errors import did_you_mean
from krag_eval.redaction import describe_error


def load_retriever(path: str) -> Any:
    """The retriever that `--retriever module:object` names.

    Raises:
        InvalidInputError: It cannot be imported, or not be made.
    """
    return load_object(path, "--retriever", "a retriever")


def load_object(path: str, option: str, thing: str) -> Any:
    """The object that `module:object` names, modules of the current directory included.

    A class, and a function without parameters, is called to make the thing; everything else is one.

    Args:
        path: What was written after the option.
        option: The option, for messages.
        thing: What it has to name, with its article.

    Raises:
        InvalidInputError: It cannot be imported, or not be made.
    """
    module_name, colon, name = path.partition(":")
    if not (colon and module_name and name):
        raise InvalidInputError(f"`{option}` must be module:object, such as search:bm25, got {path!r:.80}.")
    if module_name.endswith(".py") or "/" in module_name:
        written = module_name.removesuffix(".py").strip("./").replace("/", ".")
        raise InvalidInputError(
            f"`{option}` names a file, {module_name!r:.80}. Name the module, as seen from the current directory: "
            f"{written}:{name}"
        )
    with _current_folder_first():
        found = _guarded(f"`{option}` {path}", lambda: _import(module_name, option))
    for part in name.split("."):
        if not hasattr(found, part):
            known = [known for known in dir(found) if not known.startswith("_")]
            raise InvalidInputError(
                f"`{option}` {path}: {module_name!r} has no {part!r}.{did_you_mean(part, known)} "
                f"Name a function, {thing}, or a class."
            )
        found = getattr(found, part)
    return _guarded(f"`{option}` {path}", found) if _makes_one(found) else found


@contextlib.contextmanager
def _current_folder_first() -> Iterator[None]:
    """The user's modules come first while one is imported, and last from then on.

    What this program imports later is then what is installed, whatever lies in the folder that one stands in.
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
            "Check its name, and from where you call."
        ) from None


def _makes_one(found: object) -> bool:
    if isinstance(found, type):
        return True
    return inspect.isroutine(found) and not inspect.signature(found).parameters


def _guarded(what: str, call: Callable[[], Any]) -> Any:
    """The call's value; what the user's own code raises is told with its place in that code."""
    try:
        return call()
    except (InvalidInputError, KeyboardInterrupt):
        raise
    except BaseException as error:  # a module that calls sys.exit is a mistake too
        message = describe_error(error)
        raise InvalidInputError(f"{_place_of(error)}{message}. {what} cannot be loaded: mend it first.") from error


def _place_of(error: BaseException) -> str:
    """`path:line: ` of the user's code; empty where it did not come to that."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}: "
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith("<")]
    theirs = [frame for frame in frames if frame.filename not in (__file__, importlib.__file__)]
    return f"{theirs[-1].filename}:{theirs[-1].lineno}: " if theirs else ""
