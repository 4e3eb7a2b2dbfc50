"""What a row of a run may hold beside one ranking: the searches of a session, and the stages of a pipeline."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from krag_eval._utils.checks import check_number
from krag_eval._utils.errors import InvalidInputError, describe_type, did_you_mean, errors_at, refuse, show
from krag_eval._utils.objects import ShortRepr
from krag_eval.datasets.question import document_row
from krag_eval.documents.document import Document, read_leniently
from krag_eval.documents.readers import looks_like_id

Part = TypeVar("Part")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Stage(ShortRepr):
    """What one stage of a pipeline returned: a retriever, a fusion, a reranker, a cut.

    Attributes:
        name: Its name, unique among the stages of a row.
        retrieved: The documents that it returned, best first.
        inputs: The names of the earlier stages whose documents it was given; none for a stage that searches.
        latency_s: How long it took, in seconds; None if it was not measured.
        further: Fields of the file that krag_eval does not know.
    """

    name: str
    retrieved: tuple[Document, ...] = ()
    inputs: tuple[str, ...] = ()
    latency_s: float | None = None
    further: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> Stage:
        """Read `{"name", "retrieved": [documents], "inputs"?: [names], "latency_s"?}`.

        Raises:
            InvalidInputError: A field is missing or has the wrong type.
        """
        name, inputs = row.get("name"), row.get("inputs")
        if not isinstance(name, str) or not name:
            raise InvalidInputError(f"`name` is {show(name)}. Each stage needs a name, such as 'reranker'.")
        inputs = [] if inputs is None else [inputs] if isinstance(inputs, str) else inputs
        if not isinstance(inputs, (list, tuple)) or not all(isinstance(one, str) for one in inputs):
            refuse("inputs", "a list of names of earlier stages", inputs)
        return cls(
            name=name,
            retrieved=read_documents(row, "retrieved"),
            inputs=tuple(dict.fromkeys(inputs)),
            latency_s=_amount(row, "latency_s"),
            further={name: value for name, value in row.items() if name not in _STAGE_FIELDS},
        )

    def is_filter(self, name: str | None = None) -> bool:
        """Return whether it is the filter of this name, or by default one whose name says that it is a filter."""
        return bool(self.inputs) and (self.name == name if name else "filter" in self.name.casefold())

    def to_dict(self) -> dict[str, Any]:
        """Return the stage to write."""
        row: dict[str, Any] = {"name": self.name, "retrieved": document_rows(self.retrieved)}
        row |= {"inputs": list(self.inputs)} if self.inputs else {}
        row |= {} if self.latency_s is None else {"latency_s": self.latency_s}
        return row | dict(self.further)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Search(ShortRepr):
    """One search of a session.

    Attributes:
        retrieved: The documents that it returned, best first; empty if it raised.
        query: What was searched for, or None.
        latency_s: How long it took, in seconds; None if it was not measured.
        tokens: How many tokens it cost; None if they were not counted.
        tool: The name of the tool or the retriever that was called, or None.
        turn: The turn of the conversation in which it was made, from 0 or 1; None if there are none.
        error: What it raised, without credentials, or None. The session went on.
        stages: The stages of its pipeline, the last of which is what it returned.
        further: Fields of the file that krag_eval does not know.
    """

    retrieved: tuple[Document, ...] = ()
    query: str | None = None
    latency_s: float | None = None
    tokens: float | None = None
    tool: str | None = None
    turn: int | None = None
    error: str | None = None
    stages: tuple[Stage, ...] = ()
    further: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.error is not None:
            from krag_eval._utils.redaction import default_redactor  # only errors need it

            object.__setattr__(self, "error", default_redactor()(self.error))
        elif self.stages and not self.retrieved:
            object.__setattr__(self, "retrieved", self.stages[-1].retrieved)
        check_stages(self.stages)

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> Search:
        """Read `{"retrieved": [documents], "query"?, "latency_s"?, "tokens"?, "tool"?, "turn"?, "error"?, "stages"?}`.

        Raises:
            InvalidInputError: It has no ranking, or a field has the wrong type.
        """
        texts = {name: row.get(name) for name in ("query", "tool", "error")}
        for name, value in texts.items():
            if value is not None and not isinstance(value, str):
                refuse(name, "a string, or left out", value)
        turn = row.get("turn")
        if turn is not None and (not isinstance(turn, int) or isinstance(turn, bool)):
            refuse("turn", "an integer, or left out", turn)
        stages = read_stages(row)
        return cls(
            retrieved=last_ranking(row, stages, has_failed=texts["error"] is not None),
            **texts,
            latency_s=_amount(row, "latency_s"),
            tokens=_amount(row, "tokens"),
            turn=turn,
            stages=stages,
            further={name: value for name, value in row.items() if name not in _SEARCH_FIELDS},
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the search to write."""
        row: dict[str, Any] = {"retrieved": document_rows(self.retrieved)}
        names = ("query", "latency_s", "tokens", "tool", "turn", "error")
        row |= {name: value for name in names if (value := getattr(self, name)) is not None}
        row |= {"stages": [stage.to_dict() for stage in self.stages]} if self.stages else {}
        return row | dict(self.further)


_STAGE_FIELDS = {"name", "retrieved", "inputs", "latency_s"}
_SEARCH_FIELDS = {"retrieved", "query", "latency_s", "tokens", "tool", "turn", "error", "stages"}


def read_searches(row: Mapping[str, Any]) -> tuple[Search, ...]:
    """Return the searches of a row, in order; none if it has no `searches`.

    Raises:
        InvalidInputError: One cannot be read, or a search stands after one of a later turn.
    """
    searches = _each("searches", row.get("searches"), Search, Search.from_dict)
    latest = None
    for number, search in enumerate(searches):
        if search.turn is not None and latest is not None and search.turn < latest:
            raise InvalidInputError(
                f"`searches[{number}]` is of turn {search.turn} and stands after one of turn {latest}. Searches stand "
                "in the order in which they were made; sort them, or leave `turn` out."
            )
        latest = search.turn if search.turn is not None else latest
    return searches


def read_stages(row: Mapping[str, Any]) -> tuple[Stage, ...]:
    """Return the stages of a row or a search, in order; none if it has no `stages`.

    Raises:
        InvalidInputError: One cannot be read.
    """
    return _each("stages", row.get("stages"), Stage, Stage.from_dict)


def check_stages(stages: Sequence[Stage]) -> None:
    """Check that the inputs of stages are earlier stages, and that each stage leads to the last one.

    Raises:
        InvalidInputError: They are not, or two stages have one name.
    """
    known: dict[str, None] = {}  # in order
    for number, stage in enumerate(stages):
        if stage.name in known:
            raise InvalidInputError(
                f"`stages[{number}]`: the name {stage.name!r:.60} is taken. Each stage needs its own."
            )
        for name in stage.inputs:
            if name not in known:
                raise InvalidInputError(
                    f"`stages[{number}]` ({stage.name!r:.60}): there is no earlier stage {name!r:.60} for its `inputs`."
                    f"{did_you_mean(name, known)} Earlier stages: {', '.join(known) or 'none'}."
                )
        known[stage.name] = None
    used = {name for stage in stages for name in stage.inputs}
    for stage in stages[:-1]:
        if stage.name not in used:
            raise InvalidInputError(
                f"The stage {stage.name!r:.60} is an input of no later stage, and only the last stage is used by the "
                "application. Name it in the `inputs` of the stage that is given its documents."
            )


def last_ranking(row: Mapping[str, Any], stages: Sequence[Stage], *, has_failed: bool) -> tuple[Document, ...]:
    """Return the documents under `retrieved`, or those of the last stage, which must be the same where both are given.

    Raises:
        InvalidInputError: They differ, or neither is given.
    """
    given = row.get("retrieved")
    if given is None and stages:
        return stages[-1].retrieved
    retrieved = () if given is None and has_failed else read_documents(row, "retrieved")
    if stages and [(d.id, d.text) for d in retrieved] != [(d.id, d.text) for d in stages[-1].retrieved]:
        raise InvalidInputError(
            f"`retrieved` is not what the last stage, {stages[-1].name!r:.60}, returned. Leave `retrieved` out, or add "
            "the stage that made it."
        )
    return retrieved


def read_documents(row: Mapping[str, Any], name: str) -> tuple[Document, ...]:
    """Return the documents in the list under a name.

    Raises:
        InvalidInputError: There is no list, or a document cannot be read.
    """
    documents = row.get(name)
    if name not in row:
        raise InvalidInputError(f"`{name}` is missing. It must be a list of documents, [] if there are none.")
    if not isinstance(documents, (list, tuple)):
        refuse(name, "a list of documents, [] if there are none", documents)
    return tuple(_read(f"{name}[{number}]", document) for number, document in enumerate(documents))


def document_rows(documents: Iterable[Document]) -> list[dict[str, Any]]:
    """Return retrieved documents as they are written."""
    return [document_row(document, "score") for document in documents]


def _each(name: str, given: Any, kind: type[Part], read: Callable[[Mapping[str, Any]], Part]) -> tuple[Part, ...]:
    if given is None:
        return ()
    if not isinstance(given, (list, tuple)):
        refuse(name, "a list, in the order of time", given)
    parts = []
    for number, one in enumerate(given):
        if isinstance(one, kind):
            parts.append(one)
            continue
        if not isinstance(one, Mapping):
            refuse(f"{name}[{number}]", "a mapping", one)
        with errors_at(f"`{name}[{number}]`"):
            parts.append(read(one))
    return tuple(parts)


def _amount(row: Mapping[str, Any], name: str) -> float | None:
    value = row.get(name)
    return None if value is None else check_number(name, value, least=0)


def _read(place: str, given: object) -> Document:
    if isinstance(given, str):  # a text, or the id of a document
        given = Document(id=looks_like_id(given), text=given)
    try:  # not `errors_at`: there are many documents
        document = given if isinstance(given, Document) else read_leniently(given)
    except InvalidInputError as error:
        raise error.at(f"`{place}`") from None
    if document.id is None and document.text is None and not document.metadata:
        raise InvalidInputError(f"`{place}`: {describe_type(given)} has neither an id nor a text.")
    return document
