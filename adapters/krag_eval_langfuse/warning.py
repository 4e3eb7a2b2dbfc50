"""Warnings at the line of the user that called into krag_eval or this package."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import krag_eval
from krag_eval import KragEvalWarning

_OURS = (str(Path(__file__).parent), str(Path(krag_eval.__file__).parent))


def warn(message: str) -> None:
    """Warn with `KragEvalWarning`."""
    frame, level = sys._getframe(1), 2  # noqa: SLF001 - `skip_file_prefixes` needs Python 3.12
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OURS):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, KragEvalWarning, stacklevel=level)
