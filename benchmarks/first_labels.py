"""Intervals from the first labels of a queue: how often they contain the truth, also for those who stop when satisfied.

    python -m benchmarks.first_labels HUMAN.qrels JUDGE.qrels [DRAWS]

A queue of 120 documents is drawn from pairs that people and a model both judged, and from a population that is made up.
After 20, 40, 60 and 120 labels, and at the first multiple of 20 at which the interval is as narrow as the middle one of
60 labels, the 95 % interval for these questions is compared with the value by all labels. Two systems are simulated as
in `simulated_labels`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from krag_eval import read_evalset
from krag_eval.toolkit import FloatArray
from krag_eval_labels.estimation import _gain, _Ranked, _Sample, read_labels, reader_of_labelled
from krag_eval_labels.order import draw_by_turn

_NOISE, _K, _QUEUE, _AFTER = (3.0, 6.0), 10, 120, (20, 40, 60, 120)
Labels = dict[tuple[str, str], float]


def table(populations: dict[str, tuple[Labels, Labels]], draws: int) -> Iterator[str]:
    """Yield the lines of a table: one row per population, metric, value and use of the judge."""
    after = " | ".join(map(str, _AFTER))
    yield f"| grades | metric | value | judge | {after} | stopped when narrow, after |"
    yield "| --- | --- | --- | --- | " + "--: | " * (len(_AFTER) + 1)
    for name, (people, judge) in populations.items():
        random = np.random.default_rng(7)
        runs: dict[str, dict[str, dict[str, float]]] = {"one": {}, "two": {}}
        for query, document in people:
            for run, noise in zip(runs.values(), _NOISE, strict=True):
                run.setdefault(query, {})[document] = people[query, document] + random.normal(0, noise)
        for metric in ("precision", "dcg"):
            for value in ("one system", "difference"):
                for is_used in (True, False):
                    row = _row(runs, people, judge if is_used else {}, metric, value, draws)
                    yield f"| {name} | {metric} | {value} | {'yes' if is_used else 'no'} | {row} |"


def _row(
    runs: dict[str, dict[str, dict[str, float]]], people: Labels, judge: Labels, metric: str, value: str, draws: int
) -> str:
    chosen = {"one": runs["one"]} if value == "one system" else runs
    ranked = _Ranked.of(chosen, metric, _K, "retrieved", reader_of_labelled(None, None))
    n = len(ranked.queries)
    f, y = (
        np.array([_gain(of.get((q, d), 0.0), "exponential", metric == "precision") for q, (_, d) in ranked.pairs])
        for of in (judge, people)
    )
    w: FloatArray = ranked.weights[-1] - (ranked.weights[0] if len(chosen) > 1 else 0)
    size, truth = ranked.sizes(), float(w @ y) / n
    steps = range(20, min(_QUEUE, int((size > 0).sum()) - 1) + 1, 20)
    ends = np.empty((draws, len(steps), 2))
    for draw in range(draws):
        uniform = np.random.default_rng(draw).random(len(size))
        for i, m in enumerate(steps):
            at, p, _ = draw_by_turn(size, m, uniform)
            ends[draw, i] = _Sample(ranked.query, n, f, at, y[at], p[at]).estimate("", w, 0.95).sampling_interval
    held = (ends[..., 0] <= truth) & (truth <= ends[..., 1])
    widths = ends[..., 1] - ends[..., 0]
    wanted = np.median(widths[:, list(steps).index(60)])
    stops = np.where((widths <= wanted).any(axis=1), (widths <= wanted).argmax(axis=1), len(steps) - 1)
    shown = [f"{held[:, list(steps).index(m)].mean():.3f}" if m in steps else "" for m in _AFTER]
    mean = np.mean([steps[i] for i in stops])
    return " | ".join([*shown, f"{held[np.arange(draws), stops].mean():.3f}, {mean:.0f}"])


def made_up() -> tuple[Labels, Labels]:
    """Return 100 questions of 40 documents of which a fifth are relevant, and a judge that is too kind to a half."""
    random = np.random.default_rng(3)
    people: Labels = {}
    judge: Labels = {}
    for query in range(100):
        for document in range(40):
            pair = str(query), f"d{document}"
            people[pair] = float(random.choice([0, 1, 2], p=[0.8, 0.14, 0.06]))
            judge[pair] = people[pair] if random.random() < 0.8 else float(query % 2)
    return people, judge


if __name__ == "__main__":
    human, model = (
        {(q, d): one.grade for (q, (_, d)), one in read_labels("evalset", read_evalset(Path(path))).items()}
        for path in sys.argv[1:3]
    )
    sets = {"RAG25": (human, model), "made up": made_up()}
    print("\n".join(table(sets, int(sys.argv[3]) if sys.argv[3:] else 1000)))
