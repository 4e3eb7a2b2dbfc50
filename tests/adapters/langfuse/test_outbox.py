"""A queue on disk: what is not settled is there again, what was refused is kept, and neither file nor memory grows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krag_eval import Outbox
from krag_eval._utils.journal import outbox as outbox_module
from tests.support.outbox_cases import abandon, filled, set_aside, texts, waiting


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "letters.outbox"


def test_what_is_put_is_found_in_order_until_it_is_settled(path: Path) -> None:
    outbox = filled(path, "a=1", "b=2", "c=3")
    assert (texts(outbox), outbox.n_waiting) == (["a=1", "b=2", "c=3"], 3)
    outbox.settle(outbox.peek(2))
    assert (texts(outbox), outbox.n_waiting) == (["c=3"], 1)
    outbox.close()
    assert waiting(path) == ["c=3"]


def test_what_was_not_settled_when_the_process_died_is_there_again(path: Path) -> None:
    outbox = filled(path, "a=1", "b=2", "c=\ud800\n\u2028")
    outbox.settle(outbox.peek(1))
    outbox.peek(2)
    abandon(outbox)
    assert waiting(path) == ["b=2", "c=\ud800\n\u2028"]


@pytest.mark.parametrize("n_bytes", [1, 5, 30])
def test_a_row_that_was_torn_when_the_machine_died_is_cut_off(path: Path, n_bytes: int) -> None:
    content = abandon(filled(path, "a=1", "b=2"))
    path.write_bytes(content[:-n_bytes])
    # Only the end of the line is missing after one byte: the row is whole.
    assert waiting(path) == (["a=1", "b=2"] if n_bytes == 1 else ["a=1"])


def test_a_row_that_is_refused_is_kept_with_its_reason_and_can_be_tried_again(path: Path) -> None:
    outbox = filled(path, "a=1", "b=2", "c=3")
    batch = outbox.peek(3)
    outbox.refuse(batch[1], "no\nstamp")
    outbox.settle(batch)
    outbox.close()
    for _ in range(2):
        assert (waiting(path), set_aside(path)) == ([], ["b=2: no stamp"])
    outbox = Outbox(path, "letters")
    assert outbox.retry_refused() == 1
    assert (texts(outbox), outbox.n_refused) == (["b=2"], 0)
    outbox.settle(outbox.peek(1))
    outbox.close()
    assert (waiting(path), set_aside(path)) == ([], [])


def test_a_later_row_of_the_same_key_takes_the_place_of_one_that_was_refused(path: Path) -> None:
    outbox = filled(path, "a=old", "b=2", "a=new")
    first = outbox.peek(1)
    outbox.refuse(first[0], "no stamp")
    outbox.settle(first)
    assert outbox.n_refused == 1
    abandon(outbox)
    outbox = Outbox(path, "letters")
    assert (texts(outbox), outbox.n_refused) == (["b=2", "a=new"], 0)
    outbox.settle(outbox.peek(2))
    outbox.close()
    assert set_aside(path) == []


def test_a_later_row_that_waited_already_takes_its_place_when_it_arrives(path: Path) -> None:
    outbox = filled(path, "a=old", "a=new")
    for expected in (1, 0):
        batch = outbox.peek(1)
        if expected:
            outbox.refuse(batch[0], "no stamp")
        outbox.settle(batch)
        assert outbox.n_refused == expected
    outbox.close()
    assert (waiting(path), set_aside(path)) == ([], [])


def test_a_process_that_dies_between_refusing_and_settling_does_not_deliver_the_refused_row(path: Path) -> None:
    outbox = filled(path, "a=1", "b=2")
    outbox.refuse(outbox.peek(2)[0], "no stamp")
    abandon(outbox)
    outbox = Outbox(path, "letters")
    assert (texts(outbox), outbox.n_waiting, outbox.n_refused) == (["b=2"], 1, 1)
    outbox.settle(outbox.peek(2))
    outbox.put("c", {"text": "3"})
    outbox.close()
    assert waiting(path) == ["c=3"]
    assert set_aside(path) == ["a=1: no stamp"]


def test_an_outbox_that_is_done_shrinks_to_two_lines(path: Path) -> None:
    outbox = filled(path, *(f"k{n}=text" for n in range(300)))
    outbox.settle(outbox.peek(1000))
    outbox.close()
    header, settled = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
    assert (header["krag_outbox"], header["of"], settled["settled"]) == (1, "letters", 300)
    assert waiting(path) == []


def test_an_outbox_that_is_never_empty_does_not_grow(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox_module, "COMPACT_BYTES", 2000)
    outbox, sizes = filled(path, "refused=1"), list[int]()
    outbox.refuse(outbox.peek(1)[0], "no stamp")
    outbox.settle(outbox.peek(1))
    for number in range(400):
        outbox.put(f"k{number}", {"text": "x" * 50})
        if number % 10 == 9:
            outbox.settle(outbox.peek(9))
        sizes.append(path.stat().st_size)
    assert texts(outbox) == [f"k{number}={'x' * 50}" for number in range(360, 400)]
    assert [(entry.key, entry.row, reason) for entry, reason in outbox.refused()] == [
        ("refused", {"text": "1"}, "no stamp")
    ]
    assert max(sizes) < 2000 + 6 * 40 * 120  # at most 40 rows waited at a time
    abandon(outbox)
    assert waiting(path)[0] == f"k360={'x' * 50}"
    assert set_aside(path) == ["refused=1: no stamp"]


STEPS = st.lists(st.sampled_from(["put", "settle", "refuse", "die", "retry"]), max_size=40)


@given(STEPS)
def test_whatever_happens_no_key_is_forgotten_and_the_last_value_is_delivered_last(
    tmp_path_factory: pytest.TempPathFactory, steps: list[str]
) -> None:
    path = tmp_path_factory.mktemp("law") / "outbox"
    outbox, delivered, newest = Outbox(path, "letters"), dict[str, int](), dict[str, int]()
    for number, step in enumerate(steps):
        batch = outbox.peek(3)
        if step == "put":
            newest[f"k{number % 4}"] = number
            outbox.put(f"k{number % 4}", {"value": number})
        elif step == "retry" and not batch:
            outbox.retry_refused()
        elif step == "die":
            abandon(outbox)
            outbox = Outbox(path, "letters")
        elif step in ("settle", "refuse") and batch:
            if step == "refuse":
                outbox.refuse(batch[0], "no")
            delivered |= {entry.key: entry.row["value"] for entry in batch[step == "refuse" :]}
            outbox.settle(batch)
    held = {entry.key: entry.row["value"] for entry, _ in outbox.refused()}
    held |= {entry.key: entry.row["value"] for entry in outbox.peek(1000)}
    outbox.close()
    assert delivered | held == newest
