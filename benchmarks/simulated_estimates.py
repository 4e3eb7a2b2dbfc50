"""Do the intervals of `estimate` contain the truth with few topics, and does it take as many labels as planned?

    python -m benchmarks.simulated_estimates [HUMAN.qrels JUDGE.qrels] [--draws 1000]

Populations: real grades of 11 topics by people and a model if the two files are given, and three that are made up like
them. Two systems rank the documents of each topic by the grade of people plus noise. Each draw labels some of what they
retrieved; its interval for these topics is compared with their value by all labels of people. For the interval over all
such topics, each draw also draws as many topics, with replacement: the truth is the mean over all of them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from krag_eval import read_evalset
from krag_eval._utils.arrays import FloatArray, IntArray
from krag_eval_labels.estimation import (
    Estimate,
    _gain,
    _labels_needed,
    _Ranked,
    _Sample,
    read_labels,
    reader_of_labelled,
)
from krag_eval_labels.order import draw_by_turn

_DEPTH, _NOISE = 20, (3.0, 6.0)
_METRICS = ("precision", "dcg")
_LABELS = (60, 100, 200)
_ALL, _DOCUMENTS = 220, 200


@dataclass(frozen=True)
class Topics:
    """What people and a judge say of all documents of some topics, and what two systems retrieve.

    Attributes:
        name: What is special about them.
        n: How many of them there are in a set; the first so many are "these topics".
        query: The topic of each retrieved document, shape (n,).
        people: The grades of people.
        judge: Those of the judge.
        weights: What each gain is multiplied by, by metric; shape (2, n).
        sizes: What a guided draw is proportional to, by metric; shape (n,).
    """

    name: str
    n: int
    query: IntArray
    people: FloatArray
    judge: FloatArray
    weights: dict[str, FloatArray]
    sizes: dict[str, FloatArray]

    @classmethod
    def of(cls, name: str, n: int, people: dict[tuple[str, str], float], judge: dict[tuple[str, str], float]) -> Topics:
        """Let two systems retrieve from these grades."""
        random = np.random.default_rng(7)
        runs: dict[str, dict[str, dict[str, float]]] = {"one": {}, "two": {}}
        for (query, document), grade in people.items():
            for run, noise in zip(runs.values(), _NOISE, strict=True):
                run.setdefault(query, {})[document] = grade + random.normal(0, noise)
        ranked = {metric: _Ranked.of(runs, metric, _DEPTH, "k", reader_of_labelled(None, None)) for metric in _METRICS}
        pairs = [(query, document) for query, (_, document) in ranked["dcg"].pairs]
        graded = [np.array([grade[pair] for pair in pairs]) for grade in (people, judge)]
        weights, sizes = (
            {metric: one.weights for metric, one in ranked.items()},
            {m: one.sizes() for m, one in ranked.items()},
        )
        return cls(name, n, ranked["dcg"].query, graded[0], graded[1], weights, sizes)


def real_topics(human: Path, judge: Path) -> Topics:
    """Read grades of the same documents by people and a model."""
    grades = []
    for path in (human, judge):
        labels = read_labels("judge", read_evalset(path))
        grades.append({(query, str(document)): label.grade for (query, (_, document)), label in labels.items()})
    return Topics.of("real", 11, grades[0], grades[1])


def made_up_topics() -> list[Topics]:
    """Three populations of 220 topics, of which a set has few."""
    shares = {
        "6 topics": [0.35, 0.15, 0.36, 0.12, 0.02],
        "11 topics, heavy-tailed grades": [0.80, 0.10, 0.05, 0.03, 0.02],
        "11 topics, judge biased in one": [0.35, 0.15, 0.36, 0.12, 0.02],
    }
    found: list[Topics] = []
    for name, chances in shares.items():
        random = np.random.default_rng(len(found))
        people, judge = {}, {}
        n_topics = int(name.split()[0])
        for topic in range(_ALL):
            easy = np.exp(random.normal(0, 0.5) * np.arange(5))  # topics differ in how much is relevant
            own = np.array(chances) * easy
            for document in range(_DOCUMENTS):
                pair = f"t{topic}", f"d{document}"
                people[pair] = float(random.choice(5, p=own / own.sum()))
                is_same = random.random() < 0.55
                judge[pair] = people[pair] if is_same else float(np.clip(people[pair] + random.integers(-1, 3), 0, 4))
                if "biased" in name and topic % n_topics == 0:
                    judge[pair] = 4.0
        found.append(Topics.of(name, n_topics, people, judge))
    return found


def coverage_table(populations: list[Topics], draws: int) -> Iterator[str]:
    """How often the intervals contain the truth."""
    yield (
        "| topics | metric | labels | drawn | samples | systems, these topics | difference, these topics "
        "| systems, all such topics | difference, all such topics |"
    )
    yield "| --- | --- | --: | --- | --: | --: | --: | --: | --: |"
    for topics in populations:
        for metric in _METRICS:
            for n in _LABELS:
                for way in ("uniform", "guided"):
                    held = np.zeros((2, 3))
                    for draw in range(draws):
                        held += _held(topics, metric, n, way, draw)
                    cells = [f"{100 * share:.1f} %" for kind in held / draws for share in (kind[:2].mean(), kind[2])]
                    yield f"| {topics.name} | {metric} | {n} | {way} | {draws:,} | {' | '.join(cells)} |"


def _held(topics: Topics, metric: str, n: int, way: str, draw: int) -> FloatArray:
    """Return whether the intervals of both systems and of their difference hold the truth: 0 or 1, shape (2, 3)."""
    n_all = int(topics.query.max()) + 1
    chosen = np.random.default_rng(draw).integers(0, n_all, topics.n)
    own = np.concatenate([np.flatnonzero(topics.query == one) for one in chosen])
    of_own = np.concatenate([np.full((topics.query == one).sum(), i) for i, one in enumerate(chosen)])
    rows: list[list[bool]] = []
    these = np.flatnonzero(topics.query < topics.n)
    for places, query, of, n_of in (
        (these, topics.query[these], these, topics.n),
        (own, of_own, np.arange(len(topics.query)), n_all),
    ):
        estimates = _estimates(topics, metric, n, way, draw, places, query)
        y = _gains(topics.people[of], metric)
        truths = [float(w[of] @ y) / n_of for w in _weights(topics, metric)]
        ends = [e.interval if len(rows) else e.sampling_interval for e in estimates]
        rows.append([at is not None and at[0] <= t <= at[1] for at, t in zip(ends, truths, strict=True)])
    return np.array(rows, dtype=np.float64)


def _estimates(
    topics: Topics, metric: str, n: int, way: str, draw: int, places: IntArray, query: IntArray
) -> list[Estimate]:
    f, y = _gains(topics.judge, metric)[places], _gains(topics.people, metric)[places]
    size = topics.sizes[metric][places] if way == "guided" else np.ones(len(places))
    drawn, p = _draw(size, n, draw)
    sample = _Sample(query, topics.n, f, drawn, y[drawn], p[drawn])
    return [sample.estimate("", w[places], 0.95) for w in _weights(topics, metric)]


def planned_table(populations: list[Topics], draws: int) -> Iterator[str]:
    """How wide intervals are with as many labels as a pilot of 60 says it takes for a width."""
    yield "| topics | metric | value | samples | width asked for | labels planned | width reached | reached / asked |"
    yield "| --- | --- | --- | --: | --: | --: | --: | --: |"
    for topics in populations:
        these = np.flatnonzero(topics.query < topics.n)
        query = topics.query[these]
        for metric in _METRICS:
            f, y = (_gains(grades, metric)[these] for grades in (topics.judge, topics.people))
            for value, rows in (("one system", [0]), ("difference", [0, 1])):
                weights = topics.weights[metric][:, these][rows]
                size = np.linalg.norm(weights, axis=0) if len(rows) == 1 else topics.sizes[metric][these]
                ranked = _Ranked(("", ""), tuple(map(str, range(topics.n))), [], [], query, weights, _DEPTH)
                half, planned, reached = int((size > 0).sum()) // 2, [], []
                # A width that half of the documents have, so that neither all nor few of them are needed.
                goal = np.mean([_width(query, topics.n, f, y, weights, size, half, 10_000 + i) for i in range(50)])
                for draw in range(draws):
                    pilot, _ = _draw(size, 60, 20_000 + draw)
                    planned.append(_labels_needed(ranked, f, size, pilot, y[pilot], float(goal), 0.95))
                    reached.append(_width(query, topics.n, f, y, weights, size, planned[-1], draw))
                row = f"{goal:.3f} | {np.mean(planned):.0f} | {np.mean(reached):.3f} | {np.mean(reached) / goal:.2f}"
                yield f"| {topics.name} | {metric} | {value} | {draws:,} | {row} |"


def _width(
    query: IntArray,
    n_queries: int,
    f: FloatArray,
    y: FloatArray,
    weights: FloatArray,
    size: FloatArray,
    n: int,
    seed: int,
) -> float:
    drawn, p = _draw(size, min(n, len(size)), seed)
    sample = _Sample(query, n_queries, f, drawn, y[drawn], p[drawn])
    low, high = sample.estimate("", weights[-1] - (weights[0] if len(weights) > 1 else 0), 0.95).sampling_interval
    return high - low


def _draw(size: FloatArray, n: int, seed: int) -> tuple[IntArray, FloatArray]:
    return draw_by_turn(size, n, np.random.default_rng(seed).random(len(size)))[:2]


def _gains(grades: FloatArray, metric: str) -> FloatArray:
    return np.array([_gain(grade, "exponential", metric == "precision") for grade in grades.tolist()])


def _weights(topics: Topics, metric: str) -> list[FloatArray]:
    one, two = topics.weights[metric]
    return [one, two, two - one]


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("qrels", nargs="*", type=Path, help="grades of people, and of a model")
    parser.add_argument("--draws", type=int, default=1_000)
    given = parser.parse_args()
    populations = made_up_topics()
    if len(given.qrels) == 2:
        populations.insert(0, real_topics(*given.qrels))
    else:
        print("NOT SIMULATED: real topics. Pass HUMAN.qrels JUDGE.qrels.", file=sys.stderr)
    for part, draws in ((coverage_table, given.draws), (planned_table, max(given.draws // 5, 2))):
        for line in part(populations, draws):
            print(line, flush=True)
        print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
