"""Estimates from few labels of people, on pairs that people and a model judged: coverage, labels needed, bias.

    python -m benchmarks.simulated_labels HUMAN.qrels JUDGE.qrels [DRAWS]

The qrels must grade the same pairs. Two systems are simulated: each ranks the documents of a query by the grade of
people plus noise. Every draw labels a part of the retrieved documents and estimates the difference of the systems.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from krag_eval import read_evalset
from krag_eval_labels.estimation import _draw, _gain, _Ranked, _Sample, read_labels, reader_of_labelled

_NOISE = (3.0, 6.0)
_K = 20


def simulate_labels(human: Path, judge: Path, draws: int = 2000, seed: int = 7) -> list[str]:
    """Return the lines of a table: one row per metric, sample size and way to draw."""
    people, model = read_labels("people", read_evalset(human)), read_labels("judge", read_evalset(judge))
    random = np.random.default_rng(seed)
    runs: dict[str, dict[str, dict[str, float]]] = {"one": {}, "two": {}}
    for query, (_, document) in people:
        for run, noise in zip(runs.values(), _NOISE, strict=True):
            grade = people[query, ("id", document)].grade
            run.setdefault(query, {})[document] = grade + random.normal(0, noise)
    lines = [
        f"{len(people)} pairs, {len(runs['one'])} queries, {draws} draws; the interval of the difference at 95 %",
        "metric     labels of  drawn    held   truth   judge alone   labels without the judge: centred, uncentred",
    ]
    for metric in ("precision", "dcg"):
        ranked = _Ranked.of(runs, metric, _K, "k", reader_of_labelled(None, None))
        f, y = (
            np.array([_gain(labels[pair].grade, "exponential", metric == "precision") for pair in ranked.pairs])
            for labels in (model, people)
        )
        weights, n_queries = ranked.weights[1] - ranked.weights[0], len(ranked.queries)
        truth, alone = float(weights @ y) / n_queries, float(weights @ f) / n_queries
        for n in (60, 100, 200):
            for way, size in (("uniform", np.ones(len(f))), ("guided", ranked.sizes())):
                held, errors, centred, plain = 0, [], [], []
                for draw in range(draws):
                    places, p = _draw(size, n, draw)
                    sample = _Sample(ranked.query, n_queries, f, places, y[places], p[places])
                    row = sample.estimate("", weights, 0.95)
                    held += row.sampling_interval[0] <= truth <= row.sampling_interval[1]
                    errors.append(row.value - truth)
                    blind = _Sample(ranked.query, n_queries, 0 * f, *_uniform(len(f), n, draw, y))
                    centred.append(blind.estimate("", weights, 0.95).value - truth)
                    plain.append(float((weights[blind.places] * blind.y / blind.p).sum()) / n_queries - truth)
                ratios = [float(np.var(other) / np.var(errors)) for other in (centred, plain)]
                lines.append(
                    f"{metric:<9}  {n:>3} {len(f):>4}  {way:<7}  {held / draws:.3f}  {truth:+.3f}  {alone:+.3f} "
                    f"({alone - truth:+.3f})  {ratios[0]:.1f} x, {ratios[1]:.1f} x"
                )
    return lines


def _uniform(n_all: int, n: int, seed: int, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    places, p = _draw(np.ones(n_all), n, seed + 1_000_000)
    return places, y[places], p[places]


if __name__ == "__main__":
    print("\n".join(simulate_labels(Path(sys.argv[1]), Path(sys.argv[2]), *map(int, sys.argv[3:4]))))
