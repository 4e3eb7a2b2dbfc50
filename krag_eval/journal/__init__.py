"""Append-only files of what cost time or money to find out: one row a line, nothing lost, resumed at any time."""

from krag_eval.journal.keyed import KeyedJournal
from krag_eval.journal.lines import JournalKind, JournalLine, RowTooLongError, read_journal, read_lines, seal
from krag_eval.journal.outbox import Outbox
from krag_eval.journal.outbox_entries import OutboxEntry
from krag_eval.journal.writing import Journal

__all__ = [
    "Journal",
    "JournalKind",
    "JournalLine",
    "KeyedJournal",
    "Outbox",
    "OutboxEntry",
    "RowTooLongError",
    "read_journal",
    "read_lines",
    "seal",
]
