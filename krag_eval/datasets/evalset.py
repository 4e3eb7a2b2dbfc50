"""A set of questions with their gold documents, in a fixed order."""

from __future__ import annotations

import contextlib
import operator
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from krag_eval._utils.checks import one_of
from krag_eval._utils.errors import InvalidInputError, describe_type, did_you_mean, errors_at, warn
from krag_eval._utils.objects import cached_property
from krag_eval._utils.plugins import ShownInNotebooks
from krag_eval._utils.serialization import data_frame
from krag_eval.datasets.beside import beside
from krag_eval.datasets.by_query import by_query, is_table, judged_documents
from krag_eval.datasets.frames import rows_of_frame
from krag_eval.datasets.question import DOC_KEY, GOLD, LEVELS, RULES, Question, check_new, of_other_names, without_gold
from krag_eval.datasets.rules import with_rules
from krag_eval.documents.document import Document
from krag_eval.documents.readers import OWN_ID, IdKey, as_id, looks_like_id, reader_of, split_pair

if TYPE_CHECKING:
    import pandas as pd


class EvalSet(ShownInNotebooks, Sequence[Question]):
    """Questions with their gold documents, in a fixed order, each id once.

    Args:
        questions: `Question` objects, or what can be read as such: rows as mappings with the fields of `Question`, or a
            table of them (pandas, polars, pyarrow); `{question: gold}` or `(question, gold)` pairs, where the gold is a
            document or a list of them; `{query id: {document id: grade}}`, the `Qrels` of ranx, or LlamaIndex'
            `EmbeddingQAFinetuneDataset` as a dict. A string in `gold`
            is a text; in pairs it is also an id if it is one word, and the method of matching decides. Questions
            without ids are numbered from 0.
        name: The name of the set in tables and reports.
        askers: What each asker may see, as for `forbidding`.
        supersedes: Which documents are outdated, as for `forbidding`.

    Attributes:
        n_rejected: How many bad lines of its file `read_evalset` skipped.

    Raises:
        InvalidInputError: A row cannot be read or repeats an id; the message names its number.

    >>> evalset = EvalSet([{"id": 1, "question": "When?", "gold_chunk_ids": ["c7"]}], name="faq")
    >>> evalset["1"].gold_chunk_ids, evalset.gold()
    (('c7',), [[Document(id='c7', text=None, grade=None, score=None, metadata={})]])
    """

    def __init__(
        self,
        questions: object,
        *,
        name: str | None = None,
        askers: Mapping[str, Mapping[str, Any]] | None = None,
        supersedes: Mapping[str, object] | None = None,
    ) -> None:
        self.name = name
        self.n_rejected = 0
        self._by_id: dict[str, Question] = {}
        for number, given in enumerate(_rows_in(questions)):
            question = _as_question(given, f"question {number}")
            check_new(question.id, self._by_id, f"question {number}: the id")
            self._by_id[question.id] = question
        if askers is not None or supersedes is not None:
            self._by_id = {
                one.id: one for one in with_rules(self._by_id.values(), askers=askers, supersedes=supersedes)
            }
        self._rows = tuple(self._by_id.values())

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Question]:
        return iter(self._rows)

    @overload
    def __getitem__(self, key: int | str) -> Question: ...
    @overload
    def __getitem__(self, key: slice) -> EvalSet: ...
    def __getitem__(self, key: int | str | slice) -> Question | EvalSet:
        """Return the question with this id or at this position; a slice is a set again.

        Raises:
            InvalidInputError: There is no question with this id.
        """
        if isinstance(key, slice):
            return EvalSet(self._rows[key], name=self.name)
        if not isinstance(key, str):
            return self._rows[operator.index(key)]
        found = self.get(key)
        if found is None:
            raise InvalidInputError(f"There is no question with the id {key!r:.60}.{did_you_mean(key, self._by_id)}")
        return found

    def __eq__(self, other: object) -> bool:
        return self._rows == other._rows if isinstance(other, EvalSet) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # its rows hold mappings

    def __repr__(self) -> str:
        negative = sum(question.is_negative for question in self)
        return f"EvalSet({self.name or ''!r:.80}, {len(self)} questions, {negative} of them without an answer)"

    def get(self, question_id: str) -> Question | None:
        """Return the question with this id, or None."""
        return self._by_id.get(as_id(question_id) or "")

    @property
    def ids(self) -> list[str]:
        """The id of each question."""
        return list(self._by_id)

    @property
    def texts(self) -> list[str]:
        """The text of each question; empty if it has none."""
        return [question.question or "" for question in self]

    @property
    def has_rules(self) -> bool:
        """Whether a question says what must not be retrieved for it."""
        return any(question.must_not or question.allowed for question in self)

    def gold(self, level: str = "chunk", doc_key: IdKey = DOC_KEY) -> list[list[Any]]:
        """Return the gold documents of each question at a level, as `evaluate` takes them."""
        if one_of("level", level, LEVELS) == "chunk":
            return [question.gold_chunks() for question in self]
        return [question.gold_documents(doc_key) for question in self]

    def find_doc_key(self, found: Iterable[Document]) -> str | None:
        """Return the metadata key under which most of these documents have ids of gold documents; None if none has.

        It is `.id` where no key has them, and documents have them as their own ids.
        """
        wanted, listed = {doc_id for question in self for doc_id in question.gold_doc_ids}, list(found)
        keys = Counter(key for document in listed for key, value in document.metadata.items() if as_id(value) in wanted)
        own = OWN_ID if any(document.id in wanted for document in listed) else None
        return next((key for key, _ in keys.most_common(1)), own)

    def where(self, keep: Callable[[Question], bool] | None = None, **values: object) -> EvalSet:
        """Return the questions for which `keep` holds and whose fields, or metadata, have these values.

        >>> evalset = EvalSet([{"id": 1, "type": "fact", "gold": []}, {"id": 2, "type": "literal", "gold": []}])
        >>> evalset.where(type="fact").ids
        ['1']
        """
        kept = [
            question
            for question in self
            if (keep is None or keep(question)) and all(question.value(name) == value for name, value in values.items())
        ]
        return EvalSet(kept, name=self.name)

    def forbidding(
        self,
        *,
        askers: Mapping[str, Mapping[str, Any]] | None = None,
        supersedes: Mapping[str, object] | None = None,
        versions: tuple[str, str] | None = None,
        corpus: Iterable[object] | None = None,
    ) -> EvalSet:
        """Return the set with what must not be retrieved written into its questions.

        Args:
            askers: For each asker what they may see, as `allowed` of a question; it is that of all questions with this
                `asker` that have no `allowed` themselves. An empty mapping allows everything.
            supersedes: For each document the ids of the versions that it replaced. For a question whose gold it is,
                these and all before them are forbidden.
            versions: The key of the metadata that all versions of a document share, and the key of the version, a
                number, a date or a string that sorts: documents of `corpus` that are older than gold are forbidden.
            corpus: The documents or chunks, each with an id. With it, all chunks of an outdated document are forbidden.

        Raises:
            InvalidInputError: An asker is not known, `supersedes` is circular, or versions have no order.

        >>> evalset = EvalSet([{"id": 1, "gold_chunk_ids": ["price-2026"]}])
        >>> evalset.forbidding(supersedes={"price-2026": ["price-2025"]})[0].must_not[0].metadata["reason"]
        'superseded by price-2026'
        """
        asked = {"askers": askers, "supersedes": supersedes, "versions": versions, "corpus": corpus}
        return EvalSet(with_rules(self, **asked), name=self.name)  # type: ignore[arg-type] # as above

    @cached_property
    def fingerprint(self) -> str:
        """Sixteen hex digits that change with any question, answer or gold document, and not with notes or the name."""
        import hashlib
        import json

        digest = hashlib.sha256()
        for question in self:
            row = question.to_dict()
            row.pop("notes", None)
            for document in (one for entry in row.get("gold", ()) for one in entry.get("any_of", (entry,))):
                document.get("metadata", {}).pop(OWN_ID, None)  # vector stores make up new ones
            digest.update(json.dumps(row, sort_keys=True, default=str, ensure_ascii=True).encode() + b"\n")
        return digest.hexdigest()[:16]

    def to_pandas(self) -> pd.DataFrame:
        """Return a frame with one row per question and the columns of `Question.to_dict`. Needs pandas."""
        return data_frame([question.to_dict() for question in self], "evalset.to_pandas()")


def as_evalset(given: object) -> EvalSet:
    """Return an `EvalSet`, or anything that an `EvalSet` can be made of.

    Raises:
        InvalidInputError: It is nothing of these, or a row cannot be read.
    """
    if isinstance(given, EvalSet):
        return given
    values = given.values() if isinstance(given, Mapping) else [given]
    is_retriever = any(callable(getattr(one, name, None)) for one in values for name in _CALLS)
    if is_retriever or hasattr(given, "rows"):
        raise _no_questions(given, "Were two arguments swapped? ")
    return EvalSet(given)


def _no_questions(given: object, cause: str = "") -> InvalidInputError:
    return InvalidInputError(
        f"An evaluation set must be an EvalSet, a list of questions, {{question: gold}} or a table, got "
        f"{describe_type(given)}. {cause}Read a file with `read_evalset(path)`."
    )


# What retrievers have, and no questions.
_CALLS = ("invoke", "retrieve", "__call__")
# What others call the id of a question.
_ID_NAMES = ("query_id", "question_id", "qid", "query-id", "_id", "queryid")


def _rows_in(given: Any) -> Any:
    """Return the questions, or the rows to read them from, with ids; anything else as it is."""
    if isinstance(given, Mapping) and given.keys() >= {"queries", "relevant_docs"}:
        return beside("llama_index_rows")(given)
    if (tables := by_query(given)) is not None:
        return _rows_of_tables(tables)
    if (frame := rows_of_frame(given)) is not None:
        given = [{name: value for name, value in row.items() if value is not None} for row in frame]
    if isinstance(given, (str, bytes, os.PathLike)) or not isinstance(given, Iterable):
        raise _no_questions(given)
    listed = list(given)
    rows = [_row_of_pair(one) if type(one) in (tuple, list) else one for one in listed]
    if all(isinstance(row, Mapping) and row.get("id") is None for row in rows):
        if any(row is one for row, one in zip(rows, listed, strict=True)):
            warn_of_numbers(rows)
        rows = [{**row, "id": number} for number, row in enumerate(rows)]
    return rows


def _rows_of_tables(tables: Mapping[str, object]) -> list[dict[str, Any]]:
    """Return rows of `{query id: {document: grade}}` or of `{question: gold}`."""
    if any(tables.values()) and all(map(is_table, tables.values())):
        named = [(query, judged_documents(table, f"[{query!r:.60}]")) for query, table in tables.items()]
        return [{"id": query, "gold": gold} | ({"question": query} if " " in query else {}) for query, gold in named]
    return [{"id": number, **_row_of_pair((query, gold))} for number, (query, gold) in enumerate(tables.items())]


def _row_of_pair(given: Sequence[Any]) -> Any:
    if len(given) != 2 or not isinstance(given[0], str):
        return given
    place = f"the gold of {given[0]!r:.60}"
    if given[1] is None:
        raise InvalidInputError(f"{place} is None. Give a document or a list of them, [] if nothing answers it.")
    gold = as_gold(judged_documents(given[1], place))
    if isinstance(gold, (list, tuple, set, frozenset)):
        gold = [Document(id=looks_like_id(one), text=one) if type(one) is str else one for one in gold]
    return {"question": given[0], "gold": gold}


def as_gold(value: object) -> object:
    """Return a lone document as a list, and an array as a list; anything else as it is."""
    with contextlib.suppress(Exception):  # reading it later says what is wrong with it
        if hasattr(value, "tolist"):
            value = value.tolist()
        is_list = isinstance(value, (list, tuple)) and split_pair(value)[1] is None
        return [value] if not is_list and reader_of(split_pair(value)[0]) is not None else value
    return value


def warn_of_numbers(rows: Sequence[Any]) -> None:
    """Say that questions are numbered, because none has an id."""
    other = next((name for name in _ID_NAMES if rows and isinstance(rows[0], Mapping) and name in rows[0]), None)
    cure = (
        "Give each an `id` if runs of it shall be kept."
        if other is None
        else f"If `{other}` has the ids, read the rows with evalset_from_rows(rows, columns={{'id': {other!r}}})."
    )
    warn(f"The questions have no `id`, so they are numbered from 0 in their order. {cure}")


def _as_question(given: object, place: str) -> Question:
    if isinstance(given, Question):
        return given
    if not isinstance(given, Mapping):
        raise InvalidInputError(
            f"{place}: {describe_type(given)} is not a question. Give a Question, a mapping, or (question, gold)."
        )
    if given and not {*GOLD, *RULES} & given.keys():
        named = " `evalset_from_rows` takes `columns`." if of_other_names(given) else ""
        raise InvalidInputError(f"{place}: ", *without_gold(given), named)
    with errors_at(place):
        return Question.from_dict({name: as_gold(value) if name in GOLD else value for name, value in given.items()})
