"""Processes that are forked while other threads work: none of them hangs, and each gets the right numbers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="need os.fork, which this system lacks")

# A child that hangs is killed by its alarm, and counts as -14.
EVALUATING = """
import collections, os, random, signal, sys, threading, time, warnings
warnings.simplefilter("ignore")
from krag_eval import evaluate
from krag_eval.matching import MATCHERS

random.seed(1)
words = [f"word{n}" for n in range(200)]
def text():
    return " ".join(random.choices(words, k=12))
gold = [[text(), text()] for _ in range(30)]
found = [[random.choice([query[0], text()]) for _ in range(5)] for query in gold]
def place(text):
    return {"doc_id": text, "start": 0, "end": len(text)}
def rows(documents):
    return [[{"id": text, "text": text, "metadata": place(text)} for text in query] for query in documents]
def embed(texts):
    return [[len(text), text.count("1"), 1.0] for text in texts]
gold, found = rows(gold), rows(found)

def scores():
    methods = (*MATCHERS, ["id", "text", "rouge1"])
    return [dict(evaluate(gold, found, k=5, match_method=method, embeddings=embed)) for method in methods]

expected = scores()
done = threading.Event()
def work():
    while not done.is_set():
        scores()
threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads:
    thread.start()
children = []
for _ in range(int(sys.argv[1])):
    time.sleep(random.random() / 20)
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        os._exit(0 if scores() == expected else 1)
    children.append(child)
done.set()
for thread in threads:
    thread.join()
print(dict(collections.Counter(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children)))
"""


def run_program(program: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "PYTHONWARNINGS": "ignore"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.full
@pytest.mark.parametrize("n_children", [5, pytest.param(50, marks=pytest.mark.full)])
def test_children_forked_while_eight_threads_evaluate_get_the_same_scores(n_children: int) -> None:
    assert run_program(EVALUATING, str(n_children)) == f"{{0: {n_children}}}\n"
