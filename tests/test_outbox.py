"""A queue on disk: what is not settled is there again, what was refused is kept, and neither file nor memory grows."""

from __future__ import annotations

import json
import multiprocessing
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krag_eval import InvalidInputError, Outbox
from krag_eval.journal import outbox as outbox_module


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "letters.outbox"


def filled(path: Path, *letters: str) -> Outbox:
    outbox = Outbox(path, "letters")
    for letter in letters:
        key, _, text = letter.partition("=")
        outbox.put(key, {"text": text})
    return outbox


def waiting(path: Path) -> list[str]:
    outbox = Outbox(path, "letters")
    found = texts(outbox)
    assert outbox.n_waiting == len(found)
    outbox.close()
    return found


def texts(outbox: Outbox) -> list[str]:
    return [f"{entry.key}={entry.row['text']}" for entry in outbox.peek(1000)]


def set_aside(path: Path) -> list[str]:
    outbox = Outbox(path, "letters")
    found = [f"{entry.key}={entry.row['text']}: {reason}" for entry, reason in outbox.refused()]
    assert outbox.n_refused == len(found)
    outbox.close()
    return found


def abandon(outbox: Outbox) -> bytes:
    """What a process that is killed leaves behind."""
    content = outbox.path.read_bytes()
    outbox.close()
    outbox.path.write_bytes(content)
    return content


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


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"question,gold\n", "is no journal of a delivery"),
        (b'{"krag_run": 1}\n', "whose first row says how the delivery was made"),
    ],
)
def test_a_file_of_something_else_is_refused_and_left_as_it_is(path: Path, content: bytes, says: str) -> None:
    path.write_bytes(content)
    with pytest.raises(InvalidInputError, match=says):
        Outbox(path, "letters")
    assert path.read_bytes() == content


def test_an_outbox_of_other_things_is_refused(path: Path) -> None:
    filled(path, "a=1").close()
    with pytest.raises(InvalidInputError, match=r"letters.outbox:1: is the outbox of 'letters', and not of 'parcels'"):
        Outbox(path, "parcels")


def test_a_row_that_was_changed_is_refused(path: Path) -> None:
    content = abandon(filled(path, "a=1", "b=2"))
    path.write_bytes(content.replace(b'"text": "1"', b'"text": "7"'))
    with pytest.raises(InvalidInputError, match=r"outbox:2: the checksum of the row is wrong"):
        Outbox(path, "letters")


def test_one_process_writes_to_an_outbox_at_a_time(path: Path) -> None:
    outbox = filled(path, "a=1")
    with pytest.raises(InvalidInputError, match="another delivery is writing to it"):
        Outbox(path, "letters")
    outbox.close()
    outbox.close()
    with pytest.raises(InvalidInputError, match="is closed"):
        outbox.put("b", {})
    assert outbox.peek(1) == []
    assert waiting(path) == ["a=1"]


def put_and_tell(outbox: Outbox, answers: Any) -> None:
    try:
        outbox.put("b", {})
    except InvalidInputError as error:
        answers.put(str(error))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="NOT TESTED: nothing is forked here.")
def test_a_copy_of_the_process_cannot_write_to_its_outbox(path: Path) -> None:
    outbox, context = filled(path, "a=1"), multiprocessing.get_context("fork")
    answers = context.Queue()
    child = context.Process(target=put_and_tell, args=(outbox, answers))
    child.start()
    assert "was opened by another process" in answers.get(timeout=60)
    child.join(60)
    assert texts(outbox) == ["a=1"]
    outbox.close()


def test_reasons_hold_no_keys(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANGFUSE_SECRET_KEY", "canary-without-a-known-form")
    outbox = filled(path, "a=1")
    outbox.refuse(outbox.peek(1)[0], "no user canary-without-a-known-form, Authorization: Basic cGstbGY6c2stbGY=")
    outbox.settle(outbox.peek(1))
    assert [reason for _, reason in outbox.refused()] == ["no user [key], Authorization: [key] [key]"]
    outbox.close()
    assert b"canary" not in path.read_bytes()
