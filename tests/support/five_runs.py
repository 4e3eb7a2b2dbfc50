"""A report of five runs over twelve questions in two languages, for the tests of search, filters and tasks."""

from __future__ import annotations

import functools
from typing import Any

from krag_eval import EvalSet, Run, RunRow
from krag_eval_report import Report, build_report

NAMES = ("words", "chars", "dense", "hybrid", "rerank")
TOPICS = ("returns", "shipping", "payment", "배송", "환불", "결제")
# For each question the rank at which each run finds its first gold document; 0 for never.
RANKS = {
    "q1": (1, 1, 1, 1, 1),
    "q2": (2, 1, 0, 1, 3),
    "q3": (0, 2, 1, 1, 0),
    "q4": (0, 0, 0, 0, 0),
    "q5": (1, 0, 3, 2, 1),
    "q6": (6, 6, 0, 4, 7),
    "q7": (1, 1, 1, 0, 1),  # Korean, and hybrid loses it
    "q8": (1, 2, 1, 1, 1),
    "q9": (0, 0, 1, 2, 1),
    "q10": (1, 3, 0, 0, 2),  # Korean, and hybrid loses it
    "q11": (2, 2, 2, 1, 1),
    "q12": (0, 0, 0, 1, 0),
}
FORBIDDEN = "old-terms"


def rows_of_set() -> list[dict[str, Any]]:
    """The questions: one without an answer, one with two gold documents of two grades, one that forbids a document."""
    rows: list[dict[str, Any]] = []
    for number, name in enumerate(RANKS, 1):
        topic = TOPICS[number % 6]
        gold: list[dict[str, Any]] = [{"id": f"g-{name}", "text": f"All about {topic}: answer {number}."}]
        if name == "q8":
            gold[0]["relevance"] = 2
            gold.append({"id": "g2-q8", "text": "The second half of it, in a text of its own."})
        row = {
            "id": name,
            "question": f"What about {topic} in case {number}?",
            "gold": gold,
            "type": "fact" if number % 3 else "scenario",
            "metadata": {"language": "ko" if number in (4, 7, 10) else "en", "big": 2**60 + number},
        }
        rows.append(row)
    rows[0]["must_not"] = [{"id": FORBIDDEN, "reason": "superseded"}]
    rows.append({"id": "q13", "question": "Is there a shop on the Moon?", "gold": [], "type": "negative"})
    return rows


def runs_of_five() -> dict[str, Run]:
    """Five runs of ten documents each; `words` fails once, and `chars` retrieves what q1 forbids."""
    runs = {}
    for place, name in enumerate(NAMES):
        rows = []
        for query, ranks in RANKS.items():
            if name == "words" and query == "q4":
                rows.append(RunRow(query_id=query, error="TimeoutError: no answer in 2 s"))
                continue
            documents = [{"id": f"{name}-{query}-{i}", "text": f"Filler {i} of {name}."} for i in range(1, 11)]
            if ranks[place]:
                documents[ranks[place] - 1] = {"id": f"g-{query}", "text": "found"}
            if name == "chars" and query == "q1":
                documents[4] = {"id": FORBIDDEN, "text": "The terms of last year."}
            rows.append(RunRow.from_dict({"query_id": query, "retrieved": documents}))
        rows.append(RunRow.from_dict({"query_id": "q13", "retrieved": [{"id": "x"}]}))
        runs[name] = Run.of(name, rows)
    return runs


@functools.cache
def five_runs() -> Report:
    """The report."""
    return build_report(EvalSet(rows_of_set(), name="five"), runs_of_five(), by=["type", "language"], k=5)
