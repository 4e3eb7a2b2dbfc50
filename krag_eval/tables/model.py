"""What a table consists of: sections, columns and cells, with every value for programs and as people read it."""

from __future__ import annotations

from dataclasses import dataclass

from krag_eval._utils.formatting import format_interval, format_percent, format_seconds, format_value


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a table.

    Attributes:
        value: The value for programs; None if it is undefined or empty.
        text: The same for people, as every format prints it.
        tone: `"good"`, `"bad"` or `"quiet"` for a verdict or an aside, `"best"` for the best of its column; else None.
            The page takes several, and `"heat-0"` to `"heat-10"`.
        door: The address in the page of the queries behind it, or None.
        help: An explanation, or None.
    """

    value: str | float | int | bool | None
    text: str
    tone: str | None = None
    door: str | None = None
    help: str | None = None

    @classmethod
    def empty(cls) -> Cell:
        """Return a cell with nothing in it."""
        return cls(None, "")

    @classmethod
    def of_text(cls, text: str, tone: str | None = None) -> Cell:
        """Return a cell with text."""
        return cls(text, text, tone)

    @classmethod
    def of_value(cls, value: float | None, door: str | None = None) -> Cell:
        """Return a cell with the value of a metric and where its queries are, a dash if it is undefined.

        >>> Cell.of_value(0.25).text, Cell.of_value(None).text
        ('0.2500', '-')
        """
        return cls(value, format_value(value), *((None, door) if value is not None else ("quiet", None)))

    @classmethod
    def of_interval(cls, interval: tuple[float, float] | None) -> Cell:
        """Return a cell with a confidence interval, empty if there is none."""
        return cls.of_text(format_interval(interval), "quiet") if interval is not None else cls.empty()

    @classmethod
    def of_count(cls, count: int, door: str | None = None) -> Cell:
        """Return a cell with a count, and where the queries are that it counts; nothing is behind a 0."""
        return cls(count, str(count), door=door if count else None)

    @classmethod
    def of_number(cls, number: float | None, digits: int = 1) -> Cell:
        """Return a cell with a number that is not a metric, such as the mean number of documents."""
        return cls(number, format_value(number, digits))

    @classmethod
    def of_share(cls, share: float | None, door: str | None = None) -> Cell:
        """Return a cell with a share from 0 to 1, as a percentage; nothing is behind a 0."""
        return cls(share, format_percent(share), door=door if share else None)

    @classmethod
    def of_seconds(cls, seconds: float | None) -> Cell:
        """Return a cell with a duration."""
        return cls(seconds, format_seconds(seconds))


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table.

    Attributes:
        key: Its name for programs, unique in the table.
        title: Its heading.
        is_number: Whether it is aligned to the right.
        help: An explanation, or None.
        group: The system it belongs to, or None; the columns of a group are next to each other.
    """

    key: str
    title: str
    is_number: bool = True
    help: str | None = None
    group: str | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """A table.

    Attributes:
        key: Its name for programs, unique in the report.
        title: Its heading, or None if the section's is enough.
        columns: Its columns, the first of which names the row.
        rows: Its cells, one per column in each row.
        note: What a reader must know about it, or None.
    """

    key: str
    title: str | None
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a report.

    Attributes:
        key: Its name for programs, and its anchor in the page.
        title: Its heading.
        paragraphs: Its text.
        tables: Its tables.
    """

    key: str
    title: str
    paragraphs: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
