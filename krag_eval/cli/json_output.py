"""What `--json` does, the same in every command."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from krag_eval.files import write_atomically


def put_json(out: Path | None, make: Callable[[], object]) -> bool:
    """Print or write what was asked for with `--json`.

    Args:
        out: The file; `-` prints it; None does nothing.
        make: What to put there: its text, or what becomes JSON.

    Returns:
        Whether it was printed, and nothing else may be.

    Raises:
        InvalidInputError: The file cannot be written.
    """
    if out is None:
        return False
    made = make()
    text = (made if isinstance(made, str) else json.dumps(made, indent=2, ensure_ascii=False)) + "\n"
    if str(out) == "-":
        print(text, end="")
        return True
    write_atomically(out, [text])
    return False
