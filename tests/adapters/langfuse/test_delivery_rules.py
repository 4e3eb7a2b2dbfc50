"""What becomes of scores, by the answer to each request: on the thread of the test, without a server or a pause."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from langfuse import Langfuse
from langfuse.api.core import ApiError

from examples.loopback_langfuse import LoopbackLangfuse
from krag_eval import InvalidInputError, MissingDependencyError, evaluate
from krag_eval_langfuse import LangfuseRequestError, LangfuseScoreHandler, Target
from krag_eval_langfuse.delivery import AT_ONCE, Outcome, Refusal, SyncDelivery, requests_of
from krag_eval_langfuse.outbox import salvage
from krag_eval_langfuse.outbox_delivery import FIRST_WAIT, PATIENCE, Outbox
from krag_eval_langfuse.score_file import Row, ScoreFile
from krag_eval_langfuse.scores import Score
from krag_eval_langfuse.sender import ScoreSender
from krag_eval_live import LiveScorer

REFUSED, BROKEN, BUSY = (ApiError(status_code=status, body="no") for status in (400, 500, 503))
LIMIT = 4.0


def score(key: str, value: float = 1.0) -> Score:
    return Score(key, "krag.mrr", value, Target(trace_id="t"), datetime(2026, 5, 4, tzinfo=UTC), {})


def scores(n: int) -> list[Score]:
    return [score(f"k{number}") for number in range(n)]


def everything(file: ScoreFile) -> list[Row]:
    return file._rows("reason IS NULL")


class Sending:
    """An outbox that sends when it is told to, and the pauses that it would have made."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.outbox, self.file = Outbox(path), ScoreFile(path)
        self.pauses: list[float] = []
        self.options: dict[str, Any] = {}
        self._answer: Any = None
        self.outbox._thread, self.outbox._client = threading.current_thread(), object()
        monkeypatch.setattr("krag_eval_langfuse.outbox_delivery.post", self._post)
        monkeypatch.setattr("krag_eval_langfuse.outbox_delivery.time_limit_of", lambda client: LIMIT)
        monkeypatch.setattr(self.outbox, "_pause", lambda seconds, **_: self.pauses.append(seconds))

    def _post(self, client: Any, sent: Sequence[Score], options: dict[str, Any]) -> list[Refusal]:
        self.options = options
        if isinstance(self._answer, Exception):
            raise self._answer
        return [] if self._answer is None else list(self._answer)

    def send(self, answer: Any = None) -> list[Row]:
        """Send the next request, which is answered with an error or with refusals; return what was in it."""
        self._answer, rows = answer, self.file.take()
        self.outbox._deliver(rows)
        return rows

    def tries(self) -> list[int]:
        return [tries for (tries,) in self.file._read("SELECT tries FROM scores WHERE reason IS NULL ORDER BY n")]


@pytest.fixture
def sending(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sending:
    return Sending(tmp_path / "langfuse.outbox", monkeypatch)


@pytest.mark.parametrize("end", ["", "-wal", "-shm", "-lock", "-journal"])
def test_a_symbolic_link_in_the_place_of_a_file_of_the_outbox_is_refused(end: str, tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.write_bytes(b"")
    (tmp_path / f"outbox{end}").symlink_to(theirs)
    with pytest.raises(InvalidInputError, match=rf"outbox: cannot be written \(outbox{end} is a symbolic link\)"):
        ScoreFile(tmp_path / "outbox")
    assert theirs.read_bytes() == b""


def test_a_score_that_is_updated_while_its_earlier_value_is_sent_is_sent_again(sending: Sending) -> None:
    file = sending.file
    for how in (file.settle, lambda rows: file.set_aside(rows, "no")):
        file.put([score("a", 1.0), score("b")])
        taken = file.take()
        file.put([score("a", 2.0)])
        assert how(taken) == 2
        assert [(row.key, row.score(file.path).value) for row in file.take()] == [("a", 2.0)]
        assert file.settle(file.take()) == 1
        file.retry()
        file.settle(file.take())


def test_those_that_came_after_a_number_are_not_waited_for(sending: Sending) -> None:
    assert sending.file.last() == 0
    sending.file.put(scores(3))
    last = sending.file.last()
    sending.file.put([score("later")])
    assert [sending.file.n_waiting(number) for number in (last - 1, last, last + 1)] == [2, 3, 4]


def test_nothing_of_a_score_that_arrived_is_left_in_the_file(sending: Sending) -> None:
    sending.file.put([score("secret-id"), score("other")])
    sending.file.settle([row for row in sending.file.take() if row.key == "secret-id"])
    sending.file.sync()
    content = sending.file.path.read_bytes()
    assert (b"secret-id" in content, b"other" in content) == (False, True)


def test_a_request_with_a_score_that_is_refused_is_split_at_once_and_the_score_alone_is_set_aside(
    sending: Sending,
) -> None:
    sending.file.put(scores(AT_ONCE))
    for size in (100, 50, 25, 12, 6, 3, 1):
        rows = sending.send(REFUSED)
        assert len(rows) == size
        sending.file.settle([row for row in everything(sending.file) if row.tries <= rows[0].tries])
    assert [row.reason for row in sending.file.refused()] == ["HTTP 400: no"]
    assert (sending.pauses, sending.outbox.news().failed) == ([], 1)


def test_a_request_in_which_nobody_says_which_score_was_refused_is_split(sending: Sending) -> None:
    sending.file.put(scores(2))
    sending.send([Refusal("one of them")])
    assert sending.tries() == [3, 3]
    sending.send([Refusal("all of them"), Refusal("all of them")])  # perhaps the server wants none at all
    assert (sending.tries(), len(sending.pauses)) == ([4, 4], 1)
    assert sending.file.refused() == []


def test_a_score_that_breaks_the_server_is_set_aside_with_its_sixth_failure(sending: Sending) -> None:
    sending.file.put([score("bad")])
    for n_failures in range(1, 6):
        sending.send(BROKEN)
        assert sending.tries() == [n_failures]
        sending.outbox._accepted_at = time.time() + 60  # it accepts others
    sending.send(BROKEN)
    assert [(row.key, row.tries) for row in sending.file.refused()] == [("bad", 5)]
    assert len(sending.pauses) == 5


def test_a_server_that_accepts_nothing_blames_no_score_until_patience_ends(
    sending: Sending, monkeypatch: pytest.MonkeyPatch
) -> None:
    sending.file.put(scores(2))
    for _ in range(9):
        sending.send(BROKEN)
    assert (sending.tries(), sending.file.refused(), len(sending.pauses)) == ([9, 8], [], 9)
    now = time.time()
    for passed, n_left in ((PATIENCE - 60, 2), (PATIENCE + 60, 0)):
        monkeypatch.setattr(time, "time", lambda moment=now + passed: moment)
        for _ in range(2):
            sending.send(BROKEN)
        assert (len(sending.file.refused()), sending.file.n_waiting()) == (2 - n_left, n_left)


@pytest.mark.parametrize(("n_failures", "left"), [(19, 5), (20, 0), (21, 0)])
def test_what_failed_in_a_long_outage_is_forgiven_when_the_server_is_back(
    sending: Sending, n_failures: int, left: int
) -> None:
    sending.file.put([score("a")])
    sending.file.postpone(sending.file.take(), 4)
    sending.outbox._n_failures = n_failures
    sending.file.put([score("b")])
    assert [row.key for row in sending.send()] == ["b"]
    assert (sending.tries(), sending.outbox._n_failures) == ([left], 0)
    (row,) = sending.file.take()
    assert (row.since is None) == (left == 0)


def test_a_busy_server_is_asked_again_later_and_no_score_is_counted_against(sending: Sending) -> None:
    sending.file.put(scores(2))
    for _ in range(3):
        sending.send(BUSY)
    assert (sending.tries(), len(sending.pauses), sending.outbox.problem) == ([0, 0], 3, "HTTP 503: no")
    assert sending.outbox.news() == Outcome()
    sending.send()
    assert (sending.outbox.news().sent, sending.outbox.problem) == (2, None)


def test_clients_that_were_asked_to_wait_do_not_all_come_back_at_once(sending: Sending) -> None:
    sending.file.put([score("a")])
    for _ in range(40):
        sending.send(ApiError(status_code=429, headers={"retry-after": "7"}))
    assert 7 <= min(sending.pauses) < max(sending.pauses) <= 7 + FIRST_WAIT
    assert max(sending.pauses) - min(sending.pauses) > FIRST_WAIT / 4


def test_a_request_that_got_no_answer_in_time_is_given_longer_up_to_two_minutes(sending: Sending) -> None:
    sending.file.put([score("a")])
    given = []
    for _ in range(8):
        sending.send(httpx.ReadTimeout(""))
        given.append(sending.options.get("timeout_in_seconds"))
    assert given == [None, 8, 16, 32, 64, 120, 120, 120]
    assert sending.options["max_retries"] == 0
    sending.send()
    sending.file.put([score("b")])
    sending.send()
    assert "timeout_in_seconds" not in sending.options


def test_each_score_that_is_answered_by_its_id_goes_its_own_way(sending: Sending) -> None:
    sending.file.put([score("fine"), score("wrong"), score("busy"), score("odd")])
    sending.send([Refusal("no trace", "wrong", 404), Refusal("later", "busy", 503), Refusal("what", "odd", 500)])
    assert [(row.key, row.reason) for row in sending.file.refused()] == [("wrong", "no trace")]
    assert sorted((row.key, row.tries) for row in sending.file.take()) == [("busy", 1), ("odd", 1)]
    assert len(sending.pauses) == 1
    news = sending.outbox.news()
    assert (news.sent, news.failed, news.problems) == (1, 1, ("rejected: no trace",))


def test_sending_that_stops_by_a_fault_is_told_and_leaves_the_file_to_others(
    sending: Sending, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    sending.file.put([score("a")])

    def fail(rows: Any) -> None:
        raise ValueError("a fault")

    monkeypatch.setattr(sending.outbox, "_deliver", fail)
    sending.outbox._work()
    assert (sending.outbox.is_sending, sending.outbox.problem) == (False, "ValueError: a fault")
    other = ScoreFile(sending.file.path)
    assert other.claim()
    other.close()


def test_a_slow_server_is_given_longer_for_other_scores_too(sending: Sending) -> None:
    sending.file.put([score("a")])
    sending.send(httpx.ReadTimeout(""))
    sending.file.put([score("b")])
    assert [row.key for row in sending.send()] == ["b"]
    assert sending.options["timeout_in_seconds"] == 2 * LIMIT


def test_a_server_that_accepts_others_meanwhile_is_not_to_blame(sending: Sending) -> None:
    sending.file.put([score("bad")])
    for number in range(6):
        sending.send(BROKEN)
        sending.file.put([score(f"fine {number}")])
        assert [row.key for row in sending.send()] == [f"fine {number}"]
    assert [row.key for row in sending.file.refused()] == ["bad"]


def test_a_thread_that_was_replaced_sends_nothing_more(sending: Sending, monkeypatch: pytest.MonkeyPatch) -> None:
    sending.file.put([score("a")])
    sending.outbox._thread = None
    monkeypatch.setattr(sending.outbox, "_deliver", lambda rows: pytest.fail("it sends"))
    sending.outbox._work()
    assert sending.file.claim()
    sending.file.release()


def test_of_a_file_in_which_nothing_can_be_read_that_is_said(tmp_path: Path) -> None:
    file = ScoreFile(tmp_path / "outbox")
    file.put(scores(3))
    file.close()
    content = file.path.read_bytes()
    file.path.write_bytes(content[:4096] + bytes(len(content) - 4096))
    (tmp_path / "salvaged").mkdir()
    _, damaged = salvage(file.path, tmp_path / "salvaged")
    assert damaged == ["all scores (their number is unknown)"]


def test_sending_without_an_outbox_gives_up_after_three_failures_in_a_row_until_it_is_finished(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers = iter("ffoffffo")  # fails, or is ok
    asked: list[int] = []

    def answer(client: Any, sent: Sequence[Score]) -> list[Refusal]:
        asked.append(len(sent))
        if next(answers) == "f":
            raise BUSY
        return [Refusal("no")]

    monkeypatch.setattr("krag_eval_langfuse.delivery.post", answer)
    delivery = SyncDelivery()
    outcomes = [delivery.send(object(), scores(AT_ONCE)) for _ in range(7)]
    assert [(one.sent, one.failed) for one in outcomes] == [(0, 100), (0, 100), (99, 1), *[(0, 100)] * 4]
    assert asked == [100] * 6
    assert outcomes[-1].problems == ("100 scores not tried, because 3 requests in a row failed",)
    delivery.finish(object())
    delivery.send(object(), scores(3))
    assert not delivery.flush(object(), None)
    assert delivery.finish(object()).failed == 3
    assert asked[-1] == 3
    assert delivery.flush(object(), None)


@pytest.mark.parametrize(
    ("status", "cure"),
    [
        (400, "arguments"),
        (401, "LANGFUSE_PUBLIC_KEY"),
        (405, "LANGFUSE_BASE_URL"),
        (429, "try again"),
        (500, "try again"),
    ],
)
def test_what_a_request_that_fails_needs_is_said_by_its_status(status: int, cure: str) -> None:
    client: Any = SimpleNamespace(api=object())
    with pytest.raises(LangfuseRequestError, match=cure), requests_of("score_traces", client):
        raise ApiError(status_code=status)


def test_without_langfuse_a_handler_is_refused_when_it_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*missing: str) -> None:
        raise MissingDependencyError(*missing)

    monkeypatch.setattr("krag_eval_langfuse.sender.need_installed", refuse)
    with pytest.raises(MissingDependencyError, match="LangfuseScoreHandler"):
        LangfuseScoreHandler(session_id="s")


def sender_of(client: Langfuse, delivery: str) -> ScoreSender:
    return ScoreSender(client, delivery=delivery, on_error="log", needed_by="a test")


def test_closing_flushes_the_client_and_sends_what_waits_for_a_full_batch(
    client: Langfuse, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[object] = []
    monkeypatch.setattr(client, "create_score", lambda **_: done.append("given"))
    monkeypatch.setattr(client, "flush", lambda: done.append("flushed"))

    def post(client: Any, sent: Sequence[Score]) -> list[Refusal]:
        done.append(len(sent))
        return []

    monkeypatch.setattr("krag_eval_langfuse.delivery.post", post)
    for delivery, expected in (("queue", ["given", "given", "flushed"]), ("sync", [2])):
        done.clear()
        sender = sender_of(client, delivery)
        sender.send(scores(2))
        sender.close(10)
        assert done == expected
        assert (sender.counters.sent, sender.counters.failed) == (2, 0)


def test_a_flush_says_once_that_a_score_was_lost_be_it_a_single_one(
    client: Langfuse, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(**_: Any) -> None:
        raise OSError("no")

    monkeypatch.setattr(client, "create_score", refuse)
    sender = sender_of(client, "queue")
    sender.send(scores(1))
    assert (sender.flush(10), sender.flush(10)) == (False, True)
    assert (sender.counters.failed, sender.problems) == (1, ["OSError: no"])


@pytest.mark.parametrize("is_down", [False, True], ids=["it answers", "it does not"])
def test_wire_where_no_thread_can_be_started_flush_waits_for_those_of_the_client(
    is_down: bool, server: LoopbackLangfuse, make_client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, ended = make_client(flush_interval=0.1), threading.Event()

    def down(method: str, path: str) -> tuple[int, dict[str, str]]:
        ended.wait(30)  # whatever is on its way stays there
        return 503, {"message": "down"}

    if is_down:
        server.answer = down
    handler = LangfuseScoreHandler(client, session_id="s", run_id="r")
    evaluate([["a"]], [["a"]], k=1, metrics=["recall"], callbacks=[handler])

    def refuse(*_: object) -> None:
        raise RuntimeError("can't create new thread at interpreter shutdown")

    monkeypatch.setattr("krag_eval_langfuse.delivery.start_thread", refuse)
    try:
        assert handler.flush(0.3 if is_down else 30) is not is_down
        assert bool(server.scores) is not is_down
    finally:
        ended.set()


@pytest.mark.parametrize("is_down", [False, True], ids=["it answers", "it does not"])
def test_wire_a_forked_process_that_ends_sends_what_waits_in_few_requests(
    is_down: bool,
    server: LoopbackLangfuse,
    make_client: Any,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr("krag_eval_langfuse.delivery.is_orphaned", lambda client: True)
    monkeypatch.setattr("krag_eval_langfuse.delivery.this_process.seconds_exiting", lambda: 1.0)
    handler = LangfuseScoreHandler(make_client(), session_id="s")
    scorer = LiveScorer({"q": ["a"]}, k=1, metrics="recall", sinks=handler)
    if is_down:
        server.answer = lambda method, path: (400, {"message": "no"})
    for _ in range(60):
        scorer.end_here(scorer.begin_here("q", "search"), ["a"])
    assert scorer.flush(30) is not is_down
    assert sum("otel" not in request for request in server.requests) == 2
    assert len(server.scores) == (0 if is_down else 120)
    assert ("the process ends, and 20 scores have not reached Langfuse" in caplog.text) is is_down
