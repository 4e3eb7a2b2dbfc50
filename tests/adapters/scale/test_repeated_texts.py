"""Texts that repeat, in several batches or in a dictionary, are read once and refused only if they are long."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from krag_eval import InvalidInputError, evaluate
from krag_eval_scale import ColumnarScorer, score_logs
from krag_eval_scale.files import open_parquet, texts_in

DOCUMENTS = pa.list_(pa.struct([("id", pa.string()), ("text", pa.string())]))
SCHEMA = pa.schema([("query_id", pa.string()), ("actual", DOCUMENTS), ("predicted", DOCUMENTS)])
K: dict[str, Any] = {"k": 1, "metrics": "recall"}


def batch(gold: list[list[dict[str, str]]], found: list[list[dict[str, str]]]) -> pa.RecordBatch:
    ids = [f"q{number}" for number in range(len(gold))]
    return pa.RecordBatch.from_pydict({"query_id": ids, "actual": gold, "predicted": found}, schema=SCHEMA)


@pytest.mark.parametrize(("most", "times"), [(1 << 26, 1), (0, 2)])
def test_a_text_of_two_batches_is_cut_once_unless_the_memory_is_full(
    most: int, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("krag_eval.matching.column_batch._MOST_KNOWN", most)
    cut: list[str] = []

    def tokenize(text: str) -> list[str]:
        cut.append(text)
        return text.split()

    one = batch([[{"text": "a b c d"}]], [[{"text": "a b c e"}]])
    other = batch([[{"text": "a b c d"}]], [[{"text": "x"}]])
    scorer = ColumnarScorer(**K, match_method="rougeL", tokenizer=tokenize)
    values = [scorer.score_batch(rows).column("recall@1").to_pylist() for rows in (one, other, one)]
    assert values == [[1.0], [0.0], [1.0]]
    assert cut.count("a b c e") == times
    assert (cut.count("a b c d"), cut.count("x")) == (1 if times == 1 else 3, 1)


def test_gold_documents_with_empty_ids_are_different_documents_as_for_evaluate() -> None:
    gold, found = [[{"id": "", "text": "a"}, {"id": "", "text": "b"}, {"id": "c"}]], [[{"id": "c"}]]
    scorer = ColumnarScorer(**K, match_method="id")
    state = scorer.partial_state(batch(gold, found))
    assert scorer.finalize(state).to_dict() == evaluate(gold, found, **K, match_method="id").to_dict()


def write(path: Path, text: str, n_queries: int) -> Path:
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * (10 * n_queries), pa.int32()), [text])
    sides = [
        pa.FixedSizeListArray.from_arrays(pa.StructArray.from_arrays([some], ["text"]), size)
        for some, size in ((texts[:n_queries], 1), (texts, 10))
    ]
    lists = [side.cast(pa.list_(side.type.value_type)) for side in sides]
    table = pa.table([pa.array([f"q{n}" for n in range(n_queries)]), *lists], ["query_id", "actual", "predicted"])
    pq.write_table(table, path, store_schema=False, dictionary_pagesize_limit=1 << 22)
    return path


def test_a_passage_may_repeat_more_often_than_its_file_is_packed(tmp_path: Path) -> None:
    logs = write(tmp_path / "logs.parquet", "a passage " * 400, 8_000)
    assert score_logs(logs, tmp_path / "out.parquet", **K, match_method="text")["recall@1"] == 1


def test_a_long_text_may_not(tmp_path: Path) -> None:
    logs = write(tmp_path / "logs.parquet", "a passage " * 100_000, 40)
    with pytest.raises(InvalidInputError, match="unpack to more than 500 times"):
        score_logs(logs, tmp_path / "out.parquet", **K, match_method="text")


@pytest.mark.parametrize("n_empty", [0, 3, 100])
def test_texts_that_do_not_repeat_are_read_a_little_at_a_time(
    n_empty: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"_AT_ONCE": 1 << 16, "_SMALL": 1 << 14, "_MOST_REPEATED": 1 << 16}.items():
        monkeypatch.setattr(f"krag_eval._utils.files.limited_parquet.{name}", value)
    rows = [[] if query < n_empty else [{"text": f"{query} {rank} " * 30} for rank in range(5)] for query in range(500)]
    path = tmp_path / "logs.parquet"
    # The first pages have a dictionary, the others do not.
    pq.write_table(pa.table({"query_id": range(500), "predicted": rows}), path, dictionary_pagesize_limit=1 << 12)
    with open_parquet(str(path)) as file:
        assert {"PLAIN", "RLE_DICTIONARY"} <= set(file.metadata.row_group(0).column(1).encodings)
        batches = list(file.iter_batches(8192, dictionaries=texts_in(file, ["predicted"])))
    assert [row for batch in batches for row in batch.column("predicted").to_pylist()] == rows
    if n_empty < 64:
        assert max(batch.get_total_buffer_size() for batch in batches) < 1 << 17
