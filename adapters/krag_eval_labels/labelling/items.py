"""What is exchanged with other programs: the documents of a queue, and what people said of them there."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from krag_eval_labels.files import pair_of
from krag_eval_labels.labelling.queue import LabelQueue


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A document of a queue, as other programs get it.

    Attributes:
        place: Its place in the queue.
        key: What it is known by there; no program takes it for a number or a date.
        trace_id: The same as 32 hexadecimal digits.
        question: The question, or its id if it has no text.
        text: The text of the document, or its id.
        query_id: The id of the question.
        document_id: The id of the document; empty if it has none.
        label: The grade that stands so far; None without one.
        judge: The grade that a model gave; None without one.
    """

    place: int
    key: str
    trace_id: str
    question: str
    text: str
    query_id: str
    document_id: str
    label: float | None
    judge: float | None


@dataclass(frozen=True, slots=True)
class Said:
    """A label in a file of another program.

    Attributes:
        at: Its place in the file.
        key: The key or the trace id of the item.
        label: The label as it stands there; empty or None if there is none.
        who: Who gave it; empty if the file does not say.
        ids: The ids of the question and the document, as they stand there; None if the file has none.
    """

    at: str
    key: str
    label: object
    who: str = ""
    ids: tuple[str, str] | None = None


def items_of(queue: LabelQueue) -> list[Item]:
    """Return the documents of a queue, in the order in which people should label them."""
    items = []
    for place, row in enumerate(queue.rows):
        trace_id = hashlib.blake2b(pair_of(row).encode(errors="surrogatepass"), digest_size=16).hexdigest()
        document, evidence = row["document"], row.get("evidence")
        judge = evidence.get("judge") if isinstance(evidence, dict) else None
        document_id = str(document.get("id") or "")
        items.append(
            Item(
                place=place,
                key=f"k{trace_id[:12]}",
                trace_id=trace_id,
                question=str(row.get("question") or row["query_id"]),
                text=str(document.get("text") or document_id),
                query_id=str(row["query_id"]),
                document_id=document_id,
                label=queue.label_at(place),
                judge=float(judge) if isinstance(judge, (int, float)) else None,
            )
        )
    return items
