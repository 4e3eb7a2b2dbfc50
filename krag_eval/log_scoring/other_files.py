"""What a file or a table is that was given for logs in Parquet, and what to do with it."""

from __future__ import annotations

import codecs
import zlib
from collections.abc import Collection

_EVALUATE = "`krag-eval evaluate SET RUN` scores question sets and runs in such files as they are"
_AS_PARQUET = (
    "Rows of logs are written as Parquet first, such as by DuckDB: COPY (FROM {read}('{path}')) TO 'logs.parquet'."
)
_SIGNS = {
    b"ARROW1": "an Arrow file (Feather)",
    b"ORC": "ORC",
    b"Obj\x01": "Avro",
    b"SQLite format 3": "a database of SQLite",
    b"\x28\xb5\x2f\xfd": "packed with zstd",
    b"PK\x03\x04": "packed with zip, as sheets of Excel are too",
    b"BZh": "packed with bzip2",
}
_HEAD = 4096
ENCRYPTED = "is encrypted Parquet, and no keys are taken here. Write it without encryption, or decrypt it first."


def other_than_parquet(path: str, head: bytes) -> str | None:
    """What is wrong with a file that Arrow does not take for Parquet; None where it is damaged Parquet.

    Args:
        path: The file, for advice.
        head: Some thousand bytes of its beginning.
    """
    if head.startswith(b"PAR1"):
        return None
    if head.startswith(b"PARE"):
        return ENCRYPTED
    if head.startswith(b"version https://git-lfs"):
        return "is a pointer of Git LFS, not the file itself. Fetch it with: git lfs pull"
    if not head:
        return "is empty, so no Parquet. Write it again, or leave it out."
    for sign, name in _SIGNS.items():
        if head.startswith(sign):
            return f"is no Parquet: it seems to be {name}. Write its rows as Parquet first."
    packed = ""
    if head.startswith(b"\x1f\x8b"):
        head, packed = _unpacked(head), ", packed with gzip"
    return _text(path, head.removeprefix(b"\xef\xbb\xbf").lstrip(), packed)


def _unpacked(head: bytes) -> bytes:
    try:
        return zlib.decompressobj(wbits=31).decompress(head, _HEAD)
    except zlib.error:
        return b""


def _text(path: str, head: bytes, packed: str) -> str:
    if head.startswith(b'{"krag_eval_run":'):
        what, cure = "the journal of a run", f"`krag-eval evaluate SET {path}` scores it as it is."
    elif head.startswith(b'{"krag_'):
        what, cure = "a journal of krag_eval", "It has no logs; give the files that have them."
    elif head.startswith(b"<"):
        what, cure = "HTML or XML", "A server may have sent it as a message; fetch the file again."
    else:
        kind = _kind(head)
        if kind is None:
            return f"is no Parquet{packed}: it does not begin as such files do. Give the files that have the logs."
        read = "read_json" if "JSON" in kind else "read_csv"
        what, cure = kind, f"{_EVALUATE}. {_AS_PARQUET.format(read=read, path=path)}"
    return f"is no Parquet: it seems to be {what}{packed}. {cure}"


def _kind(head: bytes) -> str | None:
    line, end, _ = head.partition(b"\n")
    line = line.rstrip()
    if line.startswith(b"{"):
        return "JSON or JSONL" if not end and not line.endswith(b"}") else "JSONL" if line.endswith(b"}") else "JSON"
    if line.startswith(b"["):
        return "JSON"
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(line)  # its last letter may be cut off
    except UnicodeDecodeError:
        return None
    if not text.replace("\t", " ").isprintable():
        return None
    return "TSV" if "\t" in text else "CSV" if "," in text or ";" in text else None


def hint_for_columns(names: Collection[str]) -> str:
    """A sentence on a table that is no log of queries, beginning with a space; empty where nothing is known.

    >>> hint_for_columns(["query_id", "retrieved"])
    ' This seems to be a run: `krag-eval evaluate SET RUN` scores such files as they are.'
    """
    if "retrieved" in names:
        return " This seems to be a run: `krag-eval evaluate SET RUN` scores such files as they are."
    if "question" in names and {"id", "gold", "gold_chunk_ids", "gold_doc_ids"} & set(names):
        return " This seems to be a question set: `krag-eval evaluate SET RUN` scores such files as they are."
    if "query_id" in names and {"rank", "score"} & set(names):
        return " Logs with one row a retrieved document need their `gold` too (--gold)."
    return ""
