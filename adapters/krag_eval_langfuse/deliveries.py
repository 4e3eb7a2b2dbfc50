"""The ways for scores to leave, by name."""

from __future__ import annotations

import os

from krag_eval import InvalidInputError
from krag_eval_langfuse.delivery import Delivery, QueueDelivery, SyncDelivery
from krag_eval_langfuse.outbox_delivery import OutboxDelivery

DELIVERIES = ("queue", "sync", "outbox")


def make_delivery(name: object, outbox: str | os.PathLike[str] | None) -> Delivery:
    """The way of this name.

    Args:
        name: One of `DELIVERIES`.
        outbox: The file, with `"outbox"` alone.

    Raises:
        InvalidInputError: There is no such way, or it has a file too few or too many, or one that cannot be used.
    """
    if name not in DELIVERIES:
        raise InvalidInputError(
            f"`delivery` is {name!r:.60}. Known ones: {', '.join(DELIVERIES)}. Use 'queue' in an application, 'sync' "
            "where each score must be known to have arrived, 'outbox' where none may be lost."
        )
    if name != "outbox":
        if outbox is not None:
            raise InvalidInputError(
                f"`outbox` is {outbox!r:.60}, and `delivery` is {name!r}, which writes no file. Give "
                'delivery="outbox" with it, or leave it out.'
            )
        return QueueDelivery() if name == "queue" else SyncDelivery()
    if not isinstance(outbox, (str, os.PathLike)) or not os.fspath(outbox):
        raise InvalidInputError(
            f'`outbox` is {outbox!r:.60}. With delivery="outbox" scores are written to a file before they are sent. '
            'Give its path, such as outbox="langfuse.outbox".'
        )
    return OutboxDelivery(outbox)
