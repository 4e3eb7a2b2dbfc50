"""What a retriever raised, in one line; and the error of a run that was given up."""

from __future__ import annotations

from krag_eval import redaction
from krag_eval.errors import KragEvalError


class RunStoppedError(KragEvalError, RuntimeError):
    """A run was given up before every question was answered; what was answered is in its journal."""


def describe_error(error: BaseException) -> str:
    """An error as `Type: message`, on one line, without what looks like a credential.

    >>> describe_error(ConnectionError("no answer from https://me:secret@search.example/v1"))
    'ConnectionError: no answer from https://search.example/v1'
    """
    return redaction.describe_error(error)
