"""The result of judging contexts: verdicts with reasons, and the metrics computed from them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from krag_eval import Document, InvalidInputError, UnknownMetricError
from krag_eval.toolkit import (
    Argument,
    ComparedByFields,
    Printed,
    data_frame,
    json_text,
    key_hint,
    with_checksum,
    write_atomically,
)
from krag_eval_answers import table_of_means
from krag_eval_llm.calling import ModelCounters

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ContextResult(Printed, ComparedByFields):
    """The outcome of judging contexts: `result["context_recall"]` is the mean over the questions where it is defined.

    Attributes:
        signature: Every setting that can change a number, the judge among them, in one line.
        means: The mean of each metric, None if it is undefined for every question.
        undefined: For each metric, how many questions its mean excludes.
        rows: One per question, in the order of the references.
        counters: What happened to the prompts.
        intervals: The interval of every mean, None where that is undefined; None where none were asked for.
    """

    signature: str
    means: Mapping[str, float | None]
    undefined: Mapping[str, int]
    rows: Sequence[ContextRow]
    counters: ModelCounters
    intervals: Mapping[str, tuple[float, float] | None] | None = None

    @property
    def n_failed(self) -> int:
        """How many questions the judge failed on; their values are undefined, never 0."""
        return sum(bool(row.failures) for row in self.rows)

    @property
    def n_without_reference(self) -> int:
        """How many questions have no reference."""
        return sum(not row.references for row in self.rows)

    @property
    def errors(self) -> dict[int, str]:
        """The errors of the retriever by question; these count as empty results."""
        return {row.index: row.error for row in self.rows if row.error is not None}

    def __iter__(self) -> Iterator[str]:
        return iter(self.means)

    def __getitem__(self, key: str) -> float | None:
        """Return the mean of a metric, None if it is undefined.

        Raises:
            UnknownMetricError: There is no such metric.
        """
        if key not in self.means:
            raise UnknownMetricError(f"The result has no value {key!r}.{key_hint(key, self.means)}")
        return self.means[key]

    def keys(self) -> list[str]:
        """Return the metrics."""
        return list(self.means)

    def to_dict(self) -> dict[str, float | None]:
        """Return every metric with its mean, None if it is undefined."""
        return dict(self.means)

    def to_json(self, *, indent: int | None = 2) -> str:
        """Return everything as JSON, including the verdicts and their reasons."""
        whole: dict[str, Any] = {
            "signature": self.signature,
            "metrics": dict(self.means),
            "undefined": dict(self.undefined),
            "n_failed": self.n_failed,
            "n_without_reference": self.n_without_reference,
            "judge": self.counters.to_dict(),
            **({} if self.intervals is None else {"intervals": dict(self.intervals)}),
            "rows": [row.to_dict() for row in self.rows],
        }
        return json_text(whole, indent=indent)

    def write_labels(self, path: str | os.PathLike[str]) -> int:
        """Write the judge's label of each chunk as JSONL, which `estimate` reads, and return how many there are.

        Raises:
            InvalidInputError: There is none, because context precision was not asked for, or the file cannot be
                written.
        """
        rows = [label for row in self.rows for label in row.label_rows()]
        if not rows:
            raise InvalidInputError(
                "The judge labelled no chunk. Ask it with ", Argument("metrics", "context_precision"), "."
            )
        write_atomically(path, (with_checksum(row, f"the label of {row['query_id']!r:.60}") for row in rows))
        return len(rows)

    def to_pandas(self) -> pd.DataFrame:
        """Return one row per question, NaN for undefined values. Needs pandas."""
        frame = data_frame([row.to_dict() for row in self.rows], "result.to_pandas()")
        return frame if frame.empty else frame.set_index("index").astype(dict.fromkeys(self.means, "float64"))

    def __str__(self) -> str:
        lines = [f"ContextResult of {len(self.rows)} questions"]
        lines += table_of_means(self.means, self.undefined, self.intervals)
        if self.n_without_reference:
            lines.append(f"  {self.n_without_reference} questions have no reference: left out")
        if self.n_failed:
            lines.append(f"  the judge failed on {self.n_failed} questions: left out where its verdict is missing")
        if self.errors:
            lines.append(f"  {len(self.errors)} retrievals raised: counted as nothing retrieved")
        return "\n".join([*lines, f"  judge: {self.counters}", f"  {self.signature}"])


@dataclass(frozen=True, slots=True)
class ChunkVerdict:
    """What the judge said of one retrieved chunk.

    Attributes:
        is_useful: Whether it was useful for arriving at the reference; None without a verdict.
        reason: Why, in the judge's words, or None.
        error: Why there is no verdict, or None.
        repeats: The rank of the earlier chunk with the same text; the judge is not asked again, and a repeat is not
            useful.
    """

    is_useful: bool | None
    reason: str | None
    error: str | None = None
    repeats: int | None = None


@dataclass(frozen=True, slots=True)
class StatementVerdict:
    """What the judge said of one statement of a reference.

    Attributes:
        text: The statement.
        is_attributed: Whether the retrieved chunks say it.
        reason: Why, in the judge's words.
    """

    text: str
    is_attributed: bool
    reason: str | None


@dataclass(frozen=True, slots=True)
class ContextRow:
    """One question with the verdicts on what was retrieved for it.

    Attributes:
        index: Its position in the input, from 0.
        id: Its id, if ids were given.
        question: Its text.
        references: The references that are not empty.
        n_retrieved: How many chunks were judged, repeats among them.
        values: The value of each metric; None if it is undefined.
        chunks: The verdict on each chunk, best rank first; empty if context precision was not requested.
        statements: The verdict on each statement of the best covered reference; empty if context recall was not
            requested, nothing was retrieved, or the judge failed.
        failures: The errors of the judge.
        error: The error of the retriever, or None.
        documents: The retrieved documents, best rank first.
    """

    index: int
    id: str | None
    question: str | None
    references: tuple[str, ...]
    n_retrieved: int
    values: Mapping[str, float | None]
    chunks: tuple[ChunkVerdict, ...] = ()
    statements: tuple[StatementVerdict, ...] = ()
    failures: tuple[str, ...] = ()
    error: str | None = None
    documents: tuple[Document, ...] = ()

    def label_rows(self) -> Iterator[dict[str, Any]]:
        """Yield the label of each chunk with a verdict; a chunk with the text of an earlier one has its label."""
        for document, chunk in zip(self.documents, self.chunks, strict=False):
            said = chunk if chunk.repeats is None else self.chunks[chunk.repeats - 1]
            if said.is_useful is not None:
                query_id = str(self.index) if self.id is None else self.id
                read = {"id": document.id} if document.id is not None else {"text": document.text}
                yield {"query_id": query_id, "document": read, "label": said.is_useful}

    def to_dict(self) -> dict[str, Any]:
        """Return the row as a dict, ready for JSON."""
        row = {name: getattr(self, name) for name in ("index", "id", "question", "n_retrieved", "error")}
        row |= {"references": list(self.references), "failures": list(self.failures)}
        row |= {"chunks": [asdict(chunk) for chunk in self.chunks]}
        row |= {"statements": [asdict(statement) for statement in self.statements]}
        return row | dict(self.values)


def context_precision(useful: Sequence[bool]) -> float:
    """Return the mean precision at the ranks of the useful chunks.

        precision@r       = useful chunks among the first r / r
        context precision = sum over useful ranks r of precision@r / number of useful chunks retrieved

    Range: 0 to 1, higher is better.

    Edge cases:
        * No chunk is useful, or none was retrieved: 0.
        * Useful chunks that were not retrieved are unknown and cost nothing; see `context_recall`.

    Source: the context precision of ragas (`LLMContextPrecisionWithReference`), which divides by the number of useful
    chunks + 1e-10 and therefore never reaches 1; here the quotient is exact.

    Args:
        useful: For each rank, best first, whether its chunk was judged useful.

    >>> context_precision([True, False, True])
    0.8333333333333333
    """
    hits, total = 0, 0.0
    for rank, is_useful in enumerate(useful, 1):
        if is_useful:
            hits += 1
            total += hits / rank
    return total / hits if hits else 0.0


def context_recall(attributed: Sequence[bool]) -> float | None:
    """Return the share of the statements of the reference that can be attributed to the retrieved chunks.

        context recall = attributed statements / statements

    Range: 0 to 1, higher is better; None where there are no statements.

    Source: the context recall of ragas (`LLMContextRecall`).

    Args:
        attributed: For each statement whether the chunks say it.

    >>> context_recall([True, True, False, True])
    0.75
    """
    return sum(attributed) / len(attributed) if attributed else None
