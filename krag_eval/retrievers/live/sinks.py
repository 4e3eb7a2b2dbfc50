"""The receivers of live scores, called so that none of them can disturb the application or another.

A retrieval that was scored live, and what a receiver of it can do.

Retrievals on their way from their start to their score, and the counters of what became of them.

Reads what a retriever returned: what may change later on the application's own thread, the rest on the scorer's.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Any, NamedTuple

from krag_eval._utils.checks import describe_type
from krag_eval._utils.errors import InvalidInputError
from krag_eval.documents.document import Document, read_leniently
from krag_eval.documents.readers import LANGCHAIN, reader_of_type
from krag_eval.evaluation.pipeline import EvaluationCallback
from krag_eval.evaluation.results import QueryResult

_METHODS = ("on_retrieval_scored", "on_query_scored")


class Sinks:
    """The receivers of live scores.

    Args:
        given: `RetrievalSink` or `EvaluationCallback` objects.
        problem: Called with the name of the method and what it raised.

    Raises:
        InvalidInputError: One has none of the methods that are called.
    """

    def __init__(self, given: object, problem: Callable[[str, Exception], None]) -> None:
        sinks = [given] if isinstance(given, str) or not isinstance(given, Iterable) else list(given)
        for sink in sinks:
            if isinstance(sink, type) or not any(callable(getattr(sink, name, None)) for name in _METHODS):
                raise InvalidInputError(
                    f"`sinks` holds {sink!r:.80}, which has none of {', '.join(_METHODS)}. "
                    "Pass an object made from a subclass of RetrievalSink or EvaluationCallback."
                )
        self._sinks: list[Any] = sinks
        self._problem = problem

    def __len__(self) -> int:
        return len(self._sinks)

    def locate(self, framework: str, run_id: object, known: list[object | None] | None = None) -> list[object | None]:
        """Where each receiver says that the retrieval belongs that runs now; what is known already is kept."""
        targets = known or [None] * len(self._sinks)
        for position, sink in enumerate(self._sinks):
            if targets[position] is None and _locates(sink):
                targets[position] = self._call(sink, "locate", framework, run_id)
        return targets

    def lacks_target(self, targets: list[object | None]) -> bool:
        """Whether a receiver that looks for a place found none."""
        return any(target is None and _locates(sink) for sink, target in zip(self._sinks, targets, strict=True))

    def tell(self, retrieval: ScoredRetrieval, targets: list[object | None]) -> None:
        """Pass on a retrieval; a plain evaluation callback gets its values, where there are any."""
        for sink, target in zip(self._sinks, targets, strict=True):
            if callable(getattr(sink, "on_retrieval_scored", None)):
                self._call(sink, "on_retrieval_scored", retrieval, target)
            elif retrieval.result is not None and callable(getattr(sink, "on_query_scored", None)):
                self._call(sink, "on_query_scored", retrieval.result)

    def flush(self, end: float | None) -> bool:
        """Let each receiver send what it holds until `end` (monotonic clock); whether none says it was not done."""
        done = True
        for sink in self._sinks:
            if callable(getattr(sink, "on_retrieval_scored", None)) and callable(getattr(sink, "flush", None)):
                left = None if end is None else max(0.0, end - time.monotonic())
                done = self._call(sink, "flush", left) is not False and done
        return done

    def _call(self, sink: Any, name: str, *arguments: object) -> Any:
        try:
            return getattr(sink, name)(*arguments)
        except Exception as error:  # noqa: BLE001 - the application goes on, and the error is counted
            self._problem(f"{type(sink).__name__}.{name}", error)
            return None


def _locates(sink: object) -> bool:
    locate = getattr(type(sink), "locate", None)
    return locate is not None and locate is not RetrievalSink.locate


@dataclass(frozen=True, slots=True)
class ScoredRetrieval:
    """One retrieval with its scores.

    Attributes:
        run_id: The framework's id of this retrieval.
        query: The text that the retriever was asked.
        query_id: The id of the question that it was recognised as, or the one that the application gave; else None.
        name: The retriever's name, where the framework knows it.
        result: Its values by key such as `recall@5`; None where no gold is known for it.
        n_retrieved: How many documents came back.
        n_repeats: How many of these repeat an earlier one (the same id under `"id"`, the same text otherwise).
        error: What the retriever raised, as `Type: message`, or None.
        seconds: How long it took, from the framework's start event to its end event.
        ended_at: When it ended, in UTC.
    """

    run_id: str
    query: str
    query_id: str | None
    name: str | None
    result: QueryResult | None
    n_retrieved: int
    n_repeats: int
    error: str | None
    seconds: float
    ended_at: datetime

    @property
    def scores(self) -> Mapping[str, float | None]:
        """`retrieved`, `repeats`, `empty` (1 if nothing came back, else 0), and every metric where gold is known."""
        counts = {"retrieved": self.n_retrieved, "repeats": self.n_repeats, "empty": int(not self.n_retrieved)}
        values = self.result.values if self.result is not None else {}
        return {**{name: float(count) for name, count in counts.items()}, **values}


class RetrievalSink(EvaluationCallback):
    """A receiver of live scores that may belong somewhere in a trace; override what you need."""

    def locate(self, framework: str, run_id: object) -> object | None:  # noqa: ARG002 - for those who override it
        """Where the scores of the retrieval that is running now belong; None if that is not known.

        Called on the application's own thread, in its context, when the retrieval starts and, while it gave None,
        again when it ends. It must be quick. What it raises is counted and not passed on.

        Args:
            framework: `"langchain"` or `"llama_index"`.
            run_id: The framework's id of the retrieval.
        """
        return None

    def on_retrieval_scored(self, retrieval: ScoredRetrieval, target: object | None) -> None:
        """Called on the scorer's thread, once a retrieval.

        Args:
            retrieval: What was scored.
            target: What `locate` returned, or None. A sink that has to have one leaves such a retrieval out; the
                scorer counts it as `no_target`.
        """

    def flush(self, timeout: float | None = None) -> object:
        """Called by the scorer's `flush` after the last retrieval was passed on; False says that it was not done."""


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


MOST_DOCUMENTS = 100_000


class TakenDocument(NamedTuple):
    """What a document of LangChain holds, under the names that it has there.

    Attributes:
        page_content: Its text.
        id: Its id.
        metadata: A copy of its metadata.
    """

    page_content: Any
    id: Any
    metadata: dict[str, Any]


class RankingReader:
    """Copies documents into records that nobody changes later.

    Who asked waits for `take`, so that it does no more than it must: where documents are flat, it copies their fields.
    """

    def take(self, documents: object) -> list[TakenDocument | Document]:
        """The documents in their order, as they are now.

        Raises:
            InvalidInputError: It is no list of documents, has no end, or can be looked through but once: then it is the
                application's.
        """
        if isinstance(documents, (str, bytes, Mapping)) or not hasattr(documents, "__iter__"):
            raise InvalidInputError(f"the retriever returned {describe_type(documents)}, not a list of documents")
        ranking: Iterator[Any] = iter(documents)
        if ranking is documents:
            raise InvalidInputError(f"the retriever returned {describe_type(documents)}, which reading would use up")
        given = list(islice(ranking, MOST_DOCUMENTS + 1))
        if len(given) > MOST_DOCUMENTS:
            raise InvalidInputError(f"the retriever returned more than {MOST_DOCUMENTS:,} documents, if it ever ends")
        flat = {type_ for type_ in set(map(type, given)) if (reader := reader_of_type(type_)) and reader.is_flat}
        return [
            TakenDocument(document.page_content, getattr(document, "id", None), metadata.copy())
            if type(document) in flat and type(metadata := getattr(document, "metadata", None)) is dict
            else read_leniently(document)
            for document in given
        ]

    def read(self, taken: Sequence[TakenDocument | Document]) -> list[Document]:
        """The records of documents that were taken."""
        return [
            document
            if type(document) is Document
            else Document(
                id=LANGCHAIN.read_id(document),
                text=LANGCHAIN.read_text(document),
                metadata=document.metadata,
            )
            for document in taken
        ]
