"""Send scores through a delivery, count the results, and log or raise failures as configured."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from krag_eval import KragEvalError
from krag_eval.toolkit import need_installed, one_of, refuse, this_process, warn
from krag_eval_langfuse.client import (
    LangfuseDeliveryError,
    load_langfuse,
    why_disabled,
    without_keys,
)
from krag_eval_langfuse.delivery import Delivery, Outcome, QueueDelivery, SyncDelivery
from krag_eval_langfuse.outbox_delivery import open_outbox
from krag_eval_langfuse.scores import Primitive, Score

_LOG = logging.getLogger("krag_eval.langfuse")
MOST_PROBLEMS = 20
DELIVERIES = ("queue", "sync", "outbox")


@dataclass(slots=True)
class ScoreCounters:
    """Counts of scores by result; `sent + skipped + failed + waiting` is the total.

    Attributes:
        sent: With `delivery="sync"` and `"outbox"`, scores that Langfuse accepted. With `"queue"`, scores handed over
            to the client, which sends them later and does not report whether they arrived.
        skipped: Scores without a value or without a target: `undefined` plus `no_target`.
        failed: Scores that could not be handed over or stored, or were rejected.
        waiting: With `delivery="outbox"`, scores in the outbox that Langfuse has not yet accepted or rejected.
            Scores left by an earlier process are included.
        undefined: Values that are undefined, such as the recall of a question without gold documents.
        no_target: Values of queries and retrievals for which no trace, session or dataset run is known.
    """

    sent: int = 0
    failed: int = 0
    waiting: int = 0
    undefined: int = 0
    no_target: int = 0

    @property
    def skipped(self) -> int:
        """Return how many scores have no value or no target."""
        return self.undefined + self.no_target


class ScoreSender:
    """Send scores through a client.

    Args:
        client: A Langfuse client. With None, `langfuse.get_client()` is called when the first score is sent.
        delivery: `"queue"`, `"sync"` or `"outbox"`.
        outbox: The path of the outbox; only with `delivery="outbox"`.
        on_error: `"log"` or `"raise"`.
        needed_by: The caller that needs langfuse, named in the error if it is not installed.

    Attributes:
        problems: The first 20 failures since the last `finish`.

    Raises:
        InvalidInputError: An argument has an unknown value, or `client` is not a Langfuse client.
        MissingDependencyError: langfuse is not installed.
        LangfuseDeliveryError: The client sends nothing, and `on_error` is `"raise"`.
    """

    def __init__(
        self, client: Any, *, delivery: str, on_error: str, needed_by: str, outbox: str | os.PathLike[str] | None = None
    ) -> None:
        one_of("on_error", on_error, ("log", "raise"))
        if client is not None and not callable(getattr(client, "create_score", None)):
            cure = "Pass one, such as `langfuse.get_client()` or `Langfuse(...)`, or leave it out."
            refuse("client", "a Langfuse client", client, cure)
        if client is None:
            need_installed(needed_by, "langfuse", "langfuse")
        self.problems: list[str] = []
        self._delivery = make_delivery(delivery, outbox)
        self._counters = ScoreCounters()
        self._raises = on_error == "raise"
        self._needed_by = needed_by
        self._client = client
        self._disabled: str | None = None
        self._checked = False
        self._n_failed = 0
        self._has_lost = False
        self._lock = threading.Lock()
        this_process.renew_when_forked(self)
        if client is not None:
            try:
                self.check()
            except KragEvalError:
                self._delivery.close(0.0)  # the constructor fails, so this delivery is never used
                raise

    def start_anew(self) -> None:
        """Reset the lock in a forked process: the thread that held it does not exist here."""
        self._lock = threading.Lock()

    @property
    def counters(self) -> ScoreCounters:
        """Return the counts of scores by result."""
        self._count(self._delivery.news())
        self._counters.waiting = self._delivery.waiting
        return self._counters

    @property
    def client(self) -> Any:
        """Return the client; create it on first use if none was given."""
        if self._client is None:
            self._client = load_langfuse(self._needed_by).get_client()
            this_process.exit_before_others()  # langfuse closes its client at exit
        return self._client

    def check(self) -> None:
        """Check once whether the client sends anything. Warn or raise if it does not.

        Raises:
            LangfuseDeliveryError: The client sends nothing, and `on_error` is `"raise"`.
        """
        with self._lock:
            if self._checked:
                return
            self._checked = True
            self._disabled = why_disabled(self.client)
            if self._disabled is None:
                self._delivery.start(self.client)
        if self._disabled is not None:
            message = (
                f"The Langfuse client sends nothing: {self._disabled}. No score will reach Langfuse; the evaluation "
                "itself is complete. Pass an enabled client, or leave the handler out."
            )
            if self._raises:
                raise LangfuseDeliveryError(message, (self._disabled,))
            _LOG.warning("krag_eval: %s", message)
            warn(message)

    def send(self, scores: Sequence[Score]) -> None:
        """Send these scores. If the client is disabled, all of them count as failed."""
        self.check()
        if self._disabled is not None:
            self._count(Outcome(failed=len(scores)))
        elif scores:
            outcome = self._delivery.send(self.client, scores)
            self._has_lost |= outcome.failed > 0
            self._count(outcome)

    def clean(self, metadata: Mapping[str, Primitive]) -> dict[str, Primitive]:
        """Redact keys in the metadata: a question or a name may contain one."""
        return {
            name: without_keys(self.client, value) if isinstance(value, str) else value
            for name, value in metadata.items()
        }

    def skip(self, *, undefined: int = 0, no_target: int = 0) -> None:
        """Count scores that are not sent."""
        with self._lock:
            self._counters.undefined += undefined
            self._counters.no_target += no_target

    def finish(self) -> None:
        """Send the scores that wait for a full batch.

        Raises:
            LangfuseDeliveryError: A score failed since the last `finish`, and `on_error` is `"raise"`.
        """
        if self._disabled is None and self._checked:
            self._count(self._delivery.finish(self.client))
        with self._lock:
            problems, n_failed = tuple(self.problems), self._n_failed
            self.problems, self._n_failed = [], 0
        if self._disabled is not None:
            problems = (self._disabled,)
        if n_failed and self._raises:
            raise LangfuseDeliveryError(
                f"{n_failed} scores did not reach Langfuse: {'; '.join(problems[:3])}. "
                "Each score has to be accepted by the server. Check the address and the keys, then send them again "
                "with the same `run_id` and `timestamp`: scores that did arrive are overwritten, not duplicated.",
                problems,
            )

    def flush(self, timeout: float | None) -> bool:
        """Wait until everything is sent. Return whether that took at most `timeout` seconds.

        It is also False if a score given since the last `flush` could not be stored or handed over.
        """
        if self._delivery.waiting:
            self.check()
        if self._disabled is not None or not self._checked:
            return True
        has_lost, self._has_lost = self._has_lost, False
        return self._delivery.flush(self.client, timeout) and not has_lost

    def close(self, timeout: float | None) -> None:
        """Wait at most `timeout` seconds until everything is sent, then close the outbox.

        Raises:
            LangfuseDeliveryError: A score is waiting or was rejected, and `on_error` is `"raise"`.
        """
        end = None if timeout is None else time.monotonic() + timeout
        self.flush(timeout)
        is_done = self._delivery.close(None if end is None else max(0.0, end - time.monotonic()))
        if not is_done:
            message = self._delivery.describe_waiting()
            if self._raises:
                raise LangfuseDeliveryError(message, (message,))
            warn(message)
        self.finish()

    def _count(self, outcome: Outcome) -> None:
        with self._lock:
            self._counters.sent += outcome.sent
            self._counters.failed += outcome.failed
            self._n_failed += outcome.failed
            left = MOST_PROBLEMS - len(self.problems)
            self.problems.extend(outcome.problems[:left])
        for place, problem in enumerate(outcome.problems):
            level = logging.WARNING if place < left else logging.DEBUG
            _LOG.log(level, "krag_eval: scores did not reach Langfuse: %s", problem)


def make_delivery(name: object, outbox: str | os.PathLike[str] | None) -> Delivery:
    """Create the delivery with this name.

    Args:
        name: One of `DELIVERIES`.
        outbox: The path of the outbox; only with `"outbox"`.

    Raises:
        InvalidInputError: The name is unknown, or `outbox` is missing, superfluous or unusable.
    """
    if name not in DELIVERIES:
        cure = "Use 'queue' in an application, 'sync' if each score must be confirmed, 'outbox' if none may be lost."
        refuse("delivery", f"one of {', '.join(DELIVERIES)}", name, cure)
    if name != "outbox":
        if outbox is not None:
            must = f"left out with the delivery {name!r}, which writes no file"
            refuse("outbox", must, outbox, 'Pass delivery="outbox" with it.')
        return QueueDelivery() if name == "queue" else SyncDelivery()
    if not isinstance(outbox, (str, os.PathLike)) or not os.fspath(outbox):
        must = "the path of the file to which scores are written before they are sent"
        refuse("outbox", must, outbox, 'Pass one, such as outbox="langfuse.outbox".')
    return open_outbox(outbox)
