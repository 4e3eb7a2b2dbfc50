"""Korean text cut into morphemes by Kiwi: against krag with Kiwi."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.data import collection
from benchmarks.harness import Row, in_turn, profiled, scaled
from benchmarks.peers import krag_evaluation
from benchmarks.rouge import THRESHOLD, ours
from krag_eval import TOKENIZERS


def run(smoke: bool) -> Iterator[Row]:
    """The rows of Korean text; Kiwi is loaded before the clock starts on both sides."""
    from kiwipiepy import Kiwi

    n_queries, sizes, rounds = (4, (1,), 1) if smoke else (1000, (4, 40), 2)
    data = collection(n_queries, 3, 10, alphabet="korean")
    TOKENIZERS["kiwi"].tokenize("한 번")
    texts = sorted({text for side in (data.gold, data.retrieved) for row in side for text in row})
    kiwi_alone = in_turn(1, lambda: lambda: sum(map(len, Kiwi().tokenize(texts))))[0].seconds
    mine_of = ours(data, "rouge1", tokenizer="kiwi")
    (mine,) = in_turn(rounds, mine_of)
    for n_sampled in sizes:
        (theirs,) = in_turn(1, lambda n=n_sampled: krag_evaluation(data.first(n), "rouge1", THRESHOLD, "kiwi", 10))  # type: ignore[misc]
        row = Row(
            work=f"{n_queries:,} queries x 3 gold x 10 retrieved, Korean, Kiwi, rouge1",
            peer=f"krag with Kiwi, from {n_sampled} queries",
            ours=mine.seconds,
            theirs=scaled(theirs, n_queries / n_sampled),
            asked=200.0,
            note=f"Kiwi alone takes {kiwi_alone:.1f} s to split the {len(texts):,} distinct texts, each once",
        )
        yield profiled(row, mine_of)
