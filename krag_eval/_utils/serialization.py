"""Write results as JSON and frames, and read states strictly: a wrong shape would be a wrong number later."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, fields, is_dataclass
from enum import Enum
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, Self, get_args, get_origin, get_type_hints

from krag_eval._utils.errors import needing, refuse

# Refuses a part of a stored state that cannot be read.
refuse_state = functools.partial(refuse, at="In the stored state")

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


def json_text(value: object, **options: Any) -> str:
    """Return a value as JSON that can be written as UTF-8; `options` are those of `json.dumps`."""
    # A lone surrogate cannot be written as UTF-8; its escape can, and means the same in JSON.
    return json.dumps(value, ensure_ascii=False, **options).encode("utf-8", "backslashreplace").decode("utf-8")


def as_plain(value: Any) -> Any:
    """Return a value of a result as JSON has it: records are dicts, tuples are lists."""
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {name: as_plain(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_plain(inner) for inner in value]
    if isinstance(value, Enum):
        return value.value
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value


def plain_fields(holder: object, *names: str) -> dict[str, Any]:
    """Return attributes of a result by their names, as JSON has them."""
    return {name: as_plain(getattr(holder, name)) for name in names}


def data_frame(rows: Any, needed_by: str, **options: Any) -> pd.DataFrame:
    """Return a `pandas.DataFrame`; `options` are its own.

    Raises:
        MissingDependencyError: pandas is not installed, which `needed_by` needs.
    """
    with needing(needed_by, "pandas", "pandas"):
        import pandas as pd
    return pd.DataFrame(rows, **options)


class Tabular:
    """Base class of results with rows, which every library that reads Arrow can take, such as polars and DuckDB."""

    __slots__ = ()

    def _rows(self) -> tuple[list[dict[str, Any]], Collection[str]]:
        """Return the rows, and the columns that hold doubles even where no row has one."""
        raise NotImplementedError

    def to_polars(self) -> pl.DataFrame:
        """Return the rows of `to_pandas`, null where a value is undefined. Needs polars and pyarrow."""
        with needing("to_polars()", "polars", None):
            import polars as pl
        return pl.DataFrame(self)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the rows of `to_polars` as a stream of Arrow's PyCapsule interface. Needs pyarrow."""
        with needing("__arrow_c_stream__", "pyarrow", "arrow"):
            import pyarrow as pa
        rows, doubles = self._rows()
        columns = {}
        for name in dict.fromkeys(chain.from_iterable(rows)):
            values = [row.get(name) for row in rows]
            try:
                columns[name] = pa.array(values, pa.float64() if name in doubles else None)
            except (pa.ArrowException, UnicodeEncodeError, OverflowError):  # several types, or a lone surrogate
                texts = [one if isinstance(one, str) or one is None else json_text(one) for one in values]
                columns[name] = pa.array(
                    [one and one.encode("utf-8", "backslashreplace") for one in texts], pa.string()
                )
        return pa.table(columns).__arrow_c_stream__(requested_schema)


class State:
    """Base class of dataclasses that are sums: they merge by addition, in any order.

    A field is a whole number, another state, or a mapping of these by keys that both sides of a merge have. Fields that
    are not compared are no part of the sum, and not stored.

    Attributes:
        signed: The fields that may be below 0.
    """

    __slots__: tuple[str, ...] = ()
    signed: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def _parts(cls) -> list[str]:
        return [field.name for field in fields(cls) if field.compare]  # type: ignore[arg-type] # it is a dataclass

    def merge(self, other: Self) -> None:
        """Add another state to this one."""
        for name in self._parts():
            setattr(self, name, _sum(getattr(self, name), getattr(other, name)))

    def to_dict(self) -> dict[str, Any]:
        """Return the state as JSON can hold it."""
        return {name: _stored(getattr(self, name)) for name in self._parts()}

    @classmethod
    def from_dict(cls, record: object) -> Self:
        """Read the state that `to_dict` wrote.

        Raises:
            InvalidInputError: A field is missing, unknown, or something else.
        """
        read = read_record(record, cls.__name__, cls._parts())
        hashable: Any = cls  # mypy looks for the hash of its objects
        types = _types_of(hashable)
        least = {name: -math.inf if name in cls.signed else 0 for name in read}
        return cls(**{n: _read(types[n], one, f"{cls.__name__}.{n}", least[n]) for n, one in read.items()})


@functools.cache
def _types_of(cls: type[Any]) -> dict[str, Any]:
    return get_type_hints(cls)


def _sum(mine: Any, theirs: Any) -> Any:
    if isinstance(mine, int):
        return mine + theirs
    if isinstance(mine, dict):
        mine |= {key: _sum(mine[key], value) for key, value in theirs.items()}
    else:
        mine.merge(theirs)
    return mine


def _stored(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _stored(inner) for key, inner in value.items()}
    return value if isinstance(value, int) else value.to_dict()


def _read(type_: Any, value: object, what: str, least: float = 0) -> Any:
    if get_origin(type_) is dict:
        inner = get_args(type_)[1]
        return {key: _read(inner, one, f"{what}.{key}") for key, one in read_record(value, what).items()}
    return read_integer(value, what, least) if type_ is int else type_.from_dict(value)


def read_record(record: object, what: str, names: Sequence[str] | None = None) -> Mapping[str, Any]:
    """Return the record, if it is a mapping with exactly these names, or with any if none are given.

    Raises:
        InvalidInputError: It is not a mapping, or a name is missing or unknown.
    """
    if not isinstance(record, Mapping) or not all(isinstance(name, str) for name in record):
        refuse_state(what, f"a mapping{'' if names is None else ' with ' + ', '.join(names)}", record)
    if names is not None and set(record) != set(names):
        refuse_state(what, f"a mapping with {', '.join(names)}", sorted(record))
    return record


def read_integer(value: object, what: str, least: float = 0) -> int:
    """Return the value, if it is a whole number of at least `least`.

    Raises:
        InvalidInputError: It is not.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        refuse_state(what, "a whole number" + (f" of at least {least}" if least > -math.inf else ""), value)
    return value


def read_list(values: object, what: str, size: int | None = None) -> list[Any]:
    """Return the value, if it is a list, of `size` entries if that is given.

    Raises:
        InvalidInputError: It is not.
    """
    if not isinstance(values, list) or (size is not None and len(values) != size):
        refuse_state(what, "a list" + (f" of {size} entries" if size is not None else ""), values)
    return values


def read_integers(values: object, what: str, size: int | None = None, least: float = 0) -> list[int]:
    """Return the value, if it is a list of whole numbers of at least `least`.

    Raises:
        InvalidInputError: It is not.
    """
    return [read_integer(value, what, least) for value in read_list(values, what, size)]


def read_double(value: object, what: str) -> float:
    """Return the double that `float.hex` wrote.

    Raises:
        InvalidInputError: It is not one, or NaN.
    """
    try:
        number = float.fromhex(value) if isinstance(value, str) else math.nan
    except (ValueError, OverflowError):
        number = math.nan
    if math.isnan(number):
        refuse_state(what, "a number as `float.hex` writes it", value)
    return number
