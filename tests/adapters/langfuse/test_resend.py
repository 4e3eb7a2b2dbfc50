"""`krag-eval langfuse-resend`: what it sends, what it says, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from langfuse import Langfuse
from langfuse._client.resource_manager import LangfuseResourceManager
from opentelemetry.sdk.trace import TracerProvider

from krag_eval_cli.help import EXAMPLES
from krag_eval_langfuse.score_file import ScoreFile
from krag_eval_langfuse.scores import Score, Target
from tests.adapters.langfuse.faulty_server import BUSY, Fault, FaultyLangfuse
from tests.support.command_line import Runner


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultyLangfuse]:
    """A server that the environment names, and no client of another test."""
    monkeypatch.setattr(LangfuseResourceManager, "_instances", {})
    monkeypatch.setattr("krag_eval_langfuse.outbox_delivery.FIRST_WAIT", 0.001)
    monkeypatch.setattr("krag_eval_langfuse.outbox_delivery.LONGEST_WAIT", 0.002)
    with FaultyLangfuse() as running:
        for name, value in {"BASE_URL": running.url, "PUBLIC_KEY": "pk-lf-env", "SECRET_KEY": "sk-lf-env"}.items():
            monkeypatch.setenv(f"LANGFUSE_{name}", value)
        yield running
        for made in LangfuseResourceManager._instances.values():
            made.shutdown()


@pytest.fixture
def resend(command: Runner, server: FaultyLangfuse) -> Runner:
    """Calls the command in a folder with an outbox of three scores."""
    fill(3)
    return command


def fill(n: int) -> None:
    file, day = ScoreFile("langfuse.outbox"), datetime(2026, 5, 4, tzinfo=UTC)
    file.put(
        Score(f"id-{number}", "krag.mrr", number / 4, Target(trace_id=f"t{number}"), day, {"n_gold": 1})
        for number in range(n)
    )
    file.close()


def test_it_sends_what_waits_and_then_there_is_nothing_to_send(resend: Runner, server: FaultyLangfuse) -> None:
    assert resend("langfuse-resend langfuse.outbox") == (0, "langfuse.outbox: 3 sent, 0 waiting, 0 rejected\n", "")
    assert {(score["id"], score["traceId"], score["value"]) for score in server.scores} == {
        ("id-0", "t0", 0.0),
        ("id-1", "t1", 0.25),
        ("id-2", "t2", 0.5),
    }
    assert resend("langfuse-resend langfuse.outbox") == (0, "langfuse.outbox: 0 sent, 0 waiting, 0 rejected\n", "")
    assert server.n_requests == 1


def test_the_example_of_its_help_text_runs(resend: Runner, server: FaultyLangfuse) -> None:
    (line,) = EXAMPLES["langfuse-resend"].strip().splitlines()
    assert resend(line.removeprefix("krag-eval ")).code == 0


def test_the_environment_names_the_client_however_many_others_there_are(resend: Runner, server: FaultyLangfuse) -> None:
    for other in ("pk-lf-one", "pk-lf-two"):
        Langfuse(public_key=other, secret_key="sk", base_url="http://127.0.0.1:9", tracer_provider=TracerProvider())
    assert resend("langfuse-resend langfuse.outbox")[0] == 0
    assert len(server.scores) == 3


def test_it_names_what_was_rejected_and_why(resend: Runner, server: FaultyLangfuse) -> None:
    server.choose = lambda number: Fault(403, {"message": "wrong project"})
    code, out, err = resend("langfuse-resend langfuse.outbox --show 2")
    assert (code, err) == (1, "")
    assert out.splitlines() == [
        "langfuse.outbox: 0 sent, 0 waiting, 3 rejected",
        "  rejected: krag.mrr = 0.0 of trace_id t0 (id-0)",
        "    HTTP 403: {'message': 'wrong project'}",
        "  rejected: krag.mrr = 0.25 of trace_id t1 (id-1)",
        "    HTTP 403: {'message': 'wrong project'}",
        "  and 1 more; --show 0 shows all",
    ]
    code, out, _ = resend("langfuse-resend langfuse.outbox --json -")
    told = json.loads(out)
    assert (code, told["sent"], told["waiting"], told["problem"]) == (1, 0, 0, None)
    assert [(row["id"], row["target"], row["reason"][:8]) for row in told["rejected"]] == [
        (f"id-{number}", {"trace_id": f"t{number}"}, "HTTP 403") for number in range(3)
    ]


@pytest.mark.full
def test_it_gives_up_after_a_time_without_an_answer_and_says_what_waits(resend: Runner, server: FaultyLangfuse) -> None:
    server.choose = lambda number: BUSY
    code, out, err = resend("langfuse-resend langfuse.outbox --timeout 2")
    assert (code, err) == (1, "")
    assert out.startswith(
        "langfuse.outbox: 0 sent, 3 waiting, 0 rejected\n3 scores have not reached Langfuse yet (HTTP"
    )
    assert " ".join(out.split()).endswith("To send now, run: krag-eval langfuse-resend langfuse.outbox")
    assert resend("langfuse-resend langfuse.outbox --timeout 0 --json told.json")[0] == 1
    assert json.loads(Path("told.json").read_text(encoding="utf-8"))["waiting"] == 3


def test_what_is_no_outbox_is_a_mistake_in_one_line_and_stays_as_it_is(resend: Runner) -> None:
    assert resend("langfuse-resend none.outbox") == (
        2,
        "",
        "InvalidInputError: none.outbox: there is no such file. Pass the path that a run was given as `outbox`.\n",
    )
    assert not Path("none.outbox").exists()
    Path("questions.csv").write_text("question,gold\n", encoding="utf-8")
    code, out, err = resend("langfuse-resend questions.csv")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("InvalidInputError: questions.csv: is not an outbox of this version of krag_eval")
    assert Path("questions.csv").read_text(encoding="utf-8") == "question,gold\n"


def test_without_keys_it_says_so_and_keeps_everything(resend: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LANGFUSE_PUBLIC_KEY")
    code, out, err = resend("langfuse-resend langfuse.outbox")
    assert (code, out) == (2, "")
    assert "LangfuseDeliveryError: The Langfuse client sends nothing" in err
    assert "3 scores stay in langfuse.outbox" in err
    assert ScoreFile("langfuse.outbox").n_waiting() == 3


def test_what_is_damaged_is_counted_and_named_and_the_rest_is_sent(resend: Runner, server: FaultyLangfuse) -> None:
    path = Path("langfuse.outbox")
    damaged = path.read_bytes().replace(b'"value": 0.25', b'"value": 0.75')
    path.write_bytes(damaged)
    code, out, err = resend("langfuse-resend langfuse.outbox")
    assert (code, err) == (1, "")
    assert out.splitlines()[0] == "langfuse.outbox: 2 sent, 0 waiting, 0 rejected, 1 damaged"
    assert out.splitlines()[-1] == "  damaged: score 2 (id-1)"
    told = json.loads(resend("langfuse-resend langfuse.outbox --json -").out)
    assert (told["sent"], told["damage"]) == (2, "the checksum of score 2 is wrong")
    assert told["damaged"] == ["score 2 (id-1)"]
    assert {score["id"] for score in server.scores} == {"id-0", "id-2"}
    assert path.read_bytes() == damaged
    path.write_bytes(b"")
    code, _, err = resend("langfuse-resend langfuse.outbox")
    assert (code, "langfuse.outbox: is empty" in err) == (2, True)
