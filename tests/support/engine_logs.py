"""Retrieval logs as Arrow, and what one process makes of them."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from krag_eval import EvaluationResult
from krag_eval_scale import ColumnarScorer

K = (1, 5, 10)
BY = ["model", "day"]
N_BAD = 3
NEEDS_ID = "Every query needs a unique id, a string that is not empty or an integer."


def documents(ids: Any, lengths: Any, **others: Any) -> pa.Array:
    """Lists of documents from their ids, one after the other, and how many there are in each list."""
    fields = {"id": pa.array([f"document-{number}" for number in ids]), **others}
    structs = pa.StructArray.from_arrays(list(fields.values()), names=list(fields))
    return pa.ListArray.from_arrays(pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32()), structs)


def logs(n: int, seed: int = 7) -> pa.Table:
    """So many queries: some without gold documents, some for which nothing was retrieved, grades, ids repeated."""
    random = np.random.default_rng(seed)
    n_gold, n_retrieved = random.integers(0, 5, n), random.integers(0, 13, n)
    grades = pa.array(random.choice([0.5, 1.0, 2.0, 3.0], n_gold.sum()))
    return pa.table(
        {
            "query_id": [f"query-{number}" for number in range(n)],
            "asked_at": random.integers(0, 10**9, n),
            "actual": documents(random.integers(0, 40, n_gold.sum()), n_gold, grade=grades),
            "predicted": documents(random.integers(0, 40, n_retrieved.sum()), n_retrieved),
        }
    )


def grouped_logs(n: int) -> pa.Table:
    """Queries of several models, one of them null, on several days."""
    random = np.random.default_rng(11)
    models = [("m1", "m2", None)[number] for number in random.integers(0, 3, n)]
    days = [dt.date(2026, 11, 1 + int(number)) for number in random.integers(0, 2, n)]
    return logs(n).append_column("model", pa.array(models)).append_column("day", pa.array(days))


def with_bad_rows(table: pa.Table) -> pa.Table:
    """The same with two rankings that are null, and a query without an id."""
    columns = {name: table.column(name).to_pylist() for name in ("query_id", "predicted")}
    columns["predicted"][5] = columns["predicted"][70] = columns["query_id"][40] = None
    for name, values in columns.items():
        field = table.schema.field(name)
        table = table.set_column(table.schema.get_field_index(name), field, pa.array(values, field.type))
    return table


def plain_ids(table: pa.Table) -> pa.Table:
    """The same with lists of ids instead of lists of documents."""
    for name in ("actual", "predicted"):
        lists = [[document["id"] for document in documents] for documents in table.column(name).to_pylist()]
        table = table.set_column(table.schema.get_field_index(name), name, pa.array(lists, pa.list_(pa.string())))
    return table


def with_needs(table: pa.Table) -> pa.Table:
    """The same with every second gold document as one of two alternatives."""
    gold = [
        [
            {"id": None, "any_of": [{"id": one["id"]}, {"id": f"{one['id']}0"}], "grade": one["grade"]}
            if place % 2
            else {"id": one["id"], "any_of": None, "grade": one["grade"]}
            for place, one in enumerate(row)
        ]
        for row in table.column("actual").to_pylist()
    ]
    return table.set_column(table.schema.get_field_index("actual"), "actual", pa.array(gold))


def groups_here(table: pa.Table, **settings: Any) -> dict[str, Any]:
    """The bits of each group, scored by itself in this process."""
    records = table.select(BY).to_pylist()
    keys = [tuple(record.values()) for record in records]
    parts = {key: table.filter(pa.array([one == key for one in keys])) for key in set(keys)}
    return {str(key): bits(scored_here(part, **settings)[1]) for key, part in parts.items()}


def group_bits(result: EvaluationResult) -> dict[str, Any]:
    """The bits of each group of a result."""
    return {str(key): bits(one) for key, one in (result.groups or {}).items()}


def write(table: pa.Table, folder: Path, n_files: int = 4, rows_in_group: int = 1500) -> str:
    """Write a table as several Parquet files of several row groups."""
    folder.mkdir(exist_ok=True)
    size = -(-len(table) // n_files)
    for number in range(n_files):
        pq.write_table(table.slice(number * size, size), folder / f"{number}.parquet", row_group_size=rows_in_group)
    return str(folder)


def scored_here(source: str | pa.Table, **settings: Any) -> tuple[pa.Table, EvaluationResult]:
    """The rows and the result with intervals, by one scorer in this process."""
    scorer = ColumnarScorer(settings.pop("k", K), **{"match_method": "id", **settings})
    table = pq.read_table(source) if isinstance(source, str) else source
    parts = [scorer.score_with_state(batch) for batch in table.combine_chunks().to_batches()]
    rows = pa.Table.from_batches([rows for rows, _ in parts], schema=scorer.schema)
    return in_order(rows), scorer.finalize(scorer.merge(state for _, state in parts), intervals=True)


def in_order(rows: pa.Table) -> pa.Table:
    """The rows by query."""
    return rows.sort_by("query_id").combine_chunks()


def collected(ds: Any) -> pa.Table:
    """All rows of a dataset, by query."""
    batches = ds.iter_batches(batch_size=None, batch_format="pyarrow")
    return in_order(pa.concat_tables([batch for batch in batches if len(batch)]))


def bits(result: EvaluationResult) -> dict[str, Any]:
    """Everything a result says, its doubles to the last bit."""
    numbers = {key: None if value is None else value.hex() for key, value in result.to_dict().items()}
    intervals = {
        key: None if ends is None else tuple(float(end).hex() for end in ends)
        for key, ends in (result.intervals or {}).items()
    }
    counts = (result.n_queries, result.undefined, result.no_answer, result.unmatchable, result.signature)
    return {"numbers": numbers, "intervals": intervals, "counts": counts}
