"""These tests ask programs that only `.venv-peers` has: run them with `make test-peers`."""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

# Elsewhere they are not collected: they could only be skipped, and a skip counts as a failure on CI.
collect_ignore_glob = [] if find_spec("krag") and find_spec("ranx") else ["test_*.py"]


@pytest.fixture(scope="module")
def autorag() -> Iterator[Callable[[str, Any, Any], float]]:
    """Return what calls a retrieval metric of AutoRAG with the gold and the retrieved ids of one query.

    It is installed without its 60 dependencies, which its packages import at once, so its module of retrieval metrics
    is loaded from the installed files alone.
    """
    found = find_spec("autorag")
    assert found is not None
    assert found.origin is not None
    root = Path(found.origin).parent
    before = set(sys.modules)
    for name in ("autorag", "autorag.evaluation", "autorag.evaluation.metric", "autorag.schema", "autorag.utils"):
        package = ModuleType(name)
        package.__path__ = [str(root.joinpath(*name.split(".")[1:]))]
        sys.modules[name] = package
    # Of their helpers only the decorator is used, which calls a metric for each of several rows.
    helpers, schema = ModuleType("autorag.evaluation.metric.util"), ModuleType("autorag.schema.metricinput")
    helpers.__dict__["autorag_metric"] = lambda **_: lambda metric: functools.wraps(metric)(lambda row: metric(row))
    schema.__dict__["MetricInput"] = object
    sys.modules |= {one.__name__: one for one in (helpers, schema)}
    module = importlib.import_module("autorag.evaluation.metric.retrieval")

    def score(metric: str, gold: Any, retrieved: Any) -> float:
        row = type("Row", (), {"retrieval_gt": gold, "retrieved_ids": retrieved})
        return float(getattr(module, f"retrieval_{metric}")(row))

    yield score
    for name in set(sys.modules) - before:
        del sys.modules[name]
