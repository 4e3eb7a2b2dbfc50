"""A question set, a run of it, and a caller of `krag-eval`, for the tests of `krag-eval evaluate`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from krag_eval import __version__
from tests.support.command_line import Runner

# Of the four questions the first two have an answer. q1: b (grade 2) at rank 2, a missed. q2: c at rank 1.
QUESTIONS: list[dict[str, Any]] = [
    {
        "id": "q1",
        "question": "Wie?",
        "gold": [{"id": "a", "text": "Fees.", "metadata": {"doc": "A"}}, {"id": "b", "text": "Pay", "grade": 2}],
    },
    {"id": "q2", "question": "왜?", "gold": [{"id": "c", "text": "It takes three days", "metadata": {"worth": 0}}]},
    {"id": "q3", "gold": []},
    {"id": "q4", "gold": []},
]
ROWS: list[dict[str, Any]] = [
    {"query_id": "q1", "retrieved": [{"id": "x", "text": "fees.", "metadata": {"doc": "A"}}, {"id": "b"}]},
    {
        "query_id": "q2",
        "retrieved": [{"id": "c", "text": "So it takes three long day"}, {"id": "y", "text": "three days", "score": 7}],
    },
    {"query_id": "q3", "retrieved": [{"id": "c"}]},
    {"query_id": "q4", "retrieved": []},
]
# MRR@3 = (1/2 + 1) / 2; micro recall@3 = 2 of 3 gold, micro precision@3 = 2 of 4 retrieved; F1@3 = (1/2 + 2/3) / 2;
# MAP@3 = (1/2 / 2 + 1) / 2; nDCG@3 = ((3 / log2(3)) / (3 + 1 / log2(3)) + 1) / 2.
GOLDEN = f"""\
run: 4 queries
metric               @1      @3  undefined
hit_rate         0.5000  1.0000          2
hit_rate_all     0.5000  0.5000          2
mrr              0.5000  0.7500          2
recall           0.5000  0.7500          2
micro_recall     0.3333  0.6667
precision        0.5000  0.5000          2
micro_precision  0.5000  0.5000
f1               0.5000  0.5833          2
micro_f1         0.4000  0.5714
map              0.5000  0.6250          2
ndcg             0.5000  0.7606          2
2 questions without gold documents, undefined above: 50% came back empty, 0.5
documents on average.
1 of 2 queries misses gold documents within rank 3.
--failed lists them, and `krag-eval diagnose` counts the causes.
match:id|repeat:once|pden:retrieved|gain:exp|hit:partial|k:1,3|v:{__version__}
"""


def jsonl(rows: list[Any]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def prepare(folder: Path) -> None:
    """The files `set.jsonl` and `run.jsonl`."""
    (folder / "set.jsonl").write_bytes(jsonl(QUESTIONS))
    (folder / "run.jsonl").write_bytes(jsonl(ROWS))


def scores(run: Runner, line: str) -> dict[str, Any]:
    outcome = run(f"evaluate {line} --json -")
    assert outcome.code == 0
    runs: dict[str, Any] = json.loads(outcome.out)["runs"]
    return runs


def unpadded(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.rstrip().split("\n")) + "\n"
