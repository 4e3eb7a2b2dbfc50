"""Sends what an outbox still holds, when the run that filled it is over."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from krag_eval import InvalidInputError, Outbox, tell_names
from krag_eval_langfuse.client import LangfuseDeliveryError, load_langfuse, why_disabled
from krag_eval_langfuse.post_office import OF, describe_waiting
from krag_eval_langfuse.postman import Postman
from krag_eval_langfuse.scores import Score, score_from_row


@dataclass(frozen=True, slots=True)
class Resent:
    """What became of the scores in an outbox.

    Attributes:
        path: The outbox.
        sent: How many Langfuse accepted now.
        waiting: How many it has not answered for; they stay in the outbox.
        rejected: Those that it did not accept, with its reasons; they stay in the outbox, too.
        problem: What went wrong last, where some wait.
    """

    path: Path
    sent: int
    waiting: int
    rejected: tuple[tuple[Score, str], ...]
    problem: str | None = None

    @property
    def ok(self) -> bool:
        """Whether the outbox is empty now."""
        return not self.waiting and not self.rejected

    def describe_waiting(self) -> str:
        """How many scores wait, why, and what to do."""
        return describe_waiting(self.path, self.waiting, self.problem)

    def to_dict(self) -> dict[str, Any]:
        """All of it, as JSON can hold it."""
        rejected = [score.to_row() | {"reason": reason} for score, reason in self.rejected]
        return {
            "outbox": str(self.path),
            "sent": self.sent,
            "waiting": self.waiting,
            "problem": self.problem,
            "rejected": rejected,
        }


@tell_names
def resend_outbox(path: str | os.PathLike[str], client: Any = None, *, timeout: float = 60.0) -> Resent:
    """Send what is still in an outbox, and once more what Langfuse rejected: the key may be another one now.

    Scores keep their ids and times, so that one that had arrived is overwritten, not doubled.

    Args:
        path: The outbox.
        client: A Langfuse client; None takes that of the environment (`LANGFUSE_PUBLIC_KEY` and so on), whatever other
            clients there are, and without a key there `langfuse.get_client()`.
        timeout: Give up when nothing was answered for so many seconds.

    Raises:
        InvalidInputError: There is no such file, or it is in use, damaged, or no outbox of scores.
        MissingDependencyError: langfuse is not installed.
        LangfuseDeliveryError: The client sends nothing, for example because there are no keys.
    """
    if not Path(path).is_file():
        raise InvalidInputError(f"{path}: there is no such file. Give the outbox that a run was given as `outbox`.")
    outbox = Outbox(path, OF)
    postman: Postman | None = None
    try:
        if not outbox.n_waiting and not outbox.n_refused:
            return Resent(Path(path), 0, 0, ())
        if client is None:
            langfuse = load_langfuse("resend_outbox")
            client = langfuse.Langfuse() if os.environ.get("LANGFUSE_PUBLIC_KEY") else langfuse.get_client()
        disabled = why_disabled(client)
        if disabled is not None:
            n_left = outbox.n_waiting + outbox.n_refused
            raise LangfuseDeliveryError(
                f"The Langfuse client sends nothing: {disabled}. {n_left:,} scores stay in {path}. Set the "
                "environment variables of the project and send them again.",
                (disabled,),
            )
        outbox.retry_refused()
        postman = Postman(outbox, client)
        postman.wait(timeout, since_last=True)
        postman.stop(1.0)
        rejected = tuple((score_from_row(entry.row), reason) for entry, reason in outbox.refused())
        return Resent(Path(path), postman.news().sent, outbox.n_waiting, rejected, postman.problem)
    finally:
        if postman is not None:
            postman.stop()
        outbox.close()
