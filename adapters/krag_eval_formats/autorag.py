"""AutoRAG's `qa.parquet`: one question per row, whose `retrieval_gt` is a list of lists of ids: all of (any of ...).

Each inner list is a need. Texts come from the `corpus.parquet` in the same folder, if there is one. The first answer of
`generation_gt` is the question's answer; the list stays among the further fields if it has others.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from krag_eval import Document, InvalidInputError, Need, Question, RunRow
from krag_eval.toolkit import Kind, Source, as_id, errors_at, is_file, nfc, read_passage, refuse
from krag_eval_formats.narrow import fields_from

_COLUMNS = frozenset({"qid", "query", "retrieval_gt"})


def kinds_in(source: Source) -> tuple[Kind, ...]:
    """Return what a file holds if its columns are those of AutoRAG's questions, or of the results of a node."""
    kinds: list[Kind] = ["evalset"] if source.names >= _COLUMNS else []
    return tuple(kinds + (["run"] if source.names >= {"qid", "retrieved_ids"} else []))


def questions(source: Source) -> Iterator[tuple[str, Question]]:
    """Yield each question with its place; an empty `retrieval_gt`, or `[[]]`, is a question without an answer.

    Raises:
        InvalidInputError: A row cannot be read; the message begins with its place.
    """
    rows = list(source.rows())
    wanted = {one for _, row in rows for one in _flat(row.get("retrieval_gt"))}
    beside = Path(source.path).parent / "corpus.parquet"
    texts = _texts(Source(beside), wanted) if is_file(beside) else {}
    for place, row in rows:
        with errors_at(place):
            question = _question(row, texts)
        yield place, question


def rankings(source: Source) -> Iterator[tuple[str, RunRow]]:
    """Yield what a node retrieved for each question: ids, and texts and scores if they are there.

    Raises:
        InvalidInputError: A row cannot be read; the message begins with its place.
    """
    return source.each(_ranking)


def _ranking(row: Mapping[str, Any]) -> RunRow:
    lists = [row.get(name) for name in ("retrieved_ids", "retrieved_contents", "retrieve_scores")]
    ids, texts, scores = (one if isinstance(one, list) else [] for one in lists)
    rows = [
        {"id": doc_id, "text": text, "score": score}
        for doc_id, text, score in itertools.zip_longest(ids, texts[: len(ids)], scores[: len(ids)])
    ]
    return RunRow.from_dict({"query_id": row.get("qid"), "retrieved": rows})


def _question(row: Mapping[str, Any], texts: Mapping[str, Document]) -> Question:
    groups = row.get("retrieval_gt")
    if not isinstance(groups, list) or not all(isinstance(group, list) for group in groups):
        must = "a list of lists of ids: each inner list holds the ids of which any is enough, as in [['a', 'b'], ['c']]"
        refuse("retrieval_gt", must, groups)
    answers = row.get("generation_gt")
    answers = [answers] if isinstance(answers, str) else answers
    given = answers if isinstance(answers, list) else []
    fields = fields_from(row, {*_COLUMNS, "id"} | ({"generation_gt"} if len(given) == 1 else set()))
    if given and isinstance(given[0], str):
        fields["answer"] = given[0]
    gold = [_entry(group, number, texts) for number, group in enumerate(groups if groups != [[]] else [])]
    return Question(**(fields | {"id": row.get("qid"), "question": row.get("query"), "gold": tuple(gold)}))


def _entry(group: list[Any], number: int, texts: Mapping[str, Document]) -> Document | Need:
    ids = [as_id(one) for one in group]
    if None in ids:
        raise InvalidInputError(f"`retrieval_gt[{number}]` holds {group[ids.index(None)]!r:.60}, which is no id.")
    documents = [texts.get(str(one), Document(id=one)) for one in ids]
    return documents[0] if len(documents) == 1 else Need(any_of=documents)


def _flat(groups: object) -> Iterator[str]:
    for group in groups if isinstance(groups, list) else ():
        yield from (nfc(str(one)) for one in (group if isinstance(group, list) else ()))


def _texts(corpus: Source, wanted: set[str]) -> dict[str, Document]:
    """Return the wanted documents of a corpus, of ids and texts alone."""
    texts = {}
    for place, row in corpus.rows():
        if (doc_id := as_id(row.get("doc_id"))) is not None and doc_id in wanted:
            with errors_at(place):
                found = read_passage(row)
            texts[doc_id] = Document(id=found.id, text=found.text)
    return texts
