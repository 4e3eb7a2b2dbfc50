"""What a real language model does that no stand-in does, and that nothing it answered is lost or asked twice.

The model is tiny and often wrong. What it says is of no interest here; what becomes of it is.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from examples import onbori
from examples.local_model import model_file
from krag_eval import InvalidInputError
from krag_eval_llm import NoAnswerError, as_language_model, generate_evalset, run_bench
from krag_eval_llm.local import LocalModel
from tests.adapters.llm.local.conftest import ModelServer, Proxy
from tests.support.command_line import Runner

pytestmark = [pytest.mark.full, pytest.mark.filterwarnings("ignore")]

CHUNKS = list(onbori.sentences())[:4]
PROMPTS = {
    "literal": "{passage}\nWrite a question in {language} that this passage answers, the answer, and the evidence, "
    "which is copied from the passage."
}
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
MAKERS = ["chat", "like", "served"]


@pytest.fixture(params=MAKERS)
def client(request: pytest.FixtureRequest) -> Callable[..., Any]:
    made: Callable[..., Any] = request.getfixturevalue(request.param)
    return made


def generate(llm: object, **settings: Any) -> Any:
    settings = {"n": len(CHUNKS), "attempts": 1, "concurrency": 1, "progress": False, **settings}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # hardly any question of this model is kept
        return generate_evalset(CHUNKS, llm, types=["literal"], prompts=PROMPTS, **settings)


def rows_of(journal: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in journal.read_text(encoding="utf-8").splitlines()[1:]]


def test_json_that_is_cut_off_is_counted_and_not_paid_for_again(client: Callable[..., Any], proxy: Proxy) -> None:
    waits: list[float] = []
    model = as_language_model(client(max_tokens=8), sleep=waits.append)
    made = generate(model)
    (row,) = made.report.types.values()
    assert (row.asked, dict(row.dropped)) == (len(CHUNKS), {"bad_json": len(CHUNKS)})
    assert set(proxy.answered.values()) == {1}
    assert proxy.answered.total() == len(CHUNKS) == model.counters.calls == model.counters.bad_json
    assert waits == []
    assert model.counters.output_tokens == 8 * len(CHUNKS)


def test_what_is_made_and_what_is_dropped_add_up_to_what_was_asked(chat: Callable[..., Any], proxy: Proxy) -> None:
    made = generate(chat(), language="ko")  # of English chunks, which leads this model astray
    (row,) = made.report.types.values()
    assert row.made + sum(row.dropped.values()) == row.asked == proxy.answered.total()
    assert row.dropped.keys() & {"other_language", "no_question", "no_evidence", "bad_json"}


def test_an_answer_that_takes_too_long_is_given_up_and_the_next_prompt_is_answered(chat: Callable[..., Any]) -> None:
    model = as_language_model(chat(max_tokens=200), timeout=0.05, retries=0)
    with pytest.raises(NoAnswerError) as failed:
        model.ask("Tell the long story of a parcel that went to Jeju.")
    assert failed.value.reason == "timed_out"
    assert (model.counters.time_outs, model.counters.failures) == (1, 1)
    assert as_language_model(chat(max_tokens=5), timeout=240).ask("Say yes.")


def test_a_rate_limit_is_waited_out_and_no_prompt_reaches_the_model_twice(
    client: Callable[..., Any], proxy: Proxy
) -> None:
    proxy.on_request = lambda number: number % 2 == 1
    waits: list[float] = []
    model = as_language_model(client(), sleep=waits.append)
    made = generate(model)
    assert proxy.refused == len(CHUNKS) == model.counters.rate_limits
    assert waits == [1.0] * len(CHUNKS)
    assert set(proxy.answered.values()) == {1}
    assert made.report.types["literal"].asked == len(CHUNKS) == proxy.answered.total()


def test_a_limit_that_never_ends_is_a_reason_of_its_own(chat: Callable[..., Any], proxy: Proxy) -> None:
    proxy.on_request = lambda number: True
    made = generate(as_language_model(chat(), retries=1, sleep=lambda _: None))
    assert dict(made.report.types["literal"].dropped) == {"rate_limited": len(CHUNKS)}
    assert proxy.refused == 2 * len(CHUNKS)
    assert not proxy.answered


def test_a_server_that_dies_in_the_middle_and_comes_back_is_asked_the_rest_alone(
    client: Callable[..., Any], proxy: Proxy, model_server: ModelServer, tmp_path: Path
) -> None:
    journal = tmp_path / "questions.jsonl"
    proxy.while_answering = lambda number: model_server.kill() if number == 3 else None
    first = generate(as_language_model(client(200), retries=1, sleep=lambda _: None), journal=journal)
    answered = proxy.answered.copy()
    assert first.report.types["literal"].dropped["unreachable"] == len(CHUNKS) - answered.total() > 0
    kept = [row for row in rows_of(journal) if row.get("error") is None]
    assert len(kept) == answered.total()

    proxy.while_answering = lambda number: None
    model_server.start()
    second = as_language_model(client(200), sleep=lambda _: None)
    made = generate(second, journal=journal, retry_errors=True)
    assert second.counters.calls == len(CHUNKS) - answered.total()
    assert set(proxy.answered.values()) == {1}
    assert len(proxy.answered) == len(CHUNKS)
    rows = rows_of(journal)
    assert [row for row in rows if row["key"] in {one["key"] for one in kept}] == kept
    assert not made.report.types["literal"].dropped.get("unreachable")
    third = as_language_model(client(200))
    assert generate(third, journal=journal, retry_errors=True).evalset == made.evalset
    assert third.counters.calls == 0


def test_a_server_that_comes_back_while_one_waits_is_not_noticed(
    chat: Callable[..., Any], proxy: Proxy, model_server: ModelServer
) -> None:
    model_server.kill()
    model = as_language_model(chat(), sleep=lambda _: model_server.start())
    generate(model)
    assert (model.counters.unreachable, model.counters.failures - model.counters.bad_json) == (1, 0)
    assert set(proxy.answered.values()) == {1}


def test_a_bench_goes_on_after_the_death_of_its_model(
    chat: Callable[..., Any], like: Callable[..., Any], proxy: Proxy, model_server: ModelServer, tmp_path: Path
) -> None:
    questions = [
        {"id": chunk["id"], "question": f"What is said here: {chunk['text'][:20]}?", "answer": chunk["text"]}
        | {"gold_chunk_ids": [chunk["id"]]}
        for chunk in CHUNKS[:2]
    ]

    def bench(retries: int) -> Any:
        return run_bench(
            CHUNKS,
            lambda question: CHUNKS[:1],
            llm=as_language_model(chat(), retries=retries, sleep=lambda _: None),
            answer=as_language_model(like(), retries=retries, sleep=lambda _: None),
            evalset=questions,
            k=[1],
            journals=tmp_path,
            concurrency=1,
            progress=False,
        )

    model_server.kill()
    failed = bench(0)
    assert all(isinstance(answer, Exception) for answer in failed.answers.values())
    assert not proxy.answered
    model_server.start()
    made = bench(1)
    assert all(isinstance(answer, str) and answer for answer in made.answers.values())
    assert set(proxy.answered.values()) == {1}
    n_answered = proxy.answered.total()
    verdicts = {row["key"] for row in rows_of(tmp_path / "verdicts.jsonl")}
    again = bench(1)
    assert again.answers == made.answers
    # What was judged is not judged again; only verdicts that could not be used are asked for once more.
    assert verdicts <= {row["key"] for row in rows_of(tmp_path / "verdicts.jsonl")}
    assert proxy.answered.total() - n_answered <= n_answered - len(verdicts) - len(questions)


@pytest.fixture(scope="module")
def local() -> LocalModel:
    return LocalModel(model_file())


def test_a_file_is_asked_from_many_threads_and_answers_as_it_does_alone(local: LocalModel) -> None:
    model = as_language_model(local)
    prompts = [f"Name a city of {country}." for country in ("Korea", "France", "Italy")]
    alone = [model.ask(prompt, SCHEMA) for prompt in prompts]
    with ThreadPoolExecutor(3) as pool:
        together = list(pool.map(lambda prompt: model.ask(prompt, SCHEMA), prompts))
    assert all(isinstance(answer["city"], str) for answer in alone)
    assert together == alone
    assert (model.counters.calls, model.counters.bad_json, model.name) == (6, 0, model_file().name)


def test_a_prompt_that_the_model_cannot_hold_is_rejected(local: LocalModel) -> None:
    with pytest.raises(NoAnswerError, match="exceeds the available context size") as failed:
        as_language_model(local).ask("word " * 9000, SCHEMA)
    assert failed.value.reason == "rejected"


def test_a_model_file_that_was_not_downloaded_to_its_end_is_named(tmp_path: Path) -> None:
    with model_file().open("rb") as whole:
        (tmp_path / "cut.gguf").write_bytes(whole.read(3_000_000))
    with pytest.raises(InvalidInputError, match=r"cut\.gguf: llama\.cpp cannot load this model"):
        LocalModel(tmp_path / "cut.gguf")


def test_the_command_takes_a_file(tmp_path: Path, command: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("krag_eval_llm.local.ANSWER_TOKENS", 40)  # it would ramble up to the end
    (tmp_path / "chunks.jsonl").write_text(json.dumps(CHUNKS[0]) + "\n", encoding="utf-8")
    question = {"id": "q", "question": "What happens?", "answer": "Nothing", "gold_chunk_ids": [CHUNKS[0]["id"]]}
    (tmp_path / "set.jsonl").write_text(json.dumps(question) + "\n", encoding="utf-8")
    (tmp_path / "search.py").write_text(f"def first(question):\n    return [{CHUNKS[0]!r}]\n", encoding="utf-8")
    outcome = command(
        f"bench --retriever search:first --evalset set.jsonl --llm gguf:{model_file()} --k 1 --out bench.json"
    )
    assert outcome.code == 0, outcome.err
    report = json.loads((tmp_path / "bench.json").read_text(encoding="utf-8"))
    assert {"answers", "context"} <= {section["key"] for section in report["sections"]}
    assert model_file().name in json.dumps(report)
