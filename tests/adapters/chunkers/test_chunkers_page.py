"""docs/chunkers.md answers its question for a novel, which the page alone does not bring."""

from __future__ import annotations

import contextlib
import io
import re
import shutil
from pathlib import Path

import pytest

from tests.support.suggestions import ROOT


def test_the_block_on_the_novel_prints_what_the_page_says(
    shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("langchain_text_splitters", reason="need langchain-text-splitters (make setup)")
    page = (ROOT / "docs" / "chunkers.md").read_text(encoding="utf-8")
    block = re.search(r"<!-- not executed:.*?-->\n```python\n(.*?)```\n\n```text\n(.*?)```", page, re.DOTALL)
    assert block is not None
    shutil.copy(shared_data / "war_and_peace_en" / "war-and-peace.txt", tmp_path)
    marked = tmp_path / "examples" / "long_book_passages"
    shutil.copytree(ROOT / "examples" / "long_book_passages", marked)
    monkeypatch.chdir(tmp_path)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(block[1], {"__name__": "__main__"})
    assert printed.getvalue() == block[2]
