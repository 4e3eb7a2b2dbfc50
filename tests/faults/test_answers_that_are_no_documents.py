"""Whatever a retriever returns, the run that is written is read and scored, and its faults are errors of questions."""

from __future__ import annotations

import asyncio
import json
import re
import warnings
import zlib
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from krag_eval import (
    EvalSet,
    InvalidInputError,
    Run,
    arun_retriever,
    evaluate_retriever,
    evaluate_run,
    read_run,
    run_retriever,
    write_run,
)
from krag_eval.retrievers.agents import run_agent

EVALSET = EvalSet([{"id": f"q{n}", "question": f"question {n}", "gold_chunk_ids": ["c1"]} for n in range(3)])
GOOD: dict[str, Any] = {"id": "c1", "text": "At nine."}
FAULT = "InvalidInputError: `retrieved[0]`: expected documents or ids, got dict with keys foo"


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def failing() -> Iterator[Any]:
    yield GOOD
    raise ConnectionError("cut off")


class Hostile:
    """An object of which nothing can be asked."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)


class Text(str):
    __slots__ = ()

    def __str__(self) -> str:
        return "another"


async def never() -> None:
    return None


# Each makes an answer. What is no document is an error; everything else is kept.
REFUSED: dict[str, Callable[[], Any]] = {
    "a dict with other keys": lambda: [{"foo": 1}],
    "after a document": lambda: [GOOD, {"title": "a", "passage": "b"}],
    "an empty dict": lambda: [{}],
    "None among documents": lambda: [GOOD, None],
    "a nested list": lambda: [[GOOD]],
    "no list": lambda: 7,
    "None": lambda: None,
    "a string": lambda: "c1",
    "bytes": lambda: b"c1",
    "bytes in a list": lambda: [b"c1"],
    "a dict of documents": lambda: {"c1": GOOD},
    "a list as an id": lambda: [{"id": ["c1"]}],
    "a bool as an id": lambda: [{"id": True}],
    "an empty id": lambda: [{"id": ""}],
    "NaN": lambda: [float("nan")],
    "a coroutine in a list": lambda: [SimpleNamespace(send=never)],
    "an object without an id": lambda: [object()],
    "a hostile object": lambda: [Hostile()],
    "a generator that fails": failing,
    "a set": lambda: {"c1"},
    "rows of an array": lambda: np.zeros((2, 2)),
    "an array without a dimension": lambda: np.array(3),
    "metadata alone": lambda: [{"metadata": {"author": "Ann"}}],
    "metadata that is no mapping": lambda: [{"metadata": [1]}],
}
KEPT: dict[str, Callable[[], Any]] = {
    "nothing": list,
    "a tuple": lambda: (GOOD,),
    "an array of strings": lambda: np.array(["c1", "c2"]),
    "numpy's scalars": lambda: [{"id": np.int64(7), "score": np.float32(0.5), "metadata": {"n": np.arange(3)}}],
    "no number as a score": lambda: [{**GOOD, "score": "high"}, {**GOOD, "score": [1]}],
    "no finite score": lambda: [{**GOOD, "score": float("nan")}, {"id": "c2", "score": float("-inf")}],
    "lone surrogates": lambda: [{"id": "c\ud800", "text": "\udcff\x00", "metadata": {"\ud83d": "\ude00"}}],
    "NUL": lambda: [{"id": "c\x00", "text": "\x00\x1f\u2028\r\n"}],
    "deep metadata": lambda: [{**GOOD, "metadata": {"deep": deep(200)}}],
    "metadata that JSON has not": lambda: [
        {**GOOD, "metadata": {1: date(2026, 1, 1), "s": {2, 1}, "o": object, "n": float("nan"), "big": 10**400}}
    ],
    "one document twice": lambda: [GOOD, GOOD],
    "a long text": lambda: [{"id": "c1", "text": "long " * 100_000}],
    "a string that says otherwise": lambda: [{"id": Text("c1"), "text": Text("x")}],
    "an id in the metadata": lambda: [SimpleNamespace(id=None, text="x", metadata={"id": "m1"})],
    "two ids": lambda: [SimpleNamespace(page_content="x", id="own", metadata={"id": "m1", ".id": "m2"})],
    "a place alone": lambda: [{"metadata": {"doc_id": "d", "start": 1, "end": 5}}],
    "a source alone": lambda: [{"metadata": {"source": "faq.md"}}],
    "a source and a document": lambda: [{"source": "faq.md"}, GOOD],
}
CASES = {**REFUSED, **KEPT}
NOT_IN_TABLES = ("lone surrogates", "NUL")  # `write_run` refuses them by name


def scored(run: Run) -> dict[str, Any]:
    """Return the scores; texts alone are scored by text, as `krag-eval run` says."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [one for row in run.rows.values() for one in row.retrieved]
        by_text = bool(found) and all(one.id is None and one.text is not None for one in found)
        gold = EvalSet([{"id": q.id, "question": q.question, "gold": [{"text": "At nine."}]} for q in EVALSET])
        result = evaluate_run(gold if by_text else EVALSET, run, 2, match_method="text" if by_text else "id")
    return result.to_dict() | {"errors": result.errors}


def check_kept(run: Run, journal: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a fault of the file is none of a new run
        warnings.filterwarnings("ignore", message=".*the same document several times")  # one of the retriever's
        again = read_run(journal, evalset=EVALSET)
    assert {query: again.rows[query] for query in run.rows} == run.rows
    assert scored(again) == scored(run)


@pytest.mark.sample(5)
@pytest.mark.filterwarnings("ignore:coroutine")
@pytest.mark.parametrize("case", CASES)
def test_what_is_no_document_is_an_error_of_its_question_and_the_file_is_read_and_scored(
    case: str, tmp_path: Path
) -> None:
    def find(question: str) -> Any:
        return CASES[case]() if question.endswith("1") else [GOOD]

    async def find_later(question: str) -> Any:
        return find(question)

    for name, retriever in {
        "sync": find,
        "async": find_later,
        "sync that returns an awaitable": lambda q: find_later(q),
    }.items():
        path = tmp_path / f"{name}.jsonl"
        run = run_retriever(EVALSET, retriever, k=3, retries=0, journal=path)
        assert set(run.errors) == ({"q1"} if case in REFUSED else set())
        check_kept(run, path)
    run = asyncio.run(arun_retriever(EVALSET, find_later, k=3, retries=0, journal=tmp_path / "here.jsonl"))
    check_kept(run, tmp_path / "here.jsonl")


@pytest.mark.sample(3)
@pytest.mark.filterwarnings("ignore:coroutine", "ignore::krag_eval.KragEvalWarning")
@pytest.mark.parametrize("name", ["run.jsonl", "run.json", "run.parquet", "run.csv", "run.tsv"])
def test_every_format_of_a_run_is_read_and_scored(name: str, tmp_path: Path) -> None:
    cases = [case for case in CASES if case not in NOT_IN_TABLES or name == "run.jsonl"]
    evalset = EvalSet([{"id": case, "question": case, "gold_chunk_ids": ["c1"]} for case in cases])
    run = run_retriever(evalset, lambda case: CASES[case](), k=3, retries=0)
    write_run(run, tmp_path / name)
    again = read_run(tmp_path / name, evalset=evalset)
    assert again.errors == run.errors
    assert again.errors.keys() == REFUSED.keys()
    results = [evaluate_run(evalset, one, 2) for one in (run, again)]
    assert results[0].to_dict() == results[1].to_dict()


def test_the_fault_is_named_and_its_question_asked_again(tmp_path: Path) -> None:
    answers: dict[str, Any] = {"question 1": [{"foo": 1}]}
    asked: list[str] = []

    def find(question: str) -> Any:
        asked.append(question)
        return answers.get(question, [GOOD])

    path = tmp_path / "run.jsonl"
    run = run_retriever(EVALSET, find, k=3, journal=path)
    assert run.errors == {"q1": FAULT}
    answers.clear()
    asked.clear()
    assert run_retriever(EVALSET, find, k=3, journal=path).errors == {}
    assert asked == ["question 1"]


def test_a_run_that_is_compressed_by_its_name_alone_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"run\.jsonl\.gz"):
        run_retriever(EVALSET, lambda question: 1 / 0, k=1, journal=tmp_path / "run.jsonl.gz")
    assert not list(tmp_path.iterdir())


def old_line(row: dict[str, Any]) -> bytes:
    """Return a line as older versions wrote it."""
    body = json.dumps(row, ensure_ascii=False).encode()
    return b'%b, "crc": "%08x"}\n' % (body[:-1], zlib.crc32(body))


@pytest.fixture
def old_run(tmp_path: Path) -> Path:
    """A journal of an older version, in which an answer that is no document is a row."""
    header: dict[str, Any] = {
        "krag_eval_run": 1,
        "name": "find",
        "parameters": {},
        "k": 3,
        "fingerprint": EVALSET.fingerprint,
    }
    rows: list[dict[str, Any]] = [
        header | {"evalset": None, "versions": {}},
        {"query_id": "q0", "retrieved": [{"id": "c1"}], "seconds": 0.1},
        {"query_id": "q1", "retrieved": [{"id": "c1"}, {"metadata": {"foo": 1}}], "seconds": 0.2},
        {"query_id": "q2", "retrieved": [{"id": "c2"}], "cited": [{"metadata": {"foo": 1}}]},
    ]
    path = tmp_path / "old.jsonl"
    path.write_bytes(b"".join(old_line(row) for row in rows))
    return path


def test_of_an_older_version_such_rows_are_errors_named_by_their_place(old_run: Path) -> None:
    with pytest.warns(match="for 2 questions, which count as errors: .*old.jsonl:3: `retrieved\\[1\\]`: .* keys foo"):
        run = read_run(old_run, evalset=EVALSET)
    assert set(run.errors) == {"q1", "q2"}
    assert f"{old_run}:3: " in run.errors["q1"]
    assert evaluate_run(EVALSET, run, 1)["recall@1"] == pytest.approx(1 / 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_run(old_run, evalset=EVALSET, id_key="foo").rows["q1"].error is None


def test_they_are_asked_again_on_the_next_start(old_run: Path) -> None:
    asked: list[str] = []

    def find(question: str) -> Any:
        asked.append(question)
        return [GOOD]

    run = run_retriever(EVALSET, find, k=3, journal=old_run, name="find")
    assert (sorted(asked), run.errors) == (["question 1", "question 2"], {})
    check_kept(run, old_run)


def test_of_sessions_and_citations_too(tmp_path: Path) -> None:
    def search(query: str) -> Any:
        return [{"foo": 1}] if query == "bad" else [GOOD]

    def agent(question: str, search: Any) -> Any:
        search("good")
        if question.endswith("0"):
            search("bad")
        return {"answer": "x\ud800", "cited": [{"foo": 1}] if question.endswith("1") else ["c1"]}

    path = tmp_path / "run.jsonl"
    run = run_agent(EVALSET, agent, search=search, k=2, retries=0, journal=path)
    assert set(run.errors) == {"q0", "q1"}
    assert "`retrieved[0]`: expected documents or ids, got" in run.errors["q0"]
    check_kept(run, path)


def test_a_row_of_more_values_than_are_read_back_is_an_error_of_its_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KRAG_EVAL_LIMITS", "values=20k")
    found = {"question 1": [{**GOOD, "metadata": {"n": [0] * 30_000}}]}
    run = run_retriever(EVALSET, lambda q: found.get(q, [GOOD]), k=1, journal=tmp_path / "run.jsonl")
    assert "RowTooLongError" in run.errors["q1"]
    check_kept(run, tmp_path / "run.jsonl")


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats()
    | st.text(st.characters(), max_size=5)
    | st.binary(max_size=3)
    | st.sampled_from(["c1", "", np.int64(3), np.float64("nan"), np.str_("c1"), np.array([1, 2]), object, {"c1"}])
)
NAMES = st.sampled_from(
    ["id", "text", "score", "metadata", "meta", "page_content", "content", "foo", "source", "grade"]
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES | st.text(max_size=2), inner, max_size=3)
)
DOCUMENTS = (
    st.dictionaries(NAMES, VALUES, max_size=4)
    | st.dictionaries(NAMES, VALUES, max_size=4).map(lambda fields: SimpleNamespace(**fields))
    | st.tuples(VALUES, SCALARS)
    | VALUES
)
ANSWERS = st.lists(DOCUMENTS | st.just(GOOD), max_size=3) | VALUES


@pytest.mark.full
@pytest.mark.filterwarnings("ignore:.*the same document several times")  # what a draw may well repeat
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(answers=st.lists(ANSWERS, min_size=3, max_size=3))
@example(answers=[[], [], [{"": 0}]])
@example(answers=[[], [], [GOOD, GOOD]])
def test_whatever_is_returned_the_run_is_read_back_as_it_was_and_scored(answers: list[Any], tmp_path: Path) -> None:
    by_question = dict(zip(EVALSET.texts, answers, strict=True))
    path = tmp_path / "run.jsonl"
    run = run_retriever(EVALSET, by_question.__getitem__, k=3, retries=0, journal=path, fresh=True)
    again = read_run(path, evalset=EVALSET)
    assert {query: again.rows[query] for query in run.rows} == run.rows
    assert outcome_of(again) == outcome_of(run)


def outcome_of(run: Run) -> Any:
    """Return the scores, or what is said where ids are compared and no document has one, or all texts are empty."""
    try:
        return scored(run)
    except InvalidInputError as error:
        assert re.match("No retrieved document has (an id|a text), which", str(error))  # noqa: PT017 - the run was read
        return str(error)


@pytest.mark.sample(3)
@pytest.mark.parametrize("answer", [{"metadata": {"조각": "c1"}}, {"조각": "c1"}], ids=["metadata", "mapping"])
@pytest.mark.parametrize("kept", ["all", "ids"])
def test_what_the_caller_names_as_the_id_makes_a_document(answer: dict[str, Any], kept: str) -> None:
    def find(_: str) -> list[dict[str, Any]]:
        return [answer]

    named: dict[str, Any] = {"k": 1, "match_method": "id", "id_key": "조각", "metadata": kept}
    assert evaluate_retriever(EVALSET, find, **named)["recall@1"] == 1
    run = run_retriever(EVALSET, find, k=1, id_key="조각", metadata=kept)
    assert evaluate_run(EVALSET, run, k=1, match_method="id", id_key="조각")["recall@1"] == 1
    by_document = EvalSet([{"id": "q0", "question": "question 0", "gold_doc_ids": ["c1"]}])
    whole = evaluate_retriever(by_document, find, k=1, level="document", doc_key="조각")
    assert whole["recall@1"] == 1
    assert len(run_retriever(EVALSET, find, k=1, retries=0, metadata=kept).errors) == 3
