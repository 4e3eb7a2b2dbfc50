"""A small outbox of letters, for the tests of outboxes."""

from __future__ import annotations

from pathlib import Path

from krag_eval import Outbox


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
