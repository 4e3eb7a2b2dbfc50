"""Logs with one row per document, grouped on Ray as docs/scale.md shows."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from ray.data import DataContext
from ray.data.context import ShuffleStrategy

from tests.support.long_logs import KMAX, SHOWN, grouped, ids_by_query, plain_join, random_logs, shown


def test_the_block_prints_what_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # By default Ray starts processes for every shuffle, which takes seconds.
    monkeypatch.setattr(DataContext.get_current(), "shuffle_strategy", ShuffleStrategy.SORT_SHUFFLE_PULL_BASED)
    names, printed = grouped("Ray", *SHOWN, tmp_path)
    assert printed == shown("Ray")[1]

    long = pa.table(
        {"query_id": ["7"] * 1_000_000, "id": np.arange(1_000_000).astype(str), "rank": np.arange(1_000_000)}
    )
    assert len(names["rows_to_send"](long, False)) == KMAX


def test_queries_are_those_of_a_plain_join(tmp_path: Path) -> None:
    logs, gold = random_logs(seed=3)
    names, _ = grouped("Ray", logs, gold, tmp_path)
    rows = names["queries"].take_all()
    assert len(rows) == 310
    assert ids_by_query(rows) == plain_join(logs, gold)


def test_the_function_that_grouped_them_is_missed_with_the_page_that_replaces_it() -> None:
    with pytest.raises(ImportError, match=r"`from_long` was removed\. .* docs/scale\.md#ray"):
        getattr(importlib.import_module("krag_eval_ray"), "from_long")  # noqa: B009 - types know no such name
