"""The kept bad files: each is refused at its place, or read as it must be; and files that are none.

Other bad files are tested elsewhere: JSONL line by line in `tests/_utils/test_files.py`, every format in
`tests/adapters/formats/test_formats_bad_input.py` (encodings, Git LFS, flipped bits of Parquet, line ends of any
editor) and `tests/adapters/formats/test_formats_refusals.py` (endless packed lines, pipes), the command line in
`tests/adapters/cli/test_bad_input.py`, journals in `tests/retrievers/test_journal_refused.py`, ids that differ only in
spelling in `tests/adapters/labels/test_validation_corpus.py`, the report's CSV in
`tests/adapters/report/test_csv.py`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from krag_eval import EvalSet, InvalidInputError, read_corpus, read_evalset, read_run, write_evalset
from krag_eval._utils.formatting import escape_controls
from krag_eval.analysis.gate import read_policy
from krag_eval_formats.topics import read_queries
from tests.support.command_line import Runner

CORPUS = Path(__file__).parent / "corpus"
REFUSED = {
    "1e999.jsonl": ":2: not valid JSON: a number is too large for a float",
    "column-twice.parquet": ": two columns are called 'id'",
    "cp949.jsonl": ":2: not UTF-8 at byte 26 of the line",
    "cut-off.jsonl.gz": ":28: is damaged or cut off",
    "cut-off.parquet": ": is not a readable Parquet file",
    "date-out-of-range.parquet": ": is not a readable Parquet file",
    "deep-cell.csv": ":2: `metadata` must be a JSON object",
    "deep.toml": ": not valid TOML: nested too deep to be read",
    "empty.jsonl": ": holds no question",
    "header-no-json.run.parquet": ": is not a readable Parquet file",
    "infinity.jsonl": ":2: not valid JSON: -Infinity is not a JSON value",
    "key-twice-escaped.jsonl": ":2: not valid JSON: the key 'id' appears twice in one object",
    "key-twice-inside.jsonl": ":2: not valid JSON: the key 'id' appears twice in one object",
    "key-twice.jsonl": ":2: not valid JSON: the key 'gold' appears twice in one object",
    "latin-1.csv": ":2: not UTF-8 at byte 4 of the line",
    "lfs.jsonl.gz": ": is a pointer of Git LFS",
    "lfs.parquet": ": is a pointer of Git LFS",
    "many-digits.jsonl": ":2: not valid JSON: Exceeds the limit",
    "many-digits.toml": ": not valid TOML: Exceeds the limit",
    "mark-inside.jsonl": ":2: not valid JSON: Expecting value at column 1",
    "nan.jsonl": ":2: not valid JSON: NaN is not a JSON value",
    "nested-201.jsonl": ":2: nested too deeply to be read",
    "no-gzip.jsonl.gz": ":1: is damaged or cut off (Not a gzipped file",
    "nul.jsonl": ":2: not valid JSON",
    "open-quote.csv": ":2: unexpected end of data",
    "repeated-id.jsonl": ":2: the question id 'q1' appears twice",
    "repeated-query.run.jsonl": ":2: the query 'q1' appears twice",
    "two-on-a-line.jsonl": ":2: not valid JSON: Extra data at column 26",
    "utf-16.jsonl": ":1: not UTF-8 at byte 0 of the line",
    "utf-16.qrels": ": is in no format that can be recognized",
    "zeros.jsonl": ":2: not valid JSON",
}
BIG = "18446744073709551617"  # two to the power of 64, and one
READ = {
    "mixed-ends.csv": [("q1", [BIG]), ("q2", ["a", "b"])],
    "mixed-ends.jsonl": [("q1", [BIG]), ("q2", [None])],
    "mixed-ends.qrels": [("q1", [BIG]), ("q2", ["a"])],
    "nul.csv": [("q\0", [])],
    "padded.qrels": [("q1", ["007", "008"]), ("q2", ["009"])],
}
READERS: dict[str, Callable[[Path], object]] = {
    "evalset": read_evalset,
    "run": read_run,
    "corpus": read_corpus,
    "queries": lambda path: list(read_queries(path)),
    "policy": read_policy,
}


def reader_of(name: str) -> Callable[[Path], object]:
    return READERS["policy" if name.endswith(".toml") else "run" if ".run" in name else "evalset"]


def test_every_kept_file_is_expected_and_small() -> None:
    kept = {path.name: path.stat().st_size for path in CORPUS.iterdir()}
    assert kept.keys() == {*REFUSED, *READ, "padded.run"}
    assert sum(kept.values()) < 100_000


@pytest.mark.sample(7)
@pytest.mark.parametrize("name", REFUSED)
def test_a_bad_file_is_refused_at_its_place(name: str) -> None:
    with pytest.raises(InvalidInputError) as error:
        reader_of(name)(CORPUS / name)
    assert str(error.value).startswith(f"{CORPUS / name}{REFUSED[name]}")
    assert len(str(error.value)) < 600
    assert "\n" not in str(error.value)


@pytest.mark.sample(5)
@pytest.mark.parametrize("name", [name for name in REFUSED if not name.endswith(".toml")])
def test_on_the_command_line_it_is_one_line_and_exit_2(name: str, command: Runner) -> None:
    kind = "run" if ".run" in name else "evalset"
    outcome = command("convert", str(CORPUS / name), "out.jsonl", "--kind", kind)
    assert (outcome.code, outcome.out, outcome.err.count("\n")) == (2, "", 1)
    assert outcome.err.startswith(f"InvalidInputError: {CORPUS / name}{REFUSED[name]}")


@pytest.mark.parametrize("name", READ)
def test_an_odd_file_is_read_as_it_is(name: str) -> None:
    assert [(question.id, [d.id for d in question.gold_chunks()]) for question in read_evalset(CORPUS / name)] == READ[
        name
    ]


def names_of_no_file(folder: Path) -> dict[str, Path]:
    (folder / "loop.jsonl").symlink_to(folder / "loop.jsonl")
    (folder / "file.jsonl").write_bytes(b"{}")
    return {
        "Too many levels of symbolic links": folder / "loop.jsonl",
        "Not a directory": folder / "file.jsonl" / "x.jsonl",
        "No such file or directory": folder / "absent.jsonl",
        "Is a directory": folder,
        "embedded null": folder / "a\0b.jsonl",
        "surrogates not allowed": folder / "\ud800.jsonl",
        "File name too long": folder / ("x" * 300 + ".jsonl"),
        "Input/output error": Path("/proc/self/mem"),  # it opens, and its first byte cannot be read
    }


@pytest.mark.parametrize("reader", READERS)
def test_what_is_no_file_is_refused_by_every_reader_with_the_systems_reason(reader: str, tmp_path: Path) -> None:
    for reason, path in names_of_no_file(tmp_path).items():
        with pytest.raises(InvalidInputError) as error:
            READERS[reader](path)
        assert str(error.value).startswith(f"{escape_controls(str(path))}: cannot be read (")
        assert reason in str(error.value)


@pytest.mark.parametrize("ending", [".jsonl", ".csv", ".parquet", ".qrels"])
def test_no_file_is_written_under_a_name_that_cannot_be_and_no_loop_is_followed(ending: str, tmp_path: Path) -> None:
    evalset = EvalSet([{"id": "q", "gold": [{"id": "a"}]}])
    (tmp_path / f"loop{ending}").symlink_to(tmp_path / f"loop{ending}")
    for name in ("loop", "a\0b", "\ud800", "x" * 300, "absent/x"):
        with pytest.raises(InvalidInputError, match=r": cannot be written \("):
            write_evalset(evalset, tmp_path / f"{name}{ending}")
    assert [path.name for path in tmp_path.iterdir()] == [f"loop{ending}"]


def test_a_file_without_permission_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes((CORPUS / "mixed-ends.jsonl").read_bytes())
    read_evalset(path)
    path.chmod(0)
    is_root = os.geteuid() == 0
    if is_root:  # root may read everything, so be nobody for a moment
        os.seteuid(65534)
    try:
        with pytest.raises(InvalidInputError, match=r"x\.jsonl: cannot be read \(Permission denied\)"):
            read_evalset(path)
    finally:
        if is_root:
            os.seteuid(0)


def test_parquet_is_not_read_from_a_pipe_which_has_no_end_to_begin_at(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.parquet")
    with pytest.raises(InvalidInputError, match=r"x\.parquet: is not a regular file\. Parquet is read from its end"):
        read_evalset(tmp_path / "x.parquet")
