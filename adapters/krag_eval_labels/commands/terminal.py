"""Label in the terminal, by single keys; or by lines, where stdin is no terminal."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterable

import click
from rich.text import Text

from krag_eval.toolkit import describe_error, escape_controls, number_of, one_line
from krag_eval_cli.output import console
from krag_eval_labels.labelling.current import EVERY
from krag_eval_labels.labelling.queue import GRADES, LabelQueue
from krag_eval_labels.start.number import Standing

KEYS = "0 not relevant   1 relevant   2 answers it fully   U undo   N skip   Q quit   ? help"
_HELP = """0  the passage does not help with the question
1  it helps: a part of the answer, or the answer with doubts
2  it answers the question on its own
U  takes the last label back, also one of an earlier session
N  skips: the passage comes again after all others
Q  quits. Every label is in the file already; the same command goes on here."""
_LONGEST = 6000
_SLOWEST, _FASTEST = 120.0, 1.0  # a longer pause was no labelling, and nobody reads faster: it was a script
_FEWEST = 5


class Pace:
    """How fast somebody labels, pauses left out."""

    def __init__(self) -> None:
        self._last, self._seconds = time.monotonic(), list[float]()

    def labelled(self) -> None:
        """Count a label that was given now."""
        now = time.monotonic()
        if now - self._last < _SLOWEST:
            self._seconds.append(now - self._last)
        self._last = now

    def __str__(self) -> str:
        if len(self._seconds) < _FEWEST or (middle := statistics.median(self._seconds)) < _FASTEST:
            return ""
        return f", about {round(3600 / middle, -1):,.0f} an hour"


def label_in_terminal(queue: LabelQueue, number: Callable[[], Standing | None], keys: Iterable[str]) -> None:
    """Show one pair after the other, and label it with the key that is pressed.

    Args:
        queue: What to label. Each label is in its file before the next pair is shown.
        number: Returns the current number, for after every 20 labels.
        keys: What is pressed; labelling ends with it.

    Raises:
        InvalidInputError: A label cannot be written.
    """
    say, pace, pressed = _say, Pace(), iter(keys)
    n_given = 0
    say(KEYS)
    while open_ := queue.open():
        place = open_[0]
        _show(queue, place, pace)
        key = next((key for key in pressed if _means(key)), "q")
        if key == "q":
            break
        if key == "?":
            say(_HELP)
        elif key == "n":
            queue.skip(place)
            if queue.n_skipped == len(queue.open()):
                break  # nothing is left but what was skipped
        elif key == "u":
            if queue.undo() is None:
                say("There is no label to take back.")
        else:
            queue.put(place, int(key))
            pace.labelled()
            n_given += 1
            if n_given % EVERY == 0 and (current := number()) is not None:
                say(current.text)
    _end(queue, number, is_new=n_given % EVERY != 0)


def _means(key: str) -> bool:
    if key in (*map(str, GRADES), "u", "n", "q", "?"):
        return True
    _say(f"{one_line(key)!r:.20} is no key here.\n{KEYS}")
    return False


def _show(queue: LabelQueue, place: int, pace: Pace) -> None:
    row, out = queue.rows[place], console()
    text = str(row["document"].get("text") or "(no text: label by the id)")
    rest = len(text) - _LONGEST
    out.print()
    _say(f"{queue.n_done + 1} of {len(queue.rows)}{pace}")
    out.print(Text(escape_controls(str(row.get("question") or row["query_id"])), style="bold", overflow="fold"))
    out.print(Text(escape_controls(text[:_LONGEST]), overflow="fold"))
    if rest > 0:
        _say(f"... and {number_of(rest, 'character')} more")
    if (name := row["document"].get("id")) is not None:
        out.print(Text(one_line(str(name)), style="dim", overflow="fold"))


def _end(queue: LabelQueue, number: Callable[[], Standing | None], *, is_new: bool) -> None:
    queue.fill()
    left = len(queue.open())
    skipped = f", {queue.n_skipped} of them skipped" if queue.n_skipped else ""
    console().print()
    _say(
        f"{queue.n_done} of {len(queue.rows)} labelled"
        + (f"; {left} left{skipped}. The same command goes on here." if left else ". Nothing is left to label.")
    )
    for line in queue.agreements():
        _say(line)
    if is_new and (current := number()) is not None:
        _say(current.text)


def _say(text: str) -> None:
    console().print(text, soft_wrap=True)


def read_keys() -> Iterable[str]:
    """Yield the keys that are pressed, in lower case; from lines of stdin, each with one key, if it is no terminal."""
    try:
        while sys.stdin.isatty():
            yield click.getchar().lower()
        for line in sys.stdin:
            if key := line.strip().lower():
                yield key
    except EOFError:
        return
    except OSError as error:  # the terminal is gone
        _say(describe_error(error))
