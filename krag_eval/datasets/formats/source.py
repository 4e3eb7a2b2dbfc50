"""A file to be read: what it looks like, and its rows with their places."""

from __future__ import annotations

import codecs
import contextlib
import itertools
import os
import stat
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeVar

from krag_eval._utils.checks import check_count
from krag_eval._utils.errors import InvalidInputError, describe_type, errors_at
from krag_eval._utils.files.encodings import decode, in_utf8
from krag_eval._utils.files.io import (
    DASH,
    is_folder,
    lines_of,
    located,
    read_head,
    read_whole,
    unpacked_lines,
    unreadable,
)
from krag_eval._utils.files.rejects import Rejects
from krag_eval._utils.files.strict_json import in_batches, parse_batches, parse_jsonl, read_json
from krag_eval._utils.objects import cached_property
from krag_eval.datasets.beside import beside
from krag_eval.datasets.evalset import EvalSet
from krag_eval.datasets.formats import parquet, tables
from krag_eval.datasets.formats.layout import FIELDS_OF, Layout, base_of, has_column, kinds_of
from krag_eval.datasets.formats.nested import rows_of
from krag_eval.datasets.formats.writing import numbered
from krag_eval.datasets.question import RUN_HEADER
from krag_eval.documents.document import Document, Need, as_document
from krag_eval.documents.needs import check_grades
from krag_eval.documents.readers import IdKey, id_keys, read_grade

HEAD_SIZE = 65_536
SAMPLE = 1_000
"""How many rows are looked at to find out what their fields are."""
# How rows can be stored, and the endings that say so.
CONTAINERS: dict[str, tuple[str, ...]] = {
    "jsonl": (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz"),
    "json": (".json",),
    "csv": (".csv",),
    "tsv": (".tsv",),
    "yaml": (".yaml", ".yml"),
    "xlsx": (".xlsx", ".xlsm", ".xls", ".xlsb", ".ods"),
    "parquet": (".parquet", ".pq"),
}

ID_KEYS = ("id", "_id", "chunk_id", "docid", "docno", "doc_id")
TEXT_KEYS = ("text", "contents", "content", "page_content", "passage")
_OF_RUNS = frozenset({"searches", "stages", "error", RUN_HEADER})
T = TypeVar("T")
Row = dict[str, Any]
Kind = Literal["evalset", "run"]
RUN_START = f'{{"{RUN_HEADER}":'.encode()
_WORKBOOKS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")  # packed as ZIP, and the older OLE
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class Source:
    """A file or folder as a reader sees it; what is needed twice is read once.

    Args:
        path: The file or folder.
        container: How its rows are stored, a key of `CONTAINERS`; by default what the name and the content show.
        columns: For rows with names of their own, the column of each field.
        encoding: The encoding of a text that is not UTF-8.
        sheet: The sheet of a workbook.
        evalset: The set that a run belongs to, if it is known.
        max_bad_rows: How many bad lines may be skipped.
        rows: The key under which the rows of a JSON or YAML file are, if several may be.
        separator: What separates the ids in a cell or a string; by default what looks like it in a cell.
        id_key: The keys of a gold document that are its id together.

    Attributes:
        path: The file or folder, as messages name it.
        name: What its set is called: the name of the file, unless its format has another one.
        kind: What its rows are read as: `evalset`, `run` or `corpus`; None for the rows of other programs.
        FIELDS: The fields that `columns` may name, by what is read.
        LARGEST: How many bytes are looked at to find out what a file is.
    """

    FIELDS: ClassVar[Mapping[str, Sequence[str]]] = FIELDS_OF
    LARGEST: ClassVar[int] = 2**26

    def __init__(
        self,
        path: str | os.PathLike[str],
        container: str | None = None,
        *,
        columns: Mapping[str, str] | None = None,
        encoding: str | None = None,
        sheet: str | None = None,
        evalset: EvalSet | None = None,
        max_bad_rows: int = 0,
        rows: str | None = None,
        separator: str | None = None,
        id_key: tuple[str, ...] = (),
    ) -> None:
        self.path = in_utf8(os.fspath(path), encoding)
        self.name = stem(path)
        self.kind: str | None = None
        self._container = container
        self._columns = columns
        self._sheet = sheet
        self._evalset = evalset
        self._max_bad_rows = check_count("max_bad_rows", max_bad_rows, least=0)
        self._rows_at = rows
        self._separator = separator
        self._id_key = id_key

    def use(self, columns: Mapping[str, Any] | None = None, id_key: tuple[str, ...] = ()) -> None:
        """Read the rows with these columns, before any was read."""
        self._columns, self._id_key = columns, id_key or self._id_key

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder."""
        return is_folder(self.path)

    @property
    def is_regular(self) -> bool:
        """Whether it can be examined and then read from its beginning, which a pipe cannot."""
        try:
            return stat.S_ISREG(Path(located(self.path)).stat().st_mode)
        except (OSError, ValueError) as error:
            raise unreadable(self.path, error) from error

    @cached_property
    def rejects(self) -> Rejects:
        """What collects its bad lines; none may be skipped if the file cannot be read twice, or if all would be bad."""
        is_possible = self._max_bad_rows and self.is_regular and self.path != DASH and not self.head.startswith(_UTF_16)
        return Rejects(self.path, self._max_bad_rows if is_possible else 0)

    @cached_property
    def head(self) -> bytes:
        """The beginning of the file, unpacked; empty for a pipe.

        Raises:
            InvalidInputError: It cannot be opened, or is only a pointer of Git LFS.
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

    @property
    def is_head_full(self) -> bool:
        """Whether the head may be cut off."""
        return len(self.head) >= HEAD_SIZE

    @cached_property
    def first_line(self) -> bytes:
        """The first line of the head that is neither empty nor a comment."""
        lines = self.head.split(b"\n")
        return next((line for line in lines if line.strip() and not line.startswith(b"#")), b"")

    @cached_property
    def container(self) -> str | None:
        """How its rows are stored; None if neither the name nor the content tells."""
        head, name = self.head, self.path.lower()
        if self._container is not None:
            return self._container
        if head.startswith(_WORKBOOKS):
            return "xlsx"
        if head.startswith(RUN_START):
            return "jsonl"  # the journal of a run, whatever its name
        named = next((kind for kind, endings in CONTAINERS.items() if name.endswith(endings)), None)
        if named == "jsonl" and self._is_one_value():
            return "json"
        if named not in (None, "json"):
            return named
        if head.startswith(b"PAR1"):
            return "parquet"
        start = head.lstrip()[:1]
        lines = [line.strip() for line in head.split(b"\n") if line.strip()]
        # The first object is on a line of its own, and another one follows.
        if len(lines) > 1 and lines[0].startswith(b"{") and lines[0].endswith(b"}") and lines[1].startswith(b"{"):
            return "jsonl"
        return "json" if named == "json" or start in (b"{", b"[") else None

    def _is_one_value(self) -> bool:
        """Return whether a file called JSONL is one value over several lines, and not rows after a torn one."""
        first, *others = [line.strip() for line in self.head.split(b"\n", 3)[:3] if line.strip()] or [b""]
        if first == b"{":
            return any(line.startswith(b'"') for line in others)
        return first == b"[" and (self.head.rstrip().endswith(b"]") or not any(line.endswith(b"}") for line in others))

    @cached_property
    def document(self) -> object:
        """The file as one value of JSON or YAML.

        Raises:
            InvalidInputError: It is not; the message begins with `path:line:`.
        """
        if self.is_folder:
            raise unreadable(self.path, IsADirectoryError(21, "Is a directory"))
        if self.is_regular and not self.head.strip():
            raise InvalidInputError(f"{self.path}: is empty. Write one value into it.")
        return beside("yaml")(self.path) if self.container == "yaml" else read_json(self.path)

    @cached_property
    def text(self) -> str:
        """The file as a text.

        Raises:
            InvalidInputError: It cannot be read.
        """
        return decode(read_whole(self.path), self.path)

    def rows(self) -> Iterator[tuple[str, Row]]:
        """Yield each row with its place: `path:line`, or `path: row 7` if there are no lines.

        Raises:
            InvalidInputError: The file cannot be read, or a row is not an object.
        """
        layout = self._layout
        if layout is None or self._is_as_stored:
            return self._stored()

        return self._shaped(layout)

    def _shaped(self, layout: Layout) -> Iterator[tuple[str, Row]]:
        yield from self.rejects.each(self._stored(), self.shaped)
        layout.tell()

    def shaped(self, place: str, row: Row) -> Row:
        """Return a row as it is stored by its fields.

        Raises:
            InvalidInputError: A value cannot be read; the message begins with the place.
        """
        if self._layout is None or self._is_as_stored:
            return row
        lost = self.rejects.is_counting_lost
        return self._layout.shaped(place, row, is_text=self.is_table, is_counting_lost=lost)

    @property
    def _is_as_stored(self) -> bool:
        """Whether its rows are read as they are stored."""
        return self._layout is None or (self._layout.is_plain and not self.is_table)

    def batches(self) -> Iterator[list[tuple[str, Row]]]:
        """Yield the same rows in lists that take little memory, of one row each unless the file is JSON.

        Raises:
            InvalidInputError: As for `rows`.
        """
        if self._is_as_stored and self.container == "jsonl":
            return parse_batches(self.lines(), self.path, rejects=self.rejects)
        if self._is_as_stored and self.container in ("json", "yaml"):
            return in_batches(self._rows_of_document(), lambda _: 0)
        return ([row] for row in self.rows())

    def _stored(self, rejects: Rejects | None = None) -> Iterator[tuple[str, Row]]:
        """Yield each row with its place as it is stored: of texts of cells, or of values."""
        rejects = self.rejects if rejects is None else rejects
        if self.is_table:
            return tables.read_rows(self.records(rejects), rejects)
        if self.container == "parquet":
            return parquet.read_rows(self.path)
        if self.container in ("json", "yaml"):
            return self._rows_of_document()
        return parse_jsonl(self.lines(), self.path, rejects=rejects)

    @property
    def set_rules(self) -> dict[str, Any]:
        """What an object of JSON or YAML says beside its rows about the whole set: `askers` and `supersedes`."""
        whole = self.document if self.container in ("json", "yaml") and not self.is_cut else None
        names = ("askers", "supersedes")
        return {name: whole[name] for name in names if name in whole} if isinstance(whole, Mapping) else {}

    @property
    def is_table(self) -> bool:
        """Whether its rows are texts in cells."""
        return self.container in ("csv", "tsv", "xlsx")  # a cell of these may hold several ids

    def records(self, rejects: Rejects | None = None) -> Iterator[tuple[str, list[str]]]:
        """Yield the cells of each record of a table, the header first, with its place.

        Raises:
            InvalidInputError: The file cannot be read.
        """
        if self.container == "xlsx":
            return iter(self._cells)
        return tables.read_records(self.path, None if self.container == "csv" else "\t", rejects or self.rejects)

    @cached_property
    def _cells(self) -> list[tuple[str, list[str]]]:
        """The records of a workbook, which are in memory anyway."""
        return list(beside("cells")(self.path, self._sheet))

    @cached_property
    def _layout(self) -> Layout | None:
        """Where the fields of a row are; None if its rows are certainly as they should be."""
        if self.kind is None and not self.is_table:
            return None
        is_table = bool(self.columns) and (self.is_table or self.container == "parquet")
        return Layout(
            self.path,
            self.kind,
            self.columns,
            self._columns,
            is_table=is_table,
            evalset=self._evalset,
            sample=self.sample if self._columns or self.is_table else (),
            separator=self._separator,
            id_key=self._id_key,
        )

    @property
    def is_numbered(self) -> bool:
        """Whether its rows have no ids, and get their numbers."""
        return self._layout is not None and self._layout.makes_ids

    @property
    def is_squad(self) -> bool:
        """Whether the gold of its rows is their `context`, as in SQuAD."""
        return self._layout is not None and self._layout.is_squad

    def each(
        self,
        read: Callable[[Row], T],
        batches: Iterable[list[tuple[str, Row]]] | None = None,
        read_all: Callable[[list[Row]], list[T] | None] = lambda _: None,
    ) -> Iterator[tuple[str, T]]:
        """Yield what `read` makes of each row, with its place; bad rows may be skipped.

        Args:
            read: Reads a row; its errors get the place in front.
            batches: The rows with their places; those of `batches()` by default.
            read_all: Returns what `read` makes of each row of a list; None if a row must be read by itself.

        Raises:
            InvalidInputError: The file or a row cannot be read.
        """
        for batch in self.batches() if batches is None else batches:
            made = read_all([row for _, row in batch])
            if made is not None:
                yield from zip((place for place, _ in batch), made, strict=True)
            else:
                yield from self.rejects.each(batch, lambda place, row: read_at(place, read, row, self.named))

    def each_numbered(self, read: Callable[[Row], T]) -> Iterator[tuple[str, T]]:
        """Yield the same, where rows without an `id` get their number, from 0, as one."""
        numbers = itertools.count()

        def read_next(row: Row) -> T:
            number = next(numbers)
            if row.get("id") is None:
                row = {**row, "id": numbered(None if self.rejects.is_counting_lost else number)}
            return read(row)

        return self.each(read_next)

    def lines(self) -> Iterator[bytes]:
        """Yield its lines, unpacked.

        Raises:
            InvalidInputError: The file cannot be read, or a line has no end.
        """
        return unpacked_lines(self.path) if self.path.endswith(".gz") else lines_of(self.path)

    def _rows_of_document(self) -> Iterator[tuple[str, Row]]:
        document, at = self._rows_found
        if not isinstance(document, list):
            raise InvalidInputError(f"{self.path}: holds {describe_type(document)}. It must be a list of objects.")
        for number, row in enumerate(document, 1):
            if not isinstance(row, dict):
                raise InvalidInputError(f"{self.path}: row {number} is {describe_type(row)}. It must be an object.")
            yield (f"{self.path}: row {number}" if at is None else f"{self.path}: {at}, row {number}"), row

    @cached_property
    def _rows_found(self) -> tuple[Any, str | None]:
        return rows_of(self.document, self.path, self._rows_at)

    @property
    def rows_at(self) -> str | None:
        """The key under which the rows of a JSON or YAML file are; None if they are under none."""
        return self._rows_found[1] if self.container in ("json", "yaml") and not self.is_cut else None

    @property
    def is_cut(self) -> bool:
        """Whether it is one JSON value that is too large to be read only to find out what it is."""
        if self.is_folder or self.container != "json":
            return False
        return Path(located(self.path)).stat().st_size > self.LARGEST

    @property
    def is_sampled(self) -> bool:
        """Whether it may have more rows than `sample`."""
        return self.is_cut or len(self.sample) == SAMPLE or self._sample_size > self.LARGEST

    @cached_property
    def sample(self) -> list[Row]:
        """The first rows as they are stored; none if they cannot be read."""
        self._sample_size, rows = 0, list[Row]()
        if self.is_folder or not self.is_regular:
            return rows
        if self.is_cut:
            first_rows = beside("first_rows")(read_head(self.path, self.LARGEST).decode(errors="ignore"))
            return list(itertools.islice(first_rows, SAMPLE))
        with contextlib.suppress(InvalidInputError):  # reading it will say what is wrong, with the place
            for _, row in itertools.islice(self._stored(Rejects(self.path, self._max_bad_rows)), SAMPLE):
                rows.append(row)
                self._sample_size += len(str(row))
                if self._sample_size > self.LARGEST:
                    break
        return rows

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns, or the keys of the first row, in their order; empty if they cannot be read."""
        if self.is_folder or not self.is_regular:
            return ()
        try:
            if self.is_table:
                return tuple(tables.read_names(self.records()))
            if self.container == "parquet":
                return tuple(parquet.read_names(self.path))
            _, row = next(self._stored(), ("", {}))
        except InvalidInputError:
            return ()  # reading it will say what is wrong, with the place
        return tuple(row)

    @property
    def named(self) -> dict[str, str]:
        """The columns of fields that have another name here."""
        return {} if self._layout is None else {field: base_of(one) for field, one in self._layout.places.items()}

    @property
    def names(self) -> frozenset[str]:
        """The same as a set."""
        return frozenset(self.columns)

    def has_column(self, column: str) -> bool:
        """Return whether it has this column, or numbered ones of this name."""
        return has_column(self.names, column)

    def has(self, kind: Kind) -> bool:
        """Return whether it has columns of gold documents, or of rankings, with names that we give them."""
        has_gold, has_rankings = kinds_of(self.names)
        return has_gold if kind == "evalset" else has_rankings or not _OF_RUNS.isdisjoint(self.names)

    @property
    def has_passages(self) -> bool:
        """Whether its rows have ids and texts as documents have them."""
        names = self.sample[0].keys() if self.is_cut and self.sample else self.names
        return not (names.isdisjoint(ID_KEYS) or names.isdisjoint(TEXT_KEYS))

    @property
    def named_kinds(self) -> tuple[Kind, ...]:
        """What the columns that were named hold: gold documents are a set, rankings a run."""
        kinds: tuple[Kind, ...] = ("evalset", "run")
        return tuple(kind for kind, is_held in zip(kinds, kinds_of((), self._columns), strict=True) if is_held)


def read_at(place: str, read: Callable[[Row], T], row: Row, columns: Mapping[str, str] | None = None) -> T:
    """Return what `read` makes of a row; its errors get the place in front, and the names of columns for fields.

    Raises:
        InvalidInputError: The row cannot be read.
    """
    try:
        return read(row)
    except InvalidInputError as error:
        raise error.at(place, columns) from None


def check_documents(
    place: str,
    name: str,
    documents: Sequence[Document | Need],
    *,
    id_key: IdKey | None,
    grade_key: str = "relevance",
    is_gold: bool = False,
) -> None:
    """Refuse documents that have neither an id nor a text under these keys, naming their place in the file.

    Raises:
        InvalidInputError: There is such a document, or a grade is not a number.
    """
    for number, document in enumerate(documents):
        if isinstance(document, Need):
            check_documents(
                place, f"{name}[{number}].any_of", document.any_of, id_key=id_key, grade_key=grade_key, is_gold=is_gold
            )
            with errors_at(f"{place}: `{name}[{number}]`"):
                check_grades([read_grade(one, grade_key) for one in document.any_of], document.grade)
            continue
        # The rest was checked when the document was read; most documents have an id or a text and no grade there.
        if (document.id is not None or document.text is not None) and not (is_gold and grade_key in document.metadata):
            continue
        if not is_gold and id_keys(document.metadata):  # with `id_key` or `doc_key` it may be scored
            continue
        with errors_at(f"{place}: `{name}[{number}]`"):
            as_document(document, id_key=id_key, grade_key=grade_key, is_gold=is_gold)


def stem(path: str | os.PathLike[str]) -> str:
    """Return the name of a file without its folder and ending.

    >>> stem("runs/bm25.v2.jsonl.gz")
    'bm25.v2'
    """
    name = Path(path)
    return Path(name.stem).stem if name.suffix == ".gz" else name.stem
