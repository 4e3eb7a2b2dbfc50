"""Columns of the input in the output, names of columns for SQL, and lists of plain ids or texts."""

from __future__ import annotations

import datetime as dt
import decimal
import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from krag_eval import InvalidInputError, evaluate
from krag_eval_scale import ColumnarScorer, score_logs
from krag_eval_scale.files import partitions_of
from tests.support.log_cases import ACTUAL, PREDICTED, write_rows

HOW: dict[str, Any] = {"k": 2, "match_method": "id", "metrics": "recall"}

VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "text": (pa.string(), ["a", None, "ü"]),
    "number": (pa.int16(), [1, None, -3]),
    "nested": (
        pa.struct([("a", pa.list_(pa.int64())), ("b", pa.struct([("c", pa.string())]))]),
        [{"a": [1, None], "b": {"c": "x"}}, None, {"a": [], "b": None}],
    ),
    "lists": (pa.list_(pa.list_(pa.string())), [[["x"], []], None, [None]]),
    "map": (pa.map_(pa.string(), pa.int64()), [[("k", 1)], None, []]),
    "time": (pa.timestamp("us", "UTC"), [dt.datetime(2026, 11, 22, tzinfo=dt.UTC), None, None]),
    "day": (pa.date32(), [dt.date(2026, 11, 22), None, None]),
    "price": (pa.decimal128(9, 2), [decimal.Decimal("1.20"), None, None]),
    "bytes": (pa.binary(), [b"\xff\x00", None, b""]),
    "nothing": (pa.null(), [None, None, None]),
    "with.dot": (pa.bool_(), [True, None, False]),
}


def batch(**columns: tuple[pa.DataType, list[Any]]) -> pa.RecordBatch:
    documents = pa.list_(pa.struct([("id", pa.string())]))
    found = {
        "query_id": pa.array(["q0", "q1", "q2"]),
        "actual": pa.array([[{"id": "a"}]] * 3, documents),
        "predicted": pa.array([[{"id": "x"}, {"id": "a"}]] * 3, documents),
        **{name: pa.array(values, type_) for name, (type_, values) in columns.items()},
    }
    return pa.record_batch(list(found.values()), names=list(found))


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", VALUES)
def test_a_column_of_any_type_is_copied_into_the_rows_and_into_the_file(name: str, tmp_path: Path) -> None:
    rows = batch(**VALUES)
    scored = ColumnarScorer(keep=name, **HOW).score_batch(rows)
    assert scored.schema.names == ["query_id", name, "n_gold", "n_retrieved", "recall@2"]
    assert scored.column(name) == rows.column(name)
    pq.write_table(pa.Table.from_batches([rows]), tmp_path / "logs.parquet", row_group_size=2)
    score_logs(tmp_path / "logs.parquet", tmp_path / "out.parquet", keep=[name], **HOW)
    assert pq.read_table(tmp_path / "out.parquet").column(name).to_pylist() == rows.column(name).to_pylist()


def test_a_dictionary_is_kept_as_its_values() -> None:
    rows = batch(model=(pa.string(), ["m", None, "m"]))
    encoded = rows.set_column(3, "model", rows.column("model").dictionary_encode())
    assert ColumnarScorer(keep="model", **HOW).score_batch(encoded).column("model") == rows.column("model")


def test_all_other_columns_can_be_kept_and_the_schema_is_known_before() -> None:
    rows = batch(**VALUES)
    scorer = ColumnarScorer(keep="all", names="safe", **HOW)
    schema = scorer.schema_of(rows.schema)
    assert schema.names == ["query_id", *VALUES, "n_gold", "n_retrieved", "recall_at_2"]
    assert scorer.score_batch(rows).schema == schema
    fixed = pickle.loads(pickle.dumps(ColumnarScorer(keep=scorer.kept_of(rows.schema), names="safe", **HOW)))
    assert fixed.schema == schema
    assert fixed.score_batch(rows) == scorer.score_batch(rows)


@pytest.mark.parametrize(
    ("keep", "told"),
    [
        ("model", "`keep` names the column 'model', and the input has none. Its columns are: query_id, actual, predic"),
        ("query_id", "The output would have two columns 'query_id'. Rename the column of the input, or leave it out"),
        (["day", "day"], "The output would have two columns 'day'."),
        (["recall@2"], "The output would have two columns 'recall@2'."),
        ([1], "`keep` must be the names of columns of the input, or 'all', got [1]."),
        ([""], "`keep` must be the names of columns of the input, or 'all', got ['']."),
    ],
)
def test_a_column_that_cannot_be_kept_is_named_before_a_row_is_read(keep: Any, told: str, tmp_path: Path) -> None:
    logs = tmp_path / "logs.parquet"
    pq.write_table(pa.Table.from_batches([batch(**VALUES)]), logs)
    with pytest.raises(InvalidInputError) as caught:
        score_logs(logs, tmp_path / "out.parquet", keep=keep, **HOW)
    assert str(caught.value).removeprefix(f"{logs}: ").startswith(told)
    assert not (tmp_path / "out.parquet.parts").exists()


def test_safe_names_are_those_of_the_result(tmp_path: Path) -> None:
    logs = tmp_path / "logs.parquet"
    pq.write_table(pa.Table.from_batches([batch()]), logs)
    how: dict[str, Any] = {"k": (5, None), "match_method": "id", "metrics": "recall,ndcg,hit_rate_all"}
    result = score_logs(logs, tmp_path / "out.parquet", names="safe", **how)
    names = pq.read_schema(tmp_path / "out.parquet").names[3:]
    assert names == [name for name in result.to_dict(names="safe") if not name.startswith("micro_")]
    assert all(name.isidentifier() for name in names)
    with pytest.raises(InvalidInputError, match="`names` must be one of 'plain', 'safe', got 'sql'"):
        score_logs(logs, tmp_path / "other.parquet", names="sql", **how)


def columns_of(folder: Path, one: pa.DataType, other: pa.DataType) -> pa.DataType:
    for number, type_ in enumerate((one, other)):
        rows = batch(n=(pa.null(), [None] * 3))
        ids = pa.array([f"{number}-{id_}" for id_ in range(3)])
        rows = rows.set_column(0, "query_id", ids).set_column(3, "n", pa.array([1, 2, None]).cast(type_))
        pq.write_table(pa.Table.from_batches([rows]), folder / f"{number}.parquet")
    score_logs([folder / "0.parquet", folder / "1.parquet"], folder / "out.parquet", keep="n", **HOW)
    table = pq.read_table(folder / "out.parquet")
    assert [None if one is None else int(one) for one in table.column("n").to_pylist()] == [1, 2, None] * 2
    return table.schema.field("n").type


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        (pa.int16(), pa.int64(), pa.int64()),
        (pa.uint32(), pa.uint8(), pa.uint32()),
        (pa.float32(), pa.float64(), pa.float64()),
        (pa.string(), pa.large_string(), pa.large_string()),
    ],
)
def test_files_of_different_types_are_kept_in_the_wider_one(one: Any, other: Any, both: Any, tmp_path: Path) -> None:
    assert columns_of(tmp_path, one, other) == both


@pytest.mark.parametrize("other", [pa.float64(), pa.uint64(), pa.string()])
def test_files_of_types_without_a_common_one_are_refused_by_name(other: pa.DataType, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError) as caught:
        columns_of(tmp_path, pa.int64(), other)
    assert str(caught.value) == (
        f"{tmp_path}/1.parquet: the column `n` has the type {other}, and in {tmp_path}/0.parquet it has the type "
        "int64. Write all files with one type, or leave the column out of `keep` and `by`."
    )


@pytest.mark.full
def test_folders_of_a_path_are_columns(tmp_path: Path) -> None:
    expected = []
    for model, day in (("a%2Fb", "2026-11-21"), ("c", "__HIVE_DEFAULT_PARTITION__")):
        folder = tmp_path / f"model={model}" / f"day={day}"
        folder.mkdir(parents=True)
        rows = batch().set_column(0, "query_id", pa.array([f"{model}{n}" for n in range(3)]))
        pq.write_table(pa.Table.from_batches([rows]), folder / "part-0.parquet")
        expected += [{"model": "a/b" if "%" in model else "c", "day": None if "_" in day else day}] * 3
    for workers in (1, 2):
        out = tmp_path / f"{workers}.parquet"
        result = score_logs(
            tmp_path / "**" / "part-*.parquet", out, keep=["model", "day"], by="model", workers=workers, **HOW
        )
        assert pq.read_table(out, columns=["model", "day"]).to_pylist() == expected
        assert result.groups is not None
        assert [*result.groups] == ["a/b", "c"]
    assert partitions_of("s3://bucket/x=1/y/=2/a=b.parquet") == {"x": "1"}


def test_a_column_of_the_file_comes_before_that_of_its_folder(tmp_path: Path) -> None:
    (tmp_path / "day=1").mkdir()
    pq.write_table(pa.Table.from_batches([batch(day=(pa.int64(), [7, 8, 9]))]), tmp_path / "day=1" / "0.parquet")
    score_logs(tmp_path / "day=1", tmp_path / "out.parquet", keep="all", **HOW)
    assert pq.read_table(tmp_path / "out.parquet").column("day").to_pylist() == [7, 8, 9]


IDS = [[[document["id"] or "none" for document in row] for row in side] for side in (ACTUAL, PREDICTED)]
KINDS: list[Any] = [
    pa.list_(pa.string()),
    pa.large_list(pa.large_string()),
    pa.list_(pa.dictionary(pa.int32(), pa.string())),
]
if hasattr(pa, "list_view"):
    KINDS.append(pa.list_view(pa.string()))


@pytest.mark.sample(4)
@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("method", ["id", "text", ["id", "text"]], ids=str)
def test_plain_values_are_ids_if_ids_alone_are_matched_and_texts_otherwise(kind: Any, method: Any) -> None:
    field = "id" if method == "id" else "text"
    actual, predicted = ([[{field: one} for one in row] for row in side] for side in IDS)
    expected = evaluate(actual, predicted, match_method=method)
    columns = [pa.array([f"q{n}" for n in range(len(IDS[0]))]), *(pa.array(side, kind) for side in IDS)]
    rows = pa.record_batch(columns, names=["query_id", "actual", "predicted"])
    scorer = ColumnarScorer(match_method=method)
    assert scorer.finalize(scorer.partial_state(rows)).to_dict() == expected.to_dict()
    if method != "id":  # as `evaluate` reads bare strings
        assert expected.to_dict() == evaluate(IDS[0], IDS[1], match_method=method).to_dict()


def test_plain_integers_are_ids(tmp_path: Path) -> None:
    rows = [{"query_id": "q", "actual": [7, 8], "predicted": [8, 9]}, {"query_id": "r", "actual": [1], "predicted": []}]
    logs = write_rows(tmp_path / "logs.parquet", rows)
    assert score_logs(logs, tmp_path / "out.parquet", **HOW)["recall@2"] == 0.25
    with pytest.raises(
        InvalidInputError, match=r"`actual` has the type list<element: int64>, and it needs list<struct"
    ):
        score_logs(logs, tmp_path / "no.parquet", **HOW | {"match_method": "text"})
    strings = write_rows(tmp_path / "s.parquet", [{"query_id": "q", "actual": ["7"], "predicted": ["8"]}])
    with pytest.raises(InvalidInputError, match="it needs list<struct<id: string, text: string>>"):
        score_logs(strings, tmp_path / "no.parquet", **HOW | {"k": "9tok"})  # ids have no tokens


def test_a_plain_null_is_a_document_that_is_null() -> None:
    rows = pa.RecordBatch.from_pylist([{"query_id": "q", "actual": ["a"], "predicted": ["a", None]}])
    with pytest.raises(InvalidInputError, match="`predicted` of query 'q', document 2: the document is null"):
        ColumnarScorer(**HOW).score_batch(rows)
