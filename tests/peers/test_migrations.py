"""What the migration pages show of krag and ranx, executed by these programs themselves."""

from __future__ import annotations

import contextlib
import io
import re
import sys
import types
from pathlib import Path

import pytest

from tests.peers.test_differences import MODEL_CLIENTS

pytestmark = [pytest.mark.peer, pytest.mark.filterwarnings("ignore")]

DOCS = Path(__file__).parents[2] / "docs"
_BLOCK = re.compile(
    r"<!-- not executed: .*make test-peers executes it -->\n```python\n(.*?)```\n\n```text\n(.*?)```", re.S
)


@pytest.mark.parametrize("page", ["from-krag.md", "from-ranx.md"])
def test_their_lines_print_what_the_page_says(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPLBACKEND", "agg")
    for module, name in MODEL_CLIENTS.items():
        stub = types.ModuleType(module)
        setattr(stub, name, type(name, (), {}))
        monkeypatch.setitem(sys.modules, module, stub)
    (block,) = _BLOCK.findall((DOCS / page).read_text(encoding="utf-8"))
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(block[0], {"__name__": "__main__"})
    assert printed.getvalue() == block[1]
