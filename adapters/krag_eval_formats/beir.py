"""A BEIR folder: `corpus.jsonl`, `queries.jsonl` and `qrels/<split>.tsv`.

The path is the folder, for its split `test` or the only one that it has, or the file of a split in it. Gold documents
get their text from the corpus, which is read row by row; a title goes to their metadata.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from krag_eval import Document, EvalSet, InvalidInputError, Question
from krag_eval.toolkit import (
    Kind,
    Source,
    as_id,
    check_new,
    dump_json,
    errors_at,
    is_file,
    nfc,
    number_in,
    read_passage,
    refuse,
    replacing,
    unreadable,
    warn,
)
from krag_eval_formats.narrow import NarrowWriting, fields_from
from krag_eval_formats.trec import Judged, Line, grade_text, is_number, keep

HEADER = ("query-id", "corpus-id", "score")


def root_of(path: str) -> Path:
    """Return the BEIR folder of a path: the path itself, or the folder that the split belongs to."""
    given = Path(path)
    if Source(given).is_folder:
        return given.parent if given.name == "qrels" else given
    return given.parent.parent if given.parent.name == "qrels" else given.parent


def owns(path: str) -> bool:
    """Return whether the path is a BEIR folder, or a split in one."""
    root = root_of(path)
    is_split = path.endswith(".tsv") and Path(path).parent.name == "qrels"
    return (
        (Source(path).is_folder or is_split) and Source(root / "qrels").is_folder and _part(root, "queries") is not None
    )


def kinds_in(source: Source) -> tuple[Kind, ...]:
    """Return what a file holds if it begins with the header of BEIR's qrels."""
    return ("evalset",) if source.first_line.split() == [name.encode() for name in HEADER] else ()


def refuse_part(source: Source) -> None:
    """Raise if the file is the corpus or the queries of a BEIR folder.

    Raises:
        InvalidInputError: It is; the message names the folder.
    """
    root = root_of(source.path)
    if "_id" in source.names and Source(root / "qrels").is_folder:
        raise InvalidInputError(f"{source.path}: is one file of a BEIR folder. Give the folder, {root}.")


def questions(source: Source) -> Iterator[tuple[str, Question]]:
    """Yield the queries that the split judges, in their order there.

    Raises:
        InvalidInputError: A file is missing or cannot be read; the message begins with `path:line:`.
    """
    root, split = root_of(source.path), _split(source.path)
    source.name = root.name if owns(source.path) else source.name
    by_query = _read_qrels(split)
    queries = _read_part(root, "queries", by_query)
    wanted = {document.id or "" for judged in by_query.values() for _, document in judged.values()}
    corpus = _read_part(root, "corpus", wanted)
    _report(f"{split}: of {len(by_query)} queries, {{}} are not in queries.jsonl", by_query.keys() - queries.keys())
    _report(f"{split}: of {len(wanted)} judged documents, {{}} are not in corpus.jsonl", wanted - corpus.keys())
    texts = {}
    for doc_id, (place, row) in corpus.items():
        with errors_at(place):
            texts[doc_id] = read_passage(row)
    for query_id, judged in by_query.items():
        place, row = queries.get(query_id, (next(iter(judged.values()))[0].place, {}))
        gold = tuple(_with_text(document, texts.get(document.id or "")) for _, document in judged.values())
        fields = {"id": query_id, "gold": gold, **_fields(row)}
        with errors_at(place):
            question = Question(**fields)
        yield place, question


def write_questions(evalset: EvalSet, writing: NarrowWriting) -> None:
    """Write a folder with the split `test`: each gold document with a text is in the corpus.

    Raises:
        InvalidInputError: The folder exists and is not empty, or no question has a gold document.
    """
    queries, judgments = list[dict[str, Any]](), []
    rows: list[tuple[str, dict[str, Any] | None]] = []
    for question, gold in writing.gold_of(evalset):
        judged = writing.judged(gold)
        if not judged:
            writing.lost["questions without gold documents"] += 1
            continue
        queries.append(_query_row(question))
        for doc_id, document in judged.items():
            judgments.append((question.id, doc_id, grade_text(document, writing)))
            rows.append((doc_id, None if document.text is None else _passage_row(document, doc_id)))
            if document.text is None:
                writing.lose_parts([document], "metadata", known=(writing.grade_key,))
    corpus = writing.first_by_id(rows)
    writing.refuse_empty(queries)
    with replacing(writing.path) as folder:
        (folder / "qrels").mkdir(parents=True)
        for name, lines in (("corpus", corpus.values()), ("queries", queries)):
            texts = (dump_json(line, f"the row of {line['_id']!r:.60}") + "\n" for line in lines)
            _write(folder / f"{name}.jsonl", texts)
        records = (dict(zip(HEADER, record, strict=True)) for record in judgments)
        _write(folder / "qrels" / "test.tsv", writing.table(HEADER, records, "\t", guards=False))


def _read_qrels(split: Path) -> dict[str, Judged]:
    by_query: dict[str, Judged] = {}
    for place, record in Source(split, "tsv").records():
        if len(record) != len(HEADER):
            raise InvalidInputError(
                f"{place}: has {len(record)} columns. A line of BEIR qrels is `query-id`, `corpus-id`, `score`, "
                "separated by tabs."
            )
        query_id, doc_id, score = (nfc(cell.strip()) for cell in record)
        if not by_query and not is_number(score):
            continue  # the header
        if not query_id or not doc_id:
            raise InvalidInputError(f"{place}: an id is empty. Each line needs a query, a document and a score.")
        judged, grade = by_query.setdefault(query_id, {}), number_in(score, place, "The grade")
        keep(judged, Line(place, query_id, [doc_id]), "0", Document(id=doc_id, grade=grade))
    return by_query


def _read_part(root: Path, name: str, wanted: Container[str]) -> dict[str, tuple[str, dict[str, Any]]]:
    """Return the wanted rows of `queries.jsonl` or `corpus.jsonl` by id, with their places."""
    path = _part(root, name)
    if path is None:
        return {}
    rows: dict[str, tuple[str, dict[str, Any]]] = {}
    for place, row in Source(path).rows():
        row_id = as_id(row.get("_id", row.get("id")))
        if row_id is None:
            refuse("_id", "a string or an integer", row.get("_id"), at=place)
        check_new(row_id, rows, f"{place}: the id")
        if row_id in wanted:
            rows[row_id] = place, row
    return rows


def _part(root: Path, name: str) -> Path | None:
    return next((p for ending in (".jsonl", ".jsonl.gz") if is_file(p := root / f"{name}{ending}")), None)


def _split(path: str) -> Path:
    """Return the file of the split."""
    root = root_of(path)
    try:
        Path(path).stat()
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from error
    if Source(path).is_folder and (_part(root, "queries") is None or not Source(root / "qrels").is_folder):
        raise InvalidInputError(
            f"{path}: is not a BEIR folder. It needs the files queries.jsonl, corpus.jsonl and qrels/test.tsv."
        )
    if is_file(path):
        return Path(path)
    splits = sorted((root / "qrels").glob("*.tsv"))
    chosen = next((split for split in splits if split.stem == "test" or len(splits) == 1), None)
    if chosen is None:
        names = ", ".join(str(split) for split in splits) or "none"
        raise InvalidInputError(f"{path}: has no split `test`. Give the path of the one to read: {names}.")
    return chosen


def _report(message: str, missing: Collection[str]) -> None:
    if missing:
        first = ", ".join(repr(one) for one in sorted(missing)[:3])
        warn(f"{message.format(len(missing))}, for example {first}. They are kept without a text.")


def _fields(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a question that a row of `queries.jsonl` has, besides its id."""
    kept = {name: value for name, value in row.items() if (name, value) not in (("title", ""), ("metadata", {}))}
    fields = fields_from(kept, ("_id", "text"))
    return fields | ({"question": kept["text"]} if isinstance(kept.get("text"), str) else {})


def _query_row(question: Question) -> dict[str, Any]:
    row: dict[str, Any] = {"_id": question.id, "text": question.question or ""}
    row |= {name: value for name in NarrowWriting.FIELDS[1:] if (value := getattr(question, name))}
    return row | dict(question.further)


def _passage_row(document: Document, doc_id: str) -> dict[str, Any]:
    """Return a document as a row of a BEIR corpus."""
    metadata = dict(document.metadata)
    kept = metadata.get("title")
    title = metadata.pop("title") if isinstance(kept, str) and kept else ""
    row: dict[str, Any] = {"_id": doc_id, "title": title, "text": document.text or ""}
    return row | ({"metadata": metadata} if metadata else {})


def _with_text(judged: Document, found: Document | None) -> Document:
    return judged if found is None else replace(judged, text=found.text, metadata={**found.metadata, **judged.metadata})


def _write(path: Path, texts: Iterable[str]) -> None:
    with path.open("w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
        file.writelines(texts)
