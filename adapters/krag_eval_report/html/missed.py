"""The questions that the run of the report misses something of, as a plain list that needs no script."""

from __future__ import annotations

from dataclasses import dataclass

from krag_eval_report.html.figures import Figure, count_figure
from krag_eval_report.records import Report
from krag_eval_report.sections.overview import subject_of

_MOST, _LONGEST = 200, 300


@dataclass(frozen=True, slots=True)
class Missed:
    """The questions that a run misses something of.

    Attributes:
        run: Its name.
        n: How many there are.
        rows: Of the first ones the id, the text, the address, how many gold documents there are and the ranks of those
            that were found, or None of one that was not.
        n_more: How many more there are.
    """

    run: str
    n: Figure
    rows: tuple[tuple[str, str, str, tuple[int | None, ...]], ...]
    n_more: int
    k: int | None


def missed_of(report: Report) -> Missed | None:
    """Return the questions; None where nothing is missed."""
    subject = subject_of(report)
    diagnosis, detail = subject.diagnosis, subject.detail
    places = list(dict.fromkeys(miss.query_index for miss in diagnosis.misses if miss.cause != "not_cited"))
    if not places:
        return None
    wanted = set(places[:_MOST])
    ranks: dict[int, list[int | None]] = {}
    for query, rank in zip(diagnosis.gold_queries.tolist(), detail.gold_rank.tolist(), strict=True):
        if query in wanted:
            ranks.setdefault(query, []).append(rank or None)
    rows = []
    for place in places[:_MOST]:
        name = f"{place + 1}" if detail.query_ids is None else detail.query_ids[place]
        text = "" if detail.queries is None else detail.queries[place] or ""
        rows.append((name, text[:_LONGEST], f"#n={place + 1}", tuple(ranks.get(place, ()))))
    n = count_figure(len(places), "missed_queries", subject.name)
    return Missed(subject.name, n, tuple(rows), len(places) - len(rows), diagnosis.k)
