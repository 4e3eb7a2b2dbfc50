"""Whatever is wrong with a file is an InvalidInputError that begins with its path, and its line where it has lines."""

from __future__ import annotations

import contextlib
import gzip
import json
import random
import warnings
from pathlib import Path

import pytest

from krag_eval import EvalSet, InvalidInputError, read_evalset, read_run, write_evalset, write_run
from krag_eval.datasets.formats.registry import formats
from tests.adapters.formats.test_formats import FULL, RUN

LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 12345\n"
DEEP = b"[" * 20_000 + b"]" * 20_000

# A file, what it holds, and how the message about it goes on after the path.
EVALSETS: list[tuple[str, bytes, str]] = [
    ("absent.jsonl", b"", ": cannot be read (No such file or directory)"),
    ("x.jsonl", LFS, ": is a pointer of Git LFS, not the file itself. Fetch it with: git lfs pull"),
    ("x.csv", LFS, ": is a pointer of Git LFS"),
    ("x.parquet", LFS, ": is a pointer of Git LFS"),
    ("x.json", LFS, ": is a pointer of Git LFS"),
    ("x", LFS, ": is a pointer of Git LFS"),
    (
        "x",
        b"",
        ": is in no format that can be recognized by its name or its beginning. Name the format, such as",
    ),
    ("x", b"\x00\x01\xff\xfe" * 99, ": is in no format"),
    ("x", b"just some text\n", ": is in no format"),
    ("x.jsonl", b"\x00\x01\xff\xfe" * 99, ":1: not UTF-8"),
    ("x.jsonl", b'{"id": "q", "gold": []}\n{"id": "q", "gold": []}', ":2: the question id 'q' appears twice"),
    ("x.jsonl.gz", b"no gzip", ":1: is damaged or cut off (Not a gzipped file"),
    ("x.jsonl.gz", gzip.compress(b'{"id": "q", "gold": []}\n', mtime=0)[:-9], ":1: is damaged or cut off"),
    ("x.json", b"", ": is empty"),
    ("x.json", b'[{"id": "q",\n "gold": [}]', ":2: not valid JSON: Expecting value at column 11"),
    ("x.json", b'{"a": 1, "a": 2}', ": not valid JSON: the key 'a' appears twice in one object"),
    ("x.json", DEEP, ": not valid JSON: nested too deep"),
    ("x.json", b"[1]", ": row 1 is an int. It must be an object"),
    ("x.json", b'[{"id": "q", "gold": []}, {"id": "r"}]', ": row 2: `gold` is missing"),
    ("x.json", b'"text"', ": holds a str. It must be a list of objects"),
    ("x.json", b'[{"id": "\xff"}]', ":1: not UTF-8 at byte 9"),
    ("x.csv", b"", ": is empty. The first line must name the columns"),
    ("x.csv", b"id,gold\n", ": holds no question"),
    ("x.csv", b"id,gold\nq,[]\nr,[],x\n", ":3: has 3 cells, but the header names 2 columns"),
    ("x.csv", b'id,gold\nq,"[\n\n', ":2: unexpected end of data"),
    ("x.csv", b"id,id\nq,[]\n", ":1: two columns are called 'id'"),
    (
        "x.csv",
        b"id,gold\nq,c1\n",
        ":2: 'c1' may be an id or a text. Say what 'gold' holds: columns={'gold_chunk_ids': 'gold'} or",
    ),
    ("x.csv", b"id,gold\nq,[c1\n", ":2: `gold` must be a JSON list, got '[c1'"),
    ("x.csv", b"id,gold_doc_ids\nq,[1\n", ":2: `gold_doc_ids` must be a JSON list"),
    ("x.csv", b'id,gold,metadata\n"a\nb",[],[]\nq,[],[1]\n', ":2: `metadata` must be a JSON object, got []"),
    ("x.csv", "id,question\nq,언제?\n".encode("cp949"), ":2: not UTF-8 at byte 2 of the line"),
    ("x.csv", "id,gold\nq,[]\n".encode("utf-16"), ":1: not UTF-8"),
    ("x.tsv", b"id\tgold\nq\n", ":2: has 1 cells, but the header names 2 columns"),
    ("x.parquet", b"", ": is empty. It must be a Parquet file"),
    ("x.parquet", b"PAR1", ": is not a readable Parquet file"),
    ("x.parquet", b"id,gold\n" * 99, ": is not a readable Parquet file"),
    ("x.qrels", b"1 0 a 1\n1 0 b\n", ":2: has 3 columns, and a line of qrels is `query 0 document grade`"),
    ("x.qrels", b"1 0 a 1\n1 0 b yes\n", ":2: The grade is 'yes'. It must be a finite number"),
    ("x.qrels", b"1 0 a 1\n2 0 a 1\n1 0 a 2\n", ":3: the document 'a' of query '1' has the grade 2 here and 1 at "),
    ("x.qrels", b"1 0 a 1\n1 0 \xff 1\n", ":2: is not UTF-8"),
    (
        "x.json",
        b'{"queries": {"q": 5}, "corpus": {}, "relevant_docs": {"q": []}}',
        ": `queries['q']` must be a text, got 5",
    ),
    ("x.json", b'{"queries": {"q": "?"}, "corpus": {}, "relevant_docs": {}}', ": `relevant_docs['q']` must be"),
    (
        "x.json",
        b'{"queries": {}, "corpus": {}, "relevant_docs": {"q": []}}',
        ": relevant_docs has 'q', which `queries`",
    ),
    ("x.json", b'{"queries": {}, "relevant_docs": {}}', ": is not a data set of LlamaIndex: `corpus` is a NoneType"),
    ("x.jsonl", b'{"user_input": "?"}', ":1: `reference_contexts` is missing, and so is `reference_context_ids`"),
    ("x.jsonl", b'{"user_input": [], "reference_contexts": []}', ":1: `user_input` is a conversation"),
    ("x.jsonl", b'{"user_input": "?", "reference_contexts": "t"}', ":1: `reference_contexts` must be"),
    (
        "x.jsonl",
        b'{"user_input": "?", "reference_contexts": ["t"], "reference_context_ids": ["a", "b"]}',
        ":1: `reference_contexts` has 1 entries and `reference_context_ids` 2",
    ),
    ("x.json", b'{"data": [{"paragraphs": [{"qas": []}]}]}', ": data[0].paragraphs[0]: `context` must be"),
    ("x.json", b'{"data": [{"paragraphs": 5}]}', ": data[0]: `paragraphs` must be"),
    (
        "x.json",
        b'{"data": [{"paragraphs": [{"context": "t", "qas": [{"id": "q"}, {"question": "?"}]}]}]}',
        ": data[0].paragraphs[0].qas[1]: `id` is None",
    ),
    (
        "x.json",
        b'{"data": [{"paragraphs": [{"context": "t", "id": "p"}, {"context": "u", "id": "p"}]}]}',
        ": data[0].paragraphs[1]: the id 'p' is that of another paragraph",
    ),
    ("x.jsonl", b'{"id": "q", "question": "?", "context": ""}', ":1: `context` must be the text"),
]
RUNS: list[tuple[str, bytes, str]] = [
    ("x.run", b"q Q0 a 1 2 t\nq Q0 b 2 1\n", ":2: has 5 columns, and a line of a result file is"),
    ("x.run", b"q Q0 a 1 nan t\n", ":1: The score is 'nan'. It must be a finite number"),
    ("x.run", b"q Q0 a 1 1_0 t\n", ":1: The score is '1_0'"),
    ("x.csv", b"query_id,retrieved,seconds\nq,a,fast\n", ":2: `seconds` must be a number"),
    ("x.csv", b"query_id,retrieved\nq,a\nq,b\n", ":3: the query 'q' appears twice"),
    ("x.json", b'{"data": [{"paragraphs": []}]}', ": is in the format 'squad', which cannot hold a run"),
    ("x.jsonl", b'{"user_input": "?", "reference_contexts": []}', ":1: `retrieved_contexts` is missing"),
    ("x.jsonl", b'{"query_id": "q", "retrieved": [{"id": "a"}, 5]}', ":1: `retrieved[1]`: an int is not a document"),
]


@pytest.mark.sample(13)
@pytest.mark.parametrize(("name", "content", "message"), EVALSETS, ids=lambda value: f"{value!r:.40}")
def test_a_file_that_is_no_evaluation_set_is_named(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    if not name.startswith("absent"):
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidInputError) as error:
        read_evalset(tmp_path / name)
    assert str(error.value).startswith(f"{tmp_path / name}{message}")
    assert len(str(error.value)) < 500


@pytest.mark.parametrize(("name", "content", "message"), RUNS, ids=lambda value: f"{value!r:.40}")
def test_a_file_that_is_no_run_is_named(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidInputError) as error:
        read_run(tmp_path / name)
    assert str(error.value).startswith(f"{tmp_path / name}{message}")


def test_a_run_of_another_set_is_refused_at_its_line(tmp_path: Path) -> None:
    (tmp_path / "x.run").write_text("q1 Q0 a 1 2 t\n7 Q0 b 1 1 t\n")
    with pytest.raises(InvalidInputError, match=r"x\.run:2: the evaluation set has no question '7'"):
        read_run(tmp_path / "x.run", evalset=FULL)


# Folders, a workbook, and what is only read.
OTHERS = ("xlsx", "beir", "hf", "autorag", "squad_spans", "chunking_evaluation")
# Of formats that are read and not written.
READ_ONLY = {
    "yaml": """
- {id: q1, question: "When?", gold: [{id: a, text: "At nine.", grade: 2}], type: time}
- id: q2
  question: >-
    Wo ist es?
  gold_texts: ["Hier.", 'Dort.']
""",
    "judgments": "query,document,relevance\nWhen?,a.md,1\nWhen?,b.md,0\nWho?,c.md,2\n",
    "msmarco": "7\t31\t1\n7\t30\t2\n8\t30\t1\n",
    "locomo": json.dumps(
        [
            {
                "sample_id": "c1",
                "conversation": {
                    "session_1": [{"speaker": "Ann", "dia_id": "D1:1", "text": "I moved in."}],
                    "session_1_date_time": "1 May",
                },
                "qa": [{"question": "When?", "answer": 2023, "evidence": ["D1:1"], "category": 2}],
            }
        ]
    ),
}
TEXT_FORMATS = [name for name in formats() if name not in ("parquet", *OTHERS, *READ_ONLY)]


@pytest.mark.sample(3)
@pytest.mark.filterwarnings("ignore::krag_eval.KragEvalWarning")
@pytest.mark.parametrize("name", TEXT_FORMATS)
def test_a_file_may_come_from_any_editor(tmp_path: Path, name: str) -> None:
    path = tmp_path / "x"
    plain = EvalSet([{"id": "q", "question": "왜?", "gold": [{"id": "a", "text": "b"}]}])
    write_evalset(plain, path, format=name)
    expected, content = read_evalset(path, format=name), path.read_bytes()
    for edited in (b"\xef\xbb\xbf" + content, content.replace(b"\n", b"\r\n"), content.rstrip(), content + b"\n \n"):
        path.write_bytes(edited)
        assert read_evalset(path, format=name) == expected


@pytest.mark.full
@pytest.mark.parametrize("name", [name for name in formats() if name not in OTHERS])
def test_a_damaged_file_is_read_or_refused_and_nothing_else(tmp_path: Path, name: str) -> None:
    path = tmp_path / "x"
    is_run = formats()[name].rankings is not None
    rng = random.Random(20261130)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if name in READ_ONLY:
            contents = [READ_ONLY[name].encode()]
        else:
            write_evalset(FULL, path, format=name)
            contents = [path.read_bytes()]
        if is_run and name not in READ_ONLY:
            write_run(RUN, path, format=name)
            contents.append(path.read_bytes())
        for number in range(300):
            content = bytearray(contents[number % len(contents)])
            for _ in range(rng.randint(1, 3)):
                content[rng.randrange(len(content))] = rng.randrange(256)
            path.write_bytes(content[: rng.randint(1, len(content))] if number % 3 == 0 else content)
            for read in (read_evalset, read_run):
                with contextlib.suppress(InvalidInputError):
                    read(path, format=name)


@pytest.mark.parametrize(("step", "least"), [(401, 30), pytest.param(37, 300, marks=pytest.mark.full)])
def test_a_flipped_bit_in_the_pages_of_parquet_is_never_read_as_other_data(
    tmp_path: Path, step: int, least: int
) -> None:
    path = tmp_path / "x.parquet"
    write_evalset(FULL, path)
    content = path.read_bytes()
    end_of_pages = len(content) - 8 - int.from_bytes(content[-8:-4], "little")  # the footer has no checksum
    refused = 0
    for bit in range(8 * 4, 8 * end_of_pages, step):
        flipped = bytearray(content)
        flipped[bit // 8] ^= 1 << bit % 8
        path.write_bytes(flipped)
        try:
            assert read_evalset(path) == FULL
        except InvalidInputError:
            refused += 1
    assert refused > least
