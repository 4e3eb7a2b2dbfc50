"""Queues in spreadsheets and in other programs' files: what goes out, what comes back, what is wrong with it."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from krag_eval import InvalidInputError
from krag_eval._utils.journal.rows import read_checked
from krag_eval_labels.labelling.exchange import export_queue, import_labels
from krag_eval_labels.labelling.platforms import LABEL_STUDIO_CONFIG
from krag_eval_labels.labelling.queue import LabelQueue
from tests.adapters.labels.test_label_command import write_rows
from tests.support.command_line import Runner

ROWS: list[dict[str, Any]] = [
    {"query_id": query, "question": question, "document": document, "label": None}
    for query, question, document in (
        ("007", '=HYPERLINK("http://x")', {"id": "1e5", "text": "+1 +1"}),
        ("007", '둘, "셋"', {"id": "2026-01-02", "text": "a\x00\x0bb\n\nc" + "x" * 40_000}),
        ("q2", None, {"text": "no id ☃"}),
        ("q2", None, {"id": "-5"}),
    )
]
ROWS[2]["evidence"] = {"judge": 2.0}
ROWS[3]["label"] = 1


@pytest.fixture
def queue(tmp_path: Path) -> LabelQueue:
    return LabelQueue(write_rows(tmp_path / "queue.jsonl", ROWS))


def stands(queue: LabelQueue) -> list[object]:
    return [row["label"] for _, row in read_checked(queue.path)]


def test_a_csv_that_excel_filled_in_comes_back_whatever_it_did_to_the_ids(queue: LabelQueue, tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    assert export_queue(queue, path) == 4
    assert path.read_bytes().startswith(b"\xef\xbb\xbf")
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["label"] for row in rows] == ["", "", "", "1"]
    for row in rows:
        assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r")) for cell in row.values())
        assert all(len(cell) <= 32_767 for cell in row.values())
    rows[0] |= {"query_id": "7", "document_id": "100000", "label": "2.0"}
    rows[1] |= {"document_id": "02.01.2026", "label": " TRUE"}
    rows[2] |= {"label": "0 not relevant"}
    others = [{**rows[0], "key": "k0", "query_id": "q9", "label": "1"}, {**rows[3], "label": "maybe"}]
    with path.open("w", encoding="utf-16", newline="") as file:  # as Excel's "Unicode text"
        writer = csv.DictWriter(file, list(rows[0]), delimiter=";")
        writer.writeheader()
        writer.writerows([*rows[:3], *others])
    found = import_labels(queue, path, "anna")
    assert (found.n_labels, found.n_empty, len(found.damaged)) == (3, 0, 2)
    assert "'7 100000' was '007 1e5'" in found.damaged[0]
    assert "q9 100000" in found.unknown[0]
    assert "maybe" in found.unreadable[0]
    assert [str(found).count(text) for text in ("3 labels by anna", "2 labels whose ids", "1 label of documents")] == [
        1
    ] * 3
    assert stands(queue) == [2, 1, 0, 1]
    assert import_labels(LabelQueue(queue.path), path, "anna").n_labels == 3  # again changes nothing
    assert stands(queue) == [2, 1, 0, 1]


def test_a_workbook_comes_back_and_no_cell_is_a_formula(queue: LabelQueue, tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl", reason="need the extra xlsx")
    path = tmp_path / "labels.xlsx"
    export_queue(queue, path)
    book = openpyxl.load_workbook(path)
    sheet = book.active
    assert {cell.data_type for row in sheet.iter_rows() for cell in row} <= {"s", "inlineStr"}
    assert sheet["F2"].value == "1e5"
    for row, label in ((2, 1), (3, False), (4, "2")):
        sheet.cell(row, 4).value = label
    book.save(path)
    found = import_labels(queue, path)
    assert (found.n_labels, found.damaged, found.unknown) == (4, [], [])
    assert stands(queue) == [1, 0, 2, 1]


def test_argilla_gets_records_and_its_responses_come_back_by_person(queue: LabelQueue, tmp_path: Path) -> None:
    path = tmp_path / "argilla.json"
    export_queue(queue, path, suggest=True)
    records = json.loads(path.read_text("utf-8"))
    assert [one["suggestions"].get("relevance", {}).get("value") for one in records] == [None, None, "2", None]
    people = ["c1f2cd05-0000-4000-8000-00000000000a", "c1f2cd05-0000-4000-8000-00000000000b"]
    for record, values in zip(records, [("1", "1"), ("2", "0"), ("0", None), (None, None)], strict=True):
        given = [{"value": v, "user_id": who} for v, who in zip(values, people, strict=True) if v is not None]
        record["responses"] = {"relevance": given} if given else {}
    path.write_text(json.dumps(records), encoding="utf-8")
    found = import_labels(queue, path)
    assert (found.n_labels, found.people) == (5, people)
    assert stands(queue) == [1, None, 0, 1]
    again = LabelQueue(queue.path, people[0], again=True)
    assert again.open() == [1]
    with pytest.raises(InvalidInputError, match="has labels of 2 people"):
        import_labels(queue, path, "anna")


def test_label_studio_gets_tasks_and_both_of_its_exports_come_back(queue: LabelQueue, tmp_path: Path) -> None:
    path = tmp_path / "label-studio.json"
    export_queue(queue, path)
    tasks = json.loads(path.read_text("utf-8"))
    assert all(task["predictions"] == [] for task in tasks)  # a judge is shown only on demand

    def annotated(choice: str | None, by: object) -> dict[str, Any]:
        value = {"choices": [choice]}
        result = [{"from_name": "relevance", "to_name": "passage", "type": "choices", "value": value}]
        return {"completed_by": by, "was_cancelled": choice is None, "result": result if choice else []}

    tasks[0]["annotations"] = [annotated("2", 10), annotated("2", {"id": 11, "email": "x@y"})]
    tasks[1]["annotations"] = [annotated(None, 10)]
    path.write_text(json.dumps(tasks), encoding="utf-8")
    assert import_labels(queue, path).people == ["user 10", "user 11"]
    assert stands(queue) == [2, None, None, 1]
    short = [{"id": 3, **tasks[2]["data"], "relevance": "1", "annotator": 10}]
    path.write_text(json.dumps(short), encoding="utf-8")
    assert import_labels(queue, path).n_labels == 1
    assert stands(queue) == [2, None, 1, 1]
    assert 'name="relevance"' in LABEL_STUDIO_CONFIG


def test_langfuse_gets_a_queue_that_its_client_accepts_and_its_scores_come_back(
    queue: LabelQueue, tmp_path: Path
) -> None:
    path = tmp_path / "langfuse.json"
    export_queue(queue, path)
    parts = json.loads(path.read_text("utf-8"))
    api = pytest.importorskip("langfuse.api", reason="need the extra langfuse")
    parse = pytest.importorskip("langfuse.api.core.pydantic_utilities").parse_obj_as
    parse(api.CreateScoreConfigRequest, parts["scoreConfig"])
    parse(api.CreateAnnotationQueueRequest, parts["queue"])
    for item in parts["items"]:
        parse(api.CreateAnnotationQueueItemRequest, item)
    scores = [
        {"traceId": one["id"], "name": "relevance", "value": n, "stringValue": f"{n} x", "source": "ANNOTATION",
         "authorUserId": "u1", "dataType": "CATEGORICAL"}
        for n, one in zip((2, 0), parts["traces"], strict=False)
    ]  # fmt: skip
    scores += [
        {**scores[0], "name": "other"},
        {**scores[0], "source": "EVAL", "value": 0},
        {**scores[0], "traceId": "x"},
    ]
    path.write_text(json.dumps({"data": scores, "meta": {}}), encoding="utf-8")
    found = import_labels(queue, path)
    assert (found.n_labels, found.people, len(found.unknown)) == (2, ["u1"], 1)
    assert stands(queue) == [2, 0, None, 1]


def test_the_command_exports_and_imports_and_refuses_other_files(command: Runner) -> None:
    write_rows(Path("queue.jsonl"), ROWS)
    assert command("label queue.jsonl --export labels.csv").code == 0
    assert command("label queue.jsonl --export labels.csv").code == 2
    done = command("label queue.jsonl --import labels.csv --who anna")
    assert (done.code, "1 label by anna; 3 rows without one." in done.out) == (0, True)
    assert "<View>" in command("label queue.jsonl --export label-studio.json").out
    Path("other.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    Path("other.json").write_text('[{"a": 1}]', encoding="utf-8")
    for line in ("--export labels.doc", "--import other.csv", "--import other.json", "--import none.csv"):
        assert command(f"label queue.jsonl {line}").code == 2
