"""Forbidden documents, against the contract's sentences written out as loops."""

from __future__ import annotations

import itertools
import math
import random
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from krag_eval import (
    EvalSet,
    InvalidInputError,
    KragEvalWarning,
    RowScorer,
    Run,
    RunRow,
    Scorer,
    evaluate,
    evaluate_all,
    evaluate_ids,
    evaluate_run,
    funnel,
)
from krag_eval.analysis.funnel import has_stages
from krag_eval.evaluation.leaks import LEAK_CAUSES
from tests.support.stage_graphs import DOCUMENTS, random_case

CUT_OFFS = {"@1": 1, "@3": 3, "": None}
BUDGETS = {"@3tok": "3tok", "@8tok": "8tok"}
KEYS = (*(f"{name}{at}" for name in ("leak", "leak_share") for at in CUT_OFFS), "first_leak")
Doc = dict[str, Any]


def breaks(document: Doc, allowed: Doc) -> bool:
    """Contract: a document whose metadata lack a key is forbidden, unless `allowed_if_missing` is true."""
    for key, wanted in allowed.items():
        if key == "allowed_if_missing":
            continue
        value = document.get("metadata", {}).get(key)
        if value is None:
            if not allowed.get("allowed_if_missing", False):
                return True
        elif isinstance(wanted, str):
            sign, limit = wanted.split()
            if not {"<=": value <= int(limit), ">": value > int(limit)}[sign]:
                return True
        elif not set(value if isinstance(value, list) else [value]) & set(wanted):
            return True
    return False


def is_forbidden(document: Doc, must_not: list[Any], allowed: Doc | None, field: str) -> bool:
    listed = [one for entry in must_not for one in entry.get("any_of", [entry])]
    found = document.get(field)
    same = found is not None and any(one.get(field) == found for one in listed)
    return same or (allowed is not None and breaks(document, allowed))


def n_within(search: list[Doc], k: int | str | None) -> int:
    """Contract: a budget of tokens holds the first documents that fit into it."""
    if not isinstance(k, str):
        return len(search) if k is None else k
    sums = itertools.accumulate(len(one["text"].split()) for one in search)
    return sum(n_tokens <= int(k.removesuffix("tok")) for n_tokens in sums)


def values(
    searches: list[list[Doc]],
    must_not: list[Any],
    allowed: Doc | None,
    field: str,
    cut_offs: Mapping[str, int | str | None] = CUT_OFFS,
) -> dict[str, float | None]:
    if not must_not and allowed is None:
        return dict.fromkeys([*(f"{name}{at}" for name in ("leak", "leak_share") for at in cut_offs), "first_leak"])
    flags = [[is_forbidden(one, must_not, allowed, field) for one in search] for search in searches]
    found: dict[str, float | None] = {}
    for at, k in cut_offs.items():
        inside = [row[: n_within(search, k)] for row, search in zip(flags, searches, strict=True)]
        n_shown = sum(map(len, inside))
        found[f"leak{at}"] = float(any(map(any, inside)))
        found[f"leak_share{at}"] = sum(map(sum, inside)) / n_shown if n_shown else 0.0
    found["first_leak"] = max([1 / (search.index(True) + 1) for search in flags if True in search], default=0.0)
    return found


def document(draw: random.Random, field: str) -> Doc:
    one: Doc = {field: draw.choice("abcdef")}
    metadata = {"tenant": draw.choice(["a", "b", ["a", "c"], None]), "level": draw.choice([1, 2, 3, None])}
    known = {key: value for key, value in metadata.items() if value is not None}
    return one | ({"metadata": known} if known and draw.random() < 0.8 else {})


def rules(draw: random.Random, field: str) -> tuple[list[Any], Doc | None]:
    listed: list[Any] = [{field: draw.choice("def")} for _ in range(draw.randint(0, 3))]
    if len(listed) > 1 and draw.random() < 0.3:
        listed = [{"any_of": listed[:2]}, *listed[2:]]
    allowed: list[Doc | None] = [None, {"tenant": ["a"]}, {"tenant": ["b", "c"], "level": "<= 2"}, {"level": "> 1"}]
    rule = draw.choice(allowed)
    return listed, rule if rule is None else rule | ({"allowed_if_missing": True} if draw.random() < 0.3 else {})


@pytest.mark.parametrize(("field", "method"), [("id", "id"), ("text", "text")])
@pytest.mark.parametrize("n", [300, pytest.param(10_000, marks=pytest.mark.full)])
@pytest.mark.filterwarnings("ignore:No document has:krag_eval.KragEvalWarning")
@pytest.mark.filterwarnings("ignore:Not one:krag_eval.KragEvalWarning")
@pytest.mark.filterwarnings("ignore:.*(holds|same document|corpus):krag_eval.KragEvalWarning")
def test_every_value_is_that_of_the_contract(field: str, method: str, n: int) -> None:
    draw = random.Random(n)
    gold, must_not, allowed, found = [], [], [], []
    for _ in range(n):
        gold.append([{field: draw.choice("abc")}] if draw.random() < 0.8 else [])
        listed, rule = rules(draw, field)
        must_not.append(listed)
        allowed.append(rule)
        found.append([document(draw, field) for _ in range(draw.randint(0, 6))])
    result = evaluate(
        gold, found, (1, 3, None), metrics=["leak", "leak_share", "first_leak"], match_method=method,
        must_not=[[one for entry in row for one in entry.get("any_of", [entry])] for row in must_not], allowed=allowed,
    )  # fmt: skip
    expected = [values([row], listed, rule, field) for row, listed, rule in zip(found, must_not, allowed, strict=True)]
    assert [dict(row.values) for row in result.per_query] == [{key: row[key] for key in result} for row in expected]
    rows = [
        {"id": i, "gold": g, "must_not": m, "allowed": a or {}}
        for i, (g, m, a) in enumerate(zip(gold, must_not, allowed, strict=True))
    ]
    of_set = evaluate_run(
        EvalSet(rows), {str(i): row for i, row in enumerate(found)}, (1, 3, None), match_method=method,
        metrics=["leak", "leak_share", "first_leak"],
    )  # fmt: skip
    assert [dict(row.values) for row in of_set.per_query] == [dict(row.values) for row in result.per_query]


def in_searches(draw: random.Random) -> list[list[Doc]]:
    def text() -> Doc:
        return {"text": " ".join(["word"] * draw.randint(1, 4))}

    return [[document(draw, "id") | text() for _ in range(draw.randint(1, 4))] for _ in range(draw.randint(1, 4))]


@pytest.mark.parametrize("n", [200, pytest.param(20_000, marks=pytest.mark.full)])
@pytest.mark.filterwarnings("ignore:.*(holds|same document|corpus|No document has):krag_eval.KragEvalWarning")
def test_a_session_leaks_if_any_of_its_searches_does_within_ranks_and_within_budgets(n: int) -> None:
    draw, every = random.Random(7), CUT_OFFS | BUDGETS
    rows, sessions, expected = [], [], []
    for number in range(n):
        listed, rule = rules(draw, "id")
        searches = in_searches(draw)
        rows.append({"id": number, "gold": [{"id": "a"}], "must_not": listed, "allowed": rule or {}})
        searched = [{"query": "?", "retrieved": search} for search in searches]
        sessions.append(RunRow.from_dict({"query_id": str(number), "searches": searched}))
        expected.append(values(searches, listed, rule, "id", every))
    result = evaluate_run(EvalSet(rows), Run.of("s", sessions), [*every.values()])
    assert [{key: row.values[key] for key in expected[0]} for row in result.per_query] == expected
    alone = [place for place, row in enumerate(sessions) if len(row.searches) == 1]
    asked = EvalSet([rows[place] for place in alone])
    run = {str(rows[place]["id"]): sessions[place].searches[0].retrieved for place in alone}
    of_one = evaluate_run(asked, run, [*every.values()], metrics=["leak", "leak_share", "first_leak"])
    assert [dict(row.values) for row in of_one.per_query] == [
        {key: expected[place][key] for key in of_one} for place in alone
    ]
    first = result.leaks()[0]
    assert first.search is not None
    assert rows[first.index]["must_not"] or rows[first.index]["allowed"]


def test_leaks_never_fall_as_k_grows_and_never_as_more_is_forbidden() -> None:
    draw = random.Random(3)
    for _ in range(300):
        found = [[{"id": one} for one in draw.sample("abcdef", 6)]]
        listed = [[{"id": one} for one in draw.sample("def", 2)]]
        more = [[*listed[0], {"id": "b"}]]
        few, many = (
            evaluate([[{"id": "a"}]], found, range(1, 7), match_method="id", metrics="leak", must_not=rule)
            for rule in (listed, more)
        )
        at = [few[f"leak@{k}"] or 0.0 for k in range(1, 7)]
        assert at == sorted(at)
        assert all((many[f"leak@{k}"] or 0.0) >= one for k, one in enumerate(at, 1))


def test_repeats_count_in_bare_ids_and_in_the_dicts_of_krag() -> None:
    result = evaluate_ids([["a"]], [["x", "a", "x"]], k=3, must_not=[["x"]])
    assert (result["leak@3"], result["leak_share@3"], result["first_leak"]) == (1, 2 / 3, 1)
    values = evaluate_all([["a"]], [["x", "a", "x"]], k=3, must_not=[["x"]])
    assert (values["leak"], values["leak_share"], values["first_leak"]) == (1, 2 / 3, 1)
    assert "leak" not in evaluate_all([["a"]], [["a"]], k=1)


def test_spans_and_embargoed_parts() -> None:
    gold = [[{"doc_id": "d", "start": 0, "end": 10}]]
    banned = [[{"doc_id": "d", "start": 50, "end": 60, "reason": "embargo"}]]
    found = [[{"doc_id": "d", "start": 0, "end": 20}, {"doc_id": "d", "start": 45, "end": 70}]]
    result = evaluate(gold, found, k=2, match_method="span", must_not=banned, metrics=["recall", "leak"])
    assert (result["recall@2"], result["leak@2"]) == (1, 1)
    assert [leak.reason for leak in result.leaks()] == ["embargo"]


def test_gold_that_the_asker_may_not_see_is_no_gold_and_is_told() -> None:
    gold = [[{"id": "a", "metadata": {"tenant": "x"}}, {"id": "b", "metadata": {"tenant": "y"}}, {"id": "c"}]]
    found = [[{"id": "a", "metadata": {"tenant": "x"}}, {"id": "c", "metadata": {"tenant": "x"}}]]
    with pytest.warns(KragEvalWarning, match="1 gold document of 1 question may not be seen"):
        result = evaluate(gold, found, k=2, match_method="id", allowed=[{"tenant": ["x"]}])
    assert (result["recall@2"], result["leak@2"]) == (1, 0)
    assert result.leaks().hidden[0][0] == 0


def test_the_corpus_fills_in_what_retrieved_documents_lack() -> None:
    corpus = [
        {"id": "a", "text": "t", "metadata": {"tenant": "x"}},
        {"id": "b", "text": "u", "metadata": {"tenant": "y"}},
    ]
    asked: dict[str, Any] = {
        "k": 2,
        "match_method": "id",
        "allowed": [{"tenant": ["x"]}],
        "metrics": ["leak", "recall"],
    }
    found = [[{"id": "a"}, {"id": "b"}]]
    with pytest.warns(KragEvalWarning, match="No document has 'tenant'"):
        assert evaluate([[{"id": "a"}]], found, **asked).leaks()[0].reason == "it has no 'tenant'"
    result = evaluate([[{"id": "a"}]], found, corpus=corpus, **asked)
    assert [(leak.rank, leak.reason) for leak in result.leaks()] == [(2, "its 'tenant' is 'y'")]


def test_a_key_that_no_document_has_is_probably_misspelled() -> None:
    found = [[{"id": "a", "metadata": {"tenant": "x"}}]]
    with pytest.warns(KragEvalWarning, match="tennant") as caught:
        evaluate([[{"id": "a"}]], found, k=1, match_method="id", allowed=[{"tennant": ["x"]}])
    assert "'tenant'" in str(caught[0].message)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"must_not": ["b"]}, "must_not[0]"),
        ({"must_not": [["a"]]}, "'a' is gold"),
        ({"must_not": [[None]]}, "must_not[0]"),
        ({"must_not": [["b"], []]}, "must_not"),
        ({"must_not": {"q": ["b"]}}, "must_not"),
        ({"allowed": [3]}, "allowed[0]"),
        ({"allowed": [{"tenant": []}]}, "lists no value"),
        ({"allowed": [{"level": "<= high"}]}, "comparison with a number"),
        ({"allowed": [{"allowed_if_missing": True}]}, "allows everything"),
        ({"allowed": [{"tenant": [{"x": 1}]}]}, "cannot be compared"),
    ],
)
def test_rules_that_cannot_be_meant_are_refused(given: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        evaluate([["a"]], [["b", "a"]], k=2, **given)
    assert named in str(caught.value)


@pytest.mark.parametrize(
    "condition", ["*", ["*"], None, [None], [math.nan], "=< 2", "!= x", ["<= 2"], "between 1 and 2", "<= nan", "> -"]
)
def test_a_condition_that_no_document_can_meet_as_it_was_meant_is_refused(condition: object) -> None:
    with pytest.raises(InvalidInputError, match=r"allowed\['level'\]"):
        evaluate([["a"]], [["a"]], k=1, allowed=[{"level": condition}])


def test_a_misspelled_flag_is_named() -> None:
    with pytest.raises(InvalidInputError, match="Did you mean 'allowed_if_missing'"):
        evaluate([["a"]], [["a"]], k=1, allowed=[{"level": [1], "allowed_if_mising": True}])


@pytest.mark.parametrize(
    ("condition", "value", "is_allowed"),
    [
        ([1, 2], 2.0, True),  # a table with gaps has floats
        (["2"], 2.0, True),
        ([2], 2.5, False),
        (["*", "a"], "*", True),  # the mark of what everybody may see
        ("<= 2", math.nan, False),
        (["x"], math.nan, False),
        (">= 2026-01-01", datetime(2026, 1, 1, 1, tzinfo=timezone(timedelta(hours=2))), False),  # 23:00 in UTC
        (">= 2026-01-01", datetime(2025, 12, 31, 23, tzinfo=timezone(-timedelta(hours=2))), True),
    ],
)
def test_values_are_compared_as_they_are_meant_on_every_machine(condition: Any, value: Any, is_allowed: bool) -> None:
    found = [[{"id": "a", "metadata": {"key": value}}]]
    asked: dict[str, Any] = {"k": 1, "match_method": "id", "metrics": "leak"}
    assert evaluate([[{"id": "a"}]], found, allowed=[{"key": condition}], **asked)["leak@1"] == 1 - is_allowed
    unless = evaluate([[{"id": "a"}]], found, allowed=[{"key": condition, "allowed_if_missing": True}], **asked)
    assert unless["leak@1"] == (0 if value != value else 1 - is_allowed)


def test_forbidden_documents_that_lack_what_is_compared_are_told() -> None:
    rows: dict[str, Any] = {"id": "q", "gold": [{"id": "a", "text": "t"}], "must_not": [{"text": "secret"}, "b"]}
    found = {"q": [{"id": "a", "text": "t"}]}
    for method, told in (("id", "have|has no id"), ("text", "has no text")):
        with pytest.warns(KragEvalWarning, match=rf"1 of 2 documents in `must_not` ({told})"):
            evaluate_run([rows], found, k=1, match_method=method, metrics="leak")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        evaluate_run([rows], found, k=1, match_method=["id", "text"], metrics="leak")


def test_one_text_or_span_that_is_gold_and_forbidden_under_two_ids_is_refused() -> None:
    gold, banned = [[{"id": "a", "text": "Hello  World"}]], [[{"id": "b", "text": "hello world"}]]
    with pytest.raises(InvalidInputError, match="'Hello  World' is gold and in `must_not`"):
        evaluate(gold, [["x"]], k=1, must_not=banned)
    assert evaluate(gold, [[{"id": "b"}, {"id": "a"}]], k=2, must_not=banned, match_method="id")["leak@2"] == 1
    span = {"doc_id": "d", "start": 0, "end": 9}
    with pytest.raises(InvalidInputError, match="is gold and in `must_not` of the question 'q'"):
        EvalSet([{"id": "q", "gold": [span], "must_not": [{**span, "reason": "embargo"}]}])
    with pytest.raises(InvalidInputError, match="is gold and in `must_not` of query 0"):
        evaluate([[span]], [[span]], k=1, must_not=[[dict(span)]], match_method="span")


def test_nothing_forbidden_leaves_every_result_as_it_was() -> None:
    gold, found = [["a"], ["b"]], [["a", "x"], ["y", "b"]]
    plain = evaluate(gold, found, k=2)
    assert evaluate(gold, found, k=2, must_not=None).to_json() == plain.to_json()
    assert not {"leak@2", "first_leak"} & {*plain}
    asked = evaluate(gold, found, k=2, metrics="leak")
    assert (asked["leak@2"], asked.undefined["leak@2"]) == (None, 2)


def test_a_leak_is_shown_where_one_looks() -> None:
    result = evaluate_ids([["a"], ["b"]], [["a", "x"], ["b"]], k=2, must_not=[["x"], ["x"]], query_ids=["q1", "q2"])
    assert "1 of 2 questions got a forbidden document within rank 2" in repr(result)
    assert "FORBIDDEN: it is 'x'" in str(result.explain(0))
    assert result.leaks().to_dicts()[0]["document_id"] == "x"
    clean = evaluate_ids([["a"]] * 200, [["a"]] * 200, k=1, must_not=[["x"]] * 200)
    assert "under 1.5 % with 95 % confidence" in repr(clean)
    assert math.isclose(1 - 0.05 ** (1 / 200), 0.01487, abs_tol=1e-4)


def test_who_saw_what() -> None:
    rows = [{"id": n, "gold": [], "asker": asker} for n, asker in enumerate(["ann", "ann", "bob"])]
    evalset = EvalSet(rows, askers={"ann": {"tenant": ["a"]}, "bob": {"tenant": ["b"], "level": "<= 1"}})
    found: Sequence[Doc] = [
        {"id": "1", "metadata": {"tenant": "b", "level": 1}},
        {"id": "2", "metadata": {"tenant": "a"}},
    ]
    result = evaluate_run(evalset, dict.fromkeys(evalset.ids, found), k=2, metrics="leak")
    assert result.leaks().matrix("asker", "tenant", evalset) == {"ann": {"a": 0, "b": 2}, "bob": {"a": 1, "b": 0}}


def test_rows_and_streams_score_what_each_query_forbids() -> None:
    draw = random.Random(11)
    settings: dict[str, Any] = {"k": (1, 3), "metrics": ["leak", "leak_share", "first_leak"], "match_method": "id"}
    gold = [[{"id": "a"}] for _ in range(50)]
    listed = [[{"id": draw.choice("def")}] for _ in gold]
    found = [[{"id": one} for one in draw.sample("abcdef", 4)] for _ in gold]
    whole = evaluate(gold, found, must_not=listed, **settings)
    stream, rows = Scorer(**settings), RowScorer(**settings)
    for row in whole.per_query:
        given = gold[row.index], found[row.index]
        assert stream.score(*given, must_not=listed[row.index]).values == row.values
        assert rows.score(*given, must_not=listed[row.index]) == row.values
    assert stream.result().to_dict() == whole.to_dict()


def test_causes_tell_a_missing_filter_from_missing_metadata_and_an_old_version_beside_from_one_instead() -> None:
    rows = [
        {"id": 1, "gold_chunk_ids": ["new"]},
        {"id": 2, "gold_chunk_ids": ["b"], "allowed": {"tenant": ["t"]}},
        {"id": 3, "gold_chunk_ids": ["new"], "must_not": ["secret"]},
    ]
    evalset = EvalSet(rows, supersedes={"new": ["old"]})
    old: Doc = {"id": "old", "text": "The price is five."}
    run = {
        "1": [old],
        "2": [{"id": "b", "metadata": {"tenant": "t"}}, {"id": "c", "metadata": {"tenant": "u"}}, {"id": "n"}],
        "3": [{"id": "new"}, old, {"id": "copy", "text": "the price is FIVE."}, {"id": "secret"}],
    }
    review = evaluate_run(evalset, run, k=5, metrics="leak").leaks()
    assert [leak.cause for leak in review] == [
        "older_version_instead", "filter_missing", "metadata_missing", "older_version_beside", "listed",
    ]  # fmt: skip
    assert [(leak.id, leak.rank, leak.cause) for leak in review.copies] == [("3", 3, "copy")]
    assert review.n_unknown == 1
    assert {*review.causes} <= {*LEAK_CAUSES}


@pytest.mark.parametrize("gold_text", [True, False])
def test_a_listed_document_that_nearly_is_the_current_one_is_told_from_any_other(gold_text: bool) -> None:
    now = "The standard parcel up to ten kilograms costs seven euros within the whole country since January."
    old = now.replace("seven", "six")
    gold = {"id": "now", "text": now} if gold_text else {"id": "now"}
    rows = [
        {"id": 1, "gold": [gold], "must_not": ["old", "secret"]},
        {"id": 2, "gold": [gold], "must_not": ["old"]},
        {"id": 3, "gold": [{"id": "else", "text": "Opening hours"}], "must_not": ["old", "bare"]},
        {"id": 4, "gold": [gold], "allowed": {"tenant": ["t"], "allowed_if_missing": True}},
    ]
    documents = [{"id": "old", "text": old}, {"id": "secret", "text": "A secret."}]
    found = {
        "1": [{"id": "now", "text": now}, *documents],
        "2": documents[:1],
        "3": [*documents, {"id": "bare"}],
        "4": [{"id": "other", "text": old, "metadata": {"tenant": "u"}}],
    }
    review = evaluate_run(EvalSet(rows), found, k=5, metrics="leak").leaks()
    causes = [(leak.id, leak.document.id, leak.cause) for leak in review]
    assert causes == [
        ("1", "old", "near_duplicate"),
        ("1", "secret", "listed"),
        ("2", "old", "near_duplicate"),
        ("3", "old", "listed"),
        ("3", "bare", "listed"),
        ("4", "other", "filter_missing"),
    ]
    assert "2  near_duplicate: listed, and nearly the same text as the current one" in repr(review)


def test_the_stage_that_last_held_a_forbidden_document() -> None:
    def documents(*ids: str) -> list[Doc]:
        return [{"id": one} for one in ids]

    stages = [
        {"name": "dense", "retrieved": documents("a", "x", "y", "z")},
        {"name": "filter", "inputs": ["dense"], "retrieved": documents("a", "x", "y")},
        {"name": "rerank", "inputs": ["filter"], "retrieved": documents("y", "a")},
    ]
    run = Run.of("two", [RunRow.from_dict({"query_id": "q", "stages": stages})])
    rows = [{"id": "q", "gold_chunk_ids": ["a"], "must_not": ["x", "y", "z"]}]
    assert funnel(rows, run, k=1).leaks == {"dense": 1, "filter": 1, "kept": 1}
    assert "last stage with a forbidden document" in repr(funnel(rows, run, k=1))
    assert funnel([{"id": "q", "gold_chunk_ids": ["a"]}], run, k=1).leaks == {}


@pytest.mark.parametrize("n_cases", [40, pytest.param(2_500, marks=pytest.mark.full)])
@pytest.mark.filterwarnings("ignore::krag_eval.KragEvalWarning")
def test_the_last_stage_of_each_forbidden_document_in_random_pipelines(n_cases: int) -> None:
    draw, seen = random.Random(n_cases), Counter[str]()
    for _ in range(n_cases):
        rows, questions, _ = random_case(draw, 8)
        tenants = {one: {"tenant": draw.choice("tuv")} for one in DOCUMENTS}
        lists = [
            part
            for row in rows
            for search in [row, *row.get("searches", ())]
            for part in [search, *search.get("stages", ())]
        ]
        for one in (one for part in lists for one in part.get("retrieved", ())):
            one["metadata"] = tenants[one["id"]]
        given, expected = {row["query_id"]: row for row in rows}, Counter[str]()
        k = draw.choice([1, 3, None])
        for question in questions:
            gold = {one["id"] for need in question["gold"] for one in need["any_of"]}
            free = [one for one in DOCUMENTS if one not in gold]
            question["must_not"] = draw.sample(free, draw.randint(0, min(3, len(free))))
            question["allowed"] = draw.choice([{}, {"tenant": ["t", "u"]}])
            expected += last_stages(question, given.get(question["id"]), tenants, k)
        run = Run.of("run", map(RunRow.from_dict, rows))
        if not has_stages(run):
            continue
        leaks = funnel(EvalSet(questions), run, k=k).leaks
        assert leaks == dict(expected)
        seen += Counter(leaks)
    assert min(seen[stage] for stage in ("s0", "s1", "s2", "kept")) > n_cases / 4


def last_stages(question: Doc, row: Doc | None, tenants: Mapping[str, Doc], k: int | None) -> Counter[str]:
    """Contract: the fate of a forbidden document is the last stage that still holds it; `kept` within k."""
    rule, last = question["allowed"].get("tenant"), dict[str, str]()
    for search in [] if row is None or "error" in row else row.get("searches", [row]):
        for stage in search.get("stages") or [{"name": "run", "retrieved": search["retrieved"]}]:
            for one in stage["retrieved"]:
                if one["id"] in question["must_not"] or (rule and tenants[one["id"]]["tenant"] not in rule):
                    last[one["id"]] = "kept" if last.get(one["id"]) == "kept" else stage["name"]
        last |= {one["id"]: "kept" for one in stage["retrieved"][:k] if one["id"] in last}
    return Counter(last.values())


def test_a_budget_of_tokens_is_a_cut_off_of_leaks_too() -> None:
    found = [["one two", "bad words here", "a"]]
    asked: dict[str, Any] = {"metrics": ["leak", "leak_share"], "must_not": [["bad words here"]]}
    values = evaluate([["a"]], found, k=["3tok", "5tok"], **asked).to_dict()
    assert values == {"leak@3tok": 0, "leak@5tok": 1, "leak_share@3tok": 0, "leak_share@5tok": 0.5}


@pytest.mark.parametrize("level", ["chunk", "document"])
def test_gold_that_says_nothing_about_the_keys_stays_gold(level: str) -> None:
    rows = [
        {
            "id": "q",
            "gold": [{"id": "c1", "metadata": {"doc_id": "d1"}}],
            "gold_doc_ids": ["d1"],
            "allowed": {"tenant": ["t"]},
        }
    ]
    found = [
        {"id": one, "metadata": {"doc_id": f"d{one[1]}", "tenant": tenant}}
        for one, tenant in (("c1", "t"), ("c2", "u"))
    ]
    result = evaluate_run(rows, {"q": found}, k=2, level=level, metrics=["recall", "leak"])
    assert (result["recall@2"], result["leak@2"]) == (1, 1)
    assert result.leaks().hidden == ()
