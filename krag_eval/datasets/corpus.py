"""Corpora: the documents, or chunks of documents, that retrievers search, and how chunkers cut one into the other."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from krag_eval._utils.errors import InvalidInputError
from krag_eval._utils.files.io import is_file, unreadable
from krag_eval.datasets.beside import beside
from krag_eval.datasets.formats.source import ID_KEYS, TEXT_KEYS, Source
from krag_eval.datasets.question import check_new
from krag_eval.documents.document import Document
from krag_eval.documents.readers import as_id


def read_corpus(
    path: str | os.PathLike[str],
    *,
    prepend_title: bool = False,
    columns: Mapping[str, str] | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    max_bad_rows: int = 0,
) -> list[Document]:
    """Read the documents of a corpus, in the order of the file.

    Reads rows in JSONL (also packed as .gz), a JSON list, CSV, TSV, workbooks or Parquet, with an id under `id`,
    `_id`, `chunk_id`, `docid`, `docno` or `doc_id`, a text under `text`, `contents`, `content`, `page_content` or
    `passage`, and everything else as metadata; further BEIR folders, the JSON of LlamaIndex, sets like SQuAD, the
    sessions of LoCoMo and LongMemEval, and passages of MS MARCO: a number, a tab and a text on each line.

    Args:
        path: The file or folder.
        prepend_title: Put the title before the text, as retrievers of BEIR corpora index it.
        columns: For rows with other names, the columns of `id`, `text`, `title`, `chunk_id` and `doc_id`.
        encoding: The encoding of a text that is not UTF-8, such as `"cp949"`.
        sheet: The sheet of a workbook, if several hold something.
        max_bad_rows: How many bad lines of a file of JSONL, CSV, TSV or TREC may be skipped, with a warning, and saved
            in `path.rejected.jsonl`; with 0 the first bad line is an error.

    Raises:
        InvalidInputError: The file cannot be read, repeats an id, or holds nothing; the message begins with
            `path:line:` if a line is to blame.
        MissingDependencyError: The format needs a package that is not installed.
    """
    seen: set[str] = set()
    source = _source(path, columns=columns, encoding=encoding, sheet=sheet, max_bad_rows=max_bad_rows)
    source.kind = "corpus"
    with source.rejects.kept(source.lines):
        new = source.rejects.each(_documents(source, prepend_title), partial(_check_new, seen))
        documents = [document for _, document in new]
        if not documents:
            raise InvalidInputError(f"{path}: holds no document. A corpus needs at least one.")
    return documents


def read_passage(row: Mapping[str, Any], *, prepend_title: bool = False) -> Document:
    """Return the document of a row: the first of `ID_KEYS` and of `TEXT_KEYS` that it has; the rest is metadata.

    Args:
        row: The row.
        prepend_title: Put `title` before the text, as retrievers of BEIR corpora index it; it stays in the metadata.

    Raises:
        InvalidInputError: It has neither an id nor a text.

    >>> read_passage({"_id": 7, "title": "Hours", "text": "Open from 9 to 18."}, prepend_title=True)
    Document(id='7', text='Hours Open from 9 to 18.', grade=None, score=None, metadata={'title': 'Hours'})
    """
    id_key = next((key for key in ID_KEYS if as_id(row.get(key)) is not None), None)
    text_key = next((key for key in TEXT_KEYS if isinstance(row.get(key), str)), None)
    kept = row.get("metadata")
    metadata = dict(kept) if isinstance(kept, Mapping) else {}
    if id_key is None and as_id(metadata.get("id")) is not None:
        id_key, row = "id", {**row, "id": metadata["id"]}
    if id_key is None and not (text_key and row[text_key]):
        raise InvalidInputError(
            f"has neither an id ({', '.join(ID_KEYS)}) nor a text ({', '.join(TEXT_KEYS)}). A document needs one."
        )
    # A document id also says which document a chunk belongs to, so it stays in the metadata.
    used = {text_key, "metadata" if isinstance(kept, Mapping) else None, id_key if id_key != "doc_id" else None}
    metadata = {key: value for key, value in row.items() if key not in used and value not in (None, "")} | metadata
    text = row[text_key] if text_key else None
    if prepend_title and isinstance(row.get("title"), str):
        text = " ".join(part for part in (row["title"], text) if part)
    return Document(id=None if id_key is None else as_id(row[id_key]), text=text, metadata=metadata)


def _check_new(seen: set[str], place: str, document: Document) -> Document:
    check_new(document.id, seen, f"{place}: the document id")
    if document.id is not None:
        seen.add(document.id)
    return document


def _documents(source: Source, prepend_title: bool) -> Iterator[tuple[str, Document]]:
    are_passages = source.named or source.has_passages
    others = None if are_passages else beside("passages")(source)
    yield from source.each(partial(read_passage, prepend_title=prepend_title)) if others is None else others


def _source(path: str | os.PathLike[str], **settings: Any) -> Source:
    source = Source(path, **settings)
    if not source.is_folder:
        return source
    for name in ("corpus.jsonl", "corpus.jsonl.gz"):
        if is_file(Path(path) / name):
            return Source(Path(path) / name, **settings)
    raise unreadable(path, IsADirectoryError(21, "Is a directory"))
