"""Corpora: the documents, or chunks of documents, that retrievers search."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from krag_eval.documents import Document
from krag_eval.errors import InvalidInputError
from krag_eval.evalset.formats import llama_index, squad
from krag_eval.evalset.formats.own import read_at
from krag_eval.evalset.formats.passages import read_passage
from krag_eval.evalset.formats.source import Source
from krag_eval.files import is_file, unreadable


def read_corpus(path: str | os.PathLike[str], *, prepend_title: bool = False) -> list[Document]:
    """The documents of a corpus, in the order of the file.

    Reads rows in JSONL (also packed as .gz), a JSON list, CSV, TSV or Parquet, with an id under `id`, `_id`,
    `chunk_id`, `docid`, `docno` or `doc_id`, a text under `text`, `contents`, `content`, `page_content` or `passage`,
    and everything else as metadata; further BEIR folders, the JSON of LlamaIndex, and question sets like SQuAD.

    Args:
        path: The file or folder.
        prepend_title: Put the title before the text, as retrievers of BEIR corpora index it.

    Raises:
        InvalidInputError: The file cannot be read, repeats an id, or holds nothing; the message begins with
            `path:line:` where a line is at fault.
        MissingDependencyError: The format needs a package that is not installed.
    """
    documents: list[Document] = []
    seen: set[str] = set()
    for place, document in iterate_corpus(path, prepend_title=prepend_title):
        if document.id in seen:
            raise InvalidInputError(f"{place}: the document id {document.id!r:.60} stands twice. Ids must be unique.")
        if document.id is not None:
            seen.add(document.id)
        documents.append(document)
    if not documents:
        raise InvalidInputError(f"{path}: holds no document. A corpus needs at least one.")
    return documents


def iterate_corpus(path: str | os.PathLike[str], *, prepend_title: bool = False) -> Iterator[tuple[str, Document]]:
    """Each document with its place, as `path:line` where there are lines; ids may repeat, and memory holds one row.

    The arguments are those of `read_corpus`.

    Raises:
        InvalidInputError: The file cannot be read.
        MissingDependencyError: The format needs a package that is not installed.
    """
    source = _source(path)
    if source.container == "json":
        if llama_index.is_llama_index(source.document):
            yield from llama_index.passages(source)
            return
        if squad.is_squad(source.document):
            yield from squad.passages(source)
            return
    for place, row in source.rows():
        yield place, read_at(place, lambda given: read_passage(given, prepend_title=prepend_title), row)


def _source(path: str | os.PathLike[str]) -> Source:
    source = Source(path)
    if not source.is_folder:
        return source
    for name in ("corpus.jsonl", "corpus.jsonl.gz"):
        if is_file(Path(path) / name):
            return Source(Path(path) / name)
    raise unreadable(path, IsADirectoryError(21, "Is a directory"))
