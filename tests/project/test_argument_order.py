"""Gold comes before what was retrieved and the set before the run; another order is understood, or refused."""

from __future__ import annotations

import asyncio
import inspect
import json
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pandas as pd
import polars as pl
import pytest

from krag_eval import (
    Document,
    EvalSet,
    InvalidInputError,
    Policy,
    Question,
    Run,
    RunRow,
    compare,
    evaluate_run,
    funnel,
    run_retriever,
)
from krag_eval.datasets.argument_order import gold_first
from tests.support.argument_orders import check_old_order, check_refused, told
from tests.support.public_names import PUBLIC


class Qrel(NamedTuple):
    query_id: str
    doc_id: str
    relevance: int


class ScoredDoc(NamedTuple):
    query_id: str
    doc_id: str
    score: float


class OfRanx:
    def __init__(self, name: str, table: dict[str, dict[str, float]]) -> None:
        setattr(self, name, table)
        self.to_dict = lambda: table


class Invoked:
    def invoke(self, question: str) -> list[str]:
        return [question]


ROWS = [{"id": "q1", "question": "When?", "gold": [{"id": "a", "text": "At nine."}], "answer": "At nine."}]
EVALSET = EvalSet(ROWS)
STAGES = [
    {"name": "dense", "retrieved": [{"id": "a"}, {"id": "b"}]},
    {"name": "rerank", "inputs": ["dense"], "retrieved": [{"id": "a"}]},
]
RUN = Run.of("two", [RunRow.from_dict({"query_id": "q1", "stages": STAGES})])
RESULT = evaluate_run(EVALSET, RUN, k=2)
CORPUS = [{"id": "d", "text": "We open at nine. We close at six."}]
SPAN = {"text": "We open at nine.", "metadata": {"doc_id": "d", "start": 0, "end": 16}}
NAMES: dict[str, Any] = {
    **PUBLIC,
    "asyncio": asyncio,
    "evalset": EVALSET,
    "run": RUN,
    "systems": {"one": RUN, "two": RUN},
    "retriever": lambda question: [{"id": "a"}, {"id": "b"}],
    "retrievers": {"first": lambda question: [{"id": "a"}]},
    "agent": lambda question, search: search(question) and None,
    "search": lambda question: [{"id": "a"}],
    "questions": EvalSet([{"id": 1, "question": "When?", "gold": [SPAN]}]),
    "corpus": CORPUS,
    "chunkers": ["words:4", "words:8"],
    "policy": Policy.from_dict({"gate": {"require": ["recall@2 >= 0"]}}),
    "references": EVALSET,
    "answers": {"q1": "At nine."},
}
CHANGED = [
    ("compare(systems, evalset, k=2)", "compare(evalset, systems, k=2)", "{}.rows"),
    ("compare(systems, evalset=evalset, k=[1, 2])", "compare(evalset, systems, k=[1, 2])", "{}.rows"),
    ("build_report(systems, evalset)", "build_report(evalset, systems)", "repr({}.comparison)"),
    ("build_report(systems, evalset=evalset)", "build_report(evalset, systems)", "repr({}.comparison)"),
    ("funnel(run, evalset)", "funnel(evalset, run)", "{}.counts"),
    ("funnel(run, evalset, corpus, k=2)", "funnel(evalset, run, corpus=corpus, k=2)", "{}.counts"),
    ("funnel(run, evalset=evalset, by='id')", "funnel(evalset, run, by='id')", "{}.counts"),
    ("run_retriever(retriever, evalset, k=2)", "run_retriever(evalset, retriever, k=2)", "{}.rankings(evalset)"),
    ("run_retriever(retrievers, evalset, k=2)", "run_retriever(evalset, retriever, k=2)", "len({})"),
    ("arun_retriever(retriever, evalset, k=2)", "arun_retriever(evalset, retriever, k=2)", "len(asyncio.run({}))"),
    ("evaluate_retriever(retriever, evalset, 2)", "evaluate_retriever(evalset, retriever, k=2)", "{}.to_dict()"),
    (
        "aevaluate_retriever(retriever, evalset, metrics='mrr')",
        "aevaluate_retriever(evalset, retriever, metrics='mrr')",
        "asyncio.run({}).to_dict()",
    ),
    (
        "run_agent(agent, evalset, search=search, k=2)",
        "run_agent(evalset, agent, search=search, k=2)",
        "{}.rankings(evalset)",
    ),
    (
        "arun_agent(agent, evalset=evalset, search=search, k=2)",
        "arun_agent(evalset, agent, search=search, k=2)",
        "asyncio.run({}).rankings(evalset)",
    ),
    (
        "compare_chunkers(corpus, questions, chunkers, budgets=[4, 8])",
        "compare_chunkers(questions, corpus, chunkers=['words:4', 'words:8'], budgets=[4, 8])",
        "{}.comparison.rows",
    ),
]


@pytest.mark.parametrize(("old", "new", "how"), CHANGED)
def test_the_old_order_gives_the_same_with_one_warning_that_holds_the_new_call(old: str, new: str, how: str) -> None:
    check_old_order(old, new, how, NAMES | {"retriever": NAMES["retrievers" if "retrievers" in old else "retriever"]})


@pytest.mark.parametrize(
    ("wrong", "right", "how"),
    [
        ("evaluate_run(run, evalset)", "evaluate_run(evalset, run)", "{}"),
        ("evaluate_run(run, evalset=evalset, k=2)", "evaluate_run(evalset, run, k=2)", "{}"),
        ("verify(run, evalset)", "verify(evalset, run)", "{}"),
        ("check_gate(run, evalset, policy)", "check_gate(evalset, run, policy=policy)", "{}"),
        ("evaluate_retrievers(retrievers, evalset, k=1)", "evaluate_retrievers(evalset, retrievers, k=1)", "{}"),
        ("evaluate_answers(answers, references)", "evaluate_answers(references, answers)", "{}"),
        ("evaluate(evalset, run)", "evaluate_run(evalset, run)", "{}"),
        ("evaluate(run, evalset)", "evaluate_run(evalset, run)", "{}"),
        ("evaluate_all(evalset, run)", "evaluate_run(evalset, run)", "{}"),
        ("sweep(run, evalset)", "evaluate_run(evalset, run)", "{}"),
    ],
)
def test_an_order_that_never_was_right_is_refused_with_the_call_to_write(wrong: str, right: str, how: str) -> None:
    check_refused(wrong, right, how, NAMES)


@pytest.mark.parametrize("read", ["read_run", "read_traces"])
def test_the_set_of_a_reader_is_named(read: str, tmp_path: Path) -> None:
    span = {"traceId": "a" * 32, "spanId": "b" * 16, "name": "search", "startTimeUnixNano": "1", "endTimeUnixNano": "2"}
    read_as = {"openinference.span.kind": "RETRIEVER", "input.value": "When?", "krag_query_id": "q1"}
    read_as["retrieval.documents.0.document.id"] = "a"
    attributes = [{"key": key, "value": {"stringValue": value}} for key, value in read_as.items()]
    trace = {"resourceSpans": [{"scopeSpans": [{"spans": [span | {"attributes": attributes}]}]}]}
    row = {"query_id": "q1", "retrieved": [{"id": "a"}]}
    path = tmp_path / "found.jsonl"
    path.write_text(json.dumps(trace if read == "read_traces" else row) + "\n", encoding="utf-8")
    check_old_order(f"{read}(path, evalset)", f"{read}(path, evalset=evalset)", "{}", NAMES | {"path": path})


@gold_first(old="run, evalset")
def call_of(evalset: object, run: object, k: int = 1) -> tuple[object, object, int]:
    return evalset, run, k


@gold_first()
def one_order(evalset: object, run: object) -> tuple[object, object]:
    return evalset, run


GRADES: dict[str, Any] = {"q1": {"a": 1, "b": 0}}
SETS: dict[str, Any] = {
    "a set": EVALSET,
    "rows": ROWS,
    "questions": [Question(id="q1", gold=(Document(id="a"),))],
    "a question": EVALSET[0],
    "the qrels of ranx": OfRanx("qrels", GRADES),
    "the rows of ir_measures": [Qrel("q1", "a", 1)],
    "their frame": pd.DataFrame([Qrel("q1", "a", 1)]),
    "their frame of polars": pl.DataFrame([Qrel("q1", "a", 1)._asdict()]),
    # These are known by the other argument.
    "grades by query": GRADES,
    "gold by question": {"When?": ["At nine."]},
    "one document by question": {"When?": {"id": "a", "metadata": {"doc_id": "d"}}},
    "a need by question": {"When?": {"any_of": [{"id": "a"}]}},
    "pairs": [("When?", ["At nine."])],
    "a frame": pd.DataFrame(ROWS),
    "no rows": [],
    "none": None,
}
FOUND: dict[str, Any] = {
    "a run": RUN,
    "a result": RESULT,
    "a function": lambda question: [],
    "a retriever": Invoked(),
    "a response": SimpleNamespace(source_nodes=[]),
    "an error": TimeoutError(),
    "the run of ranx": OfRanx("run", {"q1": {"a": 0.5}}),
    "the scores of ir_measures": [ScoredDoc("q1", "a", 0.5)],
    "their frame": pd.DataFrame([ScoredDoc("q1", "a", 0.5)]),
    "runs": [RUN],
    "runs by name": {"one": RUN},
    "repeated runs by name": {"one": [RUN, RUN]},
    "rankings of systems": {"one": {"q1": ["a"]}},
    "scores of systems": {"one": {"q1": {"a": 0.5}}},
    "the runs of ranx by name": {"one": OfRanx("run", {"q1": {"a": 0.5}})},
    "retrievers by name": {"one": Invoked()},
    "responses": [TimeoutError(), SimpleNamespace(source_nodes=[])],
}


@pytest.mark.parametrize("gold", SETS.values(), ids=SETS)
def test_gold_and_what_was_retrieved_are_told_apart(gold: Any) -> None:
    for found in FOUND.values():
        check_told_apart(gold, found)


def check_told_apart(gold: Any, found: Any) -> None:
    assert told("call(gold, found)", {"call": call_of, "gold": gold, "found": found}) == ((gold, found, 1), [])
    (first, second, k), warned = told("call(found, gold, 3)", {"call": call_of, "gold": gold, "found": found})
    assert (first is gold, second is found, k) == (True, True, 3)
    assert [str(one.message) for one in warned] == ["`call_of(run, evalset, k=3)` is now `call_of(evalset, run, k=3)`."]
    assert one_order(gold, found) == (gold, found)
    with pytest.raises(InvalidInputError, match=r"`evalset` comes before `run`\. Write `one_order\(evalset, run\)`\.$"):
        one_order(found, gold)


@pytest.mark.parametrize("plain", [GRADES, {"q1": ["a", "b"]}, [["a"]], "set.jsonl", ROWS])
def test_what_looks_alike_is_taken_as_it_is_given(plain: Any) -> None:
    first, second = plain, type(plain)(plain)
    value, warned = told("call(first, second)", {"call": call_of, "first": first, "second": second})
    assert (value[0] is first, value[1] is second, warned) == (True, True, [])
    assert one_order(first, second)[0] is first


def test_keywords_have_any_order() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert compare(systems=NAMES["systems"], evalset=EVALSET).rows == compare(EVALSET, NAMES["systems"]).rows
        assert compare(systems={"one": RESULT, "two": RESULT}).rows == compare({"one": RESULT, "two": RESULT}).rows
        assert funnel(EVALSET, run=RUN).counts == funnel(run=RUN, evalset=EVALSET).counts


def test_the_new_call_shows_short_values_and_names_the_others() -> None:
    (warned,) = told("compare(systems, evalset, keys=['ndcg@10'], by='k' * 40)", NAMES | {"compare": named_compare})[1]
    assert str(warned.message).endswith("`named_compare(evalset, systems, keys=['ndcg@10'], by=by)`.")


@gold_first(old="systems, evalset")
def named_compare(evalset: object, systems: object, **_: object) -> None:
    """Take anything by name."""


def test_a_type_checker_tells_them_apart() -> None:
    """mypy refuses a comment about an error that is none."""
    with pytest.raises(InvalidInputError, match="comes before"):
        evaluate_run(RUN, EVALSET)  # type: ignore[arg-type]
    with pytest.warns(DeprecationWarning, match="is now"):
        funnel(RUN, EVALSET)  # type: ignore[arg-type]
    with pytest.warns(DeprecationWarning, match="is now"):
        compare(NAMES["systems"], EVALSET)  # type: ignore[arg-type]
    with pytest.warns(DeprecationWarning, match="is now"):
        run_retriever(Invoked(), EVALSET, k=1)  # type: ignore[call-overload]


def test_a_function_keeps_its_signature() -> None:
    assert list(inspect.signature(funnel).parameters)[:3] == ["evalset", "run", "corpus"]
    assert funnel.__module__ == "krag_eval.analysis.funnel"


def test_an_argument_too_many_and_one_that_is_given_twice_are_refused_as_in_any_function() -> None:
    untyped: Any = call_of
    with pytest.raises(TypeError, match="positional arguments"):
        untyped(RUN, EVALSET, 1, 2)
    with pytest.raises(TypeError, match="multiple values for argument 'evalset'"):
        untyped(RUN, EVALSET, evalset=EVALSET)
