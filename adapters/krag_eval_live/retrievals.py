"""Retrievals that are not scored yet: reading their documents, and counting what became of them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import islice
from typing import Any, Literal, NamedTuple

from krag_eval import Document, InvalidInputError
from krag_eval.datasets import Stage
from krag_eval.toolkit import LANGCHAIN, OWN_ID, describe_type, hits_in, read_leniently, reader_of_type


@dataclass(slots=True)
class LiveCounters:
    """Counts of retrievals by outcome: in the end, `seen` = `scored` + `no_gold` + `unreadable` + `dropped`.

    Attributes:
        seen: Retrievals that ended.
        scored: Those scored against gold; if the retriever raised, as nothing retrieved.
        no_gold: Those without gold, of which only counts are reported.
        unreadable: Those whose documents cannot be scored.
        dropped: Those dropped because too many were waiting, or because they never ended.
        no_target: Those for which a sink found no target.
        errors: All problems: a retriever that raised, documents that cannot be read, a sink that failed.
        cancelled: Those that were cancelled or interrupted, which are not in `seen`: nobody got their result.
        not_sampled: Those that started outside of the `sample`, which are not in `seen`.
    """

    seen: int = 0
    scored: int = 0
    no_gold: int = 0
    unreadable: int = 0
    dropped: int = 0
    no_target: int = 0
    errors: int = 0
    cancelled: int = 0
    not_sampled: int = 0


@dataclass(slots=True, eq=False)
class Retrieval:
    """A retrieval that has started.

    Those inside it, which are stages of it, are `inner`; `is_scored` is false for one that is only a stage of another.
    `later` are the stages that were given its documents. `question` is what the root run was asked.
    """

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
    is_replayed: bool = False
    state: Literal["running", "held", "ended", "late", "dropped", "cancelled"] = "running"
    is_scored: bool = True
    question: str | None = None
    tool: str | None = None
    inner: list[Retrieval] = field(default_factory=list)
    stages: Sequence[Stage] = ()
    later: list[tuple[str, list[TakenDocument | Document]]] = field(default_factory=list)

    @property
    def ranking(self) -> list[Document] | BaseException:
        """The documents, or what the retriever raised."""
        return (self.documents or []) if self.error is None else self.error

    def stop(self) -> None:
        """Record when the retrieval ended."""
        self.ended_at = datetime.now(UTC)
        if not self.is_replayed:
            self.seconds = time.perf_counter() - self.started

    def is_readable(self) -> bool:
        """Read the documents that were taken; return whether there are any, or an error in their place."""
        if self.taken is not None:
            self.documents, self.taken = read_taken(self.taken), None
        return self.documents is not None or self.error is not None


MOST_DOCUMENTS = 100_000


class TakenDocument(NamedTuple):
    """The fields of a LangChain document, with LangChain's names.

    Attributes:
        page_content: The text.
        id: The id.
        metadata: A copy of the metadata.
        own: The document itself, if it is one of krag_eval's, whose other fields do not change.
    """

    page_content: Any
    id: Any
    metadata: dict[str, Any]
    own: Document | None = None


def take_documents(documents: object) -> list[TakenDocument | Document]:
    """Return the documents in their order, as they are now.

    The application waits for this: it copies at once what may change, the fields of flat documents, and the metadata of
    krag_eval's own. `read_taken` does the rest on the scorer's thread.

    Raises:
        InvalidInputError: The result is not a list of documents, does not end, or can be iterated over only once,
            which is left to the application.
    """
    hits = None if isinstance(documents, (list, tuple)) else hits_in(documents)
    documents = documents if hits is None else hits
    if isinstance(documents, (str, bytes, Mapping)) or not hasattr(documents, "__iter__"):
        raise InvalidInputError(f"the retriever returned {describe_type(documents)}, not a list of documents")
    ranking: Iterator[Any] = iter(documents)
    if ranking is documents:
        raise InvalidInputError(f"the retriever returned {describe_type(documents)}, which can be read only once")
    given = list(islice(ranking, MOST_DOCUMENTS + 1))
    if len(given) > MOST_DOCUMENTS:
        raise InvalidInputError(f"the retriever returned more than {MOST_DOCUMENTS:,} documents")
    flat = {type_ for type_ in set(map(type, given)) if (reader := reader_of_type(type_)) and reader.is_flat}
    return [
        TakenDocument(None, None, document.metadata.copy(), document)
        if type(document) is Document and type(document.metadata) is dict
        else TakenDocument(document.page_content, getattr(document, "id", None), metadata.copy())
        if type(document) in flat and type(metadata := getattr(document, "metadata", None)) is dict
        else read_leniently(document)
        for document in given
    ]


def read_taken(taken: Sequence[TakenDocument | Document]) -> list[Document]:
    """Return the records of documents that were taken."""
    return [_record(document) if isinstance(document, TakenDocument) else document for document in taken]


def _record(document: TakenDocument) -> Document:
    if document.own is not None:
        return read_leniently(replace(document.own, metadata=document.metadata))
    id_ = LANGCHAIN.read_id(document)
    other = LANGCHAIN.other_id(document, id_)
    metadata = document.metadata if other is None else {**document.metadata, OWN_ID: other}
    return Document(id=id_, text=LANGCHAIN.read_text(document), metadata=metadata)
