"""Does the number from a log without gold hold the truth, and how many labels does a judge save?

    python -m benchmarks.logs_to_numbers [--rag25 HUMAN.qrels JUDGE.qrels] [--xquad FOLDER] [--draws 1000] [--smoke]

Four logs whose truth is known: pseudo-questions from topics of TREC RAG 2025, each with a part of its topic's passages
and people's grades less 1; questions of XQuAD in five languages, searched by BM25 over all paragraphs; and two of the
bundled collection, whose 80 questions are asked again and again. Each draw orders them as `krag-eval start` does,
labels the first of them, and compares the intervals with the mean over all rows of the log.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from krag_eval import read_evalset
from krag_eval._utils.arrays import FloatArray
from krag_eval_labels.start.design import Design, order_of_draw
from krag_eval_labels.start.pooling import draw_outside
from krag_eval_labels.start.values import METRICS, largest_of, pool_gap, values_of

_QUESTIONS = (12, 25, 50)
_SHOWN = ("precision@5", "dcg@10", "hit_rate@5", "mrr@5", "pooled_recall@5")
_LANGUAGES = ("en", "ru", "zh", "ar", "th")
_LABELLED_FOR_JUDGE = 40

Grades = Mapping[str, float]


@dataclass(frozen=True)
class Log:
    """A log of which all grades are known.

    Attributes:
        name: What it is made of.
        design: The rows that each question stands for, and its stratum.
        rankings: By system the ranking of each question.
        grades: The grades of people of each question; a document without one has 0.
        documents: What can be searched for each question, as a second retriever ranks it.
        judge: The grades of a real model; None if there is none.
    """

    name: str
    design: Design
    rankings: tuple[list[list[str]], list[list[str]]]
    grades: list[Grades]
    documents: list[list[str]]
    judge: list[Grades] | None = None

    def pool(self, i: int, k: int) -> set[str]:
        """Return what is labelled for a question."""
        return {one for ranked in self.rankings for one in ranked[i][:k]}

    def values(self, grades: Sequence[Grades]) -> dict[str, FloatArray]:
        """Return the values by metric, of the first system and of the difference; shape (2, n)."""
        found: dict[str, list[list[float]]] = {name: [] for name in _SHOWN}
        for i, of_question in enumerate(grades):
            for k in (5, 10):
                pool = self.pool(i, k)
                known = {one: of_question.get(one, 0.0) for one in pool}
                both = [values_of(ranked[i], known, pool, k) for ranked in self.rankings]
                for name, one, two in zip(METRICS, *both, strict=True):
                    if f"{name}@{k}" in found:
                        found[f"{name}@{k}"].append([one, two - one])
        return {name: np.array(rows).T for name, rows in found.items()}


def rag25_log(human: Path, model: Path, n: int = 400) -> Log:
    """Make a log of pseudo-questions: each has a part of the passages of a topic, and people's grades less 1."""
    people, judge = (
        {q.id: {d.id: max(float(d.grade or 0) - 1, 0.0) for d in q.gold} for q in read_evalset(path)}
        for path in (human, model)
    )
    random, topics = np.random.default_rng(5), list(people)
    rankings: tuple[list[list[str]], list[list[str]]] = ([], [])
    grades: list[Grades] = []
    judged: list[Grades] = []
    documents: list[list[str]] = []
    stratum = random.integers(0, len(topics), n)
    for topic in stratum.tolist():
        own = people[topics[topic]]
        part = [one for one in own if random.random() < 0.2] or list(own)[:20]
        graded = np.array([own[one] for one in part])
        for ranked, noise in zip(rankings, (2.0, 4.0), strict=True):
            order = np.argsort(-(graded + random.normal(0, noise, len(part))))
            ranked.append([part[i] for i in order])
        grades.append({one: own[one] for one in part})
        judged.append({one: judge[topics[topic]][one] for one in part})
        documents.append(rankings[1][-1])
    weight = (1 + random.geometric(0.5, n) * (random.random(n) < 0.3)).astype(np.float64)
    return Log("RAG25", Design(weight, stratum), rankings, grades, documents, judged)


def searched_log(name: str, questions: list[dict[str, Any]], texts: dict[str, str], rows: int) -> Log:
    """Make a log of questions with gold, searched by BM25 over words and over pairs of characters."""
    from krag_eval_chunkers.local import build_retriever

    documents = [{"id": one, "text": text} for one, text in texts.items()]
    words, characters = (build_retriever(way, documents, 60) for way in ("bm25", "bm25-characters"))
    rankings = tuple([[d["id"] for d in search(q["question"])] for q in questions] for search in (words, characters))
    random = np.random.default_rng(6)
    chance = 1 / (1 + np.arange(len(questions)))
    asked = np.bincount(random.choice(len(questions), rows, p=chance / chance.sum()), minlength=len(questions))
    languages = {one: i for i, one in enumerate(dict.fromkeys(q["language"] for q in questions))}
    stratum = np.array([languages[q["language"]] for q in questions])
    whole = [[*found, *(one for one in texts if one not in {*found})] for found in rankings[1]]
    return Log(
        name,
        Design((1 + asked).astype(np.float64), stratum),
        rankings,  # type: ignore[arg-type]
        [dict.fromkeys(q["gold"], 1.0) for q in questions],
        whole,
    )


def xquad_log(folder: Path, of_each: int) -> Log:
    """Make a log of questions in five languages; the paragraphs of all languages can be searched."""
    questions: list[dict[str, Any]] = []
    texts: dict[str, str] = {}
    for language in _LANGUAGES:
        data = json.loads((folder / f"xquad.{language}.json").read_text(encoding="utf-8"))["data"]
        own = []
        for number, paragraph in enumerate(p for article in data for p in article["paragraphs"]):
            texts[f"{language}-{number}"] = paragraph["context"]
            own += [
                {"question": qa["question"], "gold": [f"{language}-{number}"], "language": language}
                for qa in paragraph["qas"]
            ]
        questions += own[:: max(len(own) // of_each, 1)][:of_each]
    return searched_log("XQuAD", questions, texts, 2 * len(questions))


def bundled_log(rows_in_all: int = 1_000, *, swapped: bool = False) -> Log:
    """Make a log of the bundled collection, whose 80 questions are asked again and again; or with swapped systems."""
    from krag_eval_chunkers.demo_data import load_collection

    documents, questions = load_collection()
    rows = [
        {"question": q["question"], "gold": [g["id"] for g in q["gold"]], "language": q["metadata"]["language"]}
        for q in questions
    ]
    name = f"bundled, {rows_in_all} rows"
    log = searched_log(name, rows, {d["id"]: d["text"] for d in documents}, rows_in_all - len(rows))
    return replace(log, rankings=log.rankings[::-1]) if swapped else log


def planted_judge(log: Log, correlation: float) -> list[Grades]:
    """Return the grades of a judge: people's with this probability, else those of any document of the pools."""
    random = np.random.default_rng(8)
    pools = [sorted(log.pool(i, 10)) for i in range(len(log.grades))]
    every = np.array([log.grades[i].get(one, 0.0) for i, pool in enumerate(pools) for one in pool])
    judged: list[Grades] = []
    for own, pool in zip(log.grades, pools, strict=True):
        said = [own.get(one, 0.0) for one in pool]
        if correlation < 0:
            said = [float(not one) for one in said]
        keeps, others = random.random(len(pool)) < abs(correlation), random.choice(every, len(pool))
        judged.append({one: float(a if k else b) for one, a, b, k in zip(pool, said, others, keeps, strict=True)})
    return judged


def coverage_table(logs: list[Log], draws: int) -> Iterator[str]:
    """How often the intervals hold the mean over all rows of the log, and how wide they are."""
    yield "| log | questions labelled | labels | of | " + " | ".join(_SHOWN) + " | held least |"
    yield "| --- | --: | --: | --- | " + " | ".join(["--: "] * len(_SHOWN)) + "| --: |"
    for log in logs:
        values = log.values(log.grades)
        for n in _QUESTIONS:
            labels = np.mean([len(log.pool(i, 5)) for i in range(len(log.grades))]) * n
            held, widths = np.zeros((2, len(_SHOWN))), np.zeros((2, len(_SHOWN)))
            for draw in range(draws):
                first = order_of_draw(log.design.weight, log.design.stratum, draw)[:n]
                for j, name in enumerate(_SHOWN):
                    for i in range(2):
                        low, high = _interval(log, name, values[name][i], first, i)
                        truth = _truth(log, values[name][i])
                        held[i, j] += low - 1e-12 <= truth <= high + 1e-12
                        widths[i, j] += high - low
            for i, what in enumerate(("system", "difference")):
                cells = [f"{100 * h / draws:.1f} % ({w / draws:.2f})" for h, w in zip(held[i], widths[i], strict=True)]
                yield (
                    f"| {log.name} | {n} | {labels:.0f} | {what} | {' | '.join(cells)} "
                    f"| {100 * held[i].min() / draws:.1f} % |"
                )


def _interval(log: Log, name: str, values: FloatArray, first: Any, i: int, judge: Any = None) -> tuple[float, float]:
    metric, _, k = name.partition("@")
    most = max((grade for own in log.grades for grade in own.values()), default=1.0)
    judged = None if judge is None else np.arange(len(values))
    largest = largest_of(metric, int(k), most)
    mean = log.design.mean(first, values[first], judged, judge, largest=largest, is_difference=i == 1)
    return mean.interval or (-largest, largest)


def _truth(log: Log, values: FloatArray) -> float:
    is_defined = ~np.isnan(values)
    return float(np.average(values[is_defined], weights=log.design.weight[is_defined]))


def stop_table(logs: list[Log], draws: int) -> Iterator[str]:
    """How often the interval holds the truth if people look every two questions, and stop when it is narrow enough."""
    yield "| log | metric | wanted width | questions until then, median | held |"
    yield "| --- | --- | --: | --: | --: |"
    for log in logs:
        values = log.values(log.grades)
        for name in ("precision@5", "hit_rate@5"):
            value, truth = values[name][0], _truth(log, values[name][0])
            for wanted in (0.3, 0.2):
                held, stopped = 0, list[int]()
                for draw in range(draws):
                    order = order_of_draw(log.design.weight, log.design.stratum, draw)
                    n, low, high = 8, 0.0, 1.0
                    while n < len(order) and high - low > wanted:
                        n += 2
                        low, high = _interval(log, name, value, order[:n], 0)
                    held += low - 1e-12 <= truth <= high + 1e-12
                    stopped.append(n)
                yield f"| {log.name} | {name} | {wanted} | {np.median(stopped):.0f} | {100 * held / draws:.1f} % |"


def judge_table(logs: list[Log], draws: int) -> Iterator[str]:
    """How many times as many questions people would need without the judge, and what its agreement allows.

    That is 1 / (1 - r^2), where r correlates the errors of people's values and of the judge's for the same questions.
    """
    yield (
        "| log | judge | correlation of labels | of | "
        + " | ".join(f"{name}: saved, allowed" for name in _SHOWN)
        + " | intervals hold |"
    )
    yield "| --- | --- | --: | --- | " + " | ".join(["--: "] * len(_SHOWN)) + "| --: |"
    for log in logs:
        values = log.values(log.grades)
        judges = {"0.85": planted_judge(log, 0.85), "0.5": planted_judge(log, 0.5), "against": planted_judge(log, -0.5)}
        judges |= {} if log.judge is None else {"real": log.judge}
        for who, judged in judges.items():
            said = log.values(judged)
            pairs = [
                (own.get(d, 0.0), other.get(d, 0.0))
                for i, (own, other) in enumerate(zip(log.grades, judged, strict=True))
                for d in log.pool(i, 10)
            ]
            r = np.asarray(np.corrcoef(np.array(pairs).T > 0))[0, 1]
            for i, what in enumerate(("system", "difference")):
                cells, held, n_held = [], 0, 0
                for name in _SHOWN:
                    errors, of_judge = np.zeros((2, draws)), np.zeros(draws)
                    value, judge, truth = values[name][i], said[name][i], _truth(log, values[name][i])
                    metric, _, k = name.partition("@")
                    largest = largest_of(metric, int(k), 4.0)
                    for draw in range(draws):
                        first = order_of_draw(log.design.weight, log.design.stratum, draw)[:_LABELLED_FOR_JUDGE]
                        every = np.arange(len(value))
                        same = log.design.mean(first, judge[first], largest=largest, is_difference=i == 1)
                        of_judge[draw] = same.value or 0.0
                        for j, given in enumerate(((None, None), (every, judge))):
                            mean = log.design.mean(first, value[first], *given, largest=largest, is_difference=i == 1)
                            errors[j, draw] = (mean.value or 0.0) - truth
                            if j and mean.interval:
                                held += mean.interval[0] - 1e-12 <= truth <= mean.interval[1] + 1e-12
                                n_held += 1
                    saved = float((errors[0] ** 2).mean() / (errors[1] ** 2).mean())
                    r_of_errors = np.corrcoef(errors[0], of_judge)[0, 1] if errors[0].std() and of_judge.std() else 0.0
                    allowed = 1 / (1 - min(r_of_errors**2, 0.99))
                    cells.append(f"{saved:.2f}, {allowed:.2f}")
                yield (
                    f"| {log.name} | {who} | {r:.2f} | {what} | {' | '.join(cells)} "
                    f"| {100 * held / max(n_held, 1):.1f} % |"
                )


def gap_table(logs: list[Log], draws: int) -> Iterator[str]:
    """How often the stated share of the relevant documents that the pools hold is the true one."""
    yield "| log | questions labelled | labels outside of the pools | true share | held | stated, median |"
    yield "| --- | --: | --: | --: | --: | --- |"
    for log in logs:
        pools = [log.pool(i, 5) for i in range(len(log.grades))]
        outside = [[one for one in whole if one not in pool] for whole, pool in zip(log.documents, pools, strict=True)]
        of_pool = np.array([sum(g.get(d, 0) > 0 for d in pool) for g, pool in zip(log.grades, pools, strict=True)])
        n_missed = np.array([sum(g.get(d, 0) > 0 for d in rest) for g, rest in zip(log.grades, outside, strict=True)])
        share = float(log.design.weight @ of_pool / (log.design.weight @ (of_pool + n_missed)))
        for n in _QUESTIONS:
            for each in (1, 3):
                held, stated = 0, list[tuple[float, float]]()
                for draw in range(draws):
                    first = order_of_draw(log.design.weight, log.design.stratum, draw)[:n]
                    u = log.design.shares(first)
                    weights, relevant = [], []
                    for i, own in zip(first.tolist(), u.tolist(), strict=True):
                        places, p = draw_outside(len(outside[i]), each, draw * 1_000 + i)
                        weights += [own / one for one in p]
                        relevant += [float(log.grades[i].get(outside[i][place], 0) > 0) for place in places]
                    n_outside = float(u @ np.array([len(outside[i]) for i in first]))
                    gap = pool_gap(float(u @ of_pool[first]), np.array(weights), np.array(relevant), n_outside)
                    if gap is not None:
                        held += gap.interval[0] <= share <= gap.interval[1]
                        stated.append(gap.interval)
                low, high = (float(np.median([one[side] for one in stated])) for side in (0, 1))
                yield (
                    f"| {log.name} | {n} | {n * each} | {share:.2f} | {100 * held / max(len(stated), 1):.1f} % "
                    f"| {low:.2f} to {high:.2f} |"
                )


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rag25", nargs=2, type=Path, help="grades of people, and of a model")
    parser.add_argument("--xquad", type=Path, help="the folder of xquad.en.json and the other languages")
    parser.add_argument("--draws", type=int, default=1_000)
    parser.add_argument("--smoke", action="store_true", help="a few draws of the bundled collection")
    given = parser.parse_args()
    logs = [bundled_log(), bundled_log(300, swapped=True)]
    for name, path in (("rag25", given.rag25), ("xquad", given.xquad)):
        if path is None:
            print(f"NOT SIMULATED: {name}. Pass --{name} with its files.", file=sys.stderr)
    if given.xquad is not None:
        logs.insert(0, xquad_log(given.xquad, 20 if given.smoke else 120))
    if given.rag25 is not None:
        logs.insert(0, rag25_log(*given.rag25))
    draws = 3 if given.smoke else given.draws
    for part, n in (
        (coverage_table, draws),
        (stop_table, max(draws // 2, 2)),
        (judge_table, max(draws // 2, 2)),
        (gap_table, draws),
    ):
        for line in part(logs, n):
            print(line, flush=True)
        print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
