"""Which runs of LangChain are inside a retriever's run."""

from __future__ import annotations

from collections import OrderedDict
from uuid import UUID


class OpenRuns:
    """The retrievers that are running, and whatever runs inside of them.

    Runs outside of every retriever are not remembered. Called from many threads: each step is one operation of a
    container that does it whole.

    Args:
        most: How many are remembered; the oldest is forgotten first. A run that is cancelled never says that it ended.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._inside: OrderedDict[UUID, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._inside)

    def start(self, run_id: UUID, parent_run_id: UUID | None, *, is_retriever: bool) -> bool:
        """A run starts; whether it is inside a retriever."""
        is_inside = parent_run_id in self._inside
        if is_inside or is_retriever:
            self._inside[run_id] = None
            if len(self._inside) > self._most:
                self._inside.popitem(last=False)
        return is_inside

    def end(self, run_id: UUID) -> None:
        """A run ended, one way or the other."""
        self._inside.pop(run_id, None)
