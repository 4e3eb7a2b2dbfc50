"""The funnel: one fate for each need, the recall and ceiling of each stage, and what it refuses."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from krag_eval import EvalSet, InvalidInputError, Run, RunRow, evaluate_run, funnel
from krag_eval.datasets.sessions import Stage
from tests.support.marks import nothing_may_match
from tests.support.stage_graphs import Case, expected_fate, needs_of, random_case


def ids(*names: str) -> list[dict[str, str]]:
    return [{"id": name} for name in names]


STAGES: list[dict[str, Any]] = [
    {"name": "bm25", "retrieved": ids("a", "b")},
    {"name": "dense", "retrieved": ids("c", "d", "e")},
    {"name": "fusion", "inputs": ["bm25", "dense"], "retrieved": ids("a", "c", "d", "e")},
    {"name": "rerank", "inputs": ["fusion"], "retrieved": ids("e", "d", "c")},
]
QUESTION = {"id": "q", "question": "?", "gold_chunk_ids": ["a", "b", "c", "d", "e", "f", "g"]}


def run_of(*rows: dict[str, Any], name: str = "pipeline") -> Run:
    return Run.of(name, [RunRow.from_dict(row) for row in rows])


def test_each_need_has_the_fate_of_the_contract() -> None:
    run = run_of({"query_id": "q", "stages": STAGES})
    found = funnel([QUESTION], run, ids(*"abcdefx"), k=2)
    assert [row["fate"] for row in found.to_dicts()] == [
        "lost_in:rerank",  # a: in fusion, and not in what it became
        "lost_in:fusion",
        "below_k",
        "kept",
        "kept",
        "not_retrieved",
        "not_in_corpus",
    ]
    assert [row["gold_index"] for row in found.to_dicts()] == list(range(7))
    assert found.counts == {
        "not_in_corpus": 1,
        "not_retrieved": 1,
        "lost_in:fusion": 1,
        "lost_in:rerank": 1,
        "below_k": 1,
        "kept": 2,
    }
    assert found.recall == 2 / 7
    stages = {stage.name: stage for stage in found.stages}
    assert list(stages) == ["bm25", "dense", "fusion", "rerank"]
    assert [stage.recall for stage in found.stages] == [2 / 7, 3 / 7, 4 / 7, 3 / 7]
    assert [stage.ceiling for stage in found.stages] == [5 / 7, 5 / 7, 4 / 7, 3 / 7]
    assert [stage.gain for stage in found.stages] == [0, 0, 1 / 7, 1 / 7]
    assert [stage.depth for stage in found.stages] == [2, 3, 4, 3]
    assert stages["fusion"].inputs == ("bm25", "dense")
    assert found.questions["kept"] == ("q",)
    assert funnel([QUESTION], run, k=2).counts["not_retrieved"] == 2  # without a corpus nobody knows


def test_mending_a_stage_brings_at_most_its_gain() -> None:
    mended = [*STAGES[:3], {**STAGES[3], "retrieved": ids("a", "e", "d", "c")}]
    before = funnel([QUESTION], run_of({"query_id": "q", "stages": STAGES}), k=None)
    after = funnel([QUESTION], run_of({"query_id": "q", "stages": mended}), k=None)
    assert after.recall == pytest.approx((before.recall or 0) + (before.stages[3].gain or 0))


def test_a_session_has_the_fate_of_the_search_that_came_furthest() -> None:
    questions = [{"id": "q", "question": "?", "gold_chunk_ids": ["a", "b", "c", "x"]}]
    searches = [{"stages": STAGES}, {"retrieved": ids("x", "b"), "tool": "web"}, {"error": "Timeout: 1 s"}]
    found = funnel(questions, run_of({"query_id": "q", "searches": searches}), k=1)
    assert [row["fate"] for row in found.to_dicts()] == ["lost_in:rerank", "below_k", "below_k", "kept"]
    assert (
        found.recall
        == evaluate_run(questions, run_of({"query_id": "q", "searches": searches}), k=1)["session_recall@1"]
    )
    assert "1 search of sessions failed" in "".join(found.notes)
    final = {"query_id": "q", "searches": searches, "retrieved": ids("b", "c")}
    found = funnel(questions, run_of(final), k=1)
    assert [row["fate"] for row in found.to_dicts()] == [
        "lost_in:rerank",
        "kept",
        "below_k",
        "lost_in:final ranking",
    ]
    assert found.stages[-1].inputs == ("rerank", "web")
    assert found.recall == evaluate_run(questions, run_of(final), k=1)["recall@1"]


def check(case: Case, k: int | None) -> Counter[str]:
    run, evalset = run_of(*case.rows, name="run"), EvalSet(case.questions)
    found = funnel(evalset, run, None if case.corpus is None else ids(*case.corpus), k=k)
    rows = {row["query_id"]: row for row in case.rows}
    fates, places = [], []
    for place, question in enumerate(case.questions):
        for need in needs_of(question):
            fates.append(expected_fate(need, rows.get(question["id"]), k, case.corpus))
            places.append(place)
    assert list(found.fates) == fates
    assert found.places.tolist() == places
    assert sum(found.counts.values()) == found.n_needs == len(fates)
    assert sum(found.total.shares.values()) == pytest.approx(1 if fates else 0)
    for part in found.slices:
        chosen = {n for n, question in enumerate(case.questions) if question["type"] == part.value}
        assert part.counts == Counter(f for f, place in zip(fates, places, strict=True) if place in chosen)
    metric = "session_recall" if run.has_sessions else "recall"
    at = "" if k is None else f"@{k}"
    assert found.recall == evaluate_run(evalset, run, k=k, metrics=metric)[metric + at]
    last = evaluate_run(evalset, run, k=None, metrics=metric)[metric]
    ceilings = [stage.ceiling or 0.0 for stage in found.stages]
    assert ceilings == sorted(ceilings, reverse=True)
    assert found.stages[-1].ceiling == last
    for stage in found.stages:
        assert stage.n_lost == found.counts.get(f"lost_in:{stage.name}", 0)
    return Counter(fates)


def traceable(case: Case) -> bool:
    return any(
        stage.get("inputs") for row in case.rows for s in row.get("searches", [row]) for stage in s.get("stages", ())
    )


def check_many(seeds: range) -> None:
    seen: Counter[str] = Counter()
    for seed in seeds:
        draw = random.Random(seed)
        case = random_case(draw, draw.randint(1, 6))
        if traceable(case) and any(needs_of(question) for question in case.questions):
            seen += check(case, draw.choice([1, 2, 3, None]))
    assert {"kept", "below_k", "not_retrieved", "not_in_corpus", "lost_in:s1", "lost_in:s3"} <= seen.keys()


@pytest.mark.full
@nothing_may_match
def test_fates_of_random_graphs_are_those_of_a_plain_set_computation() -> None:
    check_many(range(80))


@nothing_may_match
@pytest.mark.full
def test_fates_of_a_thousand_random_graphs_are_those_of_a_plain_set_computation() -> None:
    check_many(range(80, 1_080))


TEXTS = {
    "a": "Refunds arrive within three working days after we approve them.",
    "b": "Parcels are delivered on weekdays between nine and five.",
    "c": "Points expire twelve months after the purchase.",
}


def test_texts_and_spans_are_matched_as_everywhere() -> None:
    documents = [{"id": f"x{key}", "text": text} for key, text in TEXTS.items()]
    stages = [
        {"name": "dense", "retrieved": documents},
        {"name": "rerank", "inputs": ["dense"], "retrieved": documents[1:]},
    ]
    run = run_of({"query_id": "q", "stages": stages})
    gold = [{"text": "refunds ARRIVE within three working days"}, {"text": "Points expire twelve months after"}]
    settings: dict[str, Any] = {"match_method": "rouge1", "rouge_measure": "recall", "threshold": 0.8}
    found = funnel([{"id": "q", "question": "?", "gold": gold}], run, documents, k=5, **settings)
    assert list(found.fates) == ["lost_in:rerank", "kept"]
    assert found.signature == evaluate_run([{"id": "q", "question": "?", "gold": gold}], run, k=5, **settings).signature

    def chunk(start: int, end: int) -> dict[str, Any]:
        return {
            "id": f"c{start}",
            "text": TEXTS["a"][start:end],
            "metadata": {"doc_id": "a", "start": start, "end": end},
        }

    chunks = [chunk(0, 20), chunk(20, 40)]
    stages = [{"name": "dense", "retrieved": chunks}, {"name": "cut", "inputs": ["dense"], "retrieved": chunks[:1]}]
    spans = [{"doc_id": "a", "start": at, "end": at + 10} for at in (5, 25, 45)]
    questions = [{"id": "q", "question": "?", "gold": spans}]
    run = run_of({"query_id": "q", "stages": stages})
    assert list(funnel(questions, run, chunks, match_method="span").fates) == ["kept", "lost_in:cut", "not_in_corpus"]
    whole = funnel(questions, run, {"a": TEXTS["a"]}, match_method="span")
    assert list(whole.fates) == ["kept", "lost_in:cut", "not_retrieved"]


def test_documents_may_be_scored_in_place_of_chunks() -> None:
    chunks = [{"id": f"c{n}", "text": "x", "metadata": {"doc_id": f"d{n % 3}"}} for n in range(6)]
    stages = [{"name": "dense", "retrieved": chunks[:2]}, {"name": "cut", "inputs": ["dense"], "retrieved": chunks[:1]}]
    questions = [{"id": "q", "question": "?", "gold_doc_ids": ["d0", "d1", "d2", "d9"]}]
    run = run_of({"query_id": "q", "stages": stages})
    for corpus in (chunks, [{"id": f"d{n}", "text": "x"} for n in range(3)]):
        found = funnel(questions, run, corpus, level="document")
        assert list(found.fates) == ["kept", "lost_in:cut", "not_retrieved", "not_in_corpus"]


def test_what_failed_is_counted_and_named() -> None:
    questions = [{"id": f"q{n}", "question": "?", "gold_chunk_ids": ["a", "g"]} for n in range(4)]
    run = run_of(
        {"query_id": "q0", "stages": STAGES},
        {"query_id": "q1", "error": "Timeout: 2 s"},
        {"query_id": "q2", "stages": [*STAGES[:1], {"name": "rerank", "inputs": ["bm25"], "retrieved": ids("a")}]},
    )
    found = funnel(questions, run, k=5)
    assert (found.errors, found.n_failed_needs) == ({"q1": "Timeout: 2 s"}, 2)
    assert found.counts == {"not_retrieved": 6, "lost_in:rerank": 1, "kept": 1}
    notes = "\n".join(found.notes)
    assert "The retriever raised for 1 question: 'q1'." in notes
    assert "The run has no row for 1 question: 'q3'." in notes
    assert "bm25 > dense > fusion > rerank (1); bm25 > rerank (1)" in notes
    dense, rerank = found.stages[1], found.stages[3]
    assert (dense.name, dense.n_questions, rerank.n_questions) == ("dense", 1, 2)
    assert rerank.recall == evaluate_run(questions, run, k=None, metrics="recall")["recall"] == 1 / 8
    assert rerank.inputs == ("fusion", "bm25")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"run": run_of({"query_id": "q", "retrieved": ids("a")})},
            "'pipeline' has no stage that was given what another one returned",
        ),
        ({"run": run_of({"query_id": "z", "stages": STAGES})}, "Is it the run of another set?"),
        ({"run": "run.jsonl"}, "`run`"),
        ({"k": 0}, "`k` must be an integer of at least 1, got 0."),
        ({"k": [1, 5]}, "`k` must be one cut-off for a funnel, got [1, 5]."),
        ({"by": "colour"}, "No question has 'colour', so there is nothing to slice by."),
        ({"corpus": []}, "`corpus` is empty."),
        ({"corpus": "corpus.jsonl"}, "Read a file with `read_corpus(path)`."),
        ({"corpus": [{"text": "no id"}]}, "No document of `corpus` has what is matched (id)."),
        ({"treshold": 0.5}, "treshold"),
    ],
)
def test_what_cannot_be_used_is_refused(change: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"run": run_of({"query_id": "q", "stages": STAGES}), "evalset": [QUESTION], **change}
    with pytest.raises((InvalidInputError, TypeError)) as caught:
        funnel(**given)
    assert message in str(caught.value)


def test_stages_that_were_not_read_from_a_file_are_checked_too() -> None:
    with pytest.raises(InvalidInputError, match="there is no earlier stage 'dense'"):
        RunRow(query_id="q", stages=(Stage(name="rerank", inputs=("dense",)),))


def test_the_latest_stage_is_that_of_the_row_though_other_rows_have_another_order() -> None:
    def stages(*names: str) -> list[dict[str, Any]]:
        both = [{"name": name, "inputs": ["dense"], "retrieved": []} for name in names]
        return [
            {"name": "dense", "retrieved": ids("a", "b")},
            *both,
            {"name": "join", "inputs": [*names], "retrieved": []},
        ]

    questions = [{"id": f"q{n}", "question": "?", "gold_chunk_ids": ["a"]} for n in range(2)]
    one, other = stages("filter", "cut"), stages("cut", "filter")
    found = funnel(questions, run_of({"query_id": "q0", "stages": one}, {"query_id": "q1", "stages": other}))
    assert list(found.fates) == ["lost_in:cut", "lost_in:filter"]
