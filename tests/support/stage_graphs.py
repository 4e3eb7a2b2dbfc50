"""Random runs with stages and sessions, and the fates of their needs by a plain computation with sets of ids."""

from __future__ import annotations

import random
from typing import Any, NamedTuple

DOCUMENTS = [f"d{n}" for n in range(12)]


class Case(NamedTuple):
    """Rows of a run, rows of a set, and what is in the corpus; None if there is no corpus."""

    rows: list[dict[str, Any]]
    questions: list[dict[str, Any]]
    corpus: list[str] | None


def random_case(draw: random.Random, n_questions: int) -> Case:
    """Return questions with needs of one to three alternatives, and rows of every kind."""
    questions, rows = [], []
    for number in range(n_questions):
        needs = [draw.sample(DOCUMENTS, draw.choice([1, 1, 2, 3])) for _ in range(draw.randint(0, 4))]
        gold = [{"any_of": [{"id": one} for one in need]} for need in needs]
        questions.append({"id": f"q{number}", "question": "?", "gold": gold, "type": draw.choice(["a", "b"])})
        if row := _random_row(draw, f"q{number}"):
            rows.append(row)
    in_corpus = draw.sample(DOCUMENTS, draw.randint(1, len(DOCUMENTS)))
    rows.append({"query_id": "q0", "stages": _random_stages(draw)} if not rows else rows.pop())
    return Case(rows, questions, draw.choice([None, in_corpus]))


def _random_row(draw: random.Random, query_id: str) -> dict[str, Any] | None:
    kind = draw.random()
    if kind < 0.05:
        return None
    if kind < 0.1:
        return {"query_id": query_id, "error": "Timeout: 2 s"}
    if kind < 0.15:
        return {"query_id": query_id, "retrieved": _ranking(draw)}
    if kind < 0.7:
        return {"query_id": query_id, "stages": _random_stages(draw)}
    searches = [
        {"stages": _random_stages(draw)} if draw.random() < 0.7 else {"retrieved": _ranking(draw)}
        for _ in range(draw.randint(1, 3))
    ]
    return {"query_id": query_id, "searches": searches}


def _random_stages(draw: random.Random) -> list[dict[str, Any]]:
    """Return a graph in which each stage is an input of a later one; most stages drop some of what they are given."""
    names = [f"s{n}" for n in range(draw.randint(2, 5))]
    stages: list[dict[str, Any]] = []
    for place, name in enumerate(names):
        inputs = draw.sample(names[:place], draw.randint(0, min(place, 2)))
        if place == len(names) - 1:
            used = {one for stage in stages for one in stage.get("inputs", ())}
            inputs = list(dict.fromkeys([*inputs, *(n for n in names[:place] if n not in used)]))
        given = [one["id"] for stage in stages if stage["name"] in inputs for one in stage["retrieved"]]
        found = (
            draw.sample(given, draw.randint(0, len(given))) if inputs else draw.sample(DOCUMENTS, draw.randint(0, 6))
        )
        extra = draw.sample(DOCUMENTS, draw.choice([0, 0, 0, 1]))
        stages.append({"name": name, "inputs": inputs, "retrieved": [{"id": one} for one in [*found, *extra]]})
    return stages


def _ranking(draw: random.Random) -> list[dict[str, Any]]:
    return [{"id": one} for one in draw.sample(DOCUMENTS, draw.randint(0, 5))]


def needs_of(question: dict[str, Any]) -> list[set[str]]:
    """Return the needs of a question; needs with the same alternatives are one."""
    distinct = dict.fromkeys(frozenset(one["id"] for one in need["any_of"]) for need in question["gold"])
    return [set(need) for need in distinct]


def expected_fate(need: set[str], row: dict[str, Any] | None, k: int | None, corpus: list[str] | None) -> str:
    """Return the fate of a need, word for word as the contract has it; of several searches that which came furthest."""
    fates = []
    if row is not None and "error" not in row:
        fates = [_fate_in(need, search, k) for search in row.get("searches", [row])]
    order = {"below_k": 1_000, "kept": 2_000}
    far = max(fates, key=lambda fate: order.get(fate, int(fate[-1]) + 1 if fate[-1].isdigit() else 0), default="")
    if far in ("", "not_retrieved"):
        return "not_in_corpus" if corpus is not None and not need & set(corpus) else "not_retrieved"
    return far


def _fate_in(need: set[str], search: dict[str, Any], k: int | None) -> str:
    stages = search.get("stages") or [{"name": "run", "retrieved": search["retrieved"]}]
    out = {stage["name"]: [one["id"] for one in stage["retrieved"]] for stage in stages}
    last = list(dict.fromkeys(out[stages[-1]["name"]]))
    if need & set(out[stages[-1]["name"]]):
        ranks = out[stages[-1]["name"]]
        return "kept" if need & set(ranks[:k]) else "below_k"
    assert not need & set(last)
    for stage in reversed(stages):
        given = {one for name in stage.get("inputs", ()) for one in out[name]}
        if need & given and not need & set(out[stage["name"]]):
            return f"lost_in:{stage['name']}"
    return "not_retrieved"
