# ragas==0.4.3 langchain-community<0.4
"""The recipe of docs/platforms.md, in its platform."""

from __future__ import annotations

import asyncio
import contextlib
import io
import re
import tempfile
from importlib import import_module

from run import PAGE, assert_names_field, recipe  # type: ignore[import-not-found]

retrieval = recipe("ragas").retrieval
with tempfile.TemporaryDirectory() as folder:
    dataset = import_module("ragas").Dataset(name="questions", backend="local/jsonl", root_dir=folder)
    for question, gold in (("When?", ["d1", "d2"]), ("Where?", ["d7"]), ("None?", [])):
        dataset.append({"question": question, "gold": gold, "retrieved": ["d7", "d1"]})
    dataset.save()
    dataset.reload()
    rows = {row["question"]: row for row in asyncio.run(retrieval.arun(dataset))}
scores = {question: (row.get("recall_at_5"), row.get("mrr_at_5")) for question, row in rows.items()}
assert scores == {"When?": (0.5, 0.5), "Where?": (1.0, 1.0), "None?": (None, None)}, scores
for lacking in ("gold", "retrieved"):
    assert_names_field(lacking, lambda row: asyncio.run(retrieval(row)), {**dict(dataset[0]), lacking: None})
# What docs/from-ragas.md shows of the id metrics.
page = (PAGE.parent / "from-ragas.md").read_text(encoding="utf-8")
theirs = re.search(r"make test-platforms executes it -->\n```python\n(.*?)```\n\n```text\n(.*?)```", page, re.DOTALL)
assert theirs is not None
with contextlib.redirect_stdout(io.StringIO()) as printed:
    exec(theirs[1], {"__name__": "__main__"})
assert printed.getvalue() == theirs[2], printed.getvalue()
