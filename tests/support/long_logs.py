"""Logs with one row per document, the blocks of docs/scale.md that group them, and a plain join."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

PAGE = Path(__file__).parents[2] / "docs" / "scale.md"
KMAX = 2
"""Where the page cuts a ranking."""
SHOWN = (
    pa.table({"query_id": ["q1", "q1", "q2", "q9"], "id": ["x", "a", "b", "b"], "rank": [1, 2, 1, 1]}),
    pa.table({"query_id": ["q1", "q2", "q3"], "id": ["a", "b", "d"]}),
)
"""The logs and the gold documents of the page."""


def shown(engine: str) -> tuple[str, str]:
    """Return the block that groups logs on an engine, and what the page says that it prints."""
    section = PAGE.read_text(encoding="utf-8").partition(f"\n## {engine}\n")[2]
    block = re.search(r"^```python\n(.*?)^```\n```text\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    assert block is not None
    return block[1], block[2]


def grouped(engine: str, logs: pa.Table, gold: pa.Table, folder: Path, **names: Any) -> tuple[dict[str, Any], str]:
    """Execute the block over these tables, and return its names and what it prints.

    Args:
        engine: The heading of the page.
        logs: One row per retrieved document.
        gold: One row per gold document.
        folder: It takes the place of the bucket.
        **names: What the block needs.
    """
    for name, table in {"logs": logs, "gold": gold}.items():
        (folder / name).mkdir(parents=True)
        pq.write_table(table, folder / name / "0.parquet", row_group_size=1000)
        pq.write_table(table.slice(0, 0), folder / name / "1.parquet")
    block = re.sub(r"s3a?://bucket", folder.as_posix(), shown(engine)[0])
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(block, f"{PAGE.name}, {engine}", "exec"), names)
    return names, printed.getvalue()


def ids_by_query(rows: list[dict[str, Any]]) -> dict[str, list[list[str]]]:
    """Return the ids of gold and of retrieved documents; gold in alphabetical order."""

    def ids(side: list[Any]) -> list[str]:
        return [one["id"] if isinstance(one, dict) else one for one in side]

    return {row["query_id"]: [sorted(ids(row["actual"])), ids(row["predicted"])] for row in rows}


def plain_join(logs: pa.Table, gold: pa.Table) -> dict[str, list[list[str]]]:
    """Return the same from the definition, with dicts and `sorted`."""
    queries: dict[str, list[list[str]]] = {row["query_id"]: [[], []] for row in gold.to_pylist()}
    for row in sorted(gold.to_pylist(), key=lambda row: str(row["id"])):
        if row["id"] is not None:
            queries[row["query_id"]][0].append(row["id"])
    for row in sorted(logs.to_pylist(), key=lambda row: (row["rank"], str(row["id"]))):
        if row["query_id"] in queries and row["id"] is not None and len(queries[row["query_id"]][1]) < KMAX:
            queries[row["query_id"]][1].append(row["id"])
    return queries


def random_logs(seed: int) -> tuple[pa.Table, pa.Table]:
    """Return logs and gold: tied ranks, documents without ids, and queries of one side only."""
    random = np.random.default_rng(seed)
    gold: list[tuple[str, str | None]] = [
        (f"q{query}", f"d{random.integers(8)}-{n}") for query in range(300) for n in range(random.integers(1, 4))
    ]
    gold += [(f"q{query}", None) for query in range(300, 310)]
    logs = [
        (f"q{query}", None if document == 0 else f"d{document % 8}-{document // 8}", int(random.integers(1, 6)))
        for query in range(20, 330)
        for document in random.choice(24, size=random.integers(1, 12), replace=False).tolist()
    ]
    order = random.permutation(len(logs))
    return (
        pa.Table.from_pylist([dict(zip(("query_id", "id", "rank"), logs[row], strict=True)) for row in order]),
        pa.Table.from_pylist([dict(zip(("query_id", "id"), row, strict=True)) for row in gold]),
    )
