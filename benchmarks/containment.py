"""Containment: against a plain double loop with `in` on text that is already normalised."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from benchmarks.data import Collection, long_runs, parts_of_one, passages
from benchmarks.harness import Prepare, Row, Work, check_equal, in_turn, profiled
from benchmarks.rouge import n_matches
from krag_eval import EvaluationResult, evaluate, normalize
from krag_eval.documents.text import normalize_all


def ours(data: Collection, direction: str) -> Prepare:
    """From fresh raw texts to the whole result dict: normalising, matching, judging."""

    def prepare() -> Work:
        texts = data.fresh()

        def work() -> EvaluationResult:
            result = evaluate(texts.gold, texts.retrieved, 10, match_method="containment", containment=direction)
            result.to_dict()
            return result

        return work

    return prepare


def plain_loop(normalized: Collection, direction: str) -> Callable[[], int]:
    """How many pairs match, by the loop that anybody would write."""
    rows = list(zip(normalized.gold, normalized.retrieved, strict=True))
    if direction == "gold_in_retrieved":
        return lambda: sum([g in r for gold, retrieved in rows for g in gold for r in retrieved])
    return lambda: sum([g in r or r in g for gold, retrieved in rows for g in gold for r in retrieved])


def run(smoke: bool) -> Iterator[Row]:
    """The rows of containment."""
    n_queries, rounds = (20, 1) if smoke else (2_000, 5)
    for n_retrieved, asked in ((10, 0.5), (100, 2.0)):
        data = passages(n_queries, 3, n_retrieved)
        for direction in ("gold_in_retrieved", "either"):
            work = f"containment ({direction}), {n_queries:,} x 3 x {n_retrieved}, 900 characters"
            yield _row(data, direction, work, asked, rounds)
    data = long_runs(n_queries, 3, 10)
    work = f"containment (either), {n_queries:,} x 3 x 10, 900 characters, runs of one letter"
    yield _row(data, "either", work, None, 1)
    n_letters = 10_000 if smoke else 1_000_000
    data = long_runs(2, 3, 10, n_characters=n_letters)
    yield _row(data, "either", f"containment (either), 2 x 3 x 10, runs of {n_letters:,} letters", None, 1)
    n_parts, n_characters = (100, 100_000) if smoke else (10_000, 5_000_000)
    data = parts_of_one(n_parts, n_characters)
    work = f"containment (either), {n_parts:,} short texts in one of {n_characters / 1e6:g} MB"
    yield _row(data, "either", work, 5.0, 1)


def _row(data: Collection, direction: str, work: str, asked: float | None, rounds: int) -> Row:
    known = {text: normalize(text) for side in (data.gold, data.retrieved) for row in side for text in row}
    gold, retrieved = ([[known[text] for text in row] for row in side] for side in (data.gold, data.retrieved))
    loop = plain_loop(Collection(gold, retrieved), direction)
    mine, theirs, normalized = in_turn(
        rounds, ours(data, direction), lambda: loop, lambda: lambda: normalize_all(list(known))
    )
    check_equal(f"matching pairs, {work}", n_matches(mine.result), theirs.result)
    row = Row(
        work=work,
        peer="plain loop, text already normalized",
        ours=mine.seconds,
        theirs=theirs.seconds,
        asked=asked,
        limit=normalized.seconds,
        limited_by="normalizing each distinct text once",
    )
    return profiled(row, ours(data, direction))
