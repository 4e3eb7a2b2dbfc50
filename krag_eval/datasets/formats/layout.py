"""Which columns of a table hold which fields: those with a field's name, those that the caller names, numbered ones."""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from krag_eval._utils.checks import one_of
from krag_eval._utils.errors import InvalidInputError, errors_at, warn
from krag_eval._utils.files.strict_json import parse_json
from krag_eval.datasets.column_names import no_column, split_number, suggestion
from krag_eval.datasets.evalset import EvalSet
from krag_eval.datasets.formats import tables
from krag_eval.datasets.formats.writing import FIELDS, numbered
from krag_eval.datasets.question import GOLD, alternatives_in, without_gold

# The fields that `columns` may name, by what is read.
FIELDS_OF = {
    "evalset": ("id", "question", "gold", "gold_texts", *GOLD[1:], *FIELDS[1:]),
    "run": ("query_id", "id", "question", "retrieved", "retrieved_ids", "retrieved_texts", "error", "seconds"),
    "corpus": ("id", "text", "title", "doc_id", "chunk_id"),
}
_RETRIEVED = {"retrieved": "", "retrieved_ids": "id", "retrieved_texts": "text"}
# The fields that numbered columns hold, by what is before the number.
_FAMILIES = {
    "gold": "gold",
    "gold_text": "gold_texts",
    "gold_id": "gold_chunk_ids",
    "gold_chunk_id": "gold_chunk_ids",
    "gold_doc_id": "gold_doc_ids",
}
for _name in ("retrieved", "result", "rank", "top", "hit", "doc", "document", "passage", "chunk", "context"):
    _FAMILIES |= {_name: "retrieved", f"{_name}_id": "retrieved_ids", f"{_name}_text": "retrieved_texts"}
# If a row leaves all of these columns empty that the file has, it means an empty list.
_EMPTY_IS_NONE = (
    ("gold", "gold_texts", "gold_chunk_ids", "gold_doc_ids"),
    ("reference_contexts", "reference_context_ids"),
    ("retrieved", "retrieved_ids", "retrieved_texts"),
    ("retrieved_contexts", "retrieved_context_ids"),
)
SQUAD_COLUMNS = frozenset({"question", "context"})
_OF_OTHERS = {"evalset": {*_RETRIEVED}, "run": {*GOLD, "gold_texts"}, "corpus": {*_RETRIEVED, *GOLD}}
_READ = {*_RETRIEVED, *GOLD, "gold_texts", *tables.IDS, *tables.LISTS, *tables.MAPPINGS, *tables.NUMBERS}
_MOST_DIGITS = 4  # of the number of a column
_WORD = re.compile(r"[!-~]{1,80}")
_LIKE_AN_ID = re.compile(r"(?=.*[0-9_./:#-])[!-~]{1,80}")

Columns = str | tuple[str, ...]


class Layout:
    """Where the fields of a row are.

    Args:
        path: The file, for messages.
        kind: What is read: `evalset`, `run` or `corpus`; None for the rows of other programs.
        names: The names of its columns, or the keys of its first row; empty if they are not known.
        columns: The column of each field that has another name; without a number it stands for all numbered ones.
        is_table: Whether these are the names of all columns.
        evalset: The set that a run belongs to, if it is known.

    Attributes:
        places: The column of each field that has another name, or its numbered columns in order.
        makes_ids: Whether rows get an id: their number, or in a run the id of the question with the same text.
        names: The columns of a table; empty if not all are known.
        used: The columns of `places`.
        lacks_gold: Whether a table has no column of gold documents that an evaluation set could be made of.
        groups: The fields of the file that mean an empty list if a row leaves all of a group empty.

    Raises:
        InvalidInputError: There is no such field or column, or the numbered columns could be meant in several ways.
    """

    def __init__(
        self,
        path: str,
        kind: str | None,
        names: Sequence[str],
        columns: Mapping[str, str] | None,
        *,
        is_table: bool,
        evalset: EvalSet | None = None,
    ) -> None:
        self.path, self.kind, self.columns, self.evalset = path, kind, columns, evalset
        families = _families(names)
        places: dict[str, Columns] = {}
        for name, column in (columns or {}).items():
            one_of("columns", name, tuple(dict.fromkeys(itertools.chain(*FIELDS_OF.values()))))
            if name not in FIELDS_OF[kind or "evalset"]:
                continue  # the same mapping may be given for a set, its runs and its corpus
            if names and column not in names and _key(column) not in families:
                raise InvalidInputError(f"{path}: {no_column(columns or {}, name, names)}")
            places[name] = column if column in names or not names else _in_order(path, families[_key(column)])
        main = {"evalset": "gold", "run": "retrieved"}.get(kind or "", "")
        fields = {*names, *places} & {*FIELDS_OF.get(kind or "", ())}
        if main and not any(name.startswith(main) for name in fields):
            places |= _natural(path, families, main)
            fields |= places.keys()
        is_shaped = bool(is_table or columns or places)
        if kind == "run" and is_shaped and "query_id" not in fields and "id" in fields:
            places["query_id"] = places.pop("id", "id")
            fields.add("query_id")
        if kind == "run" and is_table and names and not fields & {*_RETRIEVED, "error"}:
            raise InvalidInputError(
                f"{path}: has no column `retrieved`. {suggestion(kind, dict.fromkeys(names), given=columns)}"
            )
        if kind == "run" and is_table and names and not fields & {"query_id", "question"}:
            hint = suggestion(kind, dict.fromkeys(names), given=columns)
            raise InvalidInputError(f"{path}: has no column `query_id`, and no `question` instead of it. {hint}")
        lacks_ids = "id" not in fields if kind == "evalset" else {"query_id", "question"} & fields == {"question"}
        self.makes_ids = is_shaped and kind in ("evalset", "run") and lacks_ids
        self.places, self.names = places, names if is_table else ()
        self.used = {column for one in places.values() for column in _tuple(one)}
        left = {*(name for name in names if name not in self.used), *places}
        groups = [[name for name in group if name in left] for group in _EMPTY_IS_NONE]
        self.groups = [group for group in groups if group]
        has_gold = left >= SQUAD_COLUMNS or left & {*GOLD, "gold_texts"}
        self.lacks_gold = kind == "evalset" and is_table and not has_gold
        self._numbers = itertools.count()
        self._ids: dict[str, str | None] | None = None
        self._reading: str | None = None
        self._has_seen_gold = False

    @property
    def is_plain(self) -> bool:
        """Whether every row is as it should be."""
        return not self.places and not self.makes_ids

    def shaped(self, place: str, given: Mapping[str, Any], *, is_text: bool, is_counting_lost: bool) -> dict[str, Any]:
        """Return a row by its fields, with an id.

        Args:
            place: Where it is in the file.
            given: The row by its columns.
            is_text: Whether its values are the texts of cells, still to be read.
            is_counting_lost: Whether its number is not known.

        Raises:
            InvalidInputError: A cell cannot be read; the message begins with the place.
        """
        number = next(self._numbers)
        if self.lacks_gold:
            raise InvalidInputError(f"{place}: {without_gold({**dict.fromkeys(self.names), **given}, self.columns)}")
        row = self._renamed(place, given) if self.places else dict(given)
        if is_text:
            for name in row.keys() & _READ:
                row[name] = self._cell(name, row[name], place)
        else:
            for name in {"gold", "retrieved"} & row.keys():
                if isinstance(self.places.get(name), tuple):
                    row[name] = [self._document(name, v, place) if isinstance(v, str) else v for v in row[name]]
        if is_text or self.places:
            for group in self.groups:
                if row.keys().isdisjoint(group):
                    row[group[0]] = []
        if self.kind == "run":
            self._complete_ranking(place, row)
        elif self.kind == "evalset":
            self._complete_gold(row)
        if not self.makes_ids:
            return row
        if self.kind == "run" and self.evalset is not None:
            return row | {"query_id": self._id_of(place, row.get("question"), self.evalset)}
        with errors_at(place):
            row["id" if self.kind == "evalset" else "query_id"] = numbered(None if is_counting_lost else number)
        if number == 0 and not self.columns:  # who names columns has looked at them
            warn(f"{self.path}: has no column of ids, so its rows are numbered from 0.")
        return row

    def _renamed(self, place: str, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return a row with the names of fields; numbered columns become a list without the empty ones at its end."""
        renamed = {name: value for name, value in row.items() if name not in self.used}
        for name, columns in self.places.items():
            values = [row.get(column) for column in _tuple(columns)]
            while values and values[-1] in (None, ""):
                values.pop()
            if any(value in (None, "") for value in values):
                empty = next(column for column, value in zip(columns, values, strict=False) if value in (None, ""))
                raise InvalidInputError(f"{place}: `{empty}` is empty, but a column after it is not. Close the gap.")
            if values:
                renamed[name] = values[0] if isinstance(columns, str) else values
        return renamed

    def _cell(self, name: str, value: Any, place: str) -> Any:
        """Return what a cell holds, or the cells of numbered columns."""
        if isinstance(value, list):
            if name in ("gold", "retrieved"):
                return [self._document(name, one, place) for one in value]
            return [one.strip() for one in value] if name in tables.IDS else value
        if name in _OF_OTHERS.get(self.kind or "", ()):
            with contextlib.suppress(InvalidInputError):
                return tables.read_cell(name, value, place)
            return value
        is_json = value.lstrip()[:1] in ("[", "{")
        if name in ("gold_texts", "retrieved_texts"):
            return _list_of(value) if is_json else value
        if name == "gold" and not value.lstrip().startswith("["):
            return [self._document(name, value, place)]
        if name == "retrieved" and not is_json and self.reading == "text":
            return [{"text": value}]
        return tables.read_cell(name, value, place)

    def _document(self, name: str, value: str, place: str) -> Any:
        """Return the document of one cell: an object of JSON, an id or a text.

        Raises:
            InvalidInputError: It may be either.
        """
        if value.lstrip().startswith("{"):
            try:
                return parse_json(value)
            except ValueError as error:
                raise InvalidInputError(f"{place}: `{name}` is not JSON: {value!r:.60} ({error}).") from None
        column = _base_of(self.places.get(name, name))
        if name == "gold":
            if not self._has_seen_gold and _LIKE_AN_ID.fullmatch(value.strip()):
                raise _undecided(place, value, column, ("gold_chunk_ids", "gold_doc_ids", "gold_texts"), self.columns)
            self._has_seen_gold = True
            return {"text": value}
        if not self.reading and not _WORD.fullmatch(value.strip()):
            raise _undecided(place, value, column, ("retrieved_texts", "retrieved_ids"), self.columns)
        return {self.reading or "id": value}

    @property
    def reading(self) -> str:
        """What a plain cell of a ranking is: `id` or `text` if the gold of the set has nothing else; else empty."""
        if self._reading is None:
            questions = list(self.evalset or ())
            gold = [document for question in questions for document in alternatives_in(question.gold)]
            has_ids = any(question.gold_chunk_ids or question.gold_doc_ids for question in questions)
            has_ids = has_ids or any(document.id is not None or document.metadata for document in gold)
            has_texts = any(document.text is not None for document in gold)
            self._reading = "" if has_ids == has_texts else "id" if has_ids else "text"
        return self._reading

    def _complete_gold(self, row: dict[str, Any]) -> None:
        for name in GOLD:
            value = row.get(name)
            if value is not None and type(value) is not list and isinstance(value, (str, int, Mapping)):
                row[name] = [value]
        is_field = "gold_texts" in self.places or "gold" not in row  # else a further one, as it is
        if is_field and (texts := row.pop("gold_texts", None)) is not None:
            row["gold"] = [*(row.get("gold") or ()), *({"text": text} for text in _listed(texts))]

    def _complete_ranking(self, place: str, row: dict[str, Any]) -> None:
        ours = [name for name in row if name in self.places or "retrieved" not in row]
        found = {key: _listed(row.pop(name)) for name, key in _RETRIEVED.items() if key and name in ours}
        if not found:
            return
        if len({len(values) for values in found.values()}) > 1:
            raise InvalidInputError(f"{place}: has not as many retrieved ids as texts. Each document needs both.")
        row["retrieved"] = [dict(zip(found, values, strict=True)) for values in zip(*found.values(), strict=True)]

    def _id_of(self, place: str, text: object, evalset: EvalSet) -> str:
        """Return the id of the question with this text."""
        if self._ids is None:
            self._ids = {}
            for question in evalset:
                key = (question.question or "").strip()
                self._ids[key] = None if key in self._ids else question.id
        key = text.strip() if isinstance(text, str) else ""
        found = self._ids.get(key)
        if key and found is not None:
            return found
        problem = "is no question of the evaluation set" if key not in self._ids else "appears several times in the set"
        raise InvalidInputError(
            f"{place}: the question {key!r:.60} {problem if key else 'is empty'}. Where a run has no ids, its rows "
            "belong to the questions with the same text: correct it, or give both files a column of ids."
        )


def has_column(names: Iterable[str], column: str) -> bool:
    """Return whether there is this column, or numbered ones of this name."""
    return column in names or _key(column) in _families(names)


def kinds_of(names: Iterable[str], columns: Mapping[str, str] | None = None) -> tuple[bool, bool]:
    """Return whether columns of these names hold gold documents, and whether they hold rankings."""
    bases = {base for base in _families(names) if base in _FAMILIES}
    fields = {*names, *(columns or {}), *(_FAMILIES[base] for base in bases)}
    has_gold, has_rankings = bool(fields & {*GOLD, "gold_texts"}), bool(fields & {*_RETRIEVED})
    if has_gold:  # numbered columns such as `document 1` may be anything beside it
        has_rankings = bool({*names, *(columns or {})} & {*_RETRIEVED}) or any(b.startswith("retrieved") for b in bases)
    return has_gold, has_rankings


def _families(names: Iterable[str]) -> dict[str, dict[int, str]]:
    """Return numbered names by what is before the number."""
    families: dict[str, dict[int, str]] = {}
    for name in names:
        base, number = split_number(name)
        if base.strip() and 0 < len(number) <= _MOST_DIGITS:
            families.setdefault(_key(base), {}).setdefault(int(number), name)
    return families


def _key(name: str) -> str:
    return re.sub(r"[\s_-]+", "_", name.strip().casefold())


def _natural(path: str, families: Mapping[str, Mapping[int, str]], main: str) -> dict[str, Columns]:
    """Return the numbered columns whose names say what they hold.

    Raises:
        InvalidInputError: Several groups of them do.
    """
    meant = {base: columns for base, columns in families.items() if _FAMILIES.get(base, "").startswith(main)}
    fields = [_FAMILIES[base] for base in meant]
    stems = {re.sub("_(id|text)$", "", base) for base in meant} if main == "retrieved" else {main}
    if len(stems) > 1 or len(set(fields)) < len(fields) or (len(fields) > 1 and main in fields):
        groups = [_base_of(tuple(columns.values())) for columns in meant.values()]
        raise InvalidInputError(
            f"{path}: several groups of numbered columns may hold `{main}`: {', '.join(map(repr, groups))}. "
            f"Choose one, such as columns={ ({main: groups[0]})!r}."
        )
    return {_FAMILIES[base]: _in_order(path, columns) for base, columns in meant.items()}


def _in_order(path: str, columns: Mapping[int, str]) -> tuple[str, ...]:
    numbers = sorted(columns)
    if numbers[0] > 1 or numbers[-1] - numbers[0] >= len(numbers):
        listed = ", ".join(columns[number] for number in numbers)
        raise InvalidInputError(f"{path}: of numbered columns some are missing: {listed}. Number them from 1.")
    return tuple(columns[number] for number in numbers)


def _base_of(columns: Columns) -> str:
    """Return what is before the numbers, as it is written in the file."""
    return columns if isinstance(columns, str) else split_number(columns[0])[0].strip()


def _undecided(
    place: str, value: str, column: str, fields: Sequence[str], given: Mapping[str, str] | None
) -> InvalidInputError:
    others = {name: where for name, where in (given or {}).items() if where != column}
    ways = " or ".join(f"columns={ ({**others, name: column})!r}" for name in fields)
    return InvalidInputError(f"{place}: {value!r:.60} may be an id or a text. Say what {column!r} holds: {ways}.")


def _list_of(cell: str) -> list[str] | str:
    """Return a list of texts that is written as JSON; anything else is a text."""
    try:
        value = parse_json(cell)
    except ValueError:
        return cell
    return [str(one) for one in value] if isinstance(value, list) else cell


def _tuple(columns: Columns) -> tuple[str, ...]:
    return (columns,) if isinstance(columns, str) else columns


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]
