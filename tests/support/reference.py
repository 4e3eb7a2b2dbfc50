"""A slow and obvious version of the scoring contract, to compare the fast one with.

Plain Python, brute force, nothing shared with `krag_eval`: an error in one is not an error in the other.
Ranks are counted from 1. `None` stands for undefined. `k` is an integer of at least 1, or `None` for all ranks.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

Value = float | None
Denominator = Literal["retrieved", "k"]
Gain = Literal["exponential", "linear"]
Relations = Sequence["Relation"]
Tokens = Sequence[str]
RougeKind = Literal["rouge1", "rouge2", "rougeL"]
RougeMeasure = Literal["precision", "recall", "fmeasure"]


@dataclass(frozen=True)
class Relation:
    """One query, reduced to who matches whom.

    Attributes:
        matches: One row per rank, one column per listed gold document.
        grades: The grade of each listed gold document.
        gold_repeat_of: For each listed gold document the earlier one that it repeats, or `None`.
        retrieved_repeat: For each rank, whether it repeats an earlier one.
    """

    matches: tuple[tuple[bool, ...], ...]
    grades: tuple[float, ...]
    gold_repeat_of: tuple[int | None, ...]
    retrieved_repeat: tuple[bool, ...]

    def __post_init__(self) -> None:
        """Refuse what describes no query."""
        if {len(row) for row in self.matches} - {len(self.grades)} or any(grade < 0 for grade in self.grades):
            raise ValueError("every row needs one column, and every column a grade of at least 0, per gold document")
        if (len(self.retrieved_repeat), len(self.gold_repeat_of)) != (len(self.matches), len(self.grades)):
            raise ValueError("every rank and every gold document needs its word on repeating")
        if any(self.retrieved_repeat[:1]) or any(
            of not in {None, *range(j)} for j, of in enumerate(self.gold_repeat_of)
        ):
            raise ValueError("only earlier documents can be repeated")


def gold_documents(rel: Relation) -> list[tuple[list[int], float]]:
    """The n gold documents as (columns, highest grade): repeats merged, then those of grade 0 dropped."""
    first: list[int] = []
    for column, earlier in enumerate(rel.gold_repeat_of):
        first.append(column if earlier is None else first[earlier])
    groups = [[column for column, root in enumerate(first) if root == own] for own in sorted(set(first))]
    merged = [(columns, max(rel.grades[column] for column in columns)) for columns in groups]
    return [(columns, grade) for columns, grade in merged if grade > 0]


def options(rel: Relation) -> list[list[int]]:
    """For each rank the gold documents (places in `gold_documents`) it can earn; none for a repeat."""
    gold = gold_documents(rel)
    return [
        [] if repeat else [place for place, (columns, _) in enumerate(gold) if any(row[c] for c in columns)]
        for row, repeat in zip(rel.matches, rel.retrieved_repeat, strict=True)
    ]


def relevant(rel: Relation) -> list[bool]:
    """For each rank, whether it matches a gold document and repeats no earlier rank."""
    return [bool(found) for found in options(rel)]


def covered(rel: Relation) -> list[int | None]:
    """For each of `gold_documents` the best rank, from 1, that matches it."""
    return [
        next((rank for rank, found in enumerate(options(rel), start=1) if place in found), None)
        for place in range(len(gold_documents(rel)))
    ]


def credited(rel: Relation) -> list[bool]:
    """For each rank, whether it and all credited ranks above can be given different gold documents."""
    served: list[list[int]] = []
    result = []
    for found in options(rel):
        possible = any(None not in assignment for assignment in _assignments([*served, found]))
        if possible:
            served.append(found)
        result.append(possible)
    return result


def _assignments(wishes: list[list[int]], taken: frozenset[int] = frozenset()) -> Iterator[list[int | None]]:
    """Every way to give each rank one of its gold documents or none, and no gold document twice."""
    if not wishes:
        yield []
        return
    for rest in _assignments(wishes[1:], taken):
        yield [None, *rest]
    for place in wishes[0]:
        if place not in taken:
            for rest in _assignments(wishes[1:], taken | {place}):
                yield [place, *rest]


def _in_time(rel: Relation, k: int | None) -> list[bool]:
    """For each gold document, whether it is covered within k."""
    return [rank is not None and (k is None or rank <= k) for rank in covered(rel)]


def hit_rate_all(rel: Relation, k: int | None = None) -> Value:
    """1 if every gold document is covered within k."""
    return float(all(_in_time(rel, k))) if gold_documents(rel) else None


def hit_rate(rel: Relation, k: int | None = None) -> Value:
    """1 if at least one gold document is covered within k (`matching_criteria="partial"`)."""
    return float(any(_in_time(rel, k))) if gold_documents(rel) else None


def reciprocal_rank(rel: Relation, k: int | None = None) -> Value:
    """1 / first relevant rank within k."""
    if not gold_documents(rel):
        return None
    return next((1 / rank for rank, good in enumerate(relevant(rel)[:k], start=1) if good), 0.0)


def _divisor(rel: Relation, k: int | None, denominator: Denominator) -> int:
    """What precision divides by; without a k there is only the number retrieved."""
    return k if denominator == "k" and k is not None else len(rel.matches[:k])


def precision(rel: Relation, k: int | None = None, denominator: Denominator = "retrieved") -> Value:
    """Relevant ranks within k, divided by the number retrieved within k, or by k."""
    if not gold_documents(rel):
        return None
    return sum(relevant(rel)[:k]) / _divisor(rel, k, denominator) if rel.matches else 0.0


def recall(rel: Relation, k: int | None = None) -> Value:
    """Share of the gold documents covered within k."""
    return sum(_in_time(rel, k)) / len(gold_documents(rel)) if gold_documents(rel) else None


def f1(rel: Relation, k: int | None = None, denominator: Denominator = "retrieved") -> Value:
    """Harmonic mean of precision and recall."""
    return _harmonic(precision(rel, k, denominator), recall(rel, k))


def _harmonic(p: Value, r: Value) -> Value:
    if p is None or r is None:
        return None
    return 2 * p * r / (p + r) if p + r > 0 else 0.0


def average_precision(rel: Relation, k: int | None = None) -> Value:
    """Sum over the credited ranks of (credits up to there) / rank, divided by n."""
    n = len(gold_documents(rel))
    if n == 0:
        return None
    earned = credited(rel)[:k]
    return math.fsum(sum(earned[:rank]) / rank for rank, credit in enumerate(earned, start=1) if credit) / n


def ndcg(rel: Relation, k: int | None = None, gain: Gain = "exponential") -> Value:
    """The best one-to-one assignment's DCG, found by trying all, divided by the ideal DCG."""
    gold = gold_documents(rel)
    if not gold:
        return None
    gains = [2**grade - 1 if gain == "exponential" else grade for _, grade in gold]
    best = max(
        _dcg([0.0 if place is None else gains[place] for place in assignment])
        for assignment in _assignments(options(rel)[:k])
    )
    return best / _dcg(sorted(gains, reverse=True)[:k])


def _dcg(gains: list[float]) -> float:
    return math.fsum(gain * (1 / math.log2(rank + 1)) for rank, gain in enumerate(gains, start=1))


def macro(values: Sequence[Value]) -> Value:
    """Mean of the defined values."""
    defined = [value for value in values if value is not None]
    return math.fsum(defined) / len(defined) if defined else None


def micro_precision(relations: Relations, k: int | None = None, denominator: Denominator = "retrieved") -> Value:
    """Relevant ranks of all queries with gold / the sum of their denominators."""
    answerable = [rel for rel in relations if gold_documents(rel)]
    if not answerable:
        return None
    total = sum(_divisor(rel, k, denominator) for rel in answerable)
    return sum(sum(relevant(rel)[:k]) for rel in answerable) / total if total else 0.0


def micro_recall(relations: Relations, k: int | None = None) -> Value:
    """Covered gold documents of all queries / all gold documents."""
    flags = [flag for rel in relations for flag in _in_time(rel, k)]
    return sum(flags) / len(flags) if flags else None


def micro_f1(relations: Relations, k: int | None = None, denominator: Denominator = "retrieved") -> Value:
    """Harmonic mean of micro precision and micro recall."""
    return _harmonic(micro_precision(relations, k, denominator), micro_recall(relations, k))


def no_answer_empty_share(relations: Relations) -> Value:
    """Share of the queries without gold for which nothing was retrieved."""
    return macro([float(not rel.matches) for rel in relations if not gold_documents(rel)])


def no_answer_mean_retrieved(relations: Relations) -> Value:
    """How many documents came back on average for the queries without gold."""
    return macro([float(len(rel.matches)) for rel in relations if not gold_documents(rel)])


def rouge(gold: Tokens, retrieved: Tokens, kind: RougeKind, measure: RougeMeasure) -> float:
    """ROUGE of two token lists, in the very float expressions of rouge_score 0.1.2 (target: gold)."""
    if kind == "rougeL":
        overlap, of_gold, of_retrieved = _lcs(gold, retrieved), len(gold), len(retrieved)
    else:
        size = int(kind[-1])
        wanted, found = _ngrams(gold, size), _ngrams(retrieved, size)
        overlap, of_gold, of_retrieved = (wanted & found).total(), wanted.total(), found.total()
    p, r = overlap / max(of_retrieved, 1), overlap / max(of_gold, 1)
    fmeasure = 2 * p * r / (p + r) if p + r > 0 else 0.0
    return {"precision": p, "recall": r, "fmeasure": fmeasure}[measure]


def rouge_matches(gold: Tokens, retrieved: Tokens, kind: RougeKind, measure: RougeMeasure, threshold: float) -> bool:
    """Whether ROUGE reaches the threshold; a text without tokens matches nothing, not even at threshold 0."""
    return bool(gold and retrieved) and rouge(gold, retrieved, kind, measure) >= threshold


def _ngrams(tokens: Tokens, size: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(tokens[start : start + size]) for start in range(len(tokens) - size + 1))


def _lcs(left: Tokens, right: Tokens) -> int:
    table = [[0] * (len(right) + 1) for _ in range(len(left) + 1)]
    for i, a in enumerate(left, start=1):
        for j, b in enumerate(right, start=1):
            table[i][j] = table[i - 1][j - 1] + 1 if a == b else max(table[i - 1][j], table[i][j - 1])
    return table[-1][-1]
