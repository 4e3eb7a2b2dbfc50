"""The first row of a journal: how a run was made, and whether another one was made alike."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from krag_eval._version import __version__
from krag_eval.errors import InvalidInputError
from krag_eval.evalset import EvalSet
from krag_eval.evalset.formats.journal import JOURNAL_VERSION, RUN_HEADER
from krag_eval.runner.asking import Manner
from krag_eval.runner.calling import Caller

# Import packages whose distributions are not called like them.
_DISTRIBUTIONS = {"llama_index": "llama-index-core", "haystack": "haystack-ai"}
_ABSENT = object()


def make_header(
    name: str, parameters: Mapping[str, Any], evalset: EvalSet, caller: Caller, manner: Manner, retriever: object
) -> dict[str, Any]:
    """What is recorded of a run that begins now."""
    return {
        RUN_HEADER: JOURNAL_VERSION,
        "name": name,
        "parameters": dict(parameters),
        "k": manner.k,
        "evalset": evalset.name,
        "fingerprint": evalset.fingerprint,
        "n_questions": len(evalset),
        "retriever": caller.path,
        "concurrency": manner.concurrency,
        "timeout": manner.timeout,
        "retries": manner.retries,
        "versions": {"krag_eval": __version__, "python": platform.python_version(), **_frameworks(retriever)},
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _frameworks(retriever: object) -> dict[str, str]:
    """The versions of the packages that the retriever's class and its bases come from."""
    owner = getattr(retriever, "__self__", retriever)
    found = {}
    for module in {base.__module__.partition(".")[0] for base in type(owner).__mro__} - sys.stdlib_module_names:
        name = _DISTRIBUTIONS.get(module, module.replace("_", "-"))
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # the user's own module
            continue
    return dict(sorted(found.items()))


def check_same(path: Path, there: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """Refuse a journal that was made in another way.

    Raises:
        InvalidInputError: Name, k, parameters or evaluation set differ; the message says how.
    """
    differing = list(_differences(there, wanted))
    if differing:
        raise InvalidInputError(
            f"{path}:1: is the journal of another run: {'; '.join(differing)}. Give another path to start a new run, "
            "or the same settings to go on with this one."
        )


def _differences(there: Mapping[str, Any], wanted: Mapping[str, Any]) -> Iterator[str]:
    for key, words in (("name", "retriever name"), ("k", "k"), ("fingerprint", "evaluation set")):
        if there.get(key) != wanted.get(key):
            yield f"{words} {_value(there, key)} there, {_value(wanted, key)} now"
    old, new = there.get("parameters") or {}, wanted.get("parameters") or {}
    for key in sorted({*old, *new}):
        if old.get(key, _ABSENT) != new.get(key, _ABSENT):
            yield f"parameter {key} {old.get(key, 'absent')!r:.60} there, {new.get(key, 'absent')!r:.60} now"


def _value(header: Mapping[str, Any], key: str) -> str:
    if key != "fingerprint":
        return f"{header.get(key)!r:.60}"
    return f"{header.get('evalset')!r:.60} with fingerprint {header.get(key)}"
