"""A log of a shop without gold, and a script in the place of the person who labels: what `make demo-log` needs.

    python -m examples.shop_log rows 60 > log.jsonl
    python -m examples.shop_log keys eval/queue.jsonl | krag-eval label eval --who script

The questions, passages and gold are those of the bundled collection. The log has no gold; the script looks it up.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from krag_eval_chunkers.demo_data import load_collection
from krag_eval_chunkers.local import build_retrievers

DEPTH = 3


def rows(n: int, seed: int = 3) -> Iterator[str]:
    """Yield n rows of a log, in which some questions come far more often than others."""
    documents, questions = load_collection()
    english = [question["question"] for question in questions if question["id"].startswith("en")]
    search, random = build_retrievers(documents)["bm25 words"], np.random.default_rng(seed)
    for _ in range(n):
        asked = english[min(int(random.exponential(8)), len(english) - 1)]
        found = [{"id": one["id"], "text": one["text"]} for one in search([asked], DEPTH)[0]]
        yield json.dumps({"question": asked, "retrieved": found})


def keys(queue: Path) -> Iterator[str]:
    """Yield the key for each row of a queue that has no label yet."""
    _, questions = load_collection()
    gold = {question["question"]: {passage["id"] for passage in question["gold"]} for question in questions}
    for line in queue.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row["label"] is None:
            yield "2" if row["document"]["id"] in gold[row["question"]] else "0"


if __name__ == "__main__":
    command, given = sys.argv[1:3]
    print("\n".join(rows(int(given)) if command == "rows" else keys(Path(given))))
