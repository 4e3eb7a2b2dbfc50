"""What cannot be read or written as it was asked for, and that nothing is left behind then."""

from __future__ import annotations

import gzip
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from krag_eval import EvalSet, InvalidInputError, Run, RunRow, read_evalset, read_run, write_evalset, write_run
from krag_eval.datasets.formats.registry import formats
from tests.adapters.formats.test_formats import FULL, RUN

ONE = EvalSet([{"id": "q", "question": "?", "gold": [{"id": "a", "text": "b"}]}])


def refused(work: Callable[[], Any]) -> str:
    with pytest.raises(InvalidInputError) as error:
        work()
    return str(error.value)


def test_an_unknown_format_gets_the_nearest_name(tmp_path: Path) -> None:
    message = refused(lambda: read_evalset(tmp_path / "x", format="parket"))
    assert message.startswith("Unknown format 'parket'. Did you mean 'parquet'? Known formats: jsonl, json, csv")
    assert refused(lambda: write_run(RUN, tmp_path / "x", format="")).startswith("Unknown format ''.")


def test_a_format_that_cannot_hold_it_is_named_with_those_that_can(tmp_path: Path) -> None:
    path = tmp_path / "x.squad.json"
    message = refused(lambda: write_run(RUN, path))
    assert message == (
        f"{path}: a run cannot be written in the format 'squad'. "
        "Use one of: jsonl, json, csv, tsv, parquet, trec, scores, ragas."
    )
    assert "cannot be written in the format 'hf'" in refused(lambda: write_evalset(FULL, path, format="hf"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["x", "x.txt", "x.jsonl.gz"])
def test_an_ending_that_tells_no_format_is_refused_before_anything_is_written(tmp_path: Path, name: str) -> None:
    assert refused(lambda: write_evalset(FULL, tmp_path / name)).startswith(
        f"{tmp_path / name}: the ending belongs to no format. Use one of .jsonl, .ndjson, .json, .csv, .tsv, .parquet"
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["jsonl", "json", "csv", "parquet", "llama_index", "ragas", "squad", "beir"])
def test_what_json_does_not_have_is_named_and_leaves_the_old_file(tmp_path: Path, name: str) -> None:
    path = tmp_path / "x"
    if name != "beir":
        path.write_text("old")
    bad = EvalSet([{**ONE[0].to_dict(), "further": {1, 2}, "metadata": {"score": float("nan")}}])
    if name == "llama_index":  # which has no place for it
        with pytest.warns(UserWarning, match="`metadata`: 1"):
            write_evalset(bad, path, format=name)
        return
    message = refused(lambda: write_evalset(bad, path, format=name))
    assert "contains a value that JSON does not have" in message
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == ([] if name == "beir" else [("x", "old")])


@pytest.mark.parametrize("name", ["csv", "tsv", "trec", "parquet", "beir"])
def test_half_a_character_is_refused_where_a_format_cannot_escape_it(tmp_path: Path, name: str) -> None:
    bad = EvalSet([{"id": "q\ud800", "gold": [{"id": "a"}]}])
    message = refused(lambda: write_evalset(bad, tmp_path / "x", format=name))
    assert "half a character" in message or "surrogates not allowed" in message
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["jsonl", "json", "llama_index", "ragas", "squad"])
def test_half_a_character_survives_where_it_can_be_escaped(tmp_path: Path, name: str) -> None:
    odd = EvalSet([{"id": "q\ud800", "gold": [{"id": "a", "text": "b"}]}])
    write_evalset(odd, tmp_path / "x", format=name)
    assert read_evalset(tmp_path / "x", format=name).ids == odd.ids


@pytest.mark.parametrize("bad", ["q 1", "q\n", "", "#q", "\tq"])
def test_an_id_that_would_be_read_as_something_else_is_refused_by_trec(tmp_path: Path, bad: str) -> None:
    if bad:
        row = {"id": bad, "gold": [{"id": "a"}]}
        assert str(tmp_path / "x") in refused(lambda: write_evalset(EvalSet([row]), tmp_path / "x", format="trec"))
    if bad != "#q":  # a document may be called so
        run = Run.of("r", [RunRow.from_dict({"query_id": "q", "retrieved": [{"id": bad or " ", "text": "t"}]})])
        assert "cannot be a column" in refused(lambda: write_run(run, tmp_path / "x", format="trec"))


def test_a_folder_is_never_written_over(tmp_path: Path) -> None:
    target = tmp_path / "set"
    target.mkdir()
    (target / "corpus.jsonl").write_text("a corpus of a million documents")
    assert "exists and is not a file" in refused(lambda: write_evalset(ONE, target, format="beir"))
    assert "cannot be written" in refused(lambda: write_evalset(ONE, target, format="jsonl"))
    assert "exists and is not a file" in refused(lambda: write_evalset(ONE, target, format="parquet"))
    assert [path.name for path in tmp_path.rglob("*")] == ["set", "corpus.jsonl"]
    (target / "corpus.jsonl").unlink()
    write_evalset(ONE, target, format="beir")
    assert read_evalset(target).ids == ["q"]


@pytest.mark.parametrize("name", ["parquet", "beir", "csv"])
def test_a_folder_that_is_not_there_is_named(tmp_path: Path, name: str) -> None:
    path = tmp_path / "absent" / "x"
    assert refused(lambda: write_evalset(ONE, path, format=name)).startswith(
        f"{path}: cannot be written (No such file or directory)"
    )


@pytest.mark.parametrize("name", ["jsonl", "parquet", "beir"])
def test_a_failure_half_way_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises((InvalidInputError, OSError), match="No space left on device"):
        write_evalset(ONE, tmp_path / "x", format=name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ([], ": cannot be read (Is a directory). A folder must be one of BEIR"),
        (["queries.jsonl"], ": cannot be read (Is a directory)"),
        (["queries.jsonl", "qrels/a.tsv", "qrels/b.tsv"], ": has no split `test`. Give the path of the one to read: "),
        (["queries.jsonl", "qrels/x.txt"], ": has no split `test`. Give the path of the one to read: none."),
    ],
)
def test_a_folder_that_is_no_beir_folder_is_refused(tmp_path: Path, parts: list[str], message: str) -> None:
    for part in parts:
        (tmp_path / part).parent.mkdir(exist_ok=True)
        (tmp_path / part).write_text("")
    assert refused(lambda: read_evalset(tmp_path)).startswith(f"{tmp_path}{message}")
    assert "cannot be read" not in refused(lambda: read_evalset(tmp_path, format="beir"))
    assert refused(lambda: read_run(tmp_path)).startswith(f"{tmp_path}: ")


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("part", "content", "message"),
    [
        ("qrels/test.tsv", "q\td\t1\nq 0 d 1\n", "/qrels/test.tsv:2: has 1 columns. A line of BEIR qrels is"),
        ("qrels/test.tsv", "q\td\t1\nq\td\t2\n", "/qrels/test.tsv:2: the document 'd' of query 'q' has the grade 2"),
        ("qrels/test.tsv", "q\td\t1\nq\t\t2\n", "/qrels/test.tsv:2: an id is empty"),
        ("qrels/test.tsv", "q\td\t1\nq\te\thigh\n", "/qrels/test.tsv:2: The grade is 'high'"),
        ("queries.jsonl", '{"_id": "q"}\n{"_id": "q"}\n', "/queries.jsonl:2: the id 'q' appears twice"),
        ("queries.jsonl", '{"_id": 1.5}\n', "/queries.jsonl:1: `_id` must be a string or an integer"),
        ("corpus.jsonl", '{"_id": "d", "text": "t"}\n{', "/corpus.jsonl:2: not valid JSON"),
    ],
)
def test_a_bad_line_of_a_beir_folder_is_named(tmp_path: Path, part: str, content: str, message: str) -> None:
    write_evalset(
        EvalSet([{"id": "q", "question": "?", "gold": [{"id": "d", "text": "t"}]}]), tmp_path / "b", format="beir"
    )
    (tmp_path / "b" / part).write_text(content)
    assert refused(lambda: read_evalset(tmp_path / "b")).startswith(f"{tmp_path / 'b'}{message}")


def test_one_file_of_a_beir_folder_leads_to_the_folder(tmp_path: Path) -> None:
    write_evalset(ONE, tmp_path / "b", format="beir")
    for name in ("queries.jsonl", "corpus.jsonl"):
        path = tmp_path / "b" / name
        expected = f"{path}: is one file of a BEIR folder. Give the folder, {tmp_path / 'b'}."
        assert refused(partial(read_evalset, path)) == expected


def test_a_packed_line_that_never_ends_is_refused_before_it_fills_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"id": "q", "gold": []}\n' + b" " * 3_000_000))
    monkeypatch.setenv("KRAG_EVAL_LIMITS", "row=1MB")
    assert refused(lambda: read_evalset(path)).startswith(f"{path}:2: unpacks to a line of more than 1 MB.")
    monkeypatch.setenv("KRAG_EVAL_LIMITS", "row=1GB,unpacked=1kB")
    assert "unpacks to more than 1 kB" in refused(lambda: read_evalset(path))


def test_a_pipe_is_read_as_jsonl_without_being_looked_at_first(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=('{"id": "q", "gold": []}\n',))
    writer.start()
    assert read_evalset(path).ids == ["q"]
    writer.join()


@pytest.mark.full
def test_without_pyarrow_parquet_names_the_extra_and_nothing_else_needs_it(tmp_path: Path) -> None:
    write_evalset(ONE, tmp_path / "x.parquet")
    write_evalset(ONE, tmp_path / "x.csv")
    (tmp_path / "blocked.py").write_text(f"""
import sys
sys.modules["pyarrow"] = None
from krag_eval import MissingDependencyError, read_evalset, write_evalset
evalset = read_evalset({str(tmp_path / "x.csv")!r})
for work in (lambda: read_evalset({str(tmp_path / "x.parquet")!r}), lambda: write_evalset(evalset, "y.parquet")):
    try:
        work()
    except MissingDependencyError as error:
        print(error)
""")
    command = [sys.executable, str(tmp_path / "blocked.py")]
    out = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[3]).stdout
    assert out.count('pip install "krag-eval[arrow]"') == 2


def test_the_page_about_files_names_every_format_and_every_ending() -> None:
    page = (Path(__file__).parents[3] / "docs" / "formats.md").read_text(encoding="utf-8")
    rows = [line for line in page.partition("## Limits")[0].splitlines() if line.startswith("| `")]
    named = {name: row for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])}
    assert list(named) == list(formats())
    assert [e for name, its in formats().items() for e in its.endings if f"`{e}`" not in named[name]] == []
