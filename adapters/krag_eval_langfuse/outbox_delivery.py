"""Scores by way of a file: written down at once, sent on a thread of its own, forgotten when the server has them."""

from __future__ import annotations

import logging
import os
import threading
import time
import weakref
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from krag_eval_langfuse.client import environment_of
from krag_eval_langfuse.delivery import Outcome
from krag_eval_langfuse.post_office import PostOffice
from krag_eval_langfuse.posting import describe
from krag_eval_langfuse.scores import Score

_LOG = logging.getLogger("krag_eval.langfuse")


class OutboxDelivery:
    """Writes scores into an outbox and has them sent from there, until each is accepted or refused.

    Args:
        path: The file of the outbox.

    Raises:
        InvalidInputError: It cannot be written, is in use elsewhere, damaged, or something else.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._office = PostOffice.join(path)
        self._leave = weakref.finalize(self, _leave, self._office)
        self._leave.atexit = False

    @property
    def waiting(self) -> int:
        """How many scores Langfuse has not answered for."""
        return self._office.outbox.n_waiting

    def start(self, client: Any) -> None:
        """Send what an earlier process left."""
        if not self._office.outbox.is_copy:
            self._office.start(client)

    def send(self, client: Any, scores: Sequence[Score]) -> Outcome:
        """Write these scores down."""
        environment, problems, n_failed = environment_of(client) or "default", list[str](), 0
        for score in scores:
            try:
                self._office.outbox.put(score.id, replace(score, environment=environment).to_row())
            except Exception as error:  # noqa: BLE001 - the application goes on, and the failure is counted
                n_failed += 1
                problems.append(describe(error, client))
        if not self._office.outbox.is_copy:
            self._office.start(client).wake()
        return Outcome(failed=n_failed, problems=tuple(dict.fromkeys(problems)))

    def finish(self, client: Any) -> Outcome:  # noqa: ARG002 - nobody waits for the server here
        """What is known by now."""
        return self.news()

    def news(self) -> Outcome:
        """What has become known since this was asked last."""
        if self._office.postman is None or self._office.outbox.is_copy:
            return Outcome()
        return self._office.postman.news()

    def flush(self, client: Any, timeout: float | None) -> bool:
        """Wait until Langfuse has answered for all; whether it has. What waits goes on waiting."""
        if self._office.outbox.is_copy:  # what waits there is sent by the process that opened it
            return True
        is_done = self._office.start(client).wait(timeout)
        if not is_done:
            _LOG.warning("krag_eval: %s", self.describe_waiting())
        return is_done

    def close(self, timeout: float | None) -> bool:
        """Wait as `flush` does, then let go of the file; whether nothing waits in it."""
        if self._office.outbox.is_copy:
            return True
        end = None if timeout is None else time.monotonic() + timeout
        if self._office.postman is not None:
            self._office.postman.wait(timeout)
        if self._leave.detach():
            self._office.close(1.0 if end is None else max(0.1, end - time.monotonic()))
        return not self.waiting

    def describe_waiting(self) -> str:
        """How many scores wait, why, and what to do."""
        return self._office.describe_waiting()


def _leave(office: PostOffice) -> None:
    """On a thread of its own: what collects garbage may hold any of the locks that are needed."""
    threading.Thread(target=office.leave, name="krag-eval-langfuse-leave", daemon=True).start()
