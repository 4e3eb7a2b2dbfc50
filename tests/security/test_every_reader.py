"""What JSON parsers disagree on, in every file that holds JSON: refused at its place, or read as it stands."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from krag_eval import InvalidInputError, read_corpus, read_evalset, read_run
from krag_eval._utils.journal.keyed import KeyedJournal
from krag_eval._utils.journal.rows import JournalKind
from krag_eval.analysis.gate import read_policy
from krag_eval_formats.topics import read_queries
from krag_eval_labels import apply_labels
from krag_eval_llm.prompts import own_prompts
from krag_eval_scale import PartialState

KIND = JournalKind("kept", "test")
Read = Callable[[Path], object]


class Holder(NamedTuple):
    """A kind of file with a place in it for any JSON value.

    Attributes:
        name: The name of the file.
        read: Its reader, which gives the value back where it keeps it.
        content: What it holds, with VALUE where the value goes.
        is_lines: Whether each row is a line, so that the place has a line number.
    """

    name: str
    read: Read
    content: bytes
    is_lines: bool = True


def queries(path: Path) -> object:
    return list(read_queries(path))


def labels(path: Path) -> object:
    return apply_labels([{"id": "q", "gold_chunk_ids": ["a"]}], path)


def keyed(path: Path) -> object:
    journal = KeyedJournal(path, KIND, {})
    journal.close()
    return list(journal)


def sealed(header: bytes, row: bytes) -> bytes:
    """A journal whose checksums are right, as anybody can make them; a sound row follows."""
    return b"".join(
        line[:-1] + b', "crc": "%08x"}\n' % zlib.crc32(line)
        for line in (header, row, row.replace(b"VALUE", b"1").replace(b'"q"', b'"r"'))
    )


RUN = b'{"query_id": "q", "retrieved": [{"id": "a", "metadata": {"x": VALUE}}]}'
HEADER = b'{"krag_eval_run": 1, "name": "n"}'
CELL = b'{""x"": VALUE}'
QUESTION = b'{"id": "q", "question": "?", "gold": [], "metadata": {"x": VALUE}}'
RAGAS = b'{"user_input": "?", "reference_contexts": ["t"], "retrieved_contexts": ["t"], "x": VALUE}'
SQUAD = b'{"data": [{"paragraphs": [{"context": "t", "qas": [{"id": "q", "question": "?", "x": VALUE}]}]}]}'
LLAMA = b'{"queries": {"q": "?"}, "corpus": {"c": "t"}, "relevant_docs": {"q": ["c"]}, "x": VALUE}'
HOLDERS = {
    "evalset jsonl": Holder("x.jsonl", read_evalset, QUESTION),
    "evalset json": Holder("x.json", read_evalset, b"[" + QUESTION + b"]", is_lines=False),
    "evalset csv": Holder("x.csv", read_evalset, b'id,gold,metadata\nq,[],"' + CELL + b'"\n'),
    "evalset unnamed": Holder("x", read_evalset, QUESTION, is_lines=False),
    "evalset packed": Holder("x.jsonl.gz", read_evalset, QUESTION),
    "ragas": Holder("x.ragas.jsonl", read_evalset, RAGAS),
    "ragas run": Holder("x.ragas.jsonl", read_run, RAGAS),
    "squad": Holder("x.json", read_evalset, SQUAD, is_lines=False),
    "llama index": Holder("x.json", read_evalset, LLAMA, is_lines=False),
    "run jsonl": Holder("x.jsonl", read_run, RUN),
    "run json": Holder("x.json", read_run, b"[" + RUN + b"]", is_lines=False),
    "corpus jsonl": Holder("x.jsonl", read_corpus, b'{"id": "a", "text": "t", "metadata": {"x": VALUE}}'),
    "queries jsonl": Holder("x.jsonl", queries, b'{"id": "q", "text": "t", "x": VALUE}'),
    "labels": Holder("x.jsonl", labels, b'{"query_id": "q", "document": {"id": "a"}, "label": true, "x": VALUE}'),
    "run journal": Holder("x.jsonl", read_run, sealed(HEADER, RUN)),
    "keyed journal": Holder("x.jsonl", keyed, sealed(b'{"kept": 1}', b'{"key": "q", "x": VALUE}')),
}
REFUSED = {
    "NaN": b"NaN",
    "infinity": b"-Infinity",
    "too large": b"1e999",
    "key twice": b'{"a": 1, "a": 2}',
    "key twice, once escaped": b'{"a": 1, "\\u0061": 2}',
    "20,000 lists": b"[" * 20_000 + b"]" * 20_000,
    "20,000 objects": b'{"a":' * 20_000 + b"1" + b"}" * 20_000,
    "201 levels": b"[" * 201 + b"]" * 201,
    "5,000 digits": b"9" * 5_000,
    "two values": b"1 2",
    "cut off": b'"',
    "no value": b"",
}
READ = {"half a pair": b'"\\ud800"', "over 64 bits": b"18446744073709551617", "NUL": b'"\\u0000"', "minus 0": b"-0.0"}


def write(holder: Holder, value: bytes, folder: Path) -> Path:
    """The file with this value; of a journal with checksums that fit it."""
    path, given = folder / holder.name, value
    if holder.name.endswith(".csv"):
        given = value.replace(b'"', b'""')
    if b'"crc"' in holder.content:
        lines = [line.rpartition(b', "crc"')[0] + b"}" for line in holder.content.splitlines()]
        lines[1] = lines[1].replace(b"VALUE", given)
        content = b"".join(line[:-1] + b', "crc": "%08x"}\n' % zlib.crc32(line) for line in lines)
    else:
        content = holder.content.replace(b"VALUE", given)
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


@pytest.mark.sample(7)
@pytest.mark.parametrize("value", REFUSED)
@pytest.mark.parametrize("name", HOLDERS)
def test_it_is_refused_at_its_place_in_every_file(name: str, value: str, tmp_path: Path) -> None:
    holder = HOLDERS[name]
    path = write(holder, REFUSED[value], tmp_path)
    before = path.read_bytes()
    with pytest.raises(InvalidInputError) as error:
        holder.read(path)
    line = ":2:" if b"\n" in holder.content.strip() else ":1:"
    assert str(error.value).startswith(f"{path}{line if holder.is_lines else ':'}")
    assert len(str(error.value)) < 700
    assert path.read_bytes() == before


@pytest.mark.sample(5)
@pytest.mark.filterwarnings("ignore::krag_eval.KragEvalWarning")
@pytest.mark.parametrize("value", READ)
@pytest.mark.parametrize("name", HOLDERS)
def test_what_is_odd_and_clear_is_read_in_every_file(name: str, value: str, tmp_path: Path) -> None:
    path = write(HOLDERS[name], READ[value], tmp_path)
    assert HOLDERS[name].read(path)


@pytest.mark.sample(4)
@pytest.mark.parametrize("ends", [b"\r\n", b"\n\n", b""], ids=["CRLF", "empty lines", "no last end"])
@pytest.mark.filterwarnings("ignore::krag_eval.KragEvalWarning")
@pytest.mark.parametrize("name", [name for name in HOLDERS if "packed" not in name])
def test_every_file_may_have_the_line_ends_of_any_editor(name: str, ends: bytes, tmp_path: Path) -> None:
    path = write(HOLDERS[name], b"1", tmp_path)
    content = path.read_bytes()
    path.write_bytes(content.replace(b"\n", ends) if ends else content.rstrip(b"\n"))
    assert HOLDERS[name].read(path)


LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 12345\n"
FILES: dict[str, tuple[str, Read]] = {
    **{name: (holder.name, holder.read) for name, holder in HOLDERS.items()},
    "corpus parquet": ("x.parquet", read_corpus),
    "run parquet": ("x.parquet", read_run),
    "results": ("x.run", read_run),
    "qrels": ("x.qrels", read_evalset),
    "queries tsv": ("x.tsv", queries),
    "policy": ("x.toml", read_policy),
}
NO_FILE = {
    "pointer of Git LFS": LFS,
    "UTF-16": '{"id": "q", "gold": []}\n'.encode("utf-16"),
    "binary": b"\x00\x01\xff\xfe" * 99,
    "zeros": b"\0" * 4096,
}


@pytest.mark.sample(5)
@pytest.mark.parametrize("kind", NO_FILE)
@pytest.mark.parametrize("name", FILES)
def test_what_is_no_such_file_at_all_is_refused_by_every_reader_and_left_as_it_is(
    name: str, kind: str, tmp_path: Path
) -> None:
    file, read = FILES[name]
    path = tmp_path / file
    path.write_bytes(NO_FILE[kind])
    with pytest.raises(InvalidInputError) as error:
        read(path)
    assert str(error.value).startswith(f"{path}:")
    assert path.read_bytes() == NO_FILE[kind]


# What is packed, or told by its first line, stands in `test_sizes.py`.
ELSEWHERE = {"evalset unnamed", "evalset packed", "results", "qrels", "corpus parquet", "run parquet"}


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", sorted(FILES.keys() - ELSEWHERE))
def test_a_line_without_an_end_is_refused_at_the_bound_by_every_reader(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KRAG_EVAL_LIMITS", "row=300k,file=1M")
    file, read = FILES[name]
    path = tmp_path / file
    path.write_bytes(b"9" * 2_000_000)
    with pytest.raises(InvalidInputError) as error:
        read(path)
    assert str(error.value).startswith(f"{path}:")
    assert "more than" in str(error.value)


@pytest.mark.sample(3)
@pytest.mark.parametrize("value", [name for name in REFUSED if "twice" not in name])
def test_a_stored_state_is_refused(value: str) -> None:
    for text in (REFUSED[value], b'{"krag_eval_state": ' + REFUSED[value] + b"}"):
        with pytest.raises(InvalidInputError, match=r"The text is not a state that `PartialState\.to_json` wrote"):
            PartialState.from_json(text)


@pytest.mark.sample(3)
@pytest.mark.parametrize("number", ["nan", "inf", "-inf", "1e999", '"0.9"', "true", "[]"])
def test_a_policy_has_no_limit_that_is_no_number(number: str, tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text(f"[gate.min]\n'recall@5' = {number}\n", encoding="utf-8")
    with pytest.raises(InvalidInputError) as error:
        read_policy(path)
    assert str(error.value).startswith(f"{path}")


@pytest.mark.parametrize("kind", ["no UTF-8", "a device without an end", "a folder", "a loop"])
def test_a_prompt_that_cannot_be_read_is_refused_within_bounds(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KRAG_EVAL_LIMITS", "file=3M")
    path = tmp_path / "judge.txt"
    making: dict[str, Callable[[], Any]] = {
        "no UTF-8": lambda: path.write_bytes("언제?".encode("cp949")),
        "a device without an end": lambda: path.symlink_to("/dev/zero"),
        "a folder": path.mkdir,
        "a loop": lambda: path.symlink_to(path),
    }
    making[kind]()
    with pytest.raises(InvalidInputError) as error:
        own_prompts(tmp_path, "judge")
    assert str(error.value).startswith(f"{path}: ")
