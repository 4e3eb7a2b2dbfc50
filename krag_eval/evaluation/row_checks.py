"""Warn of rows that make metrics say something else than they seem to: whole corpora, a query's own document."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from krag_eval._utils.errors import Argument, warn
from krag_eval._utils.formatting import number_of
from krag_eval.matching.batch import Batch
from krag_eval.metrics.cut_offs import GivenCutOff

_FIRST, _LEAST_QUERIES, _LEAST_DOCUMENTS, _NEARLY = 3, 10, 10, 0.9
_LEAST_OWN = 3


def warn_of_whole_corpus(batch: Batch, cut_offs: Sequence[GivenCutOff]) -> None:
    """Warn where the first ranks of every query hold (nearly) all documents that the run holds at all."""
    sizes = batch.predicted.sizes
    ranks = [k for k in cut_offs if isinstance(k, int)]
    most = max(ranks, default=0) if None not in cut_offs else int(sizes.max(initial=0))
    least = int(sizes.min(initial=most))
    if len(batch) < _LEAST_QUERIES or least < _LEAST_DOCUMENTS:
        return
    n_documents = 0
    for n_queries in (min(_FIRST, len(batch)), len(batch)):  # nearly all runs are out after the first few
        rows = map(batch.predicted.ids_of, range(n_queries))
        n_documents = len({*chain.from_iterable(rows)})
        if least < _NEARLY * n_documents:
            return
    warn(
        f"Each of {number_of(len(batch), 'query')} retrieved nearly all of the {n_documents:,} documents that this run "
        f"holds, and {most:,} ranks are scored: recall is then high in any order. Score fewer ranks with a lower ",
        Argument("k"),
        ".",
    )


def warn_of_own_documents(batch: Batch, query_ids: Sequence[str]) -> None:
    """Warn where half of the queries retrieved the document with their own id, and it is not gold."""
    found, gold = batch.predicted, batch.actual
    ids, bounds = found.ids, found.offsets.tolist()
    enough = max(_LEAST_OWN, len(batch) / 2)
    own: list[str] = []
    n_others = 0
    for place, query in enumerate(query_ids):
        if query in ids[bounds[place] : bounds[place + 1]] and query not in gold.ids_of(place):
            own.append(query)
        elif (n_others := n_others + 1) > len(batch) - enough:  # of most runs half of the queries say it
            return
    if len(own) >= enough:
        warn(
            f"{len(own):,} of {number_of(len(batch), 'query')} retrieved the document with their own id, such as "
            f"{own[0]!r:.60}, and it is not gold. If the queries are documents of the corpus, leave these out with ",
            Argument("exclude_self", True),
            ".",
        )
