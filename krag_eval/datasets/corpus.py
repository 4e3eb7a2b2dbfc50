"""Corpora: the documents, or chunks of documents, that retrievers search."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from krag_eval._utils.checks import check_count
from krag_eval._utils.errors import InvalidInputError
from krag_eval._utils.files import is_file, unreadable
from krag_eval.datasets.formats import llama_index, squad
from krag_eval.datasets.formats.native import read_at
from krag_eval.datasets.formats.source import Source, read_passage
from krag_eval.documents.document import Document


def read_corpus(path: str | os.PathLike[str], *, prepend_title: bool = False, max_bad_rows: int = 0) -> list[Document]:
    """The documents of a corpus, in the order of the file.

    Reads rows in JSONL (also packed as .gz), a JSON list, CSV, TSV or Parquet, with an id under `id`, `_id`,
    `chunk_id`, `docid`, `docno` or `doc_id`, a text under `text`, `contents`, `content`, `page_content` or `passage`,
    and everything else as metadata; further BEIR folders, the JSON of LlamaIndex, and question sets like SQuAD.

    Args:
        path: The file or folder.
        prepend_title: Put the title before the text, as retrievers of BEIR corpora index it.
        max_bad_rows: How many bad lines of a file of JSONL, CSV, TSV or TREC may be left out, with a warning, and kept
            in `path.rejected.jsonl`; with 0 the first bad line is an error.

    Raises:
        InvalidInputError: The file cannot be read, repeats an id, or holds nothing; the message begins with
            `path:line:` where a line is at fault.
        MissingDependencyError: The format needs a package that is not installed.
    """
    seen: set[str] = set()
    source = _source(path, check_count("max_bad_rows", max_bad_rows, least=0))
    with source.rejects.kept(source.lines):
        new = source.rejects.each(_documents(source, prepend_title), partial(_check_new, seen))
        documents = [document for _, document in new]
        if not documents:
            raise InvalidInputError(f"{path}: holds no document. A corpus needs at least one.")
    return documents


def _check_new(seen: set[str], place: str, document: Document) -> Document:
    if document.id in seen:
        raise InvalidInputError(f"{place}: the document id {document.id!r:.60} stands twice. Ids must be unique.")
    if document.id is not None:
        seen.add(document.id)
    return document


def _documents(source: Source, prepend_title: bool) -> Iterator[tuple[str, Document]]:
    if source.container == "json":
        if llama_index.is_llama_index(source.document):
            yield from llama_index.passages(source)
            return
        if squad.is_squad(source.document):
            yield from squad.passages(source)
            return
    read = partial(read_passage, prepend_title=prepend_title)
    yield from source.rejects.each(source.rows(), lambda place, row: read_at(place, read, row))


def _source(path: str | os.PathLike[str], max_bad_rows: int) -> Source:
    source = Source(path, max_bad_rows=max_bad_rows)
    if not source.is_folder:
        return source
    for name in ("corpus.jsonl", "corpus.jsonl.gz"):
        if is_file(Path(path) / name):
            return Source(Path(path) / name, max_bad_rows=max_bad_rows)
    raise unreadable(path, IsADirectoryError(21, "Is a directory"))
