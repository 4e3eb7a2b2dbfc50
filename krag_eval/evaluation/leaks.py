"""List what was retrieved and must not be: which document, at which rank, and why; and who saw what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from krag_eval._utils.errors import Argument, InvalidInputError
from krag_eval._utils.formatting import number_of, one_line
from krag_eval._utils.objects import ShortRepr
from krag_eval._utils.serialization import plain_fields
from krag_eval.datasets import EvalSet
from krag_eval.datasets.evalset import as_evalset
from krag_eval.documents.document import Document, as_document, may_be_need
from krag_eval.documents.needs import as_need
from krag_eval.documents.text import normalize
from krag_eval.evaluation.detail import Detail, Rows, Scored, cut_off_of, detail_of
from krag_eval.evaluation.explanation import show_document
from krag_eval.matching.forbidden import FILTER, LISTED, MISSING, OLDER, Reason, named
from krag_eval.matching.id_batch import IdBatch
from krag_eval.matching.near_duplicates import near_pairs
from krag_eval.metrics.judgments import within
from krag_eval.metrics.leaks import Leaks

_MOST_SHOWN = 10
BESIDE, INSTEAD, NEAR, COPY = "older_version_beside", "older_version_instead", "near_duplicate", "copy"
LEAK_CAUSES = {
    LISTED: "the question lists the document",
    INSTEAD: "an older version was retrieved, and the current one was not",
    BESIDE: "an older version was retrieved beside the current one",
    NEAR: "listed, and nearly the same text as the current one, so that a ranking cannot tell them apart",
    FILTER: "its metadata break `allowed`: a filter is missing",
    MISSING: "its metadata lack a key of `allowed`: no filter can work",
    COPY: "the text of a forbidden document, under another id: not counted in the metrics",
}
NOTHING_FORBIDDEN = "no question forbids anything, so this checks nothing"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Leak(ShortRepr):
    """One document that was retrieved and must not be.

    Attributes:
        index: The place of its query in the input, from 0.
        id: The id of the query, where ids were given.
        query: The text of the query, where texts were given.
        rank: Its rank, from 1; in a session the rank within its search.
        search: In a session the number of its search, from 1; None for one ranking.
        document: The document.
        reason: Why it must not be retrieved.
        cause: A key of `LEAK_CAUSES`.
    """

    index: int
    id: str | None
    query: str | None
    rank: int
    search: int | None
    document: Document
    reason: str
    cause: str

    def to_dict(self) -> dict[str, Any]:
        """Return the leak as one flat dict."""
        row = plain_fields(self, "index", "id", "query", "rank", "search", "reason", "cause")
        return row | {"document_id": self.document.id, "document_text": self.document.text}

    def __str__(self) -> str:
        name = f"query {self.index}" if self.id is None else self.id
        place = f"rank {self.rank}" if self.search is None else f"rank {self.rank} of search {self.search}"
        return one_line(f"{name}: {show_document(self.document)} at {place}: {self.reason}")


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class LeakReview(Rows[Leak]):
    """What was retrieved and must not be: what `result.leaks()` returns; print it, or go through it.

    Attributes:
        rows: The leaks, by query, then rank.
        k: The cut-off; None for all ranks.
        n_leaking: How many queries have one.
        n_defined: How many queries forbid anything.
        n_unknown: How many retrieved documents say nothing about a key that `allowed` looks at.
        hidden: The query of each gold document that whoever asks may not see, and why: it was left out.
        copies: Documents with the text of a forbidden one under another id. They count in no metric.
    """

    rows: tuple[Leak, ...]
    k: int | None
    n_leaking: int
    n_defined: int
    n_unknown: int
    hidden: tuple[tuple[int, str], ...] = ()
    copies: tuple[Leak, ...] = ()

    @property
    def causes(self) -> dict[str, int]:
        """How many leaks each cause has, in the order of `LEAK_CAUSES`; causes without any are left out."""
        counts = Counter(leak.cause for leak in (*self.rows, *self.copies))
        return {cause: counts[cause] for cause in LEAK_CAUSES if counts[cause]}

    @property
    def title(self) -> str:
        """How many questions got a forbidden document, in words, and what none proves: the exact binomial bound.

        Source: Clopper & Pearson (1934), Biometrika 26, one-sided, for 0 of n.

        >>> LeakReview(rows=(), k=10, n_leaking=0, n_defined=200, n_unknown=0).title
        '0 of 200 questions got a forbidden document within rank 10: under 1.5 % with 95 % confidence'
        >>> LeakReview(rows=(), k=None, n_leaking=3, n_defined=200, n_unknown=0).title
        '3 of 200 questions got a forbidden document at any rank'
        """
        if not self.n_defined:
            return f"No question got a forbidden document: {NOTHING_FORBIDDEN}"
        where = "at any rank" if self.k is None else f"within rank {self.k}"
        said = f"{self.n_leaking:,} of {number_of(self.n_defined, 'question')} got a forbidden document {where}"
        return f"{said}: {at_most(self.n_defined, 0.95)}" if not self.n_leaking else said

    def matrix(self, rows: str, columns: str, evalset: object = None) -> dict[str, dict[str, int]]:
        """Return who saw what: for each value of a field of the questions the leaks by a field of the documents.

        Args:
            rows: A field of the questions, or a key of their metadata, such as `"asker"`.
            columns: A key of the metadata of documents, such as `"tenant"`.
            evalset: The questions that `rows` is a field of.

        Raises:
            InvalidInputError: The set lacks a question of the result.

        >>> from krag_eval import EvalSet, evaluate_run
        >>> rows = [{"id": 1, "gold": [], "asker": "ann", "allowed": {"tenant": ["a"]}}]
        >>> result = evaluate_run(EvalSet(rows), {"1": [{"id": "x", "metadata": {"tenant": "b"}}]}, metrics="leak")
        >>> result.leaks().matrix("asker", "tenant", EvalSet(rows))
        {'ann': {'b': 1}}
        """
        questions = None if evalset is None else as_evalset(evalset)
        counts = Counter(
            (_of_question(leak, rows, questions), value)
            for leak in self.rows
            for value in _values(leak.document.metadata.get(columns))
        )
        down, across = (sorted({pair[side] for pair in counts}) for side in (0, 1))
        return {one: {other: counts[one, other] for other in across} for one in down}

    def __str__(self) -> str:
        lines = [
            self.title,
            *(f"  {row}" for row in self.rows[:_MOST_SHOWN]),
        ]
        if len(self.rows) > _MOST_SHOWN:
            lines.append(f"... and {len(self.rows) - _MOST_SHOWN} more. `to_dicts()` and `to_pandas()` return all.")
        lines += [f"{count:>6}  {cause}: {LEAK_CAUSES[cause]}" for cause, count in self.causes.items()]
        if self.copies:
            lines.append(f"  {self.copies[0]}")
        if self.n_unknown:
            unknown = number_of(self.n_unknown, "retrieved document")
            lines.append(
                f"{unknown} without a key that `allowed` looks at: forbidden, unless a question says otherwise."
            )
        if self.hidden:
            lines.append(
                f"{number_of(len(self.hidden), 'gold document')} that may not be seen: left out of all values."
            )
        return "\n".join(lines)


def review_leaks(result: Scored, k: int | None = None) -> LeakReview:
    """Return what was retrieved and must not be; see `EvaluationResult.leaks`."""
    detail = detail_of(result, "`leaks` is not available")
    cut_off = cut_off_of(result, k, "leaks")
    found = detail.leaks
    if found is None:
        return LeakReview(rows=(), k=cut_off, n_leaking=0, n_defined=0, n_unknown=0)
    return LeakReview(
        rows=tuple(_rows(detail, found, cut_off)),
        k=cut_off,
        n_leaking=int((found.counts(cut_off) > 0).sum()),
        n_defined=int(found.is_defined.sum()),
        n_unknown=found.n_unknown,
        hidden=tuple(found.hidden),
        copies=tuple(_copies(detail, found, cut_off)),
    )


def _rows(detail: Detail, found: Leaks, k: int | None) -> list[Leak]:
    starts, side = found.first_lists.tolist(), detail.batch.predicted
    rows = []
    for number in within(found.place, found.rank, k).nonzero()[0].tolist():
        place, rank, why = int(found.place[number]), int(found.rank[number]), found.reasons[number]
        query = int(found.list_query[place])
        search = None if detail.sessions is None else place - starts[query] + 1
        start, stop = side.offsets[query : query + 2].tolist()
        cause = _cause(why, side.ids[start : stop if k is None or search else min(stop, start + k)])
        rows.append(_leak(detail, query, rank, search, found.documents[number], why.text, cause))
    near = _near_gold(detail, rows)
    return [replace(leak, cause=NEAR) if place in near else leak for place, leak in enumerate(rows)]


def _near_gold(detail: Detail, rows: Sequence[Leak]) -> set[int]:
    """Return the places of listed documents whose text is nearly that of a gold document, given or retrieved."""
    leaks = {place: leak for place, leak in enumerate(rows) if leak.cause == LISTED}
    batch = detail.batch
    if not leaks or isinstance(batch, IdBatch):
        return set()
    bounds, wanted = batch.actual.offsets.tolist(), {one for one in batch.actual.ids if one is not None}
    places = {one: place for place, one in enumerate(batch.predicted.ids) if one is not None and one in wanted}
    texts: list[str | None] = []
    ends: list[int] = []
    for leak in leaks.values():
        for place in range(bounds[leak.index], bounds[leak.index + 1]):
            document, retrieved = as_document(batch.actual.documents[place]), places.get(batch.actual.ids[place] or "")
            if document.text is None and retrieved is not None:
                document = as_document(batch.predicted.documents[retrieved])
            texts.append(document.text)
        texts.append(leak.document.text)
        ends.append(len(texts))
    near = near_pairs(texts, np.array([0, *ends]), batch.settings)
    return {place for place, end in zip(leaks, ends, strict=True) if end - 1 in near}


def _cause(reason: Reason, retrieved: Collection[str | None]) -> str:
    if reason.cause != OLDER:
        return reason.cause
    return BESIDE if reason.newer in retrieved else INSTEAD


def _copies(detail: Detail, found: Leaks, k: int | None) -> Iterator[Leak]:
    """Yield documents with the text of a document that is listed for their query, where ids alone are compared."""
    side = detail.batch.predicted
    if detail.batch.settings.methods != ("id",) or isinstance(detail.batch, IdBatch) or detail.sessions is not None:
        return
    listed = [[as_document(one) for entry in row for one in _each(entry)] for row in found.listed]
    wanted = {one.id for row in listed for one in row}
    places = [place for place, one in enumerate(side.ids) if one in wanted]
    forms = {side.ids[place]: normalize(as_document(side.documents[place]).text or "") for place in places}
    bounds = side.offsets.tolist()
    for query, row in enumerate(listed):
        texts = {form: one for one in row if (form := normalize(one.text or "") or forms.get(one.id))}
        for rank in range(1, bounds[query + 1] - bounds[query] + 1) if texts else ():
            place = bounds[query] + rank - 1
            document = as_document(side.documents[place])
            same = texts.get(normalize(document.text or ""))
            if same is not None and side.ids[place] not in {one.id for one in row} and (k is None or rank <= k):
                yield _leak(detail, query, rank, None, document, f"its text is that of {named(same)}", COPY)


def _each(entry: Any) -> Sequence[Any]:
    need = as_need(entry) if may_be_need(entry) else None
    return (entry,) if need is None else need.any_of


def _leak(
    detail: Detail, query: int, rank: int, search: int | None, document: Document, reason: str, cause: str
) -> Leak:
    named, asked = detail.names(query)
    return Leak(
        index=query,
        id=named,
        query=asked,
        rank=rank,
        search=search,
        document=document,
        reason=reason,
        cause=cause,
    )


def at_most(n: int, confidence: float) -> str:
    """Return what 0 of n proves: a share, exact, one-sided.

    >>> at_most(200, 0.95), at_most(3, 0.95)
    ('under 1.5 % with 95 % confidence', 'under 63 % with 95 % confidence')
    """
    bound = 100 * (1 - (1 - confidence) ** (1 / n))
    return f"under {bound:.2g} % with {100 * confidence:g} % confidence"


def _of_question(leak: Leak, name: str, questions: EvalSet | None) -> str:
    if questions is None:
        raise InvalidInputError(Argument("rows", name), " is a field of the questions. Give `evalset`, which has them.")
    value = questions[leak.id if leak.id is not None else leak.index].value(name)
    return "(none)" if value is None else str(value)


def _values(value: object) -> list[str]:
    if isinstance(value, (list, tuple, set, frozenset)):
        return [str(one) for one in value]
    return ["(none)" if value is None else str(value)]
