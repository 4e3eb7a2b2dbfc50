"""What a diagnosis consists of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from krag_eval.checks import one_of
from krag_eval.columns import IntArray
from krag_eval.diagnosis.causes import CAUSES, FOUND
from krag_eval.documents import Document
from krag_eval.errors import InvalidInputError
from krag_eval.wrong_names import TellsAttributes


@dataclass(frozen=True, slots=True)
class Miss:
    """One gold document that was missed.

    Attributes:
        query_index: Its query's place in the input, from 0.
        query_id: Its query's id, where ids were given.
        query: Its query's text, where texts were given.
        gold_index: Its place in the query's gold list, from 0.
        gold: The document.
        cause: A key of `CAUSES`.
        rank: The rank that matches it, below the cut-off; else None.
        near_rank: The rank of the most similar retrieved text, where one is near; else None.
        similarity: The similarity of that text, from 0 to 1.
        near: That document.
    """

    query_index: int
    query_id: str | None
    query: str | None
    gold_index: int
    gold: Document
    cause: str
    rank: int | None
    near_rank: int | None
    similarity: float | None
    near: Document | None

    def to_dict(self) -> dict[str, Any]:
        """The miss as one flat dict."""
        return {
            "query_index": self.query_index,
            "query_id": self.query_id,
            "query": self.query,
            "gold_index": self.gold_index,
            "gold_id": self.gold.id,
            "gold_text": self.gold.text,
            "cause": self.cause,
            "rank": self.rank,
            "near_rank": self.near_rank,
            "similarity": self.similarity,
            "near_id": self.near.id if self.near is not None else None,
            "near_text": self.near.text if self.near is not None else None,
        }

    def __str__(self) -> str:
        name = self.query_id or self.query or f"query {self.query_index}"
        detail = {
            "ranked_below_k": f" (rank {self.rank})",
            "near_miss": f" (similarity {self.similarity or 0:.3f} at rank {self.near_rank})",
        }
        return f"{name}: {_show(self.gold)}: {CAUSES[self.cause]}{detail.get(self.cause, '')}"


@dataclass(frozen=True, slots=True)
class Ceilings:
    """Macro recall at the cut-off, and what it could be at most.

    Attributes:
        recall: As it is.
        with_perfect_reranking: With the same documents in the best order. At most: a rank that matches several gold
            documents counts with all of them.
        without_repeats: With documents that repeat an earlier one of their query taken out.
    """

    recall: float | None
    with_perfect_reranking: float | None
    without_repeats: float | None


@dataclass(frozen=True, eq=False, repr=False)
class Diagnosis(TellsAttributes):
    """The causes of all misses of a result.

    Attributes:
        k: The cut-off.
        signature: The signature of the result.
        causes: `"found"` or a key of `CAUSES` for each gold document; repeats are merged, grade 0 is left out.
        gold_queries: The query of each of these; shape (n_gold,).
        misses: Every gold document that was missed.
        ceilings: Recall as it is, and what it could be.
    """

    k: int | None
    signature: str
    causes: tuple[str, ...]
    gold_queries: IntArray
    misses: tuple[Miss, ...]
    ceilings: Ceilings

    @property
    def n_gold(self) -> int:
        """How many gold documents there are."""
        return len(self.causes)

    @property
    def n_found(self) -> int:
        """How many were found within the cut-off."""
        return self.causes.count(FOUND)

    @property
    def counts(self) -> dict[str, int]:
        """How many gold documents were missed for each cause, in the order of `CAUSES`; causes without any left out."""
        return _in_order(Counter(self.causes))

    def counts_by(self, slices: Sequence[object]) -> dict[str, dict[str, int]]:
        """The counts of each slice.

        Args:
            slices: The slice of each query, such as its type or language.

        Raises:
            InvalidInputError: There is not one slice for each query.
        """
        if isinstance(slices, (str, bytes)) or len(slices) <= int(self.gold_queries.max(initial=-1)):
            raise InvalidInputError("`slices` must hold one value for each query, such as the type of each question.")
        counters: dict[str, Counter[str]] = {}
        for query, cause in zip(self.gold_queries.tolist(), self.causes, strict=True):
            counters.setdefault(str(slices[query]), Counter())[cause] += 1
        return {name: {"found": counter[FOUND], **_in_order(counter)} for name, counter in sorted(counters.items())}

    def examples(self, cause: str | None = None, n: int | None = None) -> list[Miss]:
        """The first `n` misses of a cause, or of all causes."""
        if cause is not None:
            one_of("cause", cause, list(CAUSES))
        return [miss for miss in self.misses if cause is None or miss.cause == cause][:n]

    def to_dict(self) -> dict[str, Any]:
        """Counts, ceilings and every miss, ready for JSON."""
        return {
            "signature": self.signature,
            "k": self.k,
            "n_gold": self.n_gold,
            "n_found": self.n_found,
            "counts": self.counts,
            "ceilings": {
                "recall": self.ceilings.recall,
                "with_perfect_reranking": self.ceilings.with_perfect_reranking,
                "without_repeats": self.ceilings.without_repeats,
            },
            "misses": [miss.to_dict() for miss in self.misses],
        }

    def __repr__(self) -> str:
        at = "" if self.k is None else f" within rank {self.k}"
        lines = [f"Diagnosis: {self.n_found} of {self.n_gold} gold documents found{at}"]
        lines += [f"  {count:>6}  {cause:<17} {CAUSES[cause]}" for cause, count in self.counts.items()]
        ceilings = self.ceilings
        for name, value in (
            ("recall", ceilings.recall),
            ("with perfect reranking", ceilings.with_perfect_reranking),
            ("without repeats", ceilings.without_repeats),
        ):
            lines.append(f"  {'-' if value is None else format(value, '.4f'):>6}  {name}")
        return "\n".join(lines)


def _in_order(counts: Mapping[str, int]) -> dict[str, int]:
    return {cause: counts[cause] for cause in CAUSES if counts.get(cause)}


def _show(document: Document, most: int = 60) -> str:
    text = " ".join((document.text or "").split())
    text = text if len(text) <= most else text[: most - 1] + "…"
    return " ".join(part for part in (document.id, repr(text) if text else "") if part)
