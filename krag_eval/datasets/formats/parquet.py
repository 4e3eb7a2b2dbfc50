"""Parquet with one question or ranking per row; checksums are written, and verified if a file has them."""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from krag_eval._utils.errors import InvalidInputError, needing, warn
from krag_eval._utils.files.io import is_file, is_folder, located, open_file, read_head, replacing
from krag_eval._utils.files.strict_json import dump_json, parse_json
from krag_eval.datasets.formats import tables

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq


_BATCH = 1024
_MARK = b"krag_eval"
_SEAL, _UNSEALED = b"krag_eval.seal", b"0" * 16 + b":" + b"0" * 64
_FOOTER = 1 << 20
# Columns of documents are lists of structs; what else has no type of its own in Parquet is JSON text, and marked so.
DOCUMENTS = {"gold": "grade", "retrieved": "score"}
_BINARY = re.compile(r"\b(fixed_size_)?binary\b")
TEXTS = frozenset({"id", "question", "answer", "type", "notes", "source", "query_id", "error"})
IDS = frozenset({"gold_doc_ids", "gold_chunk_ids"})


def read_names(path: str | os.PathLike[str]) -> list[str]:
    """Return the names of the columns.

    Raises:
        InvalidInputError: It is not a readable Parquet file.
        MissingDependencyError: pyarrow is not installed.
    """
    with _opened(path) as file:
        return list(file.schema_arrow.names)


def read_header(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the header that `write_rows` was given.

    Raises:
        InvalidInputError: It is not a readable Parquet file.
        MissingDependencyError: pyarrow is not installed.
    """
    with _opened(path) as file:
        kept = (file.schema_arrow.metadata or {}).get(_MARK)
        value = parse_json(kept.decode()) if kept else {}
    return value if isinstance(value, dict) else {}


def read_rows(path: str | os.PathLike[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each row by its columns, with its place as `path: row 7`; null is left out.

    Raises:
        InvalidInputError: The file cannot be read, is damaged, or a marked column is no JSON.
        MissingDependencyError: pyarrow is not installed.
    """
    with _opened(path) as file:
        _check_seal(path)
        schema = file.schema_arrow
        names = [field.name for field in schema if not _BINARY.search(str(field.type))]
        left_out = [name for name in schema.names if name not in names]
        if left_out:
            warn(f"{path}: the columns {', '.join(left_out)} hold bytes and are not read. Only text and numbers are.")
        marked = {field.name for field in schema if (field.metadata or {}).get(_MARK) == b"json"}
        # A batch may be longer than asked: what its strings repeat takes no memory before they are Python's.
        batches = file.iter_batches(_BATCH, columns=names, use_threads=False)
        parts = (batch.slice(start, _BATCH) for batch in batches for start in range(0, len(batch), _BATCH))
        for number, row in enumerate(chain.from_iterable(part.to_pylist() for part in parts), 1):
            place = f"{path}: row {number}"
            yield place, {name: _value(name, value, name in marked, place) for name, value in _set(row)}


def _seal_of(content: bytes) -> bytes:
    """Return the size and the checksum of a file that is not sealed yet: those of its pages leave out the footer."""
    return b"%016d:%b" % (len(content), hashlib.sha256(content).hexdigest().encode())


def _check_seal(path: str | os.PathLike[str]) -> None:
    """Check that a file that `write_rows` wrote is as it was; what other programs write has no seal of its size.

    Raises:
        ValueError: It is damaged.
    """
    with open_file(path) as file:
        file.seek(-min(_FOOTER, file.seek(0, os.SEEK_END)), os.SEEK_END)
        sealed = re.search(re.escape(_SEAL) + rb"..(\d{16}:[0-9a-f]{64})", file.read(), re.DOTALL)
        if sealed is None or int(sealed[1][:16]) != file.tell():
            return
        file.seek(0)
        if sealed[1] != _seal_of(file.read().replace(sealed[1], _UNSEALED)):
            raise ValueError("the checksum of the file is wrong")


_UNCHECKED = (
    "has no page checksums, so damaged pages would go unnoticed. Programs that write Parquet have an option for them."
)


def unchecked(head: bytes) -> str:
    """Return what is said of a Parquet file whose pages have no checksums, by its first 64 bytes; empty if they have.

    Only a page itself says so. The first page follows the four bytes of the signature. Its header, in the compact form
    of Thrift, has three 32-bit numbers, which are its kind and two sizes, and a fourth if there is a checksum.
    Encrypted pages do not look so.
    """
    numbers = re.match(rb"PAR1(?:\x15[\x80-\xff]*[\x00-\x7f]){3}", head)
    return _UNCHECKED if numbers is not None and head[numbers.end() : numbers.end() + 1] != b"\x15" else ""


def write_rows(
    rows: Sequence[Mapping[str, Any]], path: str | os.PathLike[str], *, header: Mapping[str, Any] | None = None
) -> None:
    """Write rows as `to_dict` of a question or a ranking makes them, whole or not at all.

    Raises:
        InvalidInputError: The file cannot be written, or a value cannot be held.
        MissingDependencyError: pyarrow is not installed.
    """
    _need(path)
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = list(dict.fromkeys(name for row in rows for name in row))
    try:
        columns = {name: _column(name, [row.get(name) for row in rows]) for name in names}
        fields = [
            pa.field(name, values.type, metadata={_MARK: b"json"} if is_json else None)
            for name, (values, is_json) in columns.items()
        ]
        kept = {_MARK: dump_json(header, "the header").encode()} if header else None
        table = pa.Table.from_arrays([values for values, _ in columns.values()], schema=pa.schema(fields, kept))
    except (pa.ArrowException, UnicodeError) as error:
        raise InvalidInputError(f"{path}: cannot be written ({_one_line(error)}). Write JSONL instead.") from error
    with replacing(path) as temporary:
        with pq.ParquetWriter(temporary, table.schema, compression="zstd", write_page_checksum=True) as writer:
            writer.write_table(table)
            writer.add_key_value_metadata({_SEAL: _UNSEALED})
        content = temporary.read_bytes()
        temporary.write_bytes(content.replace(_UNSEALED, _seal_of(content)))


def _column(name: str, values: Sequence[Any]) -> tuple[pa.Array[Any], bool]:
    """Return a column, and whether it is JSON text that stands for something else."""
    import pyarrow as pa

    present = [value for value in values if value is not None]
    number = DOCUMENTS.get(name)
    if number is not None and _are_documents(present, number):
        document = pa.struct(
            [("id", pa.string()), ("text", pa.string()), (number, pa.float64()), ("metadata", pa.string())]
        )
        return pa.array([_packed(documents) for documents in values], pa.list_(document)), False
    if name in IDS:
        return pa.array(values, pa.list_(pa.string())), False
    if name in TEXTS:
        return pa.array(values, pa.string()), False
    for kind, arrow in ((str, pa.string()), (bool, pa.bool_()), (int, pa.int64()), (float, pa.float64())):
        if all(type(value) is kind and _fits(value) for value in present):
            return pa.array(values, arrow), False
    texts = [None if value is None else dump_json(value, f"`{name}`") for value in values]
    return pa.array(texts, pa.string()), True


def _fits(value: object) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)  # NaN would be read back as missing; JSON refuses it
    return not isinstance(value, int) or -(2**63) <= value < 2**63


def _are_documents(lists: Sequence[Any], number: str) -> bool:
    keys = {"id", "text", number, "metadata"}
    return all(
        isinstance(documents, list) and all(isinstance(one, dict) and one.keys() <= keys for one in documents)
        for documents in lists
    )


def _packed(documents: Sequence[Mapping[str, Any]] | None) -> list[dict[str, Any]] | None:
    if documents is None:
        return None
    return [
        {**one, "metadata": dump_json(one["metadata"], "metadata of a document")} if "metadata" in one else dict(one)
        for one in documents
    ]


def _value(name: str, value: Any, is_json: bool, place: str) -> object:
    """Return what a cell stands for."""
    if name in DOCUMENTS and isinstance(value, list):
        return [_document(one, place) if isinstance(one, dict) else _plain(one) for one in value]
    if is_json or (name == "metadata" and isinstance(value, str)):
        return _parsed(value, name, place)
    return _plain(value)


def _document(packed: Mapping[str, Any], place: str) -> dict[str, Any]:
    document = dict(_set(packed))
    if isinstance(document.get("metadata"), str):
        document["metadata"] = _parsed(document["metadata"], "metadata", place)
    return {name: _plain(value) for name, value in document.items()}


def _parsed(text: str, name: str, place: str) -> object:
    try:
        return parse_json(text)
    except ValueError as error:
        raise InvalidInputError(f"{place}: `{name}` is not JSON: {error}. Write the file again.") from None


def _set(row: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the values that are neither null nor NaN, which pandas writes for null."""
    return ((name, value) for name, value in row.items() if value is not None and value == value)


def _plain(value: Any) -> object:
    """Return dates, decimals and the like as text, inside lists and mappings too."""
    if isinstance(value, dict):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def _need(path: str | os.PathLike[str]) -> None:
    with needing(os.fspath(path), "pyarrow", "arrow"):
        import pyarrow as pa  # noqa: F401 - whether it is there


@contextlib.contextmanager
def _opened(path: str | os.PathLike[str]) -> Iterator[pq.ParquetFile]:
    """Open a file; what goes wrong as long as it is read is an error that says that it may be damaged."""
    if not is_file(path) and not is_folder(path) and Path(located(path)).exists():
        raise InvalidInputError(f"{path}: is not a regular file. Parquet is read from its end; save it as a file.")
    head = read_head(path, 32)
    _need(path)
    import pyarrow as pa

    from krag_eval._utils.files.limited_parquet import LimitedParquetFile

    if not head:
        raise InvalidInputError(f"{path}: is empty. It must be a Parquet file.")
    try:
        with pa.OSFile(os.fspath(located(path))) as source, LimitedParquetFile(source, path) as file:
            names = file.schema_arrow.names
            tables.check_width(os.fspath(path), names)
            twice = next((name for name, n_columns in Counter(names).items() if n_columns > 1), None)
            if twice is not None:
                raise InvalidInputError(f"{path}: two columns are called {twice!r:.60}. Each needs a name of its own.")
            yield file
    except InvalidInputError:
        raise
    except (pa.ArrowException, OSError, ValueError, ArithmeticError, LookupError) as error:
        raise InvalidInputError(
            f"{path}: is not a readable Parquet file ({_one_line(error)}). "
            "It may be damaged or cut off; download or write it again."
        ) from error


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200].rstrip(".")
