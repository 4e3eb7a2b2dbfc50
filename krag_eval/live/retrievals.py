"""Retrievals on their way from their start to their score, and the counters of what became of them."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime

from krag_eval.documents import Document
from krag_eval.live.reading import TakenDocument


@dataclass(slots=True)
class LiveCounters:
    """What became of the retrievals: `seen` = `scored` + `no_gold` + `unreadable` + `dropped`, once all are through.

    Attributes:
        seen: Retrievals that ended.
        scored: Those with gold, scored; a retriever that raised counts here as nothing retrieved.
        no_gold: Those without gold; they are reported with what needs none.
        unreadable: Those whose documents cannot be scored.
        dropped: Those given up because too many were waiting, or that never ended.
        no_target: Those for which a sink did not know where they belong.
        errors: Whatever went wrong: a retriever that raised, documents that cannot be read, a sink that failed.
    """

    seen: int = 0
    scored: int = 0
    no_gold: int = 0
    unreadable: int = 0
    dropped: int = 0
    no_target: int = 0
    errors: int = 0


@dataclass(slots=True)
class Retrieval:
    """One retrieval on its way."""

    framework: str
    run_id: str
    query: object
    query_id: str | None
    name: str | None
    targets: list[object | None]
    started: float
    taken: list[TakenDocument | Document] | None = None
    documents: list[Document] | None = None
    error: BaseException | None = None
    seconds: float = 0.0
    ended_at: datetime | None = None

    @property
    def ranking(self) -> list[Document] | BaseException:
        """The documents, or what the retriever raised."""
        return (self.documents or []) if self.error is None else self.error

    def stop(self) -> None:
        """Note the time."""
        self.seconds, self.ended_at = time.perf_counter() - self.started, datetime.now(UTC)
