"""The columns of a dataset with one row for each document: which are there, under which names, and with which types."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from krag_eval import InvalidInputError

if TYPE_CHECKING:
    from ray.data import Dataset


def _is_string(type_: Any) -> bool:
    if pa.types.is_dictionary(type_):
        return _is_string(type_.value_type)
    is_view = hasattr(pa.types, "is_string_view") and pa.types.is_string_view(type_)
    return bool(pa.types.is_string(type_) or pa.types.is_large_string(type_) or is_view or pa.types.is_null(type_))


def _is_id(type_: Any) -> bool:
    if pa.types.is_dictionary(type_):
        return _is_id(type_.value_type)
    return _is_string(type_) or bool(pa.types.is_integer(type_))


def _is_number(type_: Any) -> bool:
    types = pa.types
    return bool(types.is_integer(type_) or types.is_floating(type_) or types.is_decimal(type_) or types.is_null(type_))


_ID = ("a string or an integer", _is_id)
_NUMBER = ("a number", _is_number)
_NEEDED: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "query_id": _ID,
    "id": _ID,
    "text": ("a string", _is_string),
    "rank": _NUMBER,
    "score": _NUMBER,
    "grade": _NUMBER,
}
TYPES = {
    "query_id": pa.large_string(),
    "id": pa.large_string(),
    "text": pa.large_string(),
    "rank": pa.float64(),
    "score": pa.float64(),
    "grade": pa.float64(),
}
"""What becomes of each column."""


@dataclass(frozen=True, slots=True)
class LongColumns:
    """Which columns a dataset has; workers get it too.

    Attributes:
        what: What the user calls the dataset.
        names: For each of `query_id`, `id`, `text` and the others that are there, the name of its column.
    """

    what: str
    names: Mapping[str, str]

    @classmethod
    def of(cls, what: str, ds: Dataset, names: Mapping[str, str], ranked_by: Sequence[str] = ()) -> LongColumns:
        """Look a dataset over. Where Ray does not know the columns, the first rows are computed.

        Args:
            what: What the user calls the dataset.
            ds: The dataset.
            names: For each of `query_id`, `id`, `text` and the others that may be there, the name of its column.
            ranked_by: Of which others one must be there.

        Raises:
            InvalidInputError: It is no dataset of Ray, there is no column of query ids or none of documents, or one
                has another type.
        """
        if not hasattr(ds, "map_batches"):
            raise InvalidInputError(
                f"`{what}` must be a Ray dataset, got {type(ds).__name__}. Make one with `ray.data.read_parquet(...)`."
            )
        schema = ds.schema()
        columns = [] if schema is None else list(schema.names)
        found = cls(what, {role: name for role, name in names.items() if name in columns})
        for roles in (("query_id",), ("id", "text")):
            found._need_one_of(roles, names, columns)
        # Blocks of pandas have types that only their rows tell: those the workers see.
        if schema is not None and isinstance(schema.base_schema, pa.Schema):
            found.check(schema.base_schema)
        if ranked_by:
            found._need_one_of(ranked_by, names, columns)
        return found

    def fields(self, number: str) -> list[Any]:
        """The fields of a document, of which a number such as its score is one."""
        return [pa.field(role, TYPES[role]) for role in ("id", "text", number) if role in self.names]

    def check(self, schema: Any) -> None:
        """See that these columns have types that are read, in the dataset or in one of its blocks.

        Raises:
            InvalidInputError: One has another type.
        """
        for role, name in self.names.items():
            needed, is_right = _NEEDED[role]
            if not is_right(found := schema.field(name).type):
                raise InvalidInputError(
                    f"The column `{name}` of `{self.what}` has the type {found}, and it needs {needed}. "
                    "Cast it, or name another one."
                )

    def _need_one_of(self, roles: Sequence[str], names: Mapping[str, str], columns: list[str]) -> None:
        if not set(roles) & set(self.names):
            wanted = " or ".join(f"`{names[role]}`" for role in roles)
            raise InvalidInputError(
                f"`{self.what}` has no column {wanted}. Its columns are: {', '.join(columns) or 'none'}. "
                "Rename one, or say what it is called with `query_id=` or `..._column=`."
            )
