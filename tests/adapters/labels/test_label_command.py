"""`krag-eval label`: keys, lines, undo, skips, kills, numbers beside the queue, and what it refuses."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from krag_eval import InvalidInputError, Run, write_run
from krag_eval._utils.formatting import display_width
from krag_eval._utils.journal.rows import read_checked
from krag_eval_labels import estimate, plan_labels, write_queue
from krag_eval_labels.commands.terminal import Pace
from krag_eval_labels.labelling.queue import LabelQueue
from tests.adapters.labels.test_estimation import Labels, filled_in, population
from tests.support.command_line import Runner

SOME: list[dict[str, Any]] = [
    {"query_id": "q1", "question": "언제?", "document": {"id": "a", "text": "한국어 " * 40}, "label": None},
    {"query_id": "q1", "question": "언제?", "document": {"text": "no id"}, "label": None},
    {"query_id": "q2", "question": None, "document": {"id": 7, "text": "evil \x1b[2J \u202e text"}, "label": None},
]


def write_rows(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def labels_in(path: Path) -> list[tuple[str, Any, Any]]:
    return [
        (row["query_id"], row["document"].get("id", row["document"].get("text")), row["label"])
        for _, row in read_checked(path)
    ]


def typed(monkeypatch: pytest.MonkeyPatch, keys: str) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(keys) + "\n"))


def test_keys_label_undo_and_skip_and_the_same_command_goes_on(
    command: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = write_rows(Path("queue.jsonl"), SOME)
    typed(monkeypatch, "2u1x?nq")
    done = command("label queue.jsonl")
    assert done.code == 0
    assert labels_in(Path("queue.labels.jsonl")) == [("q1", "a", 1)]
    assert labels_in(queue) == [("q1", "a", 1), ("q1", "no id", None), ("q2", 7, None)]
    assert [re.search(rf"^{n} of 3", done.out, re.M) is not None for n in (1, 2, 3)] == [True, True, False]
    assert "1 of 3 labelled; 2 left, 1 of them skipped." in done.out
    assert ("\x1b[2J" in done.out, "\u202e" in done.out, "\\u001b[2J \\u202e" in done.out) == (False, False, True)
    assert max(map(display_width, done.out.splitlines())) <= 84
    typed(monkeypatch, "00")
    assert "Nothing is left to label." in command("label queue.jsonl").out
    assert labels_in(queue) == [("q1", "a", 1), ("q1", "no id", 0), ("q2", 7, 0)]
    typed(monkeypatch, "u")
    done = command("label queue.jsonl")  # nothing is open, so that nothing can be undone there
    assert "3 of 3 labelled." in done.out


def test_undo_reaches_into_earlier_sessions_and_the_queue_loses_the_label_too(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "queue.jsonl", SOME)
    first = LabelQueue(path)
    first.put(0, 2)
    first.put(1, 1)
    first.fill()
    again = LabelQueue(path)
    assert (again.undo(), again.open()) == (1, [1, 2])
    assert labels_in(path) == [("q1", "a", 2), ("q1", "no id", None), ("q2", 7, None)]
    assert (again.undo(), again.undo(), again.open()) == (0, None, [0, 1, 2])
    assert LabelQueue(path).open() == [0, 1, 2]


def test_labels_that_somebody_wrote_into_the_queue_stay(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "queue.jsonl", [{**SOME[0], "label": True}, *SOME[1:]])
    queue = LabelQueue(path)
    assert queue.open() == [1, 2]
    queue.put(1, 2)
    queue.fill()
    assert labels_in(path) == [("q1", "a", True), ("q1", "no id", 2), ("q2", 7, None)]


@pytest.mark.full
def test_single_keys_label_in_a_dumb_terminal_with_an_ascii_locale(tmp_path: Path) -> None:
    pty = pytest.importorskip("pty", reason="need a system with pseudo-terminals")
    termios = pytest.importorskip("termios", reason="need a system with pseudo-terminals")
    path = write_rows(tmp_path / "queue.jsonl", SOME)
    master, slave = pty.openpty()
    environment = {**os.environ, "TERM": "dumb", "LANG": "C", "LC_ALL": "C"}
    line = [sys.executable, "-m", "krag_eval", "label", str(path), "--who", "김 민수"]
    with subprocess.Popen(line, stdin=slave, stdout=slave, stderr=slave, env=environment) as process:
        os.close(slave)
        shown = b""
        for key, until in ((b"1", b"1 of 3"), (b"U", b"2 of 3"), (b"2", b"1 of 3"), (b"Q", b"2 of 3")):
            shown = b""
            while until not in shown:
                shown += os.read(master, 4096)
            while termios.tcgetattr(master)[3] & termios.ICANON:  # what was typed before would be thrown away
                time.sleep(0.01)
            os.write(master, key)
        assert process.wait(60) == 0
    os.close(master)
    assert labels_in(tmp_path / "queue.labels-김 민수.jsonl") == [("q1", "a", 2)]


def test_the_pace_is_that_of_the_middle_label_without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    pace, said = Pace(), []
    for seconds in (12, 12, 900, 12, 12, 13):
        now += seconds
        pace.labelled()
        said.append(str(pace))
    assert said == ["", "", "", "", "", ", about 300 an hour"]


@pytest.mark.full
def test_a_kill_at_any_moment_loses_no_label(tmp_path: Path) -> None:
    rows = [{"query_id": f"q{i}", "document": {"id": "a"}, "label": None} for i in range(60)]
    path = write_rows(tmp_path / "queue.jsonl", rows)
    environment = {**os.environ, "TERM": "dumb", "LANG": "C", "LC_ALL": "C"}
    line, n_shown, said = [sys.executable, "-m", "krag_eval", "label", str(path)], 0, set[str]()
    for n in (7, 1, 19, 3):
        with subprocess.Popen(
            line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        ) as process:
            assert process.stdin
            assert process.stdout
            while n_shown < n + len(said):
                shown = process.stdout.readline()
                if re.match(r"\d+ of 60", shown):  # the label before this one is in the file
                    n_shown = int(shown.split()[0]) - 1
                    process.stdin.write("1\n")
                    process.stdin.flush()
            time.sleep(0.003 * n)
            process.send_signal(signal.SIGKILL)
            process.wait(60)
        kept = {query for query, _, _ in labels_in(tmp_path / "queue.labels.jsonl")}
        assert said <= kept
        assert n_shown <= len(kept) <= n_shown + 1
        said = kept
    queue = LabelQueue(path)
    assert queue.n_done == len(said)
    queue.fill()
    assert [label for _, _, label in labels_in(path)] == [1] * len(said) + [None] * (60 - len(said))


def test_a_changed_label_is_noticed(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "queue.jsonl", SOME)
    queue = LabelQueue(path)
    queue.put(0, 2)
    text = queue.file.read_text("utf-8")
    for damaged in (text.replace('"label": 2', '"label": 1'), text.replace('"a"', '"b"'), text[:-4] + "}\n"):
        assert damaged != text
        queue.file.write_text(damaged, encoding="utf-8")
        with pytest.raises(InvalidInputError, match=r"queue\.labels\.jsonl:1: "):
            LabelQueue(path)


def test_no_damaged_byte_changes_a_label(tmp_path: Path) -> None:
    rows = [{"query_id": f"q{n}", "document": {"id": f"d{n}"}, "label": None} for n in range(5)]
    queue = LabelQueue(write_rows(tmp_path / "queue.jsonl", rows), "anna")
    for place in queue.open():
        queue.put(place, place % 3)
    whole, random, n_noticed = queue.file.read_bytes(), np.random.default_rng(0), 0
    for _ in range(400):
        damaged = bytearray(whole)
        damaged[random.integers(len(whole))] = random.integers(256)
        queue.file.write_bytes(damaged)
        try:
            again = LabelQueue(queue.path, "anna")
        except InvalidInputError:
            n_noticed += 1
        else:
            assert again.votes == queue.votes, bytes(damaged)
    assert n_noticed > 350


def planned(folder: Path, n: int) -> tuple[dict[str, Run], Labels, Labels]:
    """Write a queue, two runs and a judge's labels."""
    runs, judge, people = population()
    write_queue(plan_labels(runs, judge=judge, n=n), folder / "queue.jsonl")
    (folder / "runs").mkdir()
    for name, run in runs.items():
        write_run(run, folder / "runs" / f"{name}.jsonl")
    rows = [{"query_id": q, "document": {"id": d}, "label": y} for q, of in judge.items() for d, y in of.items()]
    write_rows(folder / "judge.jsonl", rows)
    return runs, judge, people


def test_after_20_labels_the_number_of_these_alone_is_shown(command: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    runs, judge, people = planned(Path(), 120)
    rows = [row for _, row in read_checked("queue.jsonl")]
    keys = [str(int(people[row["query_id"]][row["document"]["id"]])) for row in rows]
    typed(monkeypatch, "".join(keys[:41]))
    out = command("label .").out
    assert re.findall("precision@10 from ([0-9]+) labels", out) == ["20", "40", "41"]
    for n in (20, 40):
        expected = estimate(runs, judge=judge, people=filled_in(plan_labels(runs, judge=judge, n=n), people))
        for row in (*expected.systems, *expected.differences):
            low, high = row.sampling_interval
            assert f"  {row.name}  {row.value:.3f}, {low:.3f} to {high:.3f} for these questions" in out
    typed(monkeypatch, "".join(keys[41:100]))
    out = command("label queue.jsonl runs/one.jsonl --judge judge.jsonl --width 0.25").out
    assert "You can stop here." in out


def test_without_a_judge_the_sample_alone_is_estimated_and_skips_count_both_ways(
    command: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, _, people = planned(Path(), 120)
    Path("judge.jsonl").unlink()
    rows = [row for _, row in read_checked("queue.jsonl")]
    keys = [str(int(people[row["query_id"]][row["document"]["id"]])) for row in rows[:43]]
    typed(monkeypatch, "".join(keys[:40]))
    plain = command("label .").out.rpartition("precision@10 from 40 labels")[2]
    typed(monkeypatch, f"nn{keys[42]}")
    skipped = command("label .").out.rpartition("precision@10 from 41 labels")[2]

    def widths(text: str) -> list[float]:
        ends = re.findall(r", (\S+) to (\S+) for these", text)
        return [float(high) - float(low) for low, high in ends]

    assert "2 documents without a label that stands: counted both ways." in skipped
    assert len(widths(plain)) == 3
    assert all(wide >= narrow - 0.01 for narrow, wide in zip(widths(plain), widths(skipped), strict=True))


def test_grades_of_a_set_that_the_queue_leaves_out_count_too(command: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    runs, judge, people = population()
    known = [{"id": q, "question": q, "gold": [{"id": "d0", "grade": row["d0"]}]} for q, row in people.items()]
    write_rows(Path("set.jsonl"), known)
    write_run(runs["one"], "run.jsonl")
    write_queue(plan_labels({"one": runs["one"]}, judge=judge, n=60, evalset=known), "queue.jsonl")
    rows = [row for _, row in read_checked("queue.jsonl")]
    keys = [str(int(people[row["query_id"]][row["document"]["id"]])) for row in rows]
    typed(monkeypatch, "".join(keys))
    out = command("label queue.jsonl run.jsonl --known set.jsonl --width 0.01").out
    zeros = {q: dict.fromkeys(row, 0.0) for q, row in people.items()}
    expected = estimate({"run": runs["one"]}, judge=zeros, people=filled_in(rows, people), evalset=known).systems[0]
    low, high = expected.sampling_interval
    assert f"  run  {expected.value:.3f}, {low:.3f} to {high:.3f} for these questions" in out
    assert "0.01 is wanted." in out


def test_a_queue_that_nobody_drew_has_no_number_and_says_why(command: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    write_rows(Path("queue.jsonl"), SOME)
    write_rows(Path("run.jsonl"), [{"query_id": "q1", "retrieved": [{"id": "a"}]}])
    typed(monkeypatch, "111")
    done = command("label queue.jsonl run.jsonl")
    assert (done.code, "No number yet: " in done.out) == (0, True)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("label none.jsonl", "none.jsonl"),
        ("label empty.jsonl", "has nothing to label"),
        ("label queue.jsonl --who ../x", "`--who` must be a name"),
        ("label queue.jsonl --who ''", "`--who` must be a name"),
        ("label queue.jsonl --width 0.1", "belong to runs"),
        ("label queue.jsonl run.jsonl --width 0", "`--width` must be a number above 0"),
        ("label set.jsonl", "`query_id` is missing"),
    ],
)
def test_what_cannot_be_labelled_is_refused(command: Runner, line: str, said: str) -> None:
    write_rows(Path("queue.jsonl"), SOME)
    Path("empty.jsonl").touch()
    write_rows(Path("set.jsonl"), [{"id": "q1", "question": "a", "gold": [{"id": "a"}]}])
    write_rows(Path("run.jsonl"), [{"query_id": "q1", "retrieved": [{"id": "a"}]}])
    done = command(line)
    assert (done.code, said in done.err) == (2, True), done.err


def test_in_a_folder_of_start_the_log_has_its_number_beside_the_queue(
    command: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [
        {
            "question": f"question {n} about {n}",
            "retrieved": [{"id": f"d{n}-{d}", "text": f"{n} {d}"} for d in range(5)],
        }
        for n in range(30)
    ]
    write_rows(Path("log.jsonl"), rows)
    assert command("start log.jsonl --out eval").code == 0
    asked = [row for _, row in read_checked("eval/queue.jsonl")]
    typed(monkeypatch, "".join("20"[n % 2] for n in range(len(asked))))
    done = command("label eval --who anna")
    assert [row["query_id"] for _, row in read_checked("eval/queue.labels-anna.jsonl")] == [
        row["query_id"] for row in asked
    ]  # start orders its queue itself, question by question
    assert done.out.count("questions in full") == len(asked) // 20 + (len(asked) % 20 > 0)
    assert command("start eval").code == 0
