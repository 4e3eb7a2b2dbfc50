"""What the doctor says about gold documents, questions, and by what documents are told apart."""

from __future__ import annotations

from typing import Any

import pytest

from krag_eval import Document, EvalSet, InvalidInputError, KragEvalWarning
from krag_eval_labels.audit import audit_labels
from tests.support.label_audit_cases import FEES, PARCELS, REFUNDS, SHIPPING, Documents, one_question, run, runs_of


def doc(id_: str | None, text: str | None = None, **metadata: Any) -> dict[str, Any]:
    return {"id": id_, "text": text, "metadata": metadata}


# ids of gold documents that contain each other: outer, inner, is_same
@pytest.mark.parametrize(
    ("gold", "expected"),
    [
        ([doc("a", REFUNDS), doc("b", f"{FEES}  {REFUNDS.upper()}")], [("b", "a", False)]),
        ([doc("a", REFUNDS), doc("b", REFUNDS.lower())], [("a", "b", True)]),
        (
            [doc("a", REFUNDS), doc("b", REFUNDS), doc("c", REFUNDS)],
            [("a", "b", True), ("a", "c", True), ("b", "c", True)],
        ),
        ([doc("a", REFUNDS), doc("a", REFUNDS)], []),  # one document that stands there twice
        ([doc("a", REFUNDS), {**doc("b", REFUNDS), "grade": 0}], []),
        ([doc("a", REFUNDS), doc("b", PARCELS), doc("c", None), doc("d", "")], []),
    ],
)
def test_gold_inside_gold_of_the_same_question(gold: Documents, expected: list[tuple[str, str, bool]]) -> None:
    report = audit_labels(one_question(gold), runs_of(["a", "b", "c", "d"]))
    assert [(one.outer.id, one.inner.id, one.is_same) for one in report.contained_gold] == expected


def test_gold_inside_gold_of_another_question_is_as_it_should_be() -> None:
    rows = [{"id": n, "question": f"{n}?", "gold": [doc("a", REFUNDS)]} for n in (1, 2)]
    rows.append({"id": 3, "question": "What?", "gold": [doc("b", f"{REFUNDS} {FEES}")]})
    report = audit_labels(EvalSet(rows), run("s", {"1": ["a"]}))
    assert report.contained_gold == ()


def test_gold_that_no_system_found_at_any_rank_stands_there_with_the_nearest_text() -> None:
    gold = [doc("g", REFUNDS), doc("h", PARCELS), doc("h", PARCELS), doc("i", "Entirely other words")]
    rankings: list[Documents] = [
        [*(f"x{n}" for n in range(40)), "g"],
        ["x0", doc("near", "Parcels to islands take two days."), doc("less", "Parcels to islands take")],
    ]
    report = audit_labels(one_question(gold), runs_of(*rankings))
    assert [(one.gold.id, one.nearest and one.nearest.id, one.ranks) for one in report.lost_gold] == [
        ("h", "near", {"s2": 2}),
        ("i", None, {}),
    ]
    # ROUGE-1: six of 8 and of 6 words.
    assert [one.similarity for one in report.lost_gold] == [pytest.approx(12 / 14), None]
    assert [one.in_corpus for one in report.lost_gold] == [None, None]


def test_gold_is_not_lost_where_no_system_answered() -> None:
    evalset = EvalSet([{"id": n, "gold": [doc(f"g{n}", None)]} for n in ("asked", "failed", "absent", "empty")])
    runs = [
        run("s", {"asked": ["gabsent"], "failed": "TimeoutError: late", "empty": []}),
        run("t", {"asked": ["gasked"], "failed": "TimeoutError: late"}),
    ]
    assert [one.query_id for one in audit_labels(evalset, runs).lost_gold] == ["empty"]


def test_gold_ids_that_the_corpus_does_not_have_come_first() -> None:
    corpus = [Document(id="g1", text=REFUNDS), Document(id="g3", text=FEES)]
    report = audit_labels(one_question(["g1", "g2", "g3"]), runs_of(["g3", "x"]), corpus=corpus)
    assert [(one.gold.id, one.gold.text, one.in_corpus) for one in report.lost_gold] == [
        ("g2", None, False),
        ("g1", REFUNDS, True),
    ]
    assert "g2: the corpus has no such id" in str(report.lost_gold[0])


def test_questions_in_nearly_the_same_words_are_in_conflict_if_their_gold_differs() -> None:
    rows = [
        ("How long does a refund take?", ["a"]),
        ("How long does a refund take", ["a", "b"]),
        ("Is there a fee for cash?", ["c"]),
        ("Is there a fee for the cash?", ["c"]),
        ("반품은 얼마나 걸리나요?", ["d"]),
        ("반품은 얼마나 걸리나요", ["e"]),
        ("Who are you?", ["f"]),
    ]
    evalset = EvalSet([{"id": n, "question": text, "gold": gold} for n, (text, gold) in enumerate(_as_gold(rows))])
    report = audit_labels(evalset, run("s", {"0": ["a"]}))
    assert [(group.query_ids, group.same_gold) for group in report.near_questions] == [
        (("0", "1"), False),
        (("4", "5"), False),
        (("2", "3"), True),
    ]
    assert [group.query_ids for group in report.conflicts] == [("0", "1"), ("4", "5")]
    assert audit_labels(evalset, run("s", {"0": ["a"]}), near_questions=1).near_questions[-1].query_ids == ("4", "5")


def _as_gold(rows: list[tuple[str, list[str]]]) -> list[tuple[str, list[dict[str, str]]]]:
    return [(text, [{"id": id_} for id_ in ids]) for text, ids in rows]


def test_a_document_without_an_id_is_the_one_with_its_text() -> None:
    evalset = one_question([doc("g", REFUNDS)])
    runs = runs_of([doc("a", PARCELS), "g"], [doc(None, PARCELS.upper()), doc(None, SHIPPING)], [doc(None, SHIPPING)])
    with pytest.warns(KragEvalWarning, match=r"^Some documents have no id"):
        report = audit_labels(evalset, runs, min_systems=2)
    assert report.methods == ("id", "text")
    assert [(one.document.id, one.document.text, one.ranks) for one in report.candidates] == [
        ("a", PARCELS, {"s1": 1, "s2": 1}),
        (None, SHIPPING, {"s2": 2, "s3": 1}),
    ]


@pytest.mark.parametrize(
    ("gold", "retrieved", "said"),
    [
        ([doc(None, REFUNDS)], [doc("a", REFUNDS), doc("b", PARCELS)], "The gold documents have no ids"),
        ([doc("g", REFUNDS)], [doc(None, REFUNDS), doc(None, PARCELS)], "The retrieved documents have no ids"),
        ([doc("g", REFUNDS)], [doc("uuid-1", REFUNDS), doc("uuid-2", PARCELS)], "Not one gold id was retrieved"),
    ],
)
def test_without_ids_in_common_documents_are_told_apart_by_text_with_a_warning(
    gold: Documents, retrieved: Documents, said: str
) -> None:
    with pytest.warns(KragEvalWarning, match=said):
        report = audit_labels(one_question(gold), runs_of(retrieved, retrieved))
    assert report.methods == ("text",)
    assert [one.document.text for one in report.candidates] == [PARCELS]
    # Who names a method gets it, without a warning.
    assert audit_labels(one_question(gold), runs_of(retrieved, retrieved), match_method="text").methods == ("text",)


def test_a_run_whose_ids_are_of_another_world_is_named() -> None:
    runs = [run("s", {"q": ["g"]}), run("t", {"q": ["a", "g"]}), run("uuids", {"q": ["1b4e28ba", "2fa1"]})]
    with pytest.warns(KragEvalWarning, match=r"^The run 'uuids' has not one id in common"):
        audit_labels(one_question(), runs)


def test_any_match_method_says_what_is_gold_already() -> None:
    evalset = one_question([doc("g", REFUNDS)])
    retrieved = [doc("a", f"{FEES} {REFUNDS}"), doc("b", PARCELS)]
    report = audit_labels(evalset, runs_of(retrieved, retrieved), match_method=["text", "containment"])
    assert [one.document.id for one in report.candidates] == ["b"]
    assert report.lost_gold == ()


def test_ids_are_read_from_the_metadata_where_a_key_is_named() -> None:
    evalset = one_question([doc("x1", None, chunk="g")])
    runs = runs_of([doc("u1", None, chunk="g"), doc("u2", None, chunk="a")], [doc("u3", None, chunk="a")])
    (candidate,) = audit_labels(evalset, runs, id_key="chunk").candidates
    assert candidate.document.metadata == {"chunk": "a"}
    assert candidate.ranks == {"s1": 2, "s2": 1}


def test_ids_alone_get_the_texts_that_anybody_knows() -> None:
    evalset = one_question(["g", "h"])
    runs = runs_of(["g", "a", doc("h", PARCELS)], [doc("a", f"{PARCELS} {FEES}"), "b"])
    report = audit_labels(
        evalset, runs, corpus=[Document(id="b", text=SHIPPING), Document(id="g", text=FEES)], min_systems=1
    )
    assert {one.document.id: one.document.text for one in report.candidates} == {
        "a": f"{PARCELS} {FEES}",
        "b": SHIPPING,
    }
    (a,) = [one for one in report.candidates if one.document.id == "a"]
    assert a.reasons == ("contains_gold", "near_duplicate", "several_systems")
    assert [one.gold.id for one in report.lost_gold] == []


def test_at_document_level_chunks_are_their_documents() -> None:
    evalset = EvalSet([{"id": "q", "gold_doc_ids": ["D1"]}])
    runs = runs_of(
        [doc("c9", REFUNDS, doc_id="D2"), doc("c8", FEES, doc_id="D2"), doc("c1", None, doc_id="D1")],
        [doc("c1", None, doc_id="D1"), doc("c8", FEES, doc_id="D2"), doc("c5", None, doc_id="D3")],
    )
    report = audit_labels(evalset, runs, level="document")
    (candidate,) = report.candidates
    assert (candidate.document.metadata["doc_id"], candidate.ranks) == ("D2", {"s1": 1, "s2": 2})
    assert [row["level"] for row in report.queue_rows()] == ["document"]


@pytest.mark.sample(5)
@pytest.mark.parametrize("rankings", [{}, {"q": []}, {"q": "TimeoutError: late"}])
@pytest.mark.parametrize(
    "fields", [{"gold": []}, {"gold": [doc("g")]}, {"gold": [doc(None, FEES)]}, {"gold_doc_ids": ["D"]}]
)
@pytest.mark.parametrize("level", ["chunk", "document"])
@pytest.mark.filterwarnings("ignore:The gold documents have no ids")
def test_where_nothing_was_retrieved_no_document_is_perhaps_gold(fields: Any, rankings: Any, level: str) -> None:
    report = audit_labels(EvalSet([{"id": "q", **fields}]), run("s", rankings), level=level)
    assert (report.candidates, report.contained_gold, report.near_questions) == ((), (), ())
    has_gold = level == ("document" if "gold_doc_ids" in fields else "chunk") and fields != {"gold": []}
    assert len(report.lost_gold) == (has_gold and rankings == {"q": []})


@pytest.mark.parametrize(
    ("gold", "retrieved", "level", "said"),
    [
        (doc(None, FEES), doc("a"), "chunk", "No retrieved document has a text"),
        (doc("g"), doc(None, FEES), "chunk", "No gold document has a text"),
        (
            doc("g", doc_id="D"),
            doc("a"),
            "document",
            "No retrieved document has an id under the metadata key",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:The .* documents have no ids")
def test_sides_that_cannot_be_compared_are_refused(gold: Any, retrieved: Any, level: str, said: str) -> None:
    with pytest.raises(InvalidInputError, match=f"^{said}"):
        audit_labels(one_question([gold]), runs_of([retrieved]), level=level)
