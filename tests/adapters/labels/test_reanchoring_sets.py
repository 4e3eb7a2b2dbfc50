"""What a set keeps when its gold is linked anew: needs, rules, spans; and nothing is wrong with it afterwards."""

from __future__ import annotations

from typing import Any

import pytest

from krag_eval import EvalSet, InvalidInputError, Need, Question, Span
from krag_eval_labels import reanchor, validate

GUIDE = "Intro.  We ship on\nweekdays. Returns are free. The end."
SHIPPING: dict[str, Any] = {"doc_id": "guide", "start": 8, "end": 28, "text": "We ship on\nweekdays."}
CHUNKS = [
    {"id": f"n{n}", "text": GUIDE[start : start + 20], "metadata": {"doc_id": "guide", "start_index": start}}
    for n, start in enumerate(range(0, 60, 15))
]


def one(*gold: Any) -> EvalSet:
    return EvalSet([Question(id="q", question="When?", gold=gold)])


def places(evalset: EvalSet) -> list[list[tuple[str, int, int]]]:
    return [[(d.metadata["doc_id"], d.metadata["start"], d.metadata["end"]) for d in q.gold] for q in evalset]


def test_reanchoring_keeps_needs() -> None:
    corpus = [{"id": "n1", "text": "chapter one: alpha beta gamma delta"}, {"id": "n2", "text": "one two three four"}]
    given = [{"any_of": [{"id": "a", "text": "alpha beta gamma delta"}, {"id": "b", "text": "one two three four"}]}]
    (need,) = reanchor([{"id": "q", "question": "?", "gold": given}], corpus).evalset["q"].gold
    assert isinstance(need, Need)
    assert [(one.id, one.text) for one in need.any_of] == [
        ("n1", "alpha beta gamma delta"),
        ("n2", "one two three four"),
    ]


def test_rules_stay_where_gold_is_linked_anew() -> None:
    row = {
        "id": "1",
        "question": "When?",
        "gold": [{"id": "old", "text": "We open at nine every day."}],
        "must_not": ["x", {"id": "y", "metadata": {"reason": "closed"}}, {"any_of": [{"id": "u"}, {"id": "v"}]}],
        "allowed": {"tenant": ["a", "public"], "level": "<= 2", "allowed_if_missing": True},
        "asker": "ann",
    }
    moved = reanchor(EvalSet([row]), [{"id": "new", "text": "We open at nine every day."}]).evalset
    assert [document.id for document in moved[0].gold] == ["new"]
    assert (moved[0].must_not, moved[0].allowed, moved[0].asker) == (
        EvalSet([row])[0].must_not,
        row["allowed"],
        "ann",
    )
    assert {"must_not", "allowed", "asker"} <= {*moved.to_pandas()}


def test_passages_become_the_spans_where_they_are() -> None:
    given = one({"id": "c7", "text": "We ship on weekdays.", "metadata": {"doc_id": "guide"}}, {"text": "not there"})
    report = reanchor(given, [{"id": "guide", "text": GUIDE}, {"id": "b", "text": "We ship on weekdays."}], to="spans")
    assert (report.counts["moved"], report.counts["lost"]) == (1, 1)
    assert report.anchors[0].span == Span("guide", 8, 28, "We ship on\nweekdays.")
    [question] = report.evalset
    assert question.to_dict()["gold"] == [SHIPPING, {"text": "not there"}]


def test_spans_become_the_chunks_that_hold_them_by_their_offsets() -> None:
    report = reanchor(
        one({"doc_id": "guide", "start": 8, "end": 28}, {"doc_id": "guide", "start": 46, "end": 49}), CHUNKS
    )
    assert [(anchor.status, anchor.new_ids) for anchor in report.anchors] == [
        ("split", ("n0", "n1")),
        ("merged", ("n2",)),
    ]
    assert report.anchors[1].alternatives == ("n3",)
    back = reanchor(report.evalset, [{"id": "guide", "text": GUIDE}], to="spans")
    assert back.ok
    assert set(places(back.evalset)[0]) == {("guide", 8, 28), ("guide", 46, 49)}


def test_a_span_outside_of_all_chunks_is_lost() -> None:
    report = reanchor(
        one({"doc_id": "guide", "start": 800, "end": 820}, {"doc_id": "other", "start": 0, "end": 9}), CHUNKS
    )
    assert [anchor.status for anchor in report.anchors] == ["lost", "lost"]
    assert places(report.evalset) == [[("guide", 800, 820), ("other", 0, 9)]]


def test_reanchoring_names_the_question_of_a_wrong_span() -> None:
    gold = {"doc_id": "guide", "start": 0, "end": 5}
    rows = [{"id": "q0", "gold": [gold]}, {"id": "q1", "gold": [gold, gold | {"start": 7}]}]
    with pytest.raises(InvalidInputError, match=r"^`actual\[1\]\[1\]` \(query 1, rank 2\): its span \(7, 5\) is empty"):
        reanchor(rows, [{"id": "guide", "text": "Refunds take three days."}])


def test_a_set_that_was_linked_to_its_corpus_has_nothing_wrong_with_its_gold() -> None:
    words = [f"word{number:03}" for number in range(120)]
    gold = [{"id": f"o{n}", "text": " ".join(words[n : n + 30])} for n in range(0, 90, 15)]
    corpus = [{"id": f"n{n}", "text": " ".join(words[n : n + 20])} for n in range(0, 120, 17)]
    rows = [
        {"id": f"q{n}", "question": f"{document['text'][:60]}?", "gold": [document]} for n, document in enumerate(gold)
    ]
    assert {finding.kind for finding in validate(rows, corpus).findings} == {"other_corpus", "dead_id"}
    assert validate(reanchor(rows, corpus).evalset, corpus).findings == ()
