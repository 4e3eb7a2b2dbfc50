"""Random queries for the property tests: relations, and documents that realise them.

Every relation drawn here is consistent: documents that repeat each other match the same documents.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from tests.support import reference
from tests.support.reference import Denominator, Relation, Value

if TYPE_CHECKING:
    from collections.abc import Sequence

GRADES = (1.0, 2.0, 3.0, 0.5, 0.0)
CUT_OFFS = st.none() | st.integers(1, 8)
DENOMINATORS: tuple[Denominator, ...] = ("retrieved", "k")
PLAIN_METRICS = (
    reference.hit_rate_all,
    reference.hit_rate,
    reference.reciprocal_rank,
    reference.recall,
    reference.average_precision,
)


@dataclass(frozen=True)
class Ranking:
    """A query whose retrieved documents have identities, so that one can be exchanged or repeated.

    Attributes:
        order: For each rank the document (a row of `rows`) that stands there.
        rows: For each document, which listed gold documents it matches.
        grades: The grade of each listed gold document.
        gold_repeat_of: For each listed gold document the earlier one that it repeats, or `None`.
    """

    order: tuple[int, ...]
    rows: tuple[tuple[bool, ...], ...]
    grades: tuple[float, ...]
    gold_repeat_of: tuple[int | None, ...]

    @property
    def relation(self) -> Relation:
        """Who matches whom, and who repeats an earlier one."""
        return Relation(
            matches=tuple(self.rows[document] for document in self.order),
            grades=self.grades,
            gold_repeat_of=self.gold_repeat_of,
            retrieved_repeat=tuple(document in self.order[:place] for place, document in enumerate(self.order)),
        )

    def with_document_at(self, place: int, document: int) -> Ranking:
        """The same ranking with another document at a place, counted from 0."""
        return replace(self, order=(*self.order[:place], document, *self.order[place + 1 :]))

    def followed_by_a_miss(self) -> Ranking:
        """The same ranking and, below it, a new document that matches nothing."""
        miss = (False,) * len(self.grades)
        return replace(self, order=(*self.order, len(self.rows)), rows=(*self.rows, miss))


@st.composite
def rankings(
    draw: st.DrawFn, max_ranks: int = 6, max_gold: int = 4, graded: bool = True, repeats: bool = True
) -> Ranking:
    """Rankings of any shape, with nothing retrieved, no gold, and gold of grade 0 among them."""
    n_gold, n_ranks = draw(st.integers(0, max_gold)), draw(st.integers(0, max_ranks))
    gold_repeat_of: list[int | None] = [_earlier(draw, column, repeats) for column in range(n_gold)]
    order: list[int] = []
    rows: list[tuple[bool, ...]] = []
    for rank in range(n_ranks):
        repeated = _earlier(draw, rank, repeats)
        if repeated is not None:
            order.append(order[repeated])
            continue
        row: list[bool] = []
        for earlier in gold_repeat_of:
            row.append(draw(st.booleans()) if earlier is None else row[earlier])
        order.append(len(rows))
        rows.append(tuple(row))
    grades = [draw(st.sampled_from(GRADES)) if graded else 1.0 for _ in range(n_gold)]
    return Ranking(tuple(order), tuple(rows), tuple(grades), tuple(gold_repeat_of))


def _earlier(draw: st.DrawFn, place: int, repeats: bool) -> int | None:
    # Three blanks keep most documents new, so that deep rankings still carry several different documents.
    return draw(st.sampled_from([None, None, None, *range(place)])) if repeats else None


def relations(
    max_ranks: int = 6, max_gold: int = 4, graded: bool = True, repeats: bool = True
) -> st.SearchStrategy[Relation]:
    """The relations of `rankings`."""
    return rankings(max_ranks, max_gold, graded, repeats).map(lambda ranking: ranking.relation)


def relation_from_ids(
    gold: Sequence[object], retrieved: Sequence[object], grades: Sequence[float] | None = None
) -> Relation:
    """The relation of a query whose documents match, and repeat each other, when they are equal."""
    return Relation(
        matches=tuple(tuple(document == wanted for wanted in gold) for document in retrieved),
        grades=tuple([1.0] * len(gold) if grades is None else grades),
        gold_repeat_of=tuple(
            gold.index(wanted) if wanted in gold[:column] else None for column, wanted in enumerate(gold)
        ),
        retrieved_repeat=tuple(document in retrieved[:place] for place, document in enumerate(retrieved)),
    )


def permuted_gold(rel: Relation, columns: Sequence[int]) -> Relation:
    """The same query with its gold documents listed in another order."""
    first: list[int] = []
    for column, earlier in enumerate(rel.gold_repeat_of):
        first.append(column if earlier is None else first[earlier])
    groups = [first[column] for column in columns]
    return Relation(
        matches=tuple(tuple(row[column] for column in columns) for row in rel.matches),
        grades=tuple(rel.grades[column] for column in columns),
        gold_repeat_of=tuple(
            groups.index(group) if group in groups[:place] else None for place, group in enumerate(groups)
        ),
        retrieved_repeat=rel.retrieved_repeat,
    )


def documents_for(rel: Relation) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    """The gold and the retrieved documents of a query that has this relation.

    For `match_method="containment"` with `containment="gold_in_retrieved"` or `"either"`: each gold text is a
    marker, and a retrieved text is a heading of its own followed by the markers of what it matches. The relation
    must be consistent; a repeat takes the text of the first rank that matches the same.
    """
    markers: list[str] = []
    for column, earlier in enumerate(rel.gold_repeat_of):
        markers.append(f"⟦g{column}⟧" if earlier is None else markers[earlier])
    texts: list[str] = []
    for rank, (row, repeat) in enumerate(zip(rel.matches, rel.retrieved_repeat, strict=True), start=1):
        found = [marker for marker, matched in zip(markers, row, strict=True) if matched]
        texts.append(texts[rel.matches.index(row)] if repeat else " ".join([f"passage {rank}", *dict.fromkeys(found)]))
    gold: list[dict[str, object]] = [
        {"text": marker, "metadata": {"relevance": grade}} for marker, grade in zip(markers, rel.grades, strict=True)
    ]
    return gold, [{"text": text} for text in texts]


def per_query(rel: Relation, k: int | None = None) -> dict[str, Value]:
    """Every metric of one query, under every setting that changes its number."""
    values = {metric.__name__: metric(rel, k) for metric in PLAIN_METRICS}
    values |= {"precision": reference.precision(rel, k), "precision_of_k": reference.precision(rel, k, "k")}
    values |= {"f1": reference.f1(rel, k), "f1_of_k": reference.f1(rel, k, "k")}
    return values | {"ndcg": reference.ndcg(rel, k), "ndcg_linear": reference.ndcg(rel, k, "linear")}


def aggregates(rels: Sequence[Relation], k: int | None) -> dict[str, Value]:
    """Every aggregate of many queries that lies between 0 and 1."""
    rows = [per_query(rel, k) for rel in rels]
    values = {name: reference.macro([row[name] for row in rows]) for name in (rows[0] if rows else ())}
    values["micro_recall"] = reference.micro_recall(rels, k)
    for denominator, ending in zip(DENOMINATORS, ("", "_of_k"), strict=True):
        values[f"micro_precision{ending}"] = reference.micro_precision(rels, k, denominator)
        values[f"micro_f1{ending}"] = reference.micro_f1(rels, k, denominator)
    values["no_answer_empty_share"] = reference.no_answer_empty_share(rels)
    return values
