"""What the page for labelling asks for: the next document of a queue, and what becomes of a key."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from krag_eval import InvalidInputError, KragEvalError
from krag_eval.toolkit import as_number, number_of, parse_json, refuse
from krag_eval_labels.files import check_row
from krag_eval_labels.labelling.current import EVERY, current_number
from krag_eval_labels.labelling.queue import GRADES, LabelQueue, checked_name
from krag_eval_labels.start.number import Standing

_LONGEST = 1 << 20


def is_queue(path: Path) -> bool:
    """Return whether a file is a queue to label, by its first row, and not a file of labels."""
    if ".labels" in path.name:
        return False
    try:
        with path.open("rb") as file:
            row = parse_json(file.readline(_LONGEST).decode("utf-8"))
        if not isinstance(row, dict) or "label" not in row or row.get("document") is None:
            return False
        check_row(str(path), row)
    except (OSError, ValueError, KragEvalError):
        return False
    return True


class QueuesOnPages:
    """The queues that people label on pages, each with what they skipped since the server was started."""

    def __init__(self) -> None:
        self._open: dict[tuple[Path, str, bool], _Session] = {}
        self._lock = threading.Lock()

    def answer(self, path: Path, body: Mapping[str, Any]) -> dict[str, Any]:
        """Do what a page asks for, and return what it shows next.

        Args:
            path: The queue.
            body: `who` labels, whether they are asked `again`, the `key`, and the `place` of the document that was
                shown; without a key, nothing is done.

        Raises:
            InvalidInputError: Nothing of this can be done, or a label cannot be written.
        """
        who, again = body.get("who"), bool(body.get("again"))
        if who is not None and not isinstance(who, str):
            refuse("who", "a name", who)
        name = checked_name(who or None)
        with self._lock:
            session = self._open.get((path, name, again))
            if session is None or body.get("key") is None:  # a page that was opened anew reads all files again
                session = self._open[path, name, again] = _Session(LabelQueue(path, name or None, again=again))
            session.press(body.get("key"), body.get("place"))
            return session.shown()


class _Session:
    def __init__(self, queue: LabelQueue) -> None:
        self._queue, self._n_given, self._number = queue, 0, current_number(queue)

    def press(self, key: object, place: object) -> None:
        if key is None:
            return
        queue, at = self._queue, as_number(place)
        if key == "u":
            queue.undo()
            return
        if at is None or not at.is_integer() or not 0 <= at < len(queue.rows):
            refuse("place", f"a place from 0 to {len(queue.rows) - 1}", place)
        if key == "n":
            queue.skip(int(at))
        elif key in {str(grade) for grade in GRADES}:
            queue.put(int(at), int(str(key)))
            self._n_given += 1
            if self._n_given % EVERY == 0 or not queue.open():
                self._number = current_number(queue)
        else:
            raise InvalidInputError("A key is 0, 1, 2, u or n.")

    def shown(self) -> dict[str, Any]:
        queue, open_ = self._queue, self._queue.open()
        row = queue.rows[open_[0]] if open_ else None
        number: Standing | None = self._number
        return {
            "place": open_[0] if open_ else None,
            "question": None if row is None else str(row.get("question") or row["query_id"]),
            "text": None if row is None else row["document"].get("text"),
            "id": None if row is None else row["document"].get("id"),
            "done": queue.n_done,
            "total": len(queue.rows),
            "skipped": number_of(queue.n_skipped, "document") if queue.n_skipped else None,
            "number": None if number is None else asdict(number),
            "people": [] if open_ else queue.agreements(),
            "disputed": len(queue.disputed()),
            "file": queue.file.name,
        }
