"""Files that are made, or damaged, so that looking at them takes all memory or hours, or is misled."""

from __future__ import annotations

import json
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from krag_eval import InvalidInputError, KragEvalWarning, read_evalset, read_run
from krag_eval.datasets.formats.source import Source
from krag_eval_formats import inspect_file

ROW = {"question": "When?", "expected_sources": ["b.md"]}


@pytest.fixture(autouse=True)
def _within_seconds() -> Iterator[None]:
    began = time.monotonic()
    yield
    assert time.monotonic() - began < 30


BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]\n" for before, name in zip("abcdefg", "bcdefgh", strict=True)
)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("- !!python/object/apply:os.system ['true']\n", "x.yaml:1: not valid YAML: could not determine"),
        ("- question: !secret x\n", "x.yaml:1: not valid YAML: could not determine"),
        (BOMB, "x.yaml:7: has more than 4,000,000 values."),
        ("a: &a [*a]\n", "x.yaml:1: the alias *a is inside of itself or unknown."),
        ("[" * 100_000, "x.yaml:1: has more than 100 levels."),
        ("- {question: a, question: b}\n", "x.yaml:1: the key 'question' appears twice in one mapping."),
        ("a: [1\nb: 2\n", "not valid YAML"),
        ("- a\n" * 5_000_000, "x.yaml: has more than 16 million characters of YAML."),
    ],
    ids=["object", "tag", "bomb", "circle", "deep", "twice", "torn", "large"],
)
def test_yaml_that_is_no_plain_data_is_refused(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(text)
    for read in (inspect_file, read_evalset):
        with pytest.raises(InvalidInputError) as error:
            read(path)
        assert str(error.value).replace(str(path), path.name).startswith(says) or says in str(error.value)


def test_yaml_is_read_as_json_would_be(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(
        "- &first {id: 007, question: no, gold_doc_ids: [2024-01-01, 1:30, 0x1F, 12, 1_000], type: yes}\n"
        "- {<<: *first, id: b, answer: '5', metadata: {n: 1.5, ok: true, none: ~}}\n"
    )
    first, second = read_evalset(path)
    assert (first.id, first.question, first.type) == ("007", "no", "yes")
    assert first.gold_doc_ids == second.gold_doc_ids == ("2024-01-01", "1:30", "0x1F", "12", "1_000")
    assert (second.id, second.answer, second.metadata) == ("b", "5", {"n": 1.5, "ok": True, "none": None})


@pytest.mark.parametrize("name", ["x.json", "x.jsonl", "x.csv"])
def test_of_a_file_of_two_gigabytes_the_beginning_is_looked_at(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    row = json.dumps(ROW)
    begin = {"x.json": f'{{"rows": [{row}' + f",\n{row}" * 2_000, "x.jsonl": f"{row}\n" * 2_000}
    path.write_text(begin.get(name, "question,expected_sources\n" + "When?,b.md\n" * 2_000))
    with path.open("r+b") as file:
        file.truncate(2 * 2**30)  # the rest is a hole of zeros
    tracemalloc.start()
    found = inspect_file(path)
    assert tracemalloc.get_traced_memory()[1] < 4 * Source.LARGEST
    tracemalloc.stop()
    assert (found.kind, found.n_rows, found.is_whole) == ("evalset", 1_000, False)
    assert found.options["columns"] == {"gold_doc_ids": "expected_sources"}
    assert ("64 MB" in found.note) == (name == "x.json")


def test_a_nested_row_and_a_row_of_many_fields_are_looked_at_in_part(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    deep: Any = "x"
    for _ in range(150):
        deep = {"a": deep}
    path.write_text(json.dumps({**ROW, "deep": deep, **{f"field {n}x": n for n in range(5_000)}}))
    assert inspect_file(path).kind == "evalset"
    assert len(str(inspect_file(path))) < 2_000
    path.write_text('{"a":' * 100_000)
    with pytest.raises(InvalidInputError, match=r"x\.jsonl:1: "):
        inspect_file(path)


def test_other_things_than_files_of_rows_are_refused_in_one_line(tmp_path: Path) -> None:
    for name, content in {
        "mixed.csv": "질문,정답 문서\n언제?,a-1\n".encode() + "왜?,나-2\n".encode("cp949"),
        "cp949.csv": "질문,정답 문서\n언제?,a-1\n".encode("cp949"),
        "empty.json": b"",
        "list.json": b"[1, 2]",
        "picture.png": b"\x89PNG\r\n\x1a\n" + bytes(100),
    }.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InvalidInputError) as error:
            read_evalset(tmp_path / name)
        assert "\n" not in str(error.value)
    assert inspect_file(tmp_path / "cp949.csv", encoding="cp949").kind == "evalset"
    for wrong in (tmp_path, tmp_path / "absent.json"):
        with pytest.raises(InvalidInputError, match="cannot be read"):
            inspect_file(wrong)


def test_a_file_that_is_two_layouts_at_once_is_not_half_read(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(f"{json.dumps(ROW)}\n" + json.dumps({"query": "Why?", "relevant": ["c.md"]}))
    with pytest.raises(InvalidInputError):
        read_evalset(path)


@pytest.mark.parametrize("missing", ["nan", "N/A", "-", "None", "#N/A"])
def test_cells_that_stand_for_nothing_are_no_ids_and_are_counted_once(tmp_path: Path, missing: str) -> None:
    path = tmp_path / "x.csv"
    path.write_text(
        f"id,question,gold_chunk_ids\n1,When?,c1\n2,Why?,{missing}\n3,Who?,{missing}\n4,How?,c2; {missing}\n"
    )
    with pytest.warns(KragEvalWarning, match="3 values such as nan, N/A, None or - stand where ids"):
        questions = read_evalset(path)
    assert [question.gold_chunk_ids for question in questions] == [("c1",), (), (), ("c2",)]
    (tmp_path / "x.jsonl").write_text(json.dumps({"id": 1, "question": "?", "gold_chunk_ids": [missing]}))
    assert read_evalset(tmp_path / "x.jsonl")[0].gold_chunk_ids == (missing,)


@pytest.mark.parametrize(
    ("cell", "ids"),
    [
        *(
            (f"a1{separator}b-2", ("a1", "b-2"))
            for separator in (",", ", ", ";", " | ", "|", " / ", "、", "；", "，", "\n", "\t", " ")
        ),
        ('["a1", "b-2"]', ("a1", "b-2")),
        ("['a1', 'b-2']", ("a1", "b-2")),
        ("user guide.pdf, faq.md", ("user guide.pdf", "faq.md")),
        ("library/loans", ("library/loans",)),
        ("https://x.org/a,b?c=1", ("https://x.org/a,b?c=1",)),
        ("Lending rules, opening hours", ("Lending rules, opening hours",)),
        ("loans", ("loans",)),
    ],
)
def test_several_ids_in_one_cell(tmp_path: Path, cell: str, ids: tuple[str, ...]) -> None:
    quoted = cell.replace('"', '""')
    path = tmp_path / "x.csv"
    path.write_text(f'id,question,gold_chunk_ids\n1,When?,"{quoted}"\n')
    assert read_evalset(path)[0].gold_chunk_ids == ids
    path.write_text(f'query_id,retrieved_ids\n1,"{quoted}"\n')
    assert tuple(document.id for document in read_run(path).rows["1"].retrieved) == ids


def test_in_strings_of_json_only_the_user_says_what_separates_ids(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps({"id": 1, "question": "When?", "gold_chunk_ids": ["a1, b2"]}))
    assert read_evalset(path)[0].gold_chunk_ids == ("a1, b2",)
    assert read_evalset(path, separator=",")[0].gold_chunk_ids == ("a1", "b2")
