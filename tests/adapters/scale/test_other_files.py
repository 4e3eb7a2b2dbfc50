"""What is no log in Parquet is told for what it is, with what to do; of a folder only finished files are taken."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe
import pytest

from krag_eval import Document, EvalSet, Run, RunRow, evaluate, write_evalset, write_run
from krag_eval_scale import score_logs
from tests.adapters.scale.test_logs_bad_input import HOW, refusal, row
from tests.support.arrow_cases import SCHEMA
from tests.support.command_line import Runner
from tests.support.log_cases import write_rows

LINE = b'{"query_id": "q1", "actual": [{"id": "a"}], "predicted": [{"id": "b"}, {"id": "a"}]}\n'


@pytest.mark.sample(5)
@pytest.mark.parametrize(
    ("content", "told"),
    [
        (LINE, "is not Parquet: it seems to be JSONL. `krag-eval evaluate SET RUN` scores"),
        (b"\xef\xbb\xbf\n" + LINE, "it seems to be JSONL."),
        (gzip.compress(LINE, mtime=0), "it seems to be JSONL, compressed with gzip."),
        (b'{"text": "' + b"x" * 9000, "it seems to be JSON or JSONL."),
        (b'[{"query_id": "q1"}]', "it seems to be JSON."),
        (b'{\n  "q1": {"a": 1}\n}\n', "it seems to be JSON."),
        ("질문,문서\nq1,a\n".encode(), "it seems to be CSV. `krag-eval evaluate SET RUN` scores"),
        (b"query_id\tid\tscore\nq1\ta\t1\n", "it seems to be TSV."),
        (b"<!DOCTYPE html><title>Sign in</title>", "it seems to be HTML or XML. A server may have sent an error page"),
        (b'{"krag_eval_run": 1, "name": "x"}\n', "the journal of a run. `krag-eval evaluate SET logs.any` scores it"),
        (b'{"krag_eval_answers": 1}\n', "it seems to be a journal of krag_eval. Give the files that have the logs"),
        (b"ARROW1\0\0", "it seems to be an Arrow file (Feather). Convert it to Parquet first."),
        (b"\x28\xb5\x2f\xfd....", "it seems to be compressed with zstd."),
        (b"PK\x03\x04....", "it seems to be a ZIP archive"),
        (b"\x00\x05\x16\x07,;", "is not Parquet: it does not begin like a Parquet file."),
        (b"\x1f\x8bnot gzip", "is not Parquet, compressed with gzip: it does not begin like a Parquet file."),
        (b"", "is empty, so it is not Parquet."),
        (b"version https://git-lfs.github.com/spec/v1\n", "is a Git LFS pointer, not the file itself."),
        (b"PARE and so on", "is encrypted Parquet, which cannot be read."),
        (b"PAR1 but not for long", "cannot be read as Parquet ("),
    ],
)
def test_a_file_that_is_no_parquet_is_told_for_what_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("logs.any").write_bytes(content)
    for logs in ("logs.any", (tmp_path / "logs.any").as_uri()):
        said = refusal(logs, Path("out.parquet"))
        assert said.startswith(f"{logs}: ")
        assert told.replace("logs.any", logs) in said


def test_rows_of_other_files_become_logs_as_the_message_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("logs.any").write_bytes(LINE)
    order = refusal("logs.any", Path("out.parquet")).rpartition("DuckDB: ")[2].rstrip(".")
    duckdb.sql(order)
    assert score_logs("logs.parquet", "out.parquet", **HOW | {"metrics": "mrr"})["mrr@2"] == 0.5


class Keys(pe.KmsClient):  # type: ignore[misc]
    """Keys that are wrapped by nothing."""

    def wrap_key(self, key: bytes, name: str) -> str:
        return key.hex()

    def unwrap_key(self, wrapped: str, name: str) -> bytes:
        return bytes.fromhex(wrapped)


def test_encrypted_columns_are_told_where_the_footer_is_not_encrypted(tmp_path: Path) -> None:
    how = pe.EncryptionConfiguration(footer_key="f", column_keys={"c": ["query_id"]}, plaintext_footer=True)
    secret = pe.CryptoFactory(lambda _: Keys()).file_encryption_properties(pe.KmsConnectionConfig(), how)
    with pq.ParquetWriter(tmp_path / "secret.parquet", SCHEMA, encryption_properties=secret) as writer:
        writer.write_table(pa.Table.from_pylist([row("q")], SCHEMA))
    said = refusal(tmp_path / "secret.parquet", tmp_path / "out.parquet")
    assert said.startswith(f"{tmp_path}/secret.parquet: row group 0: is encrypted Parquet, which cannot be read.")


def test_sets_runs_and_long_logs_are_told_apart_from_logs(tmp_path: Path) -> None:
    question = {"id": "q1", "question": "When?", "gold": [{"id": "a"}]}
    write_evalset(EvalSet([question], name="set"), tmp_path / "set.parquet")
    write_run(Run.of("run", [RunRow(query_id="q1", retrieved=(Document(id="a"),))]), tmp_path / "run.parquet")
    write_rows(tmp_path / "long.parquet", [{"query_id": "q", "id": "a", "rank": 1}])
    for name, hint in {
        "set": "This seems to be a question set: `krag-eval evaluate SET RUN` scores such files as they are.",
        "run": "This seems to be a run: `krag-eval evaluate SET RUN` scores such files as they are.",
        "long": "Logs with one row per document are first grouped by query: docs/scale.md shows the query for DuckDB.",
    }.items():
        assert refusal(tmp_path / f"{name}.parquet", tmp_path / "out.parquet").endswith(hint)


def test_every_codec_of_parquet_is_read(tmp_path: Path) -> None:
    codecs = ["none", "snappy", "gzip", "brotli", "zstd", "lz4"]
    for codec in codecs:
        pq.write_table(pa.Table.from_pylist([row(codec)], SCHEMA), tmp_path / f"{codec}.parquet", compression=codec)
    assert score_logs(tmp_path, tmp_path / "out", **HOW).n_queries == len(codecs)


def test_of_a_folder_partitions_and_folders_of_spark_are_taken_and_half_written_files_are_not(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    wanted = ["day=1/a.parquet", "day=2/b.parquet", "spark.parquet/part-0.parquet"]
    for name in [*wanted, "day=2/_temporary/0/c.parquet", "day=1/._a.parquet", ".hidden/d.parquet"]:
        (logs / name).parent.mkdir(parents=True, exist_ok=True)
        write_rows(logs / name, [row(name)], SCHEMA)
    for number, given in enumerate([str(logs), logs.as_uri()]):
        score_logs(given, tmp_path / f"{number}", **HOW)
        assert pq.read_table(tmp_path / f"{number}").column("query_id").to_pylist() == wanted
    score_logs(f"{logs}/*.parquet", tmp_path / "pattern", **HOW)
    assert pq.read_table(tmp_path / "pattern").column("query_id").to_pylist() == wanted[2:]


def test_the_parts_of_a_scoring_into_the_folder_of_its_logs_are_no_logs(tmp_path: Path) -> None:
    for name in "ab":
        write_rows(tmp_path / f"{name}.parquet", [row("twice")], SCHEMA)
    said = refusal(tmp_path, tmp_path / "out.parquet")
    assert (tmp_path / "out.parquet.parts" / "000000.parquet").exists()
    assert refusal(tmp_path, tmp_path / "out.parquet") == said  # of the two rows, not of the parts
    assert refusal(f"{tmp_path}/**/*.parquet", tmp_path / "out.parquet") == said


def test_an_empty_path_is_no_folder(tmp_path: Path, command: Runner) -> None:
    assert refusal("", tmp_path / "out.parquet") == refusal(["", "a"], tmp_path / "out.parquet")
    outcome = command("score-logs '' --out out.parquet")
    assert (outcome.code, outcome.err) == (
        2,
        "InvalidInputError: A path of the logs is empty. Give the path of a Parquet file, or a pattern.\n",
    )


BIGQUERY = {
    "query_id": pa.string(),
    "model": pa.string(),
    "actual": pa.list_(pa.field("element", pa.struct({"id": pa.string(), "grade": pa.int64()}))),
    "predicted": pa.list_(pa.field("element", pa.struct({"id": pa.string()}))),
}


def test_an_imitation_of_a_bigquery_export_is_scored(tmp_path: Path) -> None:
    """REPEATED RECORDs as lists of three levels, several files; BigQuery stores an array without entries, not null."""
    rows: list[dict[str, Any]] = [
        {"query_id": "1", "model": None, "actual": [{"id": "a", "grade": 2}], "predicted": [{"id": "x"}, {"id": "a"}]},
        {"query_id": "2", "model": "m", "actual": [{"id": "b", "grade": None}], "predicted": []},
        {"query_id": "3", "model": "m", "actual": [], "predicted": [{"id": "b"}]},
    ]
    for number, part in enumerate((rows[:2], rows[2:])):
        path = tmp_path / f"export-{number:012}.parquet"
        pq.write_table(pa.Table.from_pylist(part, pa.schema(BIGQUERY)), path)
        with pq.ParquetFile(path) as file:
            paths = [file.schema.column(place).path for place in range(5)]
        assert paths == [
            "query_id", "model", "actual.list.element.id", "actual.list.element.grade", "predicted.list.element.id",
        ]  # fmt: skip
    how: dict[str, Any] = {"k": 2, "metrics": ["recall", "ndcg"], "match_method": "id"}
    found = score_logs(tmp_path, tmp_path / "out.parquet", by="model", workers=1, **how)
    lists = [([one["id"] for one in row["predicted"]]) for row in rows]
    expected = evaluate([row["actual"] for row in rows], [[{"id": one} for one in row] for row in lists], **how)
    assert found.to_dict() == expected.to_dict()
    assert found["recall@2"] == 0.5
    assert set(found.groups or {}) == {None, "m"}
