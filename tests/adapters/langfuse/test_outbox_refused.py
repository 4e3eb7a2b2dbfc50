"""What is no outbox, or another's, is refused and left as it is; reasons hold no keys."""

from __future__ import annotations

import multiprocessing
import os
from pathlib import Path
from typing import Any

import pytest

from krag_eval import InvalidInputError, Outbox
from tests.support.outbox_cases import abandon, filled, texts, waiting


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "letters.outbox"


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


@pytest.mark.skipif(not hasattr(os, "fork"), reason="need os.fork, which this system lacks")
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
