"""Korean text cut into morphemes by Kiwi: against krag with Kiwi."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from benchmarks.data import collection
from benchmarks.harness import Row, in_turn, profiled, scaled
from benchmarks.peers import krag_evaluation
from benchmarks.rouge import THRESHOLD, ours
from krag_eval import TOKENIZERS
from krag_eval.documents.tokenizers import _kiwi


def run(smoke: bool) -> Iterator[Row]:
    """The rows of Korean text; Kiwi is loaded before the clock starts on both sides."""
    n_queries, sizes, rounds = (4, (1,), 1) if smoke else (1000, (4, 40), 2)
    data = collection(n_queries, 3, 10, alphabet="korean")
    TOKENIZERS["kiwi"].tokenize("한 번")
    texts = sorted({text for side in (data.gold, data.retrieved) for row in side for text in row})
    mine_of = ours(data, "rouge1", tokenizer="kiwi")
    mine, alone = in_turn(rounds, mine_of, lambda: lambda: deque(_kiwi().tokenize(iter(texts)), maxlen=0))
    for n_sampled in sizes:
        (theirs,) = in_turn(1, lambda n=n_sampled: krag_evaluation(data.first(n), "rouge1", THRESHOLD, "kiwi", 10))  # type: ignore[misc]
        row = Row(
            work=f"{n_queries:,} queries x 3 gold x 10 retrieved, Korean, Kiwi, rouge1",
            peer=f"krag with Kiwi, from {n_sampled} queries",
            ours=mine.seconds,
            theirs=scaled(theirs, n_queries / n_sampled),
            asked=200.0,
            limit=alone.seconds,
            limited_by=f"Kiwi alone, for {len(texts):,} distinct texts",
        )
        yield profiled(row, mine_of)
    yield profiled(
        Row(
            work=f"{n_queries:,} queries x 3 gold x 10 retrieved, Korean, Kiwi, rouge1, against Kiwi",
            peer="Kiwi alone, each distinct text once",
            ours=mine.seconds,
            theirs=alone.seconds,
            asked=1.05,
            at_most=True,
        ),
        mine_of,
    )
