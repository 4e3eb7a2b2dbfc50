"""One outbox and its postman for all handlers of this process that name the same file."""

from __future__ import annotations

import atexit
import logging
import os
import shlex
import threading
import time
from pathlib import Path
from typing import Any

from krag_eval import InvalidInputError, Outbox
from krag_eval_langfuse.postman import Postman
from krag_eval_langfuse.retrying import Waits

_LOG = logging.getLogger("krag_eval.langfuse")
OF = "scores for Langfuse"
AT_EXIT_SECONDS = 5.0
_LOCK = threading.RLock()
_OFFICES: dict[Path, PostOffice] = {}


class PostOffice:
    """An outbox that is open, and who uses it; made by `join`.

    Attributes:
        outbox: The outbox; in a copy of the process it takes and gives nothing.
        postman: Who delivers, as soon as there is a client.
    """

    def __init__(self, path: Path, place: Path) -> None:
        self.outbox = Outbox(path, OF)
        self.postman: Postman | None = None
        self._place = place  # what it is found by, wherever the program goes
        self._client: Any = None
        self._n_users = 0

    @staticmethod
    def join(path: str | os.PathLike[str]) -> PostOffice:
        """The office of this file.

        Raises:
            InvalidInputError: The file cannot be written, is in use elsewhere, damaged, or something else.
        """
        with _LOCK:
            place = Path(path).resolve()
            office = _OFFICES.get(place)
            if office is None:
                office = _OFFICES[place] = PostOffice(Path(path), place)
            office._n_users += 1
            return office

    def start(self, client: Any, waits: Waits | None = None) -> Postman:
        """Begin to deliver, with what an earlier process left.

        Raises:
            InvalidInputError: It delivers to another project of Langfuse already.
        """
        with _LOCK:
            if self.postman is None:
                self._client, self.postman = client, Postman(self.outbox, client, waits)
            elif _project(client) != _project(self._client):
                raise InvalidInputError(
                    f"{self.outbox.path}: another handler delivers this outbox with another public key. Scores would "
                    "go to the wrong project. Give each project an outbox of its own."
                )
            return self.postman

    def leave(self) -> None:
        """One user less. After the last one the rest is still delivered, then the file is closed."""
        if self.outbox.is_copy:
            return
        with _LOCK:
            self._n_users -= 1
            if self._n_users:
                return
            if self.postman is None or not self.outbox.n_waiting:
                self._close()
            else:
                self.postman.retire(self._close_if_unused)

    def close(self, timeout: float) -> None:
        """One user less. After the last one nothing more is sent, and the file is closed."""
        if self.outbox.is_copy:
            return
        with _LOCK:
            self._n_users -= 1
            if self._n_users:
                return
            _OFFICES.pop(self._place, None)
        if self.postman is not None:
            self.postman.stop(timeout)
        self.outbox.close()

    def describe_waiting(self) -> str:
        """How many scores wait, why, and what to do."""
        problem = None if self.postman is None else self.postman.problem
        return describe_waiting(self.outbox.path, self.outbox.n_waiting, problem)

    def _close(self) -> None:
        _OFFICES.pop(self._place, None)
        if self.postman is not None:
            self.postman.stop()
        self.outbox.close()

    def _close_if_unused(self) -> bool:
        with _LOCK:
            if not self._n_users:
                self._close()
            return not self._n_users


def describe_waiting(path: Path, waiting: int, problem: str | None) -> str:
    """How many scores wait, why, and what to do."""
    why = f" ({problem})" if problem else ""
    scores = "1 score has" if waiting == 1 else f"{waiting:,} scores have"
    return (
        f"{scores} not reached Langfuse yet{why}. Nothing is lost: the next run with the outbox {path} goes on, or "
        f"this command: krag-eval langfuse-resend {shlex.quote(str(path))}"
    )


def _project(client: Any) -> object:
    return getattr(getattr(client, "_resources", None), "public_key", None)


def _at_exit() -> None:
    """Give what was written last a moment to arrive. The files stay open: live scorers may still have something."""
    end = time.monotonic() + AT_EXIT_SECONDS
    for office in tuple(_OFFICES.values()):
        is_done = office.postman is None or office.postman.wait(max(0.0, end - time.monotonic()))
        if not is_done:
            _LOG.warning("krag_eval: %s", office.describe_waiting())


def _start_anew() -> None:
    """In a copy of the process: the offices, and who is busy there, are those of another, and so may be the lock."""
    global _LOCK
    _LOCK = threading.RLock()
    _OFFICES.clear()


atexit.register(_at_exit)
if hasattr(os, "register_at_fork"):  # not on Windows, where nothing is forked
    os.register_at_fork(after_in_child=_start_anew)
