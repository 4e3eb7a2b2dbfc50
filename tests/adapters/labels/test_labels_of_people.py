"""Several people label one queue: files of their own, agreement, the majority, and what is asked again."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from krag_eval._utils.journal.rows import read_checked
from krag_eval_labels import apply_labels, label_agreement
from krag_eval_labels.labelling.people import agreements, is_disputed, majority
from krag_eval_labels.labelling.queue import LabelQueue
from tests.adapters.labels.test_label_command import labels_in, typed, write_rows
from tests.support.command_line import Runner

ROWS: list[dict[str, Any]] = [
    {"query_id": f"q{n % 3}", "question": "?", "document": {"id": f"d{n}", "text": "t"}, "label": None}
    for n in range(6)
]
SAID = {"anna": "201100", "bob": "211000"}


@pytest.mark.parametrize(
    ("grades", "grade", "disputed"),
    [([], None, False), ([2], 2, False), ([1, 0], None, True), ([1, 1, 0], 1, False), ([0, 1, 2], None, True)],
)
def test_more_than_half_decide(grades: list[float], grade: float | None, disputed: bool) -> None:
    assert majority(grades) == grade
    assert is_disputed({str(n): one for n, one in enumerate(grades)}) == disputed


def test_two_people_label_disagree_are_asked_again_and_a_third_decides(
    command: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_rows(Path("queue.jsonl"), ROWS)
    said = []
    for who, keys in SAID.items():
        typed(monkeypatch, keys)
        said.append(command(f"label queue.jsonl --who {who}"))
    assert [(one.code, "Nothing is left to label." in one.out) for one in said] == [(0, True)] * 2
    assert "anna and bob agree on 66.7% of 6 documents" in said[1].out
    assert "2 documents without a majority: ask again with --again." in said[1].out
    assert [label for _, _, label in labels_in(path)] == [2, None, 1, None, 0, 0]
    votes = [row.get("votes") for _, row in read_checked(path)]
    assert votes[1] == {"anna": 0, "bob": 1}

    typed(monkeypatch, "1q")  # anna sees but the two, changes her mind about one, and stops
    assert "1 document without a majority" in command("label queue.jsonl --who anna --again").out
    assert [label for _, _, label in labels_in(path)] == [2, 1, 1, None, 0, 0]
    typed(monkeypatch, "0")
    command("label queue.jsonl --who carol --again")
    assert [label for _, _, label in labels_in(path)] == [2, 1, 1, 0, 0, 0]
    labelled = apply_labels([{"id": f"q{n}", "gold": []} for n in range(3)], path)
    assert {one.id: one.grade for gold in labelled.gold() for one in gold if one.grade} == {"d0": 2, "d1": 1, "d2": 1}


def test_an_undo_while_asked_again_asks_again(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "queue.jsonl", ROWS)
    for who, label in (("anna", 0), ("bob", 1)):
        LabelQueue(path, who).put(2, label)
    again = LabelQueue(path, "bob", again=True)
    again.put(2, 0)
    assert again.open() == []
    assert (again.undo(), again.open()) == (2, [2])


def test_agreement_is_that_of_label_agreement() -> None:
    votes = {
        (row["query_id"], row["document"]["id"]): {who: float(keys[n]) for who, keys in SAID.items()}
        for n, row in enumerate(ROWS)
    }
    one, two = (
        [{"query_id": q, "document": {"id": d}, "label": said[who]} for (q, d), said in votes.items()] for who in SAID
    )
    assert agreements(votes) == [label_agreement(one, two).between("anna and bob")]
    assert agreements({("q", "d"): {"anna": 1.0}, ("q", "e"): {"bob": 1.0}}) == []


def test_people_who_label_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "queue.jsonl", ROWS)
    names = [f"p{n}" for n in range(4)]

    def work(who: str) -> None:
        queue = LabelQueue(path, who)
        for place in queue.open():
            queue.put(place, 1)
            queue.fill()

    workers = [threading.Thread(target=work, args=(who,)) for who in names]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    whole = LabelQueue(path)
    assert [sorted(whole.votes_at(place)) for place in range(6)] == [names] * 6
    assert [label for _, _, label in labels_in(path)] == [1] * 6
