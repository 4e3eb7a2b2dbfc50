"""MS MARCO without headers: runs, lines of `query`, `document` and `rank`, and passages, separated by tabs."""

from __future__ import annotations

from collections.abc import Iterator

from krag_eval import Document, InvalidInputError, RunRow
from krag_eval.toolkit import Kind, Source


def kinds_in(source: Source) -> tuple[Kind, ...]:
    """Return what a file holds if its lines have ranks that begin at 1 and differ within a query.

    Three columns that end in 1 throughout may as well be judgments: they are not recognized.
    """
    if source.first_line.count(b"\t") != 2:
        return ()
    lines = source.head.split(b"\n")
    ranks: dict[bytes, list[int]] = {}
    for line in lines[:-1] if source.is_head_full else lines:
        cells = line.strip(b"\r").split(b"\t")
        if line.strip() and (len(cells) != 3 or not cells[2].strip().isdigit()):
            return ()
        if line.strip():
            ranks.setdefault(cells[0], []).append(int(cells[2]))
    *whole, _ = ranks.values()  # the last may be cut off
    are_ranks = all(sorted(one) == [*range(1, len(one) + 1)] for one in [*whole, ranks[next(reversed(ranks))]])
    return ("run",) if are_ranks and max(map(len, ranks.values())) > 1 else ()


def rankings(source: Source) -> Iterator[tuple[str, RunRow]]:
    """Yield the ranking of each query, in the order of its ranks.

    Raises:
        InvalidInputError: A line has not three columns, or a query has a rank twice.
    """
    found: dict[str, tuple[str, dict[int, Document]]] = {}
    for number, line in enumerate(source.lines(), 1):
        place, cells = f"{source.path}:{number}", line.decode(errors="replace").strip("\r\n\ufeff").split("\t")
        if cells == [""]:
            continue
        if len(cells) != 3 or not cells[2].strip().isdecimal() or not all(map(str.strip, cells)):
            raise InvalidInputError(f"{place}: must be a query, a document and its rank, separated by tabs.")
        query, doc_id, rank = cells[0].strip(), cells[1].strip(), int(cells[2])
        _, documents = found.setdefault(query, (place, {}))
        if rank in documents:
            raise InvalidInputError(f"{place}: the query {query!r:.60} has two documents at rank {rank}.")
        documents[rank] = Document(id=doc_id)
    for query, (place, documents) in found.items():
        yield place, RunRow(query_id=query, retrieved=tuple(documents[rank] for rank in sorted(documents)))


def passages(source: Source) -> Iterator[tuple[str, Document]]:
    """Yield each passage: a number, a tab and a text on each line, without a header."""
    for number, line in enumerate(source.lines(), 1):
        doc_id, _, text = line.decode(errors="replace").rstrip("\r\n").partition("\t")
        yield f"{source.path}:{number}", Document(id=doc_id, text=text)
