"""The labelling queue: written for people, read back into the set, and never asked about twice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from krag_eval import Document, EvalSet, InvalidInputError, Run, evaluate_run, read_evalset, write_evalset
from krag_eval._utils.journal.rows import read_checked
from krag_eval_labels.audit import audit_labels
from krag_eval_labels.files import apply_labels, write_queue
from krag_eval_labels.report import DoctorReport
from tests.support.label_audit_cases import FEES, PARCELS, REFUNDS, SHIPPING, one_question, run

SET = EvalSet(
    [
        {"id": "q1", "question": "환불은?", "answer": "3일", "gold": [{"id": "g", "text": REFUNDS, "grade": 2}]},
        {"id": "q2", "question": "Когда?", "gold_chunk_ids": ["h"]},
        {"id": "q3", "question": "谁?", "gold": [], "type": "negative"},
    ],
    name="faq",
)
RANKINGS: Any = {
    "q1": ["g", {"id": "a", "text": PARCELS, "metadata": {"page": 3}}, {"id": "b", "text": FEES}],
    "q2": [{"id": "c", "text": SHIPPING}, "h"],
    "q3": [{"id": "c", "text": SHIPPING}],
}
RUNS = [run("bm25", RANKINGS), run("dense", RANKINGS)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "labels.jsonl"


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def label(path: Path, labels: dict[tuple[str, str], object]) -> None:
    """Fill in the queue of the report as a person would."""
    filled = [row | {"label": labels.get((row["query_id"], row["document"]["id"]))} for row in rows(path)]
    path.write_text("".join(json.dumps(row) + "\n" for row in filled), encoding="utf-8")


def row(label: object, document: Any, query_id: str = "q1", **fields: Any) -> dict[str, Any]:
    return {"label": label, "query_id": query_id, "document": document, **fields}


def applied(path: Path, *labelled: dict[str, Any], evalset: EvalSet = SET, **options: Any) -> EvalSet:
    path.write_text("".join(json.dumps(one) + "\n" for one in labelled), encoding="utf-8")
    return apply_labels(evalset, path, **options)


def test_a_row_holds_what_a_person_needs_to_judge_it(path: Path) -> None:
    assert write_queue(audit_labels(SET, RUNS), path) == 4
    assert rows(path)[2] == {
        "label": None,
        "query_id": "q1",
        "question": "환불은?",
        "answer": "3일",
        "document": {"id": "a", "text": PARCELS, "metadata": {"page": 3}},
        "why": ["several_systems"],
        "evidence": {
            "strength": 0.05,
            "ranks": {"bm25": 2, "dense": 2},
            "n_systems": 2,
            "best_rank": 2,
            "mean_reciprocal_rank": 0.5,
        },
    }
    assert [(one["query_id"], one["document"]["id"]) for one in rows(path)] == [
        ("q2", "c"),
        ("q3", "c"),
        ("q1", "a"),
        ("q1", "b"),
    ]
    assert [one.get("is_negative") for one in rows(path)] == [None, True, None, None]
    assert "환불은?" in path.read_text(encoding="utf-8")


def test_the_evidence_names_the_gold_text_and_how_rare_the_answer_is(path: Path) -> None:
    evalset = one_question([{"id": "g", "text": REFUNDS}], answer="three working days")
    copy = {"id": "a", "text": REFUNDS.replace("arrive", "come")}
    write_queue(audit_labels(evalset, [run("s", {"q": ["g", copy]})]), path)
    (only,) = rows(path)
    assert only["why"] == ["near_duplicate", "holds_answer"]
    assert only["evidence"]["near_gold"] == {"id": "g", "text": REFUNDS}
    assert (only["evidence"]["similarity"], only["evidence"]["answer_rarity"]) == (round(5 / 6, 4), 1.0)


def test_a_file_that_is_there_may_hold_labels_and_is_not_replaced_unasked(path: Path) -> None:
    report = audit_labels(SET, RUNS)
    assert write_queue(report, path, limit=1) == len(rows(path)) == 1
    with pytest.raises(InvalidInputError, match="already exists and may hold labels"):
        write_queue(report, path)
    assert len(rows(path)) == 1
    write_queue(report, path, force=True)
    assert len(rows(path)) == 4


def test_labels_become_gold_and_are_not_asked_about_again(path: Path) -> None:
    write_queue(audit_labels(SET, RUNS), path)
    label(path, {("q1", "a"): True, ("q1", "b"): False, ("q2", "c"): 2})
    before = SET.fingerprint
    labelled = apply_labels(SET, path)
    assert labelled["q1"].gold == (
        Document(id="g", text=REFUNDS, grade=2.0),
        Document(id="a", text=PARCELS, metadata={"page": 3}),
        Document(id="b", text=FEES, grade=0.0),
    )
    assert labelled["q2"].gold_chunks() == [Document(id="c", text=SHIPPING, grade=2.0), Document(id="h")]
    assert labelled["q3"] == SET["q3"]
    assert (labelled.name, SET.fingerprint) == ("faq", before)
    again: DoctorReport = audit_labels(labelled, RUNS)
    assert [(one.query_id, one.document.id) for one in again.candidates] == [("q3", "c")]
    assert apply_labels(labelled, path) == labelled


def test_scores_change_by_what_was_labelled_relevant_alone(path: Path) -> None:
    def recall(evalset: EvalSet) -> list[float | None]:
        return [one.values["recall@1"] for one in evaluate_run(evalset, RUNS[0], k=1, metrics="recall").per_query]

    assert recall(SET) == [1.0, 0.0, None]
    rejected = applied(path, row(False, {"id": "a"}), row(0, {"id": "c"}, "q2"), row(False, {"id": "c"}, "q3"))
    assert recall(rejected) == [1.0, 0.0, None]
    result = evaluate_run(rejected, RUNS[0], k=1)
    assert (result.no_answer.n_queries, result.n_unjudged) == (1, 0)
    assert recall(applied(path, row(True, {"id": "a"}), row(True, {"id": "c"}, "q2"))) == [0.5, 0.5, None]
    assert recall(applied(path, row(True, {"id": "c"}, "q3"))) == [1.0, 0.0, 1.0]


def test_the_new_set_is_read_back_from_any_file_as_it_was(path: Path, tmp_path: Path) -> None:
    labelled = applied(path, row(True, {"id": "a", "text": PARCELS}), row(False, {"text": FEES}, "q3"))
    write_evalset(labelled, tmp_path / "new.jsonl")
    assert read_evalset(tmp_path / "new.jsonl") == labelled


@pytest.mark.parametrize(("label_", "grade"), [(True, 2.0), (3, 3.0), (0.5, 0.5), (False, 0.0), (None, 2.0)])
def test_gold_that_is_labelled_takes_the_grade_and_true_leaves_its_own(path: Path, label_: Any, grade: float) -> None:
    assert applied(path, row(label_, {"id": "g"}))["q1"].gold == (Document(id="g", text=REFUNDS, grade=grade),)


def test_a_gold_chunk_id_can_be_taken_back(path: Path) -> None:
    assert applied(path, row(True, {"id": "h"}, "q2")) == SET
    labelled = applied(path, row(False, {"id": "h"}, "q2"))
    assert labelled.gold()[1] == [Document(id="h", grade=0.0)]


def test_a_document_without_an_id_is_known_by_its_text(path: Path) -> None:
    evalset = one_question([{"text": REFUNDS}])
    labelled = applied(
        path, row(False, {"text": REFUNDS.upper()}, "q"), row(True, {"text": FEES}, "q"), evalset=evalset
    )
    assert labelled["q"].gold == (Document(text=REFUNDS, grade=0.0), Document(text=FEES))


def test_ids_are_read_from_the_metadata_where_a_key_is_named(path: Path) -> None:
    evalset = one_question([{"id": "x", "metadata": {"chunk": "g"}}])
    labelled = applied(path, row(3, {"id": "y", "metadata": {"chunk": "g"}}, "q"), evalset=evalset, id_key="chunk")
    assert labelled["q"].gold == (Document(id="x", grade=3.0, metadata={"chunk": "g"}),)


def test_labels_at_document_level_are_gold_document_ids(path: Path) -> None:
    evalset = EvalSet([{"id": "q", "gold_doc_ids": ["D1"]}])
    chunks: Any = {"q": [{"id": f"c{n}", "metadata": {"doc_id": f"D{n}"}} for n in (1, 2, 3)]}
    runs: list[Run] = [run("s", chunks), run("t", chunks)]
    write_queue(audit_labels(evalset, runs, level="document"), path)
    label(path, {("q", "c2"): True, ("q", "c3"): False})
    labelled = apply_labels(evalset, path)
    assert labelled["q"].gold_doc_ids == ("D1", "D2")
    assert labelled["q"].gold == ()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (row(True, {"id": "a"}, "q9"), "the evaluation set has no question 'q9'. Is this the queue of another set?"),
        (row("yes", {"id": "a"}), "`label` must be true, false, a grade such as 2, or null, got"),
        (row(-1, {"id": "a"}), "`label` must be a number of at least 0, got -1.0."),
        (row([1], {"id": "a"}), "`label` must be"),
        (row(True, None), "`document` must be an object with id or text, got"),
        (row(True, {}), "a dict has neither an id nor a text."),
        ({"label": True, "document": {"id": "a"}}, "`query_id` is missing."),
        (row(False, {"id": "b", "text": "x"}), "labels the same document of the question 'q1' differently from"),
    ],
)
def test_a_row_that_cannot_be_used_is_named_by_its_line(path: Path, line: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInputError) as error:
        applied(path, row(True, {"id": "b"}), row(None, {"id": "b"}), line)
    assert str(error.value).startswith(f"{path}:3: {said}")


def test_a_document_that_has_no_id_under_the_key_is_named_by_its_line(path: Path) -> None:
    with pytest.raises(InvalidInputError) as error:
        applied(path, row(True, {"id": "b"}), id_key="chunk")
    assert str(error.value).startswith(f"{path}:1: `document` has no text, and no id under the key 'chunk'.")


def test_a_gold_document_that_is_labelled_false_is_gold_no_more(path: Path) -> None:
    changed = applied(path, row(False, {"id": "g"}), row(False, {"id": "h"}, "q2"))
    assert [(one.id, one.grade) for one in changed["q1"].gold] == [("g", 0.0)]
    assert (changed["q2"].gold_chunk_ids, [one.id for one in changed["q2"].gold]) == ((), ["h"])
    assert [question.is_negative for question in changed] == [True, True, True]


def test_a_source_document_that_is_labelled_false_takes_its_chunks_along(path: Path) -> None:
    chunks = [{"id": f"c{n}", "metadata": {"doc_id": n}} for n in (1, 2)]
    evalset = EvalSet([{"id": "q", "gold": [{"any_of": chunks}, *chunks], "gold_doc_ids": ["1", "3"]}])
    rows = [
        row(label, {"metadata": {"doc_id": doc_id}}, "q", level="document", doc_key="doc_id")
        for label, doc_id in ((False, 1), (True, "2"), (True, "4"))
    ]
    (changed,) = applied(path, *rows, evalset=evalset)
    assert changed.gold_doc_ids == ("3", "2", "4")
    assert [one.grade for one in changed.gold if not hasattr(one, "any_of")] == [0.0, 0.0, None]
    assert [[one.id for one in need.any_of] for need in changed.gold if hasattr(need, "any_of")] == [["c2"]]
    assert changed == applied(path, *rows, evalset=EvalSet([changed]))["q"]


def test_a_note_is_added_to_the_notes_of_its_question_once(path: Path) -> None:
    evalset = EvalSet([{"id": 1, "gold": [], "notes": "옛날"}, {"id": "2", "gold": []}])
    notes = [{"query_id": "1", "note": "새로"}, {"query_id": "2", "note": "لا\n"}, {"query_id": "2", "note": "نعم"}]
    changed = applied(path, *notes, evalset=evalset)
    assert [question.notes for question in changed] == ["옛날\n\n새로", "نعم"]
    assert applied(path, *notes, evalset=changed) == changed
    with pytest.raises(InvalidInputError, match=r"labels\.jsonl:1: the evaluation set has no question '3'"):
        applied(path, {"query_id": "3", "note": "?"}, evalset=evalset)


@pytest.mark.parametrize("said", ["in the row", "as an argument"])
def test_labels_name_the_key_under_which_ids_were_read(path: Path, said: str) -> None:
    evalset = EvalSet([{"id": "q", "gold": [{"id": "uuid", "text": "t", "metadata": {"key": "k1"}}]}])
    fields, options = ({"id_key": "key"}, {}) if said == "in the row" else ({}, {"id_key": "key"})
    rows = [
        row(False, {"metadata": {"key": "k1"}}, "q", **fields),
        row(True, {"metadata": {"key": "k2"}}, "q", **fields),
    ]
    (changed,) = applied(path, *rows, evalset=evalset, **options)
    assert [(one.id, one.metadata["key"], one.grade) for one in changed.gold] == [
        ("uuid", "k1", 0.0),
        (None, "k2", None),
    ]


def test_a_file_of_labels_that_another_process_holds_is_not_written(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from krag_eval_labels import files

    label_ = row(True, {"id": "a"})
    assert files.put_label(path, label_) == 1
    monkeypatch.setattr("krag_eval_labels.files.time.sleep", lambda _: None)
    monkeypatch.setattr("krag_eval_labels.files.lock", lambda _: False)
    with pytest.raises(InvalidInputError, match="is being written by another process"):
        files.put_label(path, row(False, {"id": "b"}))
    assert [one for _, one in read_checked(path)] == [label_]
