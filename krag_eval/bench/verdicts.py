"""The verdicts of a judge, looked up and written down in a journal."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import Any

from krag_eval.journal import JournalKind, KeyedJournal

VERDICTS_JOURNAL = JournalKind("krag_eval_verdicts", "set of verdicts")


class Verdicts(MutableMapping[str, Any]):
    """A journal as the cache of `judge_contexts`; what stands there stays.

    Args:
        journal: The journal.
    """

    def __init__(self, journal: KeyedJournal) -> None:
        self._journal = journal

    def __getitem__(self, key: str) -> Any:
        row = self._journal.get(key)
        if row is None:
            raise KeyError(key)
        return row["verdict"]

    def __setitem__(self, key: str, verdict: Any) -> None:
        if self._journal.get(key) is None:
            self._journal.put(key, {"verdict": verdict})

    def __delitem__(self, key: str) -> None:
        raise TypeError("a verdict that was written down stays")

    def __iter__(self) -> Iterator[str]:
        return iter(self._journal)

    def __len__(self) -> int:
        return len(self._journal)
