"""A process that is forked after a model was asked can ask it, too."""

from __future__ import annotations

import os

import pytest

from tests.faults.test_forks import run_program

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="need os.fork, which this system lacks")

ASKING = """
import os, signal
from krag_eval_llm import as_language_model

async def model(prompt):
    return "yes"

def ask():
    return as_language_model(model).ask("Is it?")

assert ask() == "yes"  # this starts the thread on which coroutines run
child = os.fork()
if child == 0:
    signal.alarm(60)
    os._exit(0 if ask() == "yes" else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), ask())
"""


@pytest.mark.full
def test_a_forked_child_can_ask_an_async_model_that_its_parent_has_asked() -> None:
    assert run_program(ASKING) == "0 yes\n"
