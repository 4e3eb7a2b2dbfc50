"""Credentials of every shape, through every way out: what a retriever raises, parameters, metadata, the environment."""

from __future__ import annotations

import base64
import html
import json
import logging
import pickle
import subprocess
import sys
import time
import traceback
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest

from krag_eval import (
    InvalidInputError,
    KragEvalError,
    Redactor,
    Run,
    RunRow,
    build_report,
    evaluate,
    evaluate_run,
    read_run,
    run_retriever,
)
from krag_eval._utils.errors import RetrieverError, warn
from krag_eval._utils.redaction import as_cause, describe_error
from krag_eval_live import LiveScorer, RetrievalSink
from tests.support.command_line import Runner
from tests.support.live_cases import retrieve
from tests.support.marks import nothing_may_match
from tests.support.secret_shapes import SHAPES, fake, leaked

NAMES = list(SHAPES)
TEXTS = [text for text, _ in SHAPES.values()]
# How values of the environment come out that look like nothing: `{}` is a password of letters, in other words.
PASSWORD = 'correct horse "battery" staple'
EVALSET = [{"id": f"q{n}", "question": f"Question {n}?", "gold_chunk_ids": ["c1"]} for n in range(len(NAMES))]
in_steps = pytest.mark.parametrize("step", [9, pytest.param(1, marks=pytest.mark.full)])
MODULE = """
import os
from tests.support.secret_shapes import SHAPES

TEXTS = [text for text, _ in SHAPES.values()]

def raises(question):
    number = int(question.split()[1].rstrip("?"))
    raise ConnectionError(TEXTS[number] + " " + os.environ["SHOP_DB_PASS"]) from ValueError(TEXTS[number])

def returns(question):
    number = int(question.split()[1].rstrip("?"))
    metadata = {"source": TEXTS[number], "of": [os.environ["SHOP_DB_PASS"]], "deep": {"more": [TEXTS[number]]}}
    return [{"id": "c1", "text": "a text", "metadata": {**metadata, "api_key": os.environ["SHOP_DB_PASS"]}}]

class Model:
    n = 0

    def __call__(self, prompt):
        Model.n += 1
        raise ConnectionError(TEXTS[Model.n % len(TEXTS)])

def answer(question, documents):
    raises(question)

def broken():
    raise SystemError(" ".join(TEXTS[:40]))
"""


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_DB_PASS", PASSWORD)


def shown(text: str) -> list[str]:
    """Which credentials stand in a text."""
    return leaked(text) + ["the environment"] * ("battery" in text)


def shown_in_files(folder: Path) -> dict[str, list[str]]:
    texts = {path: path.read_bytes().decode("utf-8", "replace") for path in folder.rglob("*") if path.is_file()}
    return {path.name: found for path, text in texts.items() if path.suffix != ".pyc" and (found := shown(text))}


def test_there_are_more_than_a_hundred_and_each_would_be_seen() -> None:
    assert len(SHAPES) > 240
    assert sorted(leaked("\n".join(TEXTS))) == sorted(NAMES)
    assert all(len(value) >= 16 for _, value in SHAPES.values())


@pytest.mark.sample(7)
@pytest.mark.parametrize("name", NAMES)
def test_each_is_taken_out_of_a_text_and_nothing_more_the_second_time(name: str) -> None:
    text, value = SHAPES[name]
    redacted = Redactor()(text)
    assert value[: len(value) // 2] not in redacted
    assert value[len(value) // 2 :] not in redacted
    assert Redactor()(redacted) == redacted
    assert describe_error(ValueError(text)) == f"ValueError: {Redactor()(' '.join(redacted.split()))}"


@pytest.mark.sample(3)
@pytest.mark.parametrize("around", ["{}", "Lamps\n{}", "docs/{}/a.pdf", "see {}, part 3", "Лампы {} 등불"])
def test_the_glance_at_metadata_misses_none_that_is_taken_out(around: str) -> None:
    redactor = Redactor()
    texts = [around.format(text) for text in [*TEXTS, f"it was {PASSWORD}", "Bearer a1b2c3d4e5f6"]]
    changed = [text for text in texts if redactor(text) != text]
    assert len(changed) > 200
    assert [text for text in changed if redactor.is_clean({"source"}, {text, "Lamps"})] == []
    assert not redactor.is_clean({"source", "api_key"}, {"Lamps"})
    assert redactor.is_clean({"source", "page"}, {"docs/lamps.pdf", "2026-05-04"})


@pytest.mark.parametrize("value", ["letmein", "two words", "correct/horse"])
def test_the_glance_at_metadata_knows_the_values_of_the_environment(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_DB_PASS", value)
    assert not Redactor().is_clean({"source"}, {f"it was {value}"})


COMMANDS = [
    "run set.jsonl --retriever leaky:raises --k 3 --out run.jsonl --retries 0",
    "run set.jsonl --retriever leaky:returns --k 3 --out found.jsonl",
    "run set.jsonl --retriever leaky:returns --k 3 --out found.jsonl --resume",
    "evaluate set.jsonl run.jsonl found.jsonl --per-query rows.jsonl --json scores.json",
    "evaluate set.jsonl run.jsonl found.jsonl",
    "diagnose set.jsonl found.jsonl",
    "compare set.jsonl run.jsonl found.jsonl --json compared.json",
    "convert found.jsonl found.csv",
    "report set.jsonl run.jsonl found.jsonl --out report.html",
    "report set.jsonl run.jsonl found.jsonl --out report.md",
    "report set.jsonl run.jsonl found.jsonl --out report.json",
    "report set.jsonl run.jsonl found.jsonl --out report.csv",
    "bench --evalset set.jsonl --retriever leaky:returns --answer leaky:answer --out bench.md --journals kept",
    "bench --evalset set.jsonl --retriever leaky:returns --llm leaky:Model --out judged.md --journals judged",
    "run set.jsonl --retriever leaky:broken --k 3 --out broken.jsonl",
]


@pytest.mark.full
def test_no_command_prints_or_writes_one(
    command: Runner, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("krag_eval.retrievers.asking.LONGEST_WAIT", 0)
    monkeypatch.setattr(time, "sleep", lambda seconds: None)  # before a model is asked again
    (tmp_path / "leaky.py").write_text(MODULE, encoding="utf-8")
    (tmp_path / "set.jsonl").write_text("".join(json.dumps(row) + "\n" for row in EVALSET), encoding="utf-8")
    params = [part for n, text in enumerate([*TEXTS, PASSWORD]) for part in ("--param", f"p{n}={text}")]
    with caplog.at_level(logging.DEBUG):
        for line in COMMANDS:
            outcome = command(line, *(params if line.startswith("run") else []))
            assert shown(outcome.out + outcome.err) == [], line
            assert outcome.code in (0, 1, 2), line
    written = {path.name for path in tmp_path.iterdir()}
    assert {"run.jsonl", "found.jsonl", "report.html", "report.md", "report.json", "bench.md", "rows.jsonl"} <= written
    assert shown_in_files(tmp_path) == {}
    assert shown(caplog.text) == []
    assert "postgresql+psycopg2://host:5432/db is down" in (tmp_path / "run.jsonl").read_text(encoding="utf-8")


def namespace() -> dict[str, Any]:
    made: dict[str, Any] = {}
    exec(compile(MODULE, "leaky.py", "exec"), made)
    return made


@in_steps
@nothing_may_match
def test_nothing_that_the_library_returns_pickles_or_shows_has_one(tmp_path: Path, step: int) -> None:
    module, evalset = namespace(), EVALSET[::step]
    parameters = {**dict(zip(NAMES, TEXTS, strict=True)), "deep": {"password": PASSWORD, "list": TEXTS}, "pin": 5}
    runs = {
        name: run_retriever(
            evalset, module[name], k=3, retries=0, journal=tmp_path / f"{name}.jsonl", parameters=parameters
        )
        for name in ("raises", "returns")
    }
    again = [read_run(tmp_path / f"{name}.jsonl") for name in runs]
    results = {name: evaluate_run(evalset, run, k=3) for name, run in runs.items()}
    objects = [*runs.values(), *again, *(run.rows for run in again), *results.values()]
    texts = [*map(repr, objects), *(result.to_json() for result in results.values())]
    texts += [result._repr_html_() for result in results.values()]
    texts += [repr(build_report(evalset, results))]
    assert shown("\n".join(texts)) == []
    assert shown(pickle.dumps([*runs.values(), *again]).decode("latin-1")) == []
    assert shown_in_files(tmp_path) == {}
    assert again[1].parameters["pin"] == 5


@pytest.mark.full
@nothing_may_match
def test_runs_of_other_programs_show_none() -> None:
    rows = [RunRow(query_id=f"q{n}", error=text) for n, text in enumerate(TEXTS)]
    read = [RunRow.from_dict({"query_id": f"q{n}", "error": text}) for n, text in enumerate(TEXTS)]
    run = Run.of("theirs", rows, parameters={"dsn": TEXTS}, recorded={"url": TEXTS})
    result = evaluate_run(EVALSET, run, k=1)
    assert shown(repr([run, read, result.errors, result.to_json()])) == []


@in_steps
@nothing_may_match
def test_no_error_cause_warning_or_pickle_of_them_shows_one(recwarn: pytest.WarningsRecorder, step: int) -> None:
    for text in TEXTS[::step]:
        for kind in (KragEvalError, InvalidInputError, RetrieverError):
            error = kind(f"It failed: {text}")
            assert shown("".join(traceback.format_exception(error)) + repr(error)) == []
            assert shown(pickle.dumps(error).decode("latin-1")) == []
        assert as_cause(ValueError(text)) is None
        warn(text)
        result = evaluate([["a"]], [[ConnectionError(text)][0]], k=1, metrics="mrr")
        assert shown(repr(result.errors)) == []
    assert shown("".join(str(one.message) for one in recwarn)) == []
    harmless = ValueError("the index is empty")
    assert as_cause(harmless) is harmless


@pytest.mark.parametrize("kind", ["text", "metadata"])
def test_no_traceback_of_a_document_that_cannot_be_read_shows_one(kind: str) -> None:
    class Broken:
        id = "c1"

        def __getattr__(self, name: str) -> Any:
            raise ConnectionError(" ".join(TEXTS[:9]))

    with pytest.raises(InvalidInputError) as error:
        evaluate([[Broken()]], [["a"]], k=1)
    assert shown("".join(traceback.format_exception(error.value))) == []


class Leaking(RetrievalSink):
    """Raises what it is told to, and remembers what it heard."""

    def __init__(self) -> None:
        self.heard: list[Any] = []

    def on_retrieval_scored(self, retrieval: Any, target: Any) -> None:
        self.heard.append(retrieval)
        raise ConnectionError(TEXTS[len(self.heard) % len(TEXTS)])


@in_steps
def test_no_live_score_log_or_problem_shows_one(caplog: pytest.LogCaptureFixture, step: int) -> None:
    sink = Leaking()
    scorer = LiveScorer(sinks=[sink])
    with caplog.at_level(logging.DEBUG):
        for number, text in enumerate(TEXTS[::step]):
            scorer.report("test", ConnectionError(text))
            retrieve(scorer, f"q{number}", ConnectionError(text))
        assert scorer.flush()
    assert len(sink.heard) == len(TEXTS[::step])
    assert shown(repr([sink.heard, scorer.problems, scorer]) + caplog.text) == []


@pytest.mark.full
def test_an_error_that_nobody_expected_shows_none_in_its_traceback(tmp_path: Path) -> None:
    code = (
        "import sys; sys.argv = ['krag-eval', 'validate', 'x']\n"
        "from krag_eval_cli import running\n"
        "from tests.support.secret_shapes import SHAPES\n"
        "def fail(app): raise ZeroDivisionError('\\n'.join(text for text, _ in SHAPES.values()))\n"
        "running._call = fail\n"
        "running.main()\n"
    )
    outcome = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2]
    )
    assert outcome.returncode == 70
    assert "ZeroDivisionError" in outcome.stderr
    assert shown(outcome.stderr + outcome.stdout) == []


@pytest.mark.full
def test_a_huge_message_is_read_in_part_and_a_credential_cut_in_two_is_not_shown() -> None:
    value = fake("huge", 64)
    assert len(describe_error(ValueError(f"password={value} " * 1_000_000))) < 520
    text = f"password={'x' * 9_970} {value}"
    assert value[:12] not in describe_error(ValueError(text))


VALUES = [
    ("DB_PASS", "hunter2!", True),
    ("MYSQL_PWD", "letmein", True),
    ("CLIENT_SECRET", "a b c d e", True),
    ("SEARCH_KEY", "abcdefgh", True),
    ("AWS_SECRET_ACCESS_KEY", "/abc/def+ghi1234", True),
    ("SERVICE_AUTH", "user:0451x", True),
    ("DATABASE_URL", "postgresql://me:trustno1@host/db", True),
    ("SHOP_DSN", "host=h password=trustno1", True),
    ("PWD", "/somewhere/else", False),
    ("OLDPWD", "folder-name", False),
    ("MAX_TOKENS", "unlimited", False),
    ("TOKENIZERS_PARALLELISM", "perhaps", False),
    ("KEYBOARD_LAYOUT", "german", False),
    ("SSH_AUTH_SOCK", "/tmp/agent.1", False),
    ("XDG_SESSION_TYPE", "wayland", False),
    ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/run/bus", False),
    ("DESKTOP_SESSION", "plasma", False),
    ("AUTH_METHOD", "password", False),
    ("USE_AUTH", "enabled", False),
    ("API_KEY", "true", False),
    ("TOKEN_FILE", "secret.txt", False),
    ("SECRETS_PATH", "/run/secrets", False),
    ("SECRET_DIR", "/usr/lib", False),
    ("DOC_KEY", "doc_id", False),
]


@pytest.mark.sample(5)
@pytest.mark.parametrize(("name", "value", "is_secret"), VALUES)
def test_the_environment_holds_credentials_under_names_that_say_so(
    name: str, value: str, is_secret: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    said = value.partition("://me:")[2].partition("@")[0] or value
    redacted = Redactor()(f"it was {said} again")
    assert redacted == ("it was [key] again" if is_secret else f"it was {said} again")


@pytest.mark.parametrize("form", [json.dumps(PASSWORD), "correct%20horse%20%22battery%22%20staple", repr(PASSWORD)])
def test_a_value_of_the_environment_is_known_in_json_in_an_address_and_on_several_lines(form: str) -> None:
    assert "battery" not in Redactor()(f"it was {form} again")


ENCODED = {
    "in an address twice": quote(quote(PASSWORD, safe=""), safe=""),
    "in a form": quote_plus(PASSWORD),
    "in an address in small letters": quote(PASSWORD, safe="").replace("%2F", "%2f"),
    "in HTML": html.escape(PASSWORD),
    "in bytes": repr(PASSWORD.encode())[2:-1],
    "in hexadecimal": PASSWORD.encode().hex(),
    "in capitals of hexadecimal": PASSWORD.encode().hex().upper(),
    **{f"in base64 after {n} letters": base64.b64encode(b"u" * n + PASSWORD.encode()).decode() for n in range(4)},
    "in base64 of addresses": base64.urlsafe_b64encode(b"me:" + PASSWORD.encode()).decode(),
    "in base64 between others": base64.b64encode(f"u:{PASSWORD}:m".encode()).decode(),
    "wrapped": '│ correct horse "bat │\n│ tery" staple         │',
    "wrapped with a backslash": 'correct hor\\\n    se "battery" staple',
}


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", ENCODED)
def test_a_value_of_the_environment_is_known_encoded_and_wrapped(name: str) -> None:
    redacted = Redactor()(f"it was {ENCODED[name]} again")
    shown = redacted.removeprefix("it was ").removesuffix(" again").replace("[key]", "")
    assert "[key]" in redacted
    assert len(shown) <= 12 + ENCODED[name].count("│") * 12, (
        "no more than the letters that what stands beside it decides"
    )


def test_a_pair_of_parameters_that_is_a_header_loses_its_value() -> None:
    given = {"headers": [["x-api-key", "letmein"], ("accept", "*/*")], "password": ["letmein"], "pin": 5}
    expected = {"headers": [["x-api-key", "[key]"], ("accept", "*/*")], "password": "[key]", "pin": 5}
    assert Redactor().of(given) == expected


def test_looking_for_the_keys_of_a_large_object_ends() -> None:
    class Wide:
        def __init__(self, depth: int) -> None:
            self.api_key = f"canary-{depth}-0123456789"
            self.children = [Wide(depth - 1) for _ in range(9)] if depth else []

    redact = Redactor(Wide(4))
    assert redact("canary-4-0123456789") == "[key]"
