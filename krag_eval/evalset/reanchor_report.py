"""What became of each gold passage in a corpus that was cut anew."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from krag_eval.evalset.evalset import EvalSet

Status = Literal["valid", "moved", "merged", "split", "lost", "unanchorable"]
_SHOWN = 200
STATUSES: tuple[Status, ...] = get_args(Status)


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """What became of one gold passage of a question.

    Attributes:
        question_id: The question.
        status: `"valid"`: its chunk still holds it; `"moved"`: another chunk is the same text, or nearly;
            `"merged"`: a larger chunk holds it; `"split"`: several chunks hold it together; `"lost"`: nothing in the
            corpus is similar enough; `"unanchorable"`: its text is not known.
        old_id: The id of its chunk, or None.
        new_ids: The ids of the chunks that hold it now; the old one where it is lost or cannot be anchored.
        method: `"text"`, `"containment"` or `"rougeL"`; None where it was not found.
        similarity: The share of its words that these chunks have in the same order, 0 to 1; of a lost one what the
            nearest chunks have.
        alternatives: Other chunks that hold all of it, at most 20.
        nearest: Of a lost one, the chunks that come nearest.
        text: The passage, or None.
    """

    question_id: str
    status: Status
    old_id: str | None
    new_ids: tuple[str, ...]
    method: str | None = None
    similarity: float | None = None
    alternatives: tuple[str, ...] = ()
    nearest: tuple[str, ...] = ()
    text: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedDocument:
    """A gold document of a question that the corpus does not have under its id.

    Attributes:
        question_id: The question.
        old_id: The id of the document.
        new_ids: The documents in which its passages were found; empty where there is none.
    """

    question_id: str
    old_id: str
    new_ids: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class ReanchorReport:
    """A question set linked to another corpus, and what became of each gold passage.

    Attributes:
        evalset: The question set with the new ids. Passages that were not found are in it as they were.
        anchors: One for each gold passage of each question, in order.
        documents: Gold documents whose ids the corpus does not have.
    """

    evalset: EvalSet
    anchors: tuple[Anchor, ...]
    documents: tuple[MovedDocument, ...]

    @property
    def counts(self) -> dict[str, int]:
        """How many gold passages have each status."""
        counted = Counter(anchor.status for anchor in self.anchors)
        return {status: counted[status] for status in STATUSES}

    @property
    def lost(self) -> list[Anchor]:
        """The gold passages that are not in the corpus, or cannot be looked for."""
        return [anchor for anchor in self.anchors if anchor.status in ("lost", "unanchorable")]

    @property
    def ok(self) -> bool:
        """Whether every gold passage and every gold document was found."""
        return not self.lost and all(document.new_ids for document in self.documents)

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON takes it, without the question set."""
        return {
            "ok": self.ok,
            "n_questions": len(self.evalset),
            "counts": self.counts,
            "passages": [_shown(asdict(anchor)) for anchor in self.anchors],
            "documents": [asdict(document) for document in self.documents],
        }


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    text = row["text"]
    return row if text is None or len(text) <= _SHOWN else row | {"text": text[: _SHOWN - 1] + "…"}
