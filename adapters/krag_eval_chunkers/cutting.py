"""Cut documents into chunks that know their places, with any chunker."""

from __future__ import annotations

import bisect
import functools
import inspect
import itertools
import re
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from numbers import Integral
from typing import Any

from krag_eval import Document, InvalidInputError, as_document
from krag_eval.toolkit import (
    DOC_KEY,
    OFFSETS,
    PIECES,
    count_tokens_of,
    describe_type,
    did_you_mean,
    refuse_raised,
    show,
)


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
    n_words = dict(zip(different, count_tokens_of(different, None).tolist(), strict=True))
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
