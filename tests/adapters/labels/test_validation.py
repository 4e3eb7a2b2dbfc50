"""Everything that is wrong with a question set is named, with its line, and nothing else is."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from krag_eval import EvalSet, InvalidInputError, write_evalset
from krag_eval.datasets.corpus import read_corpus
from krag_eval_labels.findings import ValidationReport
from krag_eval_labels.validation import validate

Row = dict[str, Any]
TEXT = "Refunds arrive within three working days after we approve them."
OTHER = "Parcels to the islands take two more days than all others."


def row(id_: str = "q", question: str | None = "When does it arrive?", gold: object = TEXT, **fields: Any) -> Row:
    return {"id": id_, "question": question, "gold": gold if isinstance(gold, list) else [gold], **fields}


def kinds(report: ValidationReport) -> list[tuple[str, tuple[str, ...]]]:
    return [(finding.kind, finding.question_ids) for finding in report.findings]


def of(*rows: Row, corpus: list[Any] | None = None, **settings: Any) -> list[tuple[str, tuple[str, ...]]]:
    return kinds(validate(list(rows), corpus, **settings))


def test_a_set_with_nothing_wrong_has_no_findings() -> None:
    report = validate([row("a"), row("b", "Who pays?", OTHER)], [{"id": "1", "text": f"{TEXT} {OTHER}"}])
    assert (report.findings, report.ok, report.n_questions, report.n_corpus) == ((), True, 2, 1)


@pytest.mark.sample(5)
@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([row("a"), row("a", "Who?", OTHER)], [("duplicate_id", ("a",))]),
        ([row("a"), row("a")], [("duplicate_id", ("a",))]),
        ([row("a"), row("b", " WHEN does it  arrive?\u200b")], [("duplicate_question", ("a", "b"))]),
        ([row("a"), row("b", gold=OTHER)], [("conflicting_gold", ("a", "b"))]),
        ([row("a", gold={"id": 1}), row("b", gold={"id": "1", "text": TEXT})], [("duplicate_question", ("a", "b"))]),
        ([row("a", gold={"id": 1}), row("b", gold=[], gold_chunk_ids=["1"])], [("duplicate_question", ("a", "b"))]),
        ([row("a"), row("b", "When does it all arrive?")], [("near_duplicate", ("a", "b"))]),
        ([row("a"), row("b", "When does it all arrive?", OTHER)], [("near_duplicate", ("a", "b"))]),
        ([row("a", answer="3 days"), row("b", "When did it arrive?")], []),
        ([row(question=None)], [("missing_question", ("q",))]),
        ([row(question=" \u200b\n")], [("missing_question", ("q",))]),
        ([row(gold=[])], [("empty_gold", ("q",))]),
        ([row(gold=[], type="fact")], [("empty_gold", ("q",))]),
        ([row(gold=[], type="Negative")], [("negative", ("q",))]),
        ([row(gold=[], type="no_answer")], [("negative", ("q",))]),
        ([row(gold=[], metadata={"is_impossible": True})], [("negative", ("q",))]),
        ([row(gold={"id": "a", "grade": 0})], [("empty_gold", ("q",))]),
        ([row(gold=[{"id": "a", "grade": -3}, {"id": "b", "grade": -1}, "c"])], [("negative_grades", ())]),
        ([row(gold=[{"id": "a", "grade": 1}, {"id": "b", "grade": -1}])], []),
        ([row(type="negative")], [("contradicting_type", ("q",))]),
        ([row(gold={"metadata": {"page": 1}})], [("unidentified_gold", ("q",))]),
        ([row(gold={"text": " "})], [("unidentified_gold", ("q",))]),
        ([row(gold=[{"id": 1, "text": "a"}, {"id": 1, "text": " A"}])], [("repeated_gold", ("q",))]),
        ([row(gold=[{"id": 1, "text": "a"}, {"id": 1}])], [("repeated_gold", ("q",))]),
        ([row(gold=["a", "A"])], [("repeated_gold", ("q",))]),
        ([row(gold=[], gold_chunk_ids=["a", "b", "a"])], [("repeated_gold", ("q",))]),
        ([row(gold=[{"id": 1, "text": "a"}, {"id": 1, "text": "b"}, {"id": 2, "text": "a"}])], []),
        ([row("a", type="fact"), row("b", "Who?", type="Fact ")], [("type_spellings", ("b",))]),
        ([row(gold=[], gold_doc_ids=["d"])], [("document_level", ("q",))]),
    ],
    ids=lambda value: str(value)[-60:] if value and isinstance(value[0], dict) else "",
)
def test_what_is_wrong_with_questions(rows: list[Row], expected: list[tuple[str, tuple[str, ...]]]) -> None:
    assert of(*rows) == expected


def test_near_duplicates_with_answers_that_differ_are_other_questions() -> None:
    rows = [
        row("a", "Who is the chair of the IPCC today?", answer="Hoesung Lee"),
        row("b", "Who is the vice-chair of the IPCC today?", answer="Ismail El Gizouli"),
        row("c", "Who is chair of the IPCC today?", answer="hoesung  LEE!"),
    ]
    report = validate(rows)
    assert kinds(report) == [("near_duplicate", ("a", "c")), ("similar_question", ("a", "b", "c"))]
    assert validate(rows[:2]).ok, "a note is nothing wrong"
    assert kinds(validate([{**rows[0], "answer": None}, rows[1]])) == [("near_duplicate", ("a", "b"))]


def test_ids_and_grades_may_stand_in_the_metadata() -> None:
    rows = [row(gold={"page_content": TEXT, "metadata": {"chunk": "n7", "level": 0}})]
    corpus = [{"text": TEXT, "metadata": {"chunk": "n7"}}]
    assert of(*rows, corpus=corpus, id_key="chunk") == []
    assert of(*rows, corpus=corpus, id_key="chunk", grade_key="level") == [("empty_gold", ("q",))]
    assert of(*rows, id_key="page") == []


def test_every_bad_line_of_a_file_is_named_and_the_others_are_looked_at(tmp_path: Path) -> None:
    lines = [
        json.dumps(row("a")),
        '{"id": "broken',
        "[1]",
        "",
        '{"id": "c", "question": "Why?"}',
        '{"question": "Why?", "gold": []}',
        json.dumps(row("a", "Who?", OTHER)),
        json.dumps(row("d", "Where?", {"id": "e", "grade": "high"})),
        json.dumps(row("e", question=None)),
    ]
    plain, packed = tmp_path / "set.jsonl", tmp_path / "set.jsonl.gz"
    plain.write_text("\n".join(lines), encoding="utf-8-sig")
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    for path in (plain, packed):
        report = validate(path)
        places = [(f.kind, [place.removeprefix(f"{path}:") for place in f.places]) for f in report.findings]
        unreadable = [("unreadable", [str(line)]) for line in (2, 3, 5, 6, 8)]
        assert places == [*unreadable, ("duplicate_id", ["1", "7"]), ("missing_question", ["9"])]
        assert not any(str(path) in finding.message for finding in report.findings)
        assert report.n_questions == 3


def test_rows_of_a_list_that_cannot_be_read_are_named_by_their_number() -> None:
    report = validate([row("a"), {"id": "b"}, 3, row("a", "Who?")])
    assert [(finding.kind, finding.places) for finding in report.findings] == [
        ("unreadable", ("question 1",)),
        ("unreadable", ("question 2",)),
        ("duplicate_id", ()),
    ]


@pytest.mark.parametrize("name", ["set.json", "set.csv", "set.tsv", "set.parquet"])
def test_every_format_is_looked_at(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    write_evalset(EvalSet([row("a"), row("b"), row("c", "Who?", [])]), path)
    assert kinds(validate(path)) == [("empty_gold", ("c",)), ("duplicate_question", ("a", "b"))]


def test_parquet_whose_pages_have_no_checksums_is_noted(tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "set.parquet"
    write_evalset(EvalSet([row("a")]), path)
    assert validate(path).findings == ()
    pq.write_table(pq.read_table(path), path)
    (found,) = validate(path).findings
    assert (found.kind, found.severity, found.places) == ("unchecked", "note", (str(path),))
    assert found.message.startswith("The file has no page checksums, so damaged pages would go unnoticed.")


@pytest.mark.parametrize(
    ("name", "duplicates", "near", "similar"),
    [
        ("xquad/xquad.en.json", 5, 3, 6),
        ("xquad/xquad.ru.json", 5, 4, 3),
        ("xquad/xquad.zh.json", 9, 9, 12),
        ("xquad/xquad.ar.json", 4, 3, 6),
        ("korquad1/KorQuAD_v1.0_dev.json", 10, 12, 6),
    ],
)
def test_what_real_question_sets_repeat(shared_data: Path, name: str, duplicates: int, near: int, similar: int) -> None:
    report = validate(shared_data / name, read_corpus(shared_data / name))
    assert report.counts == {"duplicate_question": duplicates, "near_duplicate": near, "similar_question": similar}


def test_kinds_can_be_left_out() -> None:
    rows = [row("a", type="negative"), row("b")]
    assert of(*rows, ignore=["duplicate_question", "contradicting_type"]) == []
    with pytest.raises(InvalidInputError, match="`ignore` must be one of"):
        validate(rows, ignore=["duplicates"])


def test_the_report_is_json_with_every_severity_counted() -> None:
    corpus = [{"id": f"n{number}", "text": text} for number, text in enumerate(("Call us.", OTHER, TEXT))]
    report = validate([row("a", gold=[], type="negative"), row("b", "?!", {"id": "x", "text": TEXT})], corpus)
    assert json.loads(json.dumps(report.to_dict())) == {
        "ok": False,
        "n_questions": 2,
        "n_corpus": 3,
        "n_errors": 1,
        "n_warnings": 0,
        "n_notes": 1,
        "counts": {"dead_id": 1, "negative": 1},
        "findings": [finding.to_dict() for finding in report.findings],
    }
    assert report.findings[0].to_dict()["found_in"] == ["n2"]
