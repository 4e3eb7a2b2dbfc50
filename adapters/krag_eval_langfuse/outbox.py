"""Send what a run left in its outbox, also what can still be read of a damaged one."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from krag_eval import InvalidInputError
from krag_eval_langfuse.client import LangfuseDeliveryError, load_langfuse, why_disabled
from krag_eval_langfuse.outbox_delivery import describe_waiting, open_outbox
from krag_eval_langfuse.score_file import DamagedError, ScoreFile, checksum
from krag_eval_langfuse.scores import Score, score_from_row

_MOST_NUMBERS = 10_000_000


@dataclass(frozen=True, slots=True)
class Resent:
    """The result of resending an outbox.

    Attributes:
        path: The path of the outbox.
        sent: Number of scores that Langfuse accepted now.
        waiting: Number of scores that it has neither accepted nor rejected. They stay in the outbox.
        rejected: The scores that it rejected, with the reasons. They stay in the outbox, too.
        problem: The latest problem, if scores are waiting.
        damage: What is wrong with the file, if it is damaged. A damaged file is not changed.
        damaged: The scores that cannot be read, by number and, if known, by id.
    """

    path: Path
    sent: int
    waiting: int
    rejected: tuple[tuple[Score, str], ...]
    problem: str | None = None
    damage: str | None = None
    damaged: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Return whether the outbox is now empty."""
        return not self.waiting and not self.rejected and self.damage is None

    def describe_waiting(self) -> str:
        """Describe how many scores are waiting, why, and what to do."""
        return describe_waiting(self.path, self.waiting, self.problem)

    def describe_damage(self) -> str:
        """Describe what is damaged and what to do."""
        lost = f"at least {len(self.damaged):,} of its scores cannot be read" if self.damaged else "scores may be lost"
        return (
            f"{self.path} is damaged ({self.damage}): {lost}. Restore it from a copy and send it again, or delete it "
            "once the others have arrived."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the result as a dictionary for JSON."""
        rejected = [score.to_row() | {"reason": reason} for score, reason in self.rejected]
        return {
            "outbox": str(self.path),
            "sent": self.sent,
            "waiting": self.waiting,
            "problem": self.problem,
            "rejected": rejected,
            "damage": self.damage,
            "damaged": list(self.damaged),
        }


def resend_outbox(path: str | os.PathLike[str], client: Any = None, *, timeout: float = 60.0) -> Resent:
    """Send the scores that are still in an outbox, and retry rejected ones, since the key may have changed.

    Scores keep their ids and times, so Langfuse overwrites a score that had already arrived instead of duplicating it.
    If the outbox is damaged, the readable scores are sent, the others are named, and the file is not changed.

    Args:
        path: The path of the outbox.
        client: A Langfuse client. With None, the client is created from the environment (`LANGFUSE_PUBLIC_KEY` and so
            on), even if other clients exist. If no key is set there, `langfuse.get_client()` is used.
        timeout: Give up after this many seconds without an answer.

    Raises:
        InvalidInputError: The file does not exist or is not an outbox.
        MissingDependencyError: langfuse is not installed.
        LangfuseDeliveryError: The client sends nothing, for example because there are no keys.
    """
    if not Path(path).is_file():
        raise InvalidInputError(f"{path}: there is no such file. Pass the path that a run was given as `outbox`.")
    if not Path(path).stat().st_size:
        raise InvalidInputError(f"{path}: is empty, so there is nothing to send. Restore the file if it had scores.")
    with tempfile.TemporaryDirectory(prefix="krag-eval-") as folder:
        try:
            return _resend(Path(path), Path(path), client, timeout)
        except DamagedError as error:
            sound, damaged = salvage(Path(path).resolve(), Path(folder))
            resent = _resend(sound, Path(path), client, timeout)
            return replace(resent, damage=error.damage, damaged=tuple(damaged))


def _resend(place: Path, path: Path, client: Any, timeout: float) -> Resent:
    outbox = open_outbox(place)
    try:
        n_left = outbox.waiting + len(outbox.file.refused())
        if not n_left:
            return Resent(path, 0, 0, ())
        if client is None:
            langfuse = load_langfuse("resend_outbox")
            client = langfuse.Langfuse() if os.environ.get("LANGFUSE_PUBLIC_KEY") else langfuse.get_client()
        disabled = why_disabled(client)
        if disabled is not None:
            raise LangfuseDeliveryError(
                f"The Langfuse client sends nothing: {disabled}. {n_left:,} scores stay in {path}. Set the "
                "environment variables of the project and send them again.",
                (disabled,),
            )
        outbox.file.retry()
        outbox.start(client)
        outbox.wait(timeout, since_last=True)
        rejected = tuple((row.score(path), row.reason) for row in outbox.file.refused())
        waiting, damage = outbox.waiting, outbox.file.fault or None
        return Resent(path, outbox.news().sent, waiting, rejected, outbox.problem, damage)
    finally:
        outbox.close(0.0)


def salvage(place: Path, folder: Path) -> tuple[Path, list[str]]:
    """Copy the intact scores of a damaged outbox into a new one. Return its path and the damaged scores."""
    for end in ("", "-wal"):
        with contextlib.suppress(FileNotFoundError):
            shutil.copyfile(f"{place}{end}", folder / f"damaged{end}")
    sound, damaged, keys, last, is_known = list[Score](), list[str](), dict[int, str](), 0, True
    with contextlib.closing(sqlite3.connect(folder / "damaged", isolation_level=None)) as connection:
        connection.text_factory = lambda text: text.decode("utf-8", "replace")
        connection.execute("PRAGMA writable_schema = ON")  # read it even if its end is missing
        for order in ("key", "key DESC"):  # the index may list scores that the table has lost
            try:
                keys |= connection.execute(f"SELECT n, key FROM scores INDEXED BY by_key ORDER BY {order}")
            except (sqlite3.Error, TypeError):
                is_known = False
        with contextlib.suppress(sqlite3.Error, TypeError):
            last = max(0, *connection.execute("SELECT seq FROM sqlite_sequence").fetchone())
        last = min(max((last, *keys)), _MOST_NUMBERS)  # a damaged number may be anything
        for n in (*range(1, last + 1), *sorted(n for n in keys if not 0 < n <= last)):
            found: Any = None
            try:
                found = connection.execute("SELECT key, row, crc FROM scores WHERE n = ?", (n,)).fetchone()
                is_there = n in keys or found is not None
            except sqlite3.Error:
                is_there = n in keys or not is_known
            if found is not None and checksum(*found[:2]) == found[2]:
                sound.append(score_from_row(json.loads(found[1])))
            elif is_there:
                damaged.append(f"score {n} ({keys.get(n) or (found and found[0]) or 'its id is lost'})")
    if not last and not keys:
        damaged.append("all scores (their number is unknown)")
    file = ScoreFile(folder / "sound")
    file.put(sound)
    file.close()
    return file.path, damaged
