"""A question set and a module with retrievers, for the tests of `krag-eval run`."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

QUESTIONS = [{"id": f"q{n}", "question": f"question {n}", "gold": [{"id": f"c{n}"}]} for n in range(30)]
MODULE = """
    import time

    def search(question):
        return [{"id": "c" + question.split()[1]}, {"id": "x"}, {"id": "y"}]

    async def search_later(question):
        return search(question)

    def fail_some(question):
        if question.endswith("7"):
            raise ConnectionError("refused")
        return search(question)

    def slow(question):
        time.sleep(0.05)
        return search(question)

    def make():
        return search

    def make_and_fail():
        raise RuntimeError("no index\\n  here")

    def nothing(question):
        return None

    class Search:
        def __call__(self, question):
            return search(question)

    class Wanting:
        def __init__(self, index):
            pass

    class tools:
        search = staticmethod(search)

    ready = Search()
    number = 7
"""


def prepare(folder: Path) -> None:
    """The current directory's `set.jsonl` and module `searching`."""
    (folder / "set.jsonl").write_text("".join(json.dumps(row) + "\n" for row in QUESTIONS), encoding="utf-8")
    (folder / "searching.py").write_text(textwrap.dedent(MODULE), encoding="utf-8")
