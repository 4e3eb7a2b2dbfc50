"""Append-only files of what cost time or money to find out: one row a line, nothing lost, resumed at any time."""

from krag_eval._utils.journal.journal import (
    Journal,
    JournalKind,
    JournalLine,
    RowTooLongError,
    read_journal,
    read_lines,
    seal,
)
from krag_eval._utils.journal.keyed import KeyedJournal

__all__ = [
    "Journal",
    "JournalKind",
    "JournalLine",
    "KeyedJournal",
    "RowTooLongError",
    "read_journal",
    "read_lines",
    "seal",
]
