"""A file to be read: is it there, what does it look like, and what are its rows?

A row of a corpus as a document: where its id, its text and everything else may stand.
"""

from __future__ import annotations

import codecs
import functools
import os
import stat
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from krag_eval._utils.checks import describe_type
from krag_eval._utils.errors import InvalidInputError
from krag_eval._utils.files import Rejects, is_folder, json_text, lines_of, parse_jsonl, unreadable
from krag_eval.datasets.formats import parquet, tables
from krag_eval.datasets.formats.opening import read_head, unpacked_lines
from krag_eval.documents.document import Document
from krag_eval.documents.readers import as_id

HEAD_SIZE = 65_536
# How rows can be stored, and the endings that say so.
CONTAINERS: dict[str, tuple[str, ...]] = {
    "jsonl": (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz"),
    "json": (".json",),
    "csv": (".csv",),
    "tsv": (".tsv",),
    "parquet": (".parquet", ".pq"),
}

Row = dict[str, Any]
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class Source:
    """A file or folder as a reader sees it; what is looked at twice is read once.

    Args:
        path: The file or folder.
        container: How its rows are stored, a key of `CONTAINERS`; told from the name and the content by default.
        max_bad_rows: How many bad lines may be left out.

    Attributes:
        path: The file or folder, as messages name it.
    """

    def __init__(self, path: str | os.PathLike[str], container: str | None = None, *, max_bad_rows: int = 0) -> None:
        self.path = os.fspath(path)
        self._container = container
        self._max_bad_rows = max_bad_rows

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder."""
        return is_folder(self.path)

    @property
    def is_regular(self) -> bool:
        """Whether it can be looked at and then read from its beginning, which a pipe cannot."""
        try:
            return stat.S_ISREG(Path(self.path).stat().st_mode)
        except (OSError, ValueError) as error:
            raise unreadable(self.path, error) from error

    @functools.cached_property
    def rejects(self) -> Rejects:
        """What takes its bad lines; none may be left out where it cannot be read twice, or all would be bad."""
        is_possible = self._max_bad_rows and self.is_regular and not self.head.startswith(_UTF_16)
        return Rejects(self.path, self._max_bad_rows if is_possible else 0)

    @functools.cached_property
    def head(self) -> bytes:
        """The beginning of the file, unpacked; empty for a pipe.

        Raises:
            InvalidInputError: It cannot be opened, or is the pointer that Git LFS leaves where it fetched no file.
        """
        if not self.is_regular:
            return b""
        head = read_head(self.path, HEAD_SIZE)
        if self.path.endswith(".gz"):
            try:
                head = zlib.decompressobj(31).decompress(head, HEAD_SIZE)
            except zlib.error:
                return b""  # reading it will say what is wrong
        return head.removeprefix(b"\xef\xbb\xbf")

    @functools.cached_property
    def container(self) -> str | None:
        """How its rows are stored; None where neither the name nor the content tells."""
        head, name = self.head, self.path.lower()
        if self._container is not None:
            return self._container
        named = next((kind for kind, endings in CONTAINERS.items() if name.endswith(endings)), None)
        if named not in (None, "json"):
            return named
        if head.startswith(b"PAR1"):
            return "parquet"
        start = head.lstrip()[:1]
        if start == b"{" and self._is_lines():
            return "jsonl"
        return "json" if named == "json" or start in (b"{", b"[") else None

    def _is_lines(self) -> bool:
        """Whether a first object stands on a line of its own and another one follows."""
        lines = [line.strip() for line in self.head.split(b"\n") if line.strip()]
        return len(lines) > 1 and lines[0].endswith(b"}") and lines[1].startswith(b"{")

    @functools.cached_property
    def document(self) -> object:
        """The file as one JSON value.

        Raises:
            InvalidInputError: It is none; the message begins with `path:line:`.
        """
        if self.is_folder:
            raise unreadable(self.path, IsADirectoryError(21, "Is a directory"))
        if self.is_regular and not self.head.strip():
            raise InvalidInputError(f"{self.path}: is empty. Write one JSON value into it.")
        return json_text.read_document(self.path)

    def rows(self) -> Iterator[tuple[str, Row]]:
        """Each row with its place: `path:line`, or `path: row 7` where there are no lines.

        Raises:
            InvalidInputError: The file cannot be read, or a row is no row.
        """
        container = self.container
        if container in ("csv", "tsv"):
            return tables.read_rows(self.path, None if container == "csv" else "\t", self.rejects)
        if container == "parquet":
            return parquet.read_rows(self.path)
        if container == "json":
            return self._rows_of_document()
        return parse_jsonl(self.lines(), self.path, rejects=self.rejects)

    def lines(self) -> Iterator[bytes]:
        """Its lines, unpacked.

        Raises:
            InvalidInputError: The file cannot be read, or a line has no end.
        """
        return unpacked_lines(self.path) if self.path.endswith(".gz") else lines_of(self.path)

    def _rows_of_document(self) -> Iterator[tuple[str, Row]]:
        document = [self.document] if isinstance(self.document, dict) else self.document
        if not isinstance(document, list):
            raise InvalidInputError(f"{self.path}: holds {describe_type(document)}. It must be a list of objects.")
        for number, row in enumerate(document, 1):
            if not isinstance(row, dict):
                raise InvalidInputError(f"{self.path}: row {number} is {describe_type(row)}. It must be an object.")
            yield f"{self.path}: row {number}", row

    @functools.cached_property
    def names(self) -> frozenset[str]:
        """The columns, or the keys of the first row; empty where they cannot be read."""
        if not self.is_regular:
            return frozenset()
        try:
            if self.container in ("csv", "tsv"):
                return frozenset(tables.read_names(self.path, None if self.container == "csv" else "\t"))
            if self.container == "parquet":
                return frozenset(parquet.read_names(self.path))
            _, row = next(self.rows(), ("", {}))
        except InvalidInputError:
            return frozenset()  # reading it will say what is wrong, with the place
        return frozenset(row)


def stem(path: str | os.PathLike[str]) -> str:
    """The name of a file without folder and ending.

    >>> stem("runs/bm25.v2.jsonl.gz")
    'bm25.v2'
    """
    name = Path(path)
    return Path(name.stem).stem if name.suffix == ".gz" else name.stem


ID_KEYS = ("id", "_id", "chunk_id", "docid", "docno", "doc_id")
TEXT_KEYS = ("text", "contents", "content", "page_content", "passage")


def read_passage(row: Mapping[str, Any], *, prepend_title: bool = False) -> Document:
    """The document of a row: the first of `ID_KEYS` and of `TEXT_KEYS` that it has; the rest is metadata.

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
    # A document id also says which document a chunk is of, so it stays where it is looked for.
    used = {text_key, "metadata" if isinstance(kept, Mapping) else None, id_key if id_key != "doc_id" else None}
    metadata = {key: value for key, value in row.items() if key not in used and value not in (None, "")} | metadata
    text = row[text_key] if text_key else None
    if prepend_title and isinstance(row.get("title"), str):
        text = " ".join(part for part in (row["title"], text) if part)
    return Document(id=None if id_key is None else as_id(row[id_key]), text=text, metadata=metadata)


def passage_row(document: Document, doc_id: str) -> dict[str, Any]:
    """A document as a row of a BEIR corpus."""
    metadata = dict(document.metadata)
    kept = metadata.get("title")
    title = metadata.pop("title") if isinstance(kept, str) and kept else ""
    row: dict[str, Any] = {"_id": doc_id, "title": title, "text": document.text or ""}
    return row | ({"metadata": metadata} if metadata else {})
