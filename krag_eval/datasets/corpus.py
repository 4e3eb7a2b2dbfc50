"""Corpora: the documents, or chunks of documents, that retrievers search, and how chunkers cut one into the other."""

from __future__ import annotations

import bisect
import functools
import inspect
import itertools
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from numbers import Integral
from pathlib import Path
from typing import Any

from krag_eval._utils.errors import InvalidInputError, describe_type, did_you_mean, refuse_raised, show
from krag_eval._utils.files.io import is_file, unreadable
from krag_eval.datasets.formats import conversations, llama_index, squad
from krag_eval.datasets.formats.source import Source
from krag_eval.datasets.question import check_new
from krag_eval.documents.document import DOC_KEY, Document, as_document
from krag_eval.documents.readers import OFFSETS, as_id
from krag_eval.documents.tokenizers import PIECES, TOKENIZERS, tokenize_all

ID_KEYS = ("id", "_id", "chunk_id", "docid", "docno", "doc_id")
TEXT_KEYS = ("text", "contents", "content", "page_content", "passage")


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


def passage_row(document: Document, doc_id: str) -> dict[str, Any]:
    """Return a document as a row of a BEIR corpus."""
    metadata = dict(document.metadata)
    kept = metadata.get("title")
    title = metadata.pop("title") if isinstance(kept, str) and kept else ""
    row: dict[str, Any] = {"_id": doc_id, "title": title, "text": document.text or ""}
    return row | ({"metadata": metadata} if metadata else {})


def _check_new(seen: set[str], place: str, document: Document) -> Document:
    check_new(document.id, seen, f"{place}: the document id")
    if document.id is not None:
        seen.add(document.id)
    return document


def _documents(source: Source, prepend_title: bool) -> Iterator[tuple[str, Document]]:
    if source.container == "json":
        if llama_index.kinds_in(source):
            yield from llama_index.passages(source)
            return
        if squad.kinds_in(source):
            yield from squad.passages(source)
            return
    if source.container in ("json", "jsonl") and conversations.has_sessions(source):
        yield from conversations.passages(source)
        return
    if source.container == "tsv" and len(source.columns) == 2 and source.columns[0].isdecimal():  # MS MARCO: no header
        for number, line in enumerate(source.lines(), 1):
            doc_id, _, text = line.decode(errors="replace").rstrip("\r\n").partition("\t")
            yield f"{source.path}:{number}", Document(id=doc_id, text=text)
        return
    yield from source.each(partial(read_passage, prepend_title=prepend_title))


def _source(path: str | os.PathLike[str], **settings: Any) -> Source:
    source = Source(path, **settings)
    if not source.is_folder:
        return source
    for name in ("corpus.jsonl", "corpus.jsonl.gz"):
        if is_file(Path(path) / name):
            return Source(Path(path) / name, **settings)
    raise unreadable(path, IsADirectoryError(21, "Is a directory"))


def cut(texts: Mapping[str, str], chunker: object, name: str) -> list[Document]:
    """Cut documents into chunks that know their places.

    Args:
        texts: The text of each document by its id.
        chunker: A splitter of langchain-text-splitters, a node parser of LlamaIndex, a chunker of chonkie or semchunk,
            a function from a text to its chunks, or `"words:200:20"` or `"chars:800"`: so many words or characters, of
            which the second number are also in the chunk before. A chunk is a string, `(start, end)`, or an object or
            mapping with a text and offsets.
        name: The name of the chunker, for messages.

    Returns:
        The chunks, with ids such as `doc#0`, and with `doc_id`, `start` and `end` in their metadata.
        The place of a chunk is what the chunker says; without offsets, its text is searched for after the start of the
        chunk before.

    Raises:
        InvalidInputError: The chunker cannot be used, raised, returned nothing, or a chunk without a place in the text.

    >>> chunk = cut({"d": "One. Two."}, lambda text: text.split(), "words")[1]
    >>> chunk.id, chunk.text, chunk.metadata
    ('d#1', 'Two.', {'doc_id': 'd', 'start': 5, 'end': 9})
    """
    split, chunks = _splitter_of(chunker, name), []
    for doc_id, text in texts.items():
        where = f"The chunker {name!r:.60}, document {doc_id!r:.60}"
        try:
            pieces = list(split(text))
        except Exception as error:  # noqa: BLE001 - whatever the chunker raises
            refuse_raised(error, f"{where}: it raised ", ". Fix the chunker, or leave it out.")
        before = [-1, 0]
        for number, piece in enumerate(pieces):
            content, *before = _place_of(piece, text, before, f"{where}, chunk {number}")
            if content.strip():
                start, end = before
                metadata = {DOC_KEY: doc_id, "start": start, "end": end}
                chunks.append(Document(id=f"{doc_id}#{number}", text=content, metadata=metadata))
        if text.strip() and before[0] < 0:
            raise InvalidInputError(f"{where}: it returned no chunk. A text that is not empty has at least one.")
    return chunks


def _place_of(piece: Any, text: str, before: Sequence[int], where: str) -> tuple[str, int, int]:
    """Return the text of a chunk, its start and its end in the text of its document."""
    try:
        own = _offsets_of(piece)
        content = text[slice(*own)] if own is not None and isinstance(piece, tuple) else _text_of(piece)
    except InvalidInputError:
        raise InvalidInputError(
            f"{where} is {describe_type(piece)} without a text. A chunk is a string, (start, end), or an object or "
            "mapping with a text and offsets."
        ) from None
    if own is not None:
        start, end = own
        if not 0 <= start <= end <= len(text):
            raise InvalidInputError(
                f"{where}: its offsets {start} and {end} are not in the text, which has {len(text)} characters. "
                "Offsets count characters from 0, and the end is after the last one."
            )
        here = text[start:end].strip()
        if here and here in content:  # a chunk may have more text, such as its heading
            return content, start, end
    if not content.strip():
        return content, before[0], before[1]
    found = _find(content, text, before[0], before[1])
    if found is None:
        earlier = content in text
        raise InvalidInputError(
            f"{where}: its text {show(content)} is "
            + (f"in the document, but not after the chunk before, at {before[0]}. " if earlier else "not there. ")
            + ("Return chunks in their order" if earlier else "Return slices of the text")
            + ", or (start, end), so that its place is known."
        )
    return content, found[0], found[1]


def _text_of(piece: object) -> str:
    text = piece if isinstance(piece, str) else as_document(piece).text
    if text is None:
        raise InvalidInputError("It has none.")
    return text


def _find(content: str, text: str, start: int, end: int) -> tuple[int, int] | None:
    """Return the place of a chunk: right after the chunk before, from its start on, or else the first one after that.

    Some splitters change the white space: where the text is not there, only its words have to follow each other.
    """
    gap = re.compile(r"\s*").match(text, end)
    for at in (end, gap.end() if gap else end, start):
        if at >= 0 and text.startswith(content, at) and at + len(content) > end:
            return at, at + len(content)
    at = text.find(content, start + 1)
    if at >= 0:
        return at, at + len(content)
    words = re.compile(r"\s+".join(map(re.escape, content.split()))).search(text, start + 1)
    return words and words.span()


def _offsets_of(piece: Any) -> tuple[int, int] | None:
    """Return the offsets that a chunk carries; a start alone gets the end that the text gives it."""
    if isinstance(piece, tuple):
        return piece if len(piece) == 2 and all(map(_is_count, piece)) else None
    holders = [piece, *(_get(piece, name) for name in ("metadata", "meta"))]
    for names in OFFSETS:
        start, end = (next(filter(_is_count, (_get(one, name) for one in holders)), None) for name in names)
        if start is not None and start != -1:  # LangChain's for a chunk that it did not find
            return start, start + len(_text_of(piece)) if end is None else end
    return None


def _get(holder: Any, name: str) -> Any:
    return holder.get(name) if isinstance(holder, Mapping) else getattr(holder, name, None)


def _is_count(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _splitter_of(chunker: Any, name: str) -> Any:
    """Return the function from a text to its chunks; the kind of a chunker is recognized by its methods."""
    if isinstance(chunker, str):
        return partial(_by_size, *_parse_size(chunker))
    if isinstance(chunker, type):
        raise InvalidInputError(f"The chunker {name!r:.60} is the class {chunker.__name__}. Give an instance of it.")
    if callable(getattr(chunker, "create_documents", None)):  # LangChain
        return lambda text: chunker.create_documents([text])
    if callable(getattr(chunker, "get_nodes_from_documents", None)):  # LlamaIndex, which is imported if this is its
        schema: Any = sys.modules["llama_index.core.schema"]
        return lambda text: chunker.get_nodes_from_documents([schema.Document(text=text)])
    for method in ("chunk", "split_text"):  # chonkie; LangChain's splitters by headings
        if callable(getattr(chunker, method, None)):
            return getattr(chunker, method)
    if not callable(chunker):
        raise InvalidInputError(
            f"The chunker {name!r:.60} is {describe_type(chunker)}. It must be a splitter of LangChain, LlamaIndex, "
            "chonkie or semchunk, a function from a text to its chunks, or such as 'words:200:20'."
        )
    if "offsets" in _parameters_in(chunker):  # semchunk
        return lambda text: chunker(text, offsets=True)[1]
    return chunker


_SIZES = re.compile(r"(words|chars):([1-9][0-9]{0,8})(?::([0-9]{1,9}))?")


def _parse_size(text: str) -> tuple[str, int, int]:
    found = _SIZES.fullmatch(text)
    if found is None or int(found[3] or 0) >= int(found[2]):
        unit = text.partition(":")[0]
        raise InvalidInputError(
            f"The chunker {text!r:.60} is not known.{did_you_mean(unit, ('words', 'chars'))} Write words:SIZE or "
            "chars:SIZE, or words:SIZE:OVERLAP with an overlap below the size, such as words:200:20."
        )
    return found[1], int(found[2]), int(found[3] or 0)


def _by_size(unit: str, size: int, overlap: int, text: str) -> list[tuple[int, int]]:
    """Return the places of chunks of so many words, as the tokenizer `words` counts them, or characters.

    >>> _by_size("words", 2, 1, "One two-three four")
    [(0, 3), (4, 13), (14, 18)]
    """
    if unit == "chars":
        ends = range(size, max(len(text) - overlap, 1) + size, size - overlap)
        return [(end - size, min(end, len(text))) for end in ends if text]
    pieces = [found.span() for found in PIECES.finditer(text)]
    texts = [text[start:end] for start, end in pieces]
    different = list(dict.fromkeys(texts))
    n_words = dict(zip(different, map(len, tokenize_all(TOKENIZERS["words"], different)), strict=True))
    before = [0, *itertools.accumulate(map(n_words.__getitem__, texts))]
    places, first = [], 0
    while first < len(pieces):
        last = max(bisect.bisect_right(before, before[first] + size) - 1, first + 1)
        places.append((pieces[first][0], pieces[last - 1][1]))
        again = bisect.bisect_left(before, before[last] - overlap) if overlap and last < len(pieces) else last
        first = max(again, first + 1)
    return places


def parameters_of(chunker: Any) -> dict[str, Any]:
    """Return what describes a chunker: its class or function, and the arguments that it was made with.

    >>> parameters_of("words:200:20")
    {'chunker': 'words', 'chunk_size': 200, 'chunk_overlap': 20}
    """
    if isinstance(chunker, str):
        return dict(zip(("chunker", "chunk_size", "chunk_overlap"), _parse_size(chunker), strict=True))
    inner, given = chunker, dict[str, Any]()
    while isinstance(inner, functools.partial):
        given, inner = {**inner.keywords, **given}, inner.func
    if not inspect.isroutine(inner):
        names = [name for kind in type(inner).__mro__ for name in _parameters_in(vars(kind).get("__init__"))]
        names += getattr(type(inner), "model_fields", ())  # of pydantic, as LlamaIndex's
        kept = {name: getattr(inner, name, getattr(inner, f"_{name}", None)) for name in names}
        given, inner = {**kept, **given}, type(inner)
    about = {name: value for name, value in given.items() if _is_plain(value)}
    return {"chunker": f"{inner.__module__}.{inner.__qualname__}", **about}


def _is_plain(value: object) -> bool:
    if isinstance(value, (list, tuple)):
        return all(map(_is_plain, value))
    return isinstance(value, (str, int, float))


def _parameters_in(function: Any) -> list[str]:
    try:
        return list(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # some functions written in C have none
        return []
