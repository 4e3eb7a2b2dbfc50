"""A small evaluation to send, and what it must be without anybody listening."""

from __future__ import annotations

import os
import signal
import time
import traceback
import warnings
from collections.abc import Callable
from typing import Any

from krag_eval import EvaluationResult, evaluate
from krag_eval_langfuse import LangfuseScoreHandler

TRACES = [f"{i:032x}" for i in range(1, 61)]
N_SCORES = len(TRACES) * 4


def run(handler: LangfuseScoreHandler, **settings: Any) -> EvaluationResult:
    documents = [["a"]] * len(TRACES)
    settings = {"k": (1, 2), "metrics": ["recall", "mrr"], "callbacks": [handler], "raise_errors": True, **settings}
    return evaluate(documents, documents, **settings)


def assert_complete(result: EvaluationResult) -> None:
    assert result.to_dict() == run_without().to_dict()
    assert result.callback_errors == []


def run_without() -> EvaluationResult:
    documents = [["a"]] * len(TRACES)
    return evaluate(documents, documents, k=(1, 2), metrics=["recall", "mrr"])


def in_a_copy(what: Callable[[], object]) -> int:
    """Do this in a copy of the process; its exit code, or the signal that killed it as a negative number."""
    with warnings.catch_warnings():
        # Newer versions warn of threads, and these are the test.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            what()
            os._exit(0)
        except BaseException:  # noqa: BLE001 - this copy of the tests must not go on
            traceback.print_exc()
        finally:
            os._exit(1)
    deadline = time.monotonic() + 60
    while (ended := os.waitpid(child, os.WNOHANG))[0] == 0:
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
        time.sleep(0.002)
    return os.waitstatus_to_exitcode(ended[1])
