"""ROUGE from document objects to the result dict: against krag, rouge_score and rouge-score-rs."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.data import Collection, collection
from benchmarks.harness import Prepare, Row, Work, check_equal, in_turn, profiled, scaled
from benchmarks.peers import krag_evaluation, rouge_score_decisions, rouge_score_rs_decisions
from krag_eval import EvaluationResult, evaluate

KINDS = ("rouge1", "rouge2", "rougeL")
THRESHOLD = 0.7
_ASKED_OF_ROUGE_SCORE = {"rouge1": 25.0, "rouge2": 25.0, "rougeL": 300.0}
_SAMPLED_QUERIES = {"rouge1": 100, "rouge2": 100, "rougeL": 20}


def ours(data: Collection, kind: str, threshold: float = THRESHOLD, k: int = 10, tokenizer: str = "words") -> Prepare:
    """From fresh document objects to the whole result dict."""

    def prepare() -> Work:
        gold, retrieved = data.documents

        def work() -> EvaluationResult:
            result = evaluate(gold, retrieved, k, match_method=kind, threshold=threshold, tokenizer=tokenizer)
            result.to_dict()
            return result

        return work

    return prepare


def n_matches(result: EvaluationResult) -> int:
    """How many pairs match."""
    assert result.detail is not None
    return len(result.detail.matches)


def run(smoke: bool) -> Iterator[Row]:
    """The rows of ROUGE on English-like text."""
    n_queries, n_krag, rounds = (20, 2, 1) if smoke else (1000, 30, 5)
    data = collection(n_queries, 3, 10)
    for kind in KINDS:
        yield from _ten_retrieved(data, kind, n_krag, rounds)
    data = collection(n_queries, 3, 100)
    for kind in KINDS:
        yield from _hundred_retrieved(data, kind, 1 if smoke else 3)


def _ten_retrieved(data: Collection, kind: str, n_krag: int, rounds: int) -> Iterator[Row]:
    n_queries = len(data.gold)
    sample = data.first(min(_SAMPLED_QUERIES[kind], n_queries))
    share = n_queries / len(sample.gold)
    mine, rust, python = in_turn(
        rounds,
        ours(data, kind),
        lambda: rouge_score_rs_decisions(data, kind, THRESHOLD),
        lambda: rouge_score_decisions(sample, kind, THRESHOLD),
    )
    check_equal(f"matching pairs, {kind}, rouge-score-rs", n_matches(mine.result), rust.result)
    of_sample = ours(sample, kind)()()
    check_equal(f"matching pairs, {kind}, rouge_score", n_matches(of_sample), python.result)
    work = f"{n_queries:,} queries x 3 gold x 10 retrieved, {kind}"
    rows = []
    # krag's cache holds 1,000 pairs: all of 30 queries, not of 40, and certainly not of 1,000.
    for n_sampled in dict.fromkeys((n_krag, n_krag * 4 // 3)):
        (krag,) = in_turn(1, lambda n=n_sampled: krag_evaluation(data.first(n), kind, THRESHOLD, "whitespace", 10))  # type: ignore[misc]
        rows.append(
            Row(
                work=work,
                peer=f"krag, from {n_sampled} queries",
                ours=mine.seconds,
                theirs=scaled(krag, n_queries / n_sampled),
                asked=1500.0,
            )
        )
    rows.append(
        Row(
            work=work,
            peer=f"rouge_score, each pair once, from {len(sample.gold)} queries",
            ours=mine.seconds,
            theirs=scaled(python, share),
            asked=_ASKED_OF_ROUGE_SCORE[kind],
        )
    )
    rows.append(Row(work=work, peer="rouge-score-rs", ours=mine.seconds, theirs=rust.seconds, asked=2.0))
    for row in rows:
        yield profiled(row, ours(data, kind))


def _hundred_retrieved(data: Collection, kind: str, rounds: int) -> Iterator[Row]:
    mine, rust = in_turn(rounds, ours(data, kind), lambda: rouge_score_rs_decisions(data, kind, THRESHOLD))
    check_equal(f"matching pairs of 100 retrieved, {kind}, rouge-score-rs", n_matches(mine.result), rust.result)
    row = Row(
        work=f"{len(data.gold):,} queries x 3 gold x 100 retrieved, {kind}",
        peer="rouge-score-rs",
        ours=mine.seconds,
        theirs=rust.seconds,
        asked=15.0,
    )
    yield profiled(row, ours(data, kind))
