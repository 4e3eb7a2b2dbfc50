"""The error of a run that was given up."""

from __future__ import annotations

from krag_eval.errors import KragEvalError


class RunStoppedError(KragEvalError, RuntimeError):
    """A run was given up before every question was answered; what was answered is in its journal."""
