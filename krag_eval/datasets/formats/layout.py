"""Which columns of a table hold which fields: those with a field's name, those that the caller names, numbered ones."""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from krag_eval._utils.checks import one_of
from krag_eval._utils.errors import Argument, InvalidInputError, Part, errors_at, warn
from krag_eval._utils.files.strict_json import parse_json
from krag_eval._utils.formatting import number_of
from krag_eval.datasets.beside import beside, suggestion
from krag_eval.datasets.cells import TextCell
from krag_eval.datasets.evalset import EvalSet
from krag_eval.datasets.formats import tables
from krag_eval.datasets.formats.nested import value_at
from krag_eval.datasets.formats.writing import FIELDS, numbered
from krag_eval.datasets.question import GOLD, RULES, alternatives_in, without_gold
from krag_eval.documents.access import IF_MISSING
from krag_eval.documents.readers import as_id, id_at, listed_id

# The fields that `columns` may name, by what is read.
FIELDS_OF = {
    "evalset": ("id", "question", "gold", "gold_texts", *GOLD[1:], "must_not", "allowed", "asker", *FIELDS[1:]),
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
_MAIN = {"evalset": {*GOLD, *RULES}, "run": {*_RETRIEVED, "searches", "stages", "error"}}
_OF_OTHERS = {"evalset": {*_RETRIEVED}, "run": {*GOLD, "gold_texts"}, "corpus": {*_RETRIEVED, *GOLD}}
_READ = {*_RETRIEVED, *GOLD, "gold_texts", *tables.IDS, *tables.LISTS, *tables.MAPPINGS, *tables.NUMBERS}
_OF_DOCUMENTS = {"id", "text", "grade", "relevance", "metadata"}
_MOST_DIGITS = 4  # of the number of a column
_WORD = re.compile(r"[!-~]{1,80}")
_LIKE_AN_ID = re.compile(r"(?=.*[0-9_./:#-])[!-~]{1,80}")

# Columns that say what must not be retrieved.
_FORBIDDEN_IDS, _ALLOWED = "must_not_ids", "allowed_"
_BETWEEN_VALUES = re.compile(r"[,;|]")

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
        sample: The first rows, in which dotted paths and keys that the first row lacks are looked for.
        separator: What separates the ids in a cell or a string.
        id_key: The keys of a gold document that are its id together.

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
        columns: Mapping[str, Any] | None,
        *,
        is_table: bool,
        evalset: EvalSet | None = None,
        sample: Sequence[Mapping[str, Any]] = (),
        separator: str | None = None,
        id_key: tuple[str, ...] = (),
    ) -> None:
        self.path, self.kind, self.columns, self.evalset = path, kind, columns, evalset
        self._separator, self._id_key, self.n_missing = separator, id_key, 0
        families = _families(names)
        places: dict[str, Columns] = {}
        self.several: set[str] = set()
        for name, given in (columns or {}).items():
            one_of("columns", name, tuple(dict.fromkeys(itertools.chain(*FIELDS_OF.values()))))
            if name not in FIELDS_OF[kind or "evalset"]:
                continue  # the same mapping may be given for a set, its runs and its corpus
            for column in [given] if isinstance(given, str) else given:
                is_there = not names or column in names or any(value_at(row, column) is not None for row in sample)
                if not is_there and _key(column) not in families:
                    said = beside("no_column")({**(columns or {}), name: column}, name, names)
                    raise InvalidInputError(f"{path}: ", *said)
                found: Columns = column if is_there else _in_order(path, families[_key(column)])
                if name in places:
                    self.several.add(name)
                    found = (*_tuple(places[name]), *_tuple(found))
                places[name] = found
        main = {"evalset": "gold", "run": "retrieved"}.get(kind or "", "")
        used = {column for one in places.values() for column in _tuple(one)}
        fields = {*(name for name in names if name not in used), *places} & {*FIELDS_OF.get(kind or "", ())}
        if main and not any(name.startswith(main) for name in fields):
            places |= _natural(path, families, main)
            fields |= places.keys()
        is_shaped = bool(is_table or columns or places or {*names} & _MAIN.get(kind or "", set()))
        if kind == "run" and is_shaped and "query_id" not in fields and "id" in fields:
            places["query_id"] = places.pop("id", "id")
            fields.add("query_id")
        if kind == "run" and is_table and names and not fields & {*_RETRIEVED, "error"}:
            hint = suggestion(kind, next(iter(sample), dict.fromkeys(names)), given=columns)
            raise InvalidInputError(f"{path}: has no column `retrieved`. ", *hint)
        if kind == "run" and is_table and names and not fields & {"query_id", "question"}:
            hint = suggestion(kind, next(iter(sample), dict.fromkeys(names)), given=columns)
            raise InvalidInputError(f"{path}: has no column `query_id`, and no `question` instead of it. ", *hint)
        lacks_ids = "id" not in fields if kind == "evalset" else {"query_id", "question"} & fields == {"question"}
        self.makes_ids = is_shaped and kind in ("evalset", "run") and lacks_ids
        self.places, self.names = places, names if is_table else ()
        self.used = {column for one in places.values() for column in _tuple(one)}
        left = {*(name for name in names if name not in self.used), *places}
        groups = [[name for name in group if name in left] for group in _EMPTY_IS_NONE]
        self.groups = [group for group in groups if group]
        self.is_squad = left >= SQUAD_COLUMNS and not left & {*GOLD, "gold_texts"}
        self._rules = [name for name in left if is_table and kind == "evalset" and _is_rule(name)]
        has_gold = self.is_squad or left & {*GOLD, *RULES, "gold_texts"} or self._rules
        self.lacks_gold = kind == "evalset" and is_table and not has_gold
        self._numbers = itertools.count()
        self._ids: dict[str, str | None] | None = None
        self._reading: str | None = None
        self._has_seen_gold = False

    @property
    def is_plain(self) -> bool:
        """Whether every row is as it should be."""
        return not self.places and not self.makes_ids and not self._rules and self._separator is None

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
            raise InvalidInputError(*without_gold({**dict.fromkeys(self.names), **given}, self.columns)).at(place)
        row = self._renamed(place, given) if self.places else dict(given)
        if self._rules:
            row = self._with_rules(row)
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
            self._complete_ranking(place, row, is_text=is_text)
        elif self.kind == "evalset":
            self._complete_gold(row, is_text=is_text)
        if not self.makes_ids:
            return row
        field = "id" if self.kind == "evalset" else "query_id"
        if row.get(field) is not None or "krag_eval_run" in row:
            return row
        if self.kind == "run" and self.evalset is not None:
            return row | {"query_id": self._id_of(place, row.get("question"), self.evalset)}
        with errors_at(place):
            row[field] = numbered(None if is_counting_lost else number)
        if number == 0 and not self.columns:  # who names columns has looked at them
            warn(f"{self.path}: has no column of ids, so its rows are numbered from 0.")
        return row

    def _renamed(self, place: str, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return a row with the names of fields; numbered columns become a list without the empty ones at its end."""
        renamed = {name: value for name, value in row.items() if name not in self.used}
        for name, columns in self.places.items():
            values = [value_at(row, column) for column in _tuple(columns)]
            if name in self.several:
                values = [one for one in values if one not in (None, "", [])]
                renamed |= {name: values[0] if len(values) == 1 else list(itertools.chain(*map(_listed, values)))}
                continue
            while values and values[-1] in (None, ""):
                values.pop()
            if any(value in (None, "") for value in values):
                empty = next(column for column, value in zip(columns, values, strict=False) if value in (None, ""))
                raise InvalidInputError(f"{place}: `{empty}` is empty, but a column after it is not. Close the gap.")
            if values:
                renamed[name] = values[0] if isinstance(columns, str) else values
        return renamed

    def _with_rules(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return a row with `must_not_ids` as `must_not`, and with columns such as `allowed_tenant` as `allowed`."""
        row = {name: value for name, value in given.items() if name not in self._rules}
        allowed: dict[str, Any] = {}
        for name in self._rules:
            value = given.get(name)
            if value in (None, ""):
                continue
            if name == _FORBIDDEN_IDS:
                row.setdefault("must_not", value)
            elif name == IF_MISSING:
                allowed[name] = str(value).strip().lower() in ("true", "yes", "1")
            elif isinstance(value, str) and value.lstrip()[:1] not in ("<", ">"):
                allowed[name.removeprefix(_ALLOWED)] = [one.strip() for one in _BETWEEN_VALUES.split(value)]
            else:
                allowed[name.removeprefix(_ALLOWED)] = value
        return row | ({"allowed": allowed} if allowed.keys() - {IF_MISSING} else {})

    def tell(self) -> None:
        """Warn once of cells that stand for nothing where ids are expected."""
        if self.n_missing:
            warn(
                f"{self.path}: {number_of(self.n_missing, 'value')} such as nan, N/A, None or - stand where ids are "
                "expected, and are read as empty."
            )
            self.n_missing = 0

    def _each_id(self, value: Any, *, is_text: bool) -> list[Any]:
        """Return ids one by one: those of several parts as one, strings cut at the separator."""
        ids: list[Any] = []
        for one in [value] if isinstance(value, Mapping) else _listed(value):
            if isinstance(one, Mapping) and self._id_key:
                ids += [found] if (found := id_at(one, self._id_key)) is not None else []
            elif isinstance(one, (list, tuple)):
                ids.append(listed_id(one) or as_id(one[0] if one else None))
            elif isinstance(one, str) and is_text and TextCell(one).is_missing:
                self.n_missing += bool(one.strip())
            elif isinstance(one, str) and self._separator is not None:
                ids += TextCell(one).ids(self._separator)
            else:
                ids.append(one)
        return ids

    def _cell(self, name: str, value: Any, place: str) -> Any:
        """Return what a cell holds, or the cells of numbered columns."""
        if isinstance(value, Mapping):
            return value
        if isinstance(value, list):
            if name in ("gold", "retrieved"):
                return [one if not isinstance(one, str) else self._document(name, one, place) for one in value]
            return [one.strip() if isinstance(one, str) else one for one in value] if name in tables.IDS else value
        if not isinstance(value, str):
            return value
        if name in _OF_OTHERS.get(self.kind or "", ()):
            with contextlib.suppress(InvalidInputError):
                return tables.read_cell(name, value, place)
            return value
        is_json = value.lstrip()[:1] in ("[", "{")
        if name in ("gold_texts", "retrieved_texts"):
            return _list_of(value) if is_json else value
        if name == "metadata" and self.places and not value.lstrip().startswith("{"):
            return {name: value}  # that of another program
        if name == "gold" and not value.lstrip().startswith("["):
            return [self._document(name, value, place)]
        if name == "retrieved" and not is_json and self.reading == "text":
            return [{"text": value}]
        return tables.read_cell(name, value, place, self._separator)

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
        column = base_of(self.places.get(name, name))
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

    def _complete_gold(self, row: dict[str, Any], *, is_text: bool) -> None:
        for name in (*GOLD, RULES[0]):
            value = row.get(name)
            if name == "gold" and isinstance(value, Mapping) and value and are_numbers(value.values()):
                row[name] = [{"id": doc_id, "grade": grade} for doc_id, grade in value.items()]
            elif name == "gold" and _is_retrieval_gt(self.places.get(name)) and isinstance(value, list):
                row[name] = [{"any_of": [{"id": doc_id} for doc_id in group]} for group in map(_listed, value) if group]
            elif value is not None and type(value) is not list and isinstance(value, (str, int, Mapping)):
                row[name] = [value]
            if name == "gold" and name in self.places and isinstance(row.get(name), list):
                row[name] = [_graded(one) if isinstance(one, Mapping) else one for one in row[name]]
            if name != "gold" and row.get(name) is not None:
                row[name] = self._each_id(row[name], is_text=is_text)
        is_field = "gold_texts" in self.places or "gold" not in row  # else a further one, as it is
        if is_field and (texts := row.pop("gold_texts", None)) is not None:
            row["gold"] = [*(row.get("gold") or ()), *({"text": text} for text in _listed(texts))]

    def _complete_ranking(self, place: str, row: dict[str, Any], *, is_text: bool) -> None:
        ours = [name for name in row if name in self.places or "retrieved" not in row]
        found = {key: _listed(row.pop(name)) for name, key in _RETRIEVED.items() if key and name in ours}
        if "id" in found and "text" not in found:
            found["id"] = self._each_id(found["id"], is_text=is_text)
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


def _is_rule(name: str) -> bool:
    return name == _FORBIDDEN_IDS or (name.startswith(_ALLOWED) and name != _ALLOWED)


def _is_retrieval_gt(column: Columns | None) -> bool:
    """Return whether a column is AutoRAG's, in which each list holds ids of which any is enough."""
    return isinstance(column, str) and column.endswith("retrieval_gt")


def _graded(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a document of one id and a grade under names of its own with those of ours; any other as it is."""
    is_own = "id" in given and given.keys() <= _OF_DOCUMENTS
    found: Mapping[str, Any] = given if is_own else beside("graded")(given)
    return found


def are_numbers(values: Iterable[object]) -> bool:
    """Return whether all values are numbers."""
    return all(isinstance(one, (int, float)) and not isinstance(one, bool) for one in values)


def is_field(name: str) -> bool:
    """Return whether `columns` may name this field."""
    return any(name in fields for fields in FIELDS_OF.values())


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
        base, number = TextCell(name).numbered()
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
        groups = [base_of(tuple(columns.values())) for columns in meant.values()]
        raise InvalidInputError(
            f"{path}: several groups of numbered columns may hold `{main}`: {', '.join(map(repr, groups))}. Choose "
            "one, such as ",
            Argument("columns", {main: groups[0]}),
            ".",
        )
    return {_FAMILIES[base]: _in_order(path, columns) for base, columns in meant.items()}


def _in_order(path: str, columns: Mapping[int, str]) -> tuple[str, ...]:
    numbers = sorted(columns)
    if numbers[0] > 1 or numbers[-1] - numbers[0] >= len(numbers):
        listed = ", ".join(columns[number] for number in numbers)
        raise InvalidInputError(f"{path}: of numbered columns some are missing: {listed}. Number them from 1.")
    return tuple(columns[number] for number in numbers)


def base_of(columns: Columns) -> str:
    """Return what is before the numbers, as it is written in the file."""
    return columns if isinstance(columns, str) else TextCell(columns[0]).numbered()[0].strip()


def _undecided(
    place: str, value: str, column: str, fields: Sequence[str], given: Mapping[str, str] | None
) -> InvalidInputError:
    others = {name: where for name, where in (given or {}).items() if where != column}
    parts: list[Part] = [f"{place}: {value!r:.60} may be an id or a text. Say what {column!r} holds: "]
    for name in fields:
        parts += [Argument("columns", {**others, name: column}), " or "]
    return InvalidInputError(*parts[:-1], ".")


def _list_of(cell: str) -> list[str] | str:
    """Return a list of texts that is written as JSON or by Python; anything else is a text."""
    try:
        value = tables.read_cell("gold", cell, "")
    except InvalidInputError:
        return cell
    return [str(one) for one in value] if isinstance(value, list) else cell


def _tuple(columns: Columns) -> tuple[str, ...]:
    return (columns,) if isinstance(columns, str) else columns


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]
