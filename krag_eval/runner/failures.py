"""What a retriever raised, in one line; and the error of a run that was given up."""

from __future__ import annotations

import re

from krag_eval.errors import KragEvalError

_LONGEST_MESSAGE = 500
_CREDENTIALS = re.compile(r"(?<=://)[^\s/@]*@")


class RunStoppedError(KragEvalError, RuntimeError):
    """A run was given up before every question was answered; what was answered is in its journal."""


def describe_error(error: BaseException) -> str:
    """An error as `Type: message`, on one line. User and password of an address are left out.

    >>> describe_error(ConnectionError("no answer from https://me:secret@search.example/v1"))
    'ConnectionError: no answer from https://search.example/v1'
    """
    try:
        message = " ".join(str(error).split())
    except Exception:  # noqa: BLE001 - a foreign error that cannot be printed is still recorded
        message = ""
    message = _CREDENTIALS.sub("", message[: 2 * _LONGEST_MESSAGE])
    if len(message) > _LONGEST_MESSAGE:
        message = message[: _LONGEST_MESSAGE - 1] + "…"
    return f"{type(error).__name__}: {message}" if message else type(error).__name__
