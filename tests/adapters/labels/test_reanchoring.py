"""Gold passages are found in a corpus that was cut anew, and only where they are."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krag_eval import Document, EvalSet, InvalidInputError, Question, evaluate_run
from krag_eval_labels import reanchor

Row = dict[str, Any]
# Each sentence has words of its own, so that any stretch of it stands nowhere else.
SENTENCES = {
    "en": "Refunds arrive within three working days after approval. Parcels to the islands take two more days. "
    "The warranty of the motor is three years from the day of purchase. Our shop opens at nine on weekdays alone.",
    "ko": "환불은 승인된 뒤 영업일 기준 사흘 안에 도착합니다. 섬으로 가는 소포는 이틀이 더 걸립니다. "
    "모터의 무상 보증 기간은 구입일로부터 삼 년입니다. 저희 매장은 평일에만 아홉 시에 문을 엽니다.",
    "zh": "退款在批准后的三个工作日内到账。寄往海岛的包裹需要再等两天。"
    "电机的保修期为购买之日起三年。我们的商店只在工作日九点开门营业。",
    "ru": "Возврат денег приходит в течение трёх рабочих дней после одобрения. Посылки на острова идут ещё два дня. "
    "Гарантия на двигатель составляет три года со дня покупки. Наш магазин открывается в девять только по будням.",
    "th": "เงินคืนจะมาถึงภายในสามวันทำการหลังจากอนุมัติ พัสดุไปยังเกาะใช้เวลาเพิ่มอีกสองวัน การรับประกันมอเตอร์คือสามปีนับจากวันที่ซื้อ",
}
every_language = pytest.mark.parametrize("text", SENTENCES.values(), ids=SENTENCES)


def cut(text: str, *ends: int, prefix: str = "n", doc_id: str | None = None) -> list[Row]:
    """The chunks between these places."""
    bounds = [0, *ends, len(text)]
    metadata = {} if doc_id is None else {"metadata": {"doc_id": doc_id}}
    return [
        {"id": f"{prefix}{number}", "text": text[start:stop], **metadata}
        for number, (start, stop) in enumerate(pairwise(bounds))
    ]


def question(*gold: object, **fields: Any) -> list[Row]:
    return [{"id": "q", "question": "?", "gold": list(gold), **fields}]


def found(report_of: list[Row], corpus: list[Row], **settings: Any) -> list[tuple[str, tuple[str, ...]]]:
    return [(anchor.status, anchor.new_ids) for anchor in reanchor(report_of, corpus, **settings).anchors]


@every_language
def test_a_passage_is_valid_moved_merged_split_or_lost(text: str) -> None:
    half, third = len(text) // 2, len(text) // 3
    whole = {"id": "c0", "text": text}
    assert found(question(whole), [{"id": "c0", "text": f" {text}\n"}]) == [("valid", ("c0",))]
    assert found(question(whole), [{"id": "c0", "text": "x"}, {"id": "n1", "text": text}]) == [("moved", ("n1",))]
    assert found(question(whole), [{"id": "n0", "text": f"Before. {text} After."}]) == [("merged", ("n0",))]
    assert found(question(whole), cut(text, third, 2 * third)) == [("split", ("n0", "n1", "n2"))]
    assert found(question({"id": "c0", "text": text[:half]}), [{"id": "n0", "text": text[half:]}]) == [
        ("lost", ("c0",))
    ]
    assert found(question({"id": "c0"}), [{"id": "c0", "text": text}]) == [("unanchorable", ("c0",))]


@every_language
def test_a_passage_that_lies_across_chunks_becomes_those_that_hold_it(text: str) -> None:
    third = len(text) // 3
    chunks = cut(text, third, 2 * third)
    assert found(question({"id": "c", "text": text[third // 2 : 2 * third]}), chunks) == [("split", ("n0", "n1"))]
    overlapping = [{"id": f"n{n}", "text": text[n * third : n * third + 2 * third]} for n in range(3)]
    assert found(question({"id": "c", "text": text}), overlapping)[0] in {
        ("split", ("n0", "n1")),
        ("split", ("n0", "n2")),
    }


@every_language
def test_a_passage_with_small_edits_is_found_by_its_words_in_order(text: str) -> None:
    edited = f"{text[:25]}ㅁ{text[26:]}"
    (anchor,) = reanchor(question({"id": "c", "text": text}), [{"id": "n", "text": edited}]).anchors
    assert (anchor.status, anchor.new_ids, anchor.method) == ("moved", ("n",), "rougeL")
    assert 0.9 < (anchor.similarity or 0) < 1


def test_a_passage_that_was_edited_everywhere_is_found_by_its_words_in_order() -> None:
    text = "we go up to it at six or so and on to the big old mill by the sea as we do"
    edited = text.replace("at", "not").replace("to the", "to no").replace("sea", "bay")  # 19 of 22 words are left
    (anchor,) = reanchor(question({"id": "c", "text": text}), [{"id": "n", "text": edited}]).anchors
    assert (anchor.status, anchor.new_ids, anchor.similarity) == ("moved", ("n",), 19 / 22)


def test_the_threshold_says_how_much_of_a_lost_passage_must_be_there() -> None:
    text = SENTENCES["en"]
    corpus = [{"id": "n", "text": text[: text.index("The warranty")]}]  # 16 of its 37 words
    (anchor,) = reanchor(question({"id": "c", "text": text}), corpus).anchors
    assert (anchor.status, anchor.new_ids, anchor.nearest) == ("lost", ("c",), ("n",))
    assert anchor.similarity == 16 / 37
    assert found(question({"id": "c", "text": text}), corpus, threshold=16 / 37) == [("moved", ("n",))]
    assert found(question({"id": "c", "text": text}), corpus, threshold=0.44) == [("lost", ("c",))]


def test_of_equal_texts_the_same_document_counts_first_then_the_same_id_then_the_order() -> None:
    text = "Call us between nine and six."
    corpus = [{"id": f"n{n}", "text": text, "metadata": {"doc_id": f"d{n}"}} for n in range(4)]
    gold = {"text": text, "metadata": {"doc_id": "d2"}}
    assert found(question(gold | {"id": "n3"}), corpus) == [("moved", ("n2",))]
    assert found(question(gold | {"id": "n2"}), corpus) == [("valid", ("n2",))]
    assert found(question({"id": "n3", "text": text}), corpus) == [("valid", ("n3",))]
    assert found(question({"id": "c", "text": text}), corpus) == [("moved", ("n0",))]
    assert found(question({"id": "c", "text": text}, gold_doc_ids=["d1"]), corpus) == [("moved", ("n1",))]
    assert found(question({"id": "d1", "text": text}), corpus) == [("moved", ("n1",))]
    (anchor,) = reanchor(question({"id": "c", "text": text}), corpus).anchors
    assert anchor.alternatives == ("n1", "n2", "n3")


def test_a_passage_is_looked_for_in_its_own_document_before_a_better_copy_elsewhere() -> None:
    text = SENTENCES["en"]
    corpus = [{"id": "copy", "text": text, "metadata": {"doc_id": "d2"}}, *cut(text, 100, doc_id="d1")]
    gold = {"id": "c", "text": text, "metadata": {"doc_id": "d1"}}
    assert found(question(gold), corpus) == [("split", ("n0", "n1"))]
    assert found(question(gold), corpus[:1]) == [("moved", ("copy",))]


def test_everything_but_the_ids_stays_as_it_was() -> None:
    text = SENTENCES["en"]
    metadata = {"doc_id": "d", "page": 3}
    row = {
        **question({"id": "c", "text": text, "grade": 2.0, "metadata": metadata})[0],
        "gold_chunk_ids": ["c"],
        "gold_doc_ids": ["d"],
        "answer": "three days",
        "type": "fact",
        "reviewed_by": "kim",
    }
    report = reanchor([row], cut(text, 90, doc_id="d"))
    new = [{"id": f"n{n}", "text": text, "grade": 2.0, "metadata": metadata} for n in range(2)]
    assert report.evalset[0].to_dict() == row | {"gold": new, "gold_chunk_ids": ["n0", "n1"]}
    assert report.ok


def test_two_passages_of_one_chunk_are_one_chunk_id_and_both_texts_stay() -> None:
    first, second = "Refunds arrive within three working days.", "Parcels to the islands take two more days."
    corpus = [{"id": "n", "text": f"{first} {second}"}]
    rows = question({"id": "a", "text": first}, {"id": "b", "text": second}, gold_chunk_ids=["a", "b"])
    new = reanchor(rows, corpus).evalset[0]
    assert new.gold_chunk_ids == ("n",)
    assert new.gold == (Document(id="n", text=first), Document(id="n", text=second))


def test_ids_without_texts_are_linked_through_the_old_corpus() -> None:
    text = SENTENCES["ko"]
    old, new = cut(text, 40, prefix="c", doc_id="d"), cut(text, 30, 60, prefix="n", doc_id="d")
    rows = [{"id": "q", "question": "?", "gold_chunk_ids": ["c0", "c1"], "gold_doc_ids": ["d"]}]
    assert [status for status, _ in found(rows, new)] == ["unanchorable", "unanchorable"]
    report = reanchor(rows, new, old_corpus=old)
    assert [anchor.status for anchor in report.anchors] == ["split", "split"]
    assert report.evalset[0] == Question(id="q", question="?", gold_chunk_ids=("n0", "n1", "n2"), gold_doc_ids=("d",))
    with_texts = reanchor(rows, new, old_corpus=old, with_texts=True).evalset
    assert {document.text for document in with_texts[0].gold} == {chunk["text"] for chunk in old}
    assert reanchor(with_texts, old).evalset[0].gold_chunk_ids == ("c0", "c1")


def test_a_chunk_that_has_grown_under_its_id_is_merged_if_the_old_corpus_shows_it() -> None:
    small, large = "Refunds arrive within three working days.", "Refunds arrive within three working days. Ask us."
    rows, corpus = question({"id": "c", "text": small}), [{"id": "c", "text": large}]
    assert found(rows, corpus) == [("valid", ("c",))]
    assert found(rows, corpus, old_corpus=[{"id": "c", "text": small}]) == [("merged", ("c",))]


def test_a_document_under_another_id_follows_its_passages() -> None:
    text = SENTENCES["ru"]
    rows = question({"id": "c", "text": text}, gold_doc_ids=["old", "gone", "other"])
    rows[0]["gold"][0]["metadata"] = {"doc_id": "old"}
    corpus = [*cut(text, 100, doc_id="new"), {"id": "x", "text": "x", "metadata": {"doc_id": "other"}}]
    report = reanchor(rows, corpus)
    assert [(moved.old_id, moved.new_ids) for moved in report.documents] == [("old", ("new",)), ("gone", ())]
    assert report.evalset[0].gold_doc_ids == ("new", "gone", "other")
    assert {document.metadata["doc_id"] for document in report.evalset[0].gold} == {"new"}
    assert not report.ok
    assert reanchor(rows, cut(text, 100)).documents == (), "a corpus that names no documents says nothing about them"


def test_a_word_that_was_cut_in_two_is_whole_again_and_words_that_were_not_stay_apart() -> None:
    text = "every word of this passage has a place of its own in it"
    for chunks in (cut(text, 22), [{"id": "n0", "text": text[:18]}, {"id": "n1", "text": text[19:]}]):
        assert found(question({"id": "c", "text": text}), chunks, threshold=1.0) == [("split", ("n0", "n1"))]


def test_short_passages_and_repeated_headings_are_found_too() -> None:
    heading = "Terms of service. "
    corpus = [{"id": f"n{n}", "text": f"{heading}{word}"} for n, word in enumerate(["39", "Yes.", "1943년", "是"])]
    for number, chunk in enumerate(corpus):
        gold = {"id": "c", "text": chunk["text"].removeprefix(heading)}
        assert found(question(gold), corpus) == [("merged", (f"n{number}",))]
    assert found(question({"id": "c", "text": "maybe"}), corpus) == [("lost", ("c",))]


def test_common_words_alone_are_no_passage() -> None:
    long = "and when he came to the door of the house in which they all were he saw that it was not as he had said " * 3
    assert (
        found(
            question({"id": "c", "text": "he came and saw the house and said it was all"}), [{"id": "n", "text": long}]
        )[0][0]
        == "lost"
    )


chunkings = st.lists(st.integers(1, 9).map(lambda place: 40 * place + 3), max_size=5, unique=True).map(sorted)


@given(chunkings, chunkings, st.integers(0, 40))
def test_a_set_that_is_linked_there_and_back_is_the_set_it_was(one: list[int], other: list[int], overlap: int) -> None:
    text = " ".join(f"word{number:03}" for number in range(48))
    old = cut(text, *one, prefix="c", doc_id="d")
    # Words cut in two at the ends of a short passage are a large share of its words.
    threshold = 0.4
    new = [
        {**chunk, "text": text[max(0, start - overlap) :][: len(chunk["text"]) + overlap]}
        for chunk, start in zip(cut(text, *other, doc_id="d"), [0, *other], strict=True)
    ]
    evalset = EvalSet([{"id": chunk["id"], "question": "?", "gold": [chunk]} for chunk in old])
    there = reanchor(evalset, new, threshold=threshold)
    assert there.ok
    assert reanchor(there.evalset, old).evalset == evalset


def test_the_corpus_may_be_any_documents_and_any_iterator() -> None:
    def chunks() -> Iterator[object]:
        yield Document(text="has no id")
        yield Document(id="x")
        yield {"id": 7, "page_content": "Refunds arrive within three working days."}

    assert found(question("refunds arrive within THREE working days."), chunks()) == [("moved", ("7",))]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("corpus", "message"),
    [
        ([], "`corpus` has no document with an id and a text"),
        ([{"id": "a"}, {"text": "b"}], "`corpus` has no document with an id and a text"),
        ([{"id": "a", "text": "b"}, {"id": "a", "text": "c"}], r"`corpus\[1\]`: the id 'a' appears twice"),
        ([3], "is not a document"),
    ],
)
def test_a_corpus_that_nothing_can_be_linked_to_is_refused(corpus: list[Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        reanchor(question("x"), corpus)
    with pytest.raises(InvalidInputError, match="`threshold`"):
        reanchor(question("x"), [{"id": "a", "text": "b"}], threshold=1.5)


NOW = "A standard parcel costs seven euros since January and arrives within three working days."
OLD = NOW.replace("seven", "five")
SECRET = "The discount of the customer Birch is fifteen percent on all parcels of the first quarter."


def rules_of(corpus: list[Row], *must_not: Any, **fields: Any) -> tuple[Any, Question]:
    old = [{"id": "now", "text": NOW}, {"id": "old", "text": OLD}, {"id": "secret", "text": SECRET}]
    report = reanchor(question({"id": "now"}, must_not=list(must_not), **fields), corpus, old_corpus=old)
    return report, report.evalset["q"]


def test_forbidden_passages_go_with_their_text_to_every_chunk_that_holds_it() -> None:
    corpus = [{"id": "n1", "text": NOW}, {"id": "n2", "text": f"{SECRET} Ask Ann."}, {"id": "n3", "text": SECRET}]
    asked = {"asker": "ann", "allowed": {"tenant": ["a"]}}
    report, linked = rules_of(corpus, {"id": "secret", "reason": "of Birch"}, **asked)
    assert [(one.id, one.metadata["reason"]) for one in linked.must_not] == [("n3", "of Birch"), ("n2", "of Birch")]
    assert (linked.asker, linked.allowed, [one.id for one in linked.gold]) == ("ann", {"tenant": ["a"]}, ["n1"])
    assert (report.ok, report.counts["moved"], report.forbidden[0].status) == (True, 1, "moved")
    assert report.to_dict()["forbidden"][0]["new_ids"] == ("n3", "n2")


def test_an_outdated_version_that_is_gone_does_not_make_the_current_one_forbidden() -> None:
    report, linked = rules_of([{"id": "n1", "text": NOW}], "old")
    assert ([one.id for one in linked.gold], [one.id for one in linked.must_not]) == (["n1"], ["old"])
    assert (report.forbidden[0].status, report.forbidden[0].nearest, report.ok) == ("lost", ("n1",), True)


def test_an_id_that_now_names_another_chunk_is_not_kept_as_forbidden() -> None:
    report, linked = rules_of([{"id": "old", "text": NOW}, {"id": "n2", "text": "Something else entirely."}], "old")
    assert ([one.id for one in linked.gold], linked.must_not, report.ok) == (["old"], (), True)


def test_a_chunk_that_holds_the_gold_and_the_forbidden_passage_is_said() -> None:
    report, linked = rules_of([{"id": "n1", "text": f"{NOW} {SECRET}"}], "secret")
    assert ([one.id for one in linked.gold], linked.must_not) == (["n1"], ())
    assert (report.forbidden[0].also_gold, report.ok) == (("n1",), False)


def test_a_forbidden_document_whose_text_nobody_knows_is_kept_and_said() -> None:
    corpus = [{"id": "n1", "text": NOW, "metadata": {"doc_id": "faq"}}]
    report, linked = rules_of(corpus, "unknown", "faq")
    assert [one.id for one in linked.must_not] == ["unknown", "faq"]
    assert [one.status for one in report.forbidden] == ["unanchorable", "valid"]
    assert not report.ok


def test_the_current_version_behind_a_superseded_one_gets_its_new_id() -> None:
    old = [{"id": "now", "text": NOW}, {"id": "old", "text": OLD}]
    rows = [*question({"id": "now"}), {"id": "other", "question": "?", "gold": [{"id": "now"}]}]
    evalset = EvalSet(rows, supersedes={"now": ["old"]})
    corpus = [{"id": "n1", "text": NOW}, {"id": "n2", "text": OLD}]
    linked = reanchor(evalset, corpus, old_corpus=old).evalset
    for found, cause in ((["n2"], "older_version_instead"), (["n2", "n1"], "older_version_beside")):
        run = {"q": [{"id": one} for one in found], "other": [{"id": "n1"}]}
        assert [leak.cause for leak in evaluate_run(linked, run, k=2, metrics="leak").leaks()] == [cause]


def test_forbidden_passages_become_spans_with_the_gold() -> None:
    whole = [{"id": "d", "text": f"Prices. {NOW} Secrets. {SECRET}"}]
    rows = question({"id": "now", "text": NOW}, must_not=[{"id": "secret", "text": SECRET, "reason": "of Birch"}])
    linked = reanchor(rows, whole, to="spans").evalset["q"]
    (banned,) = linked.must_not
    assert (banned.id, banned.text, banned.metadata["reason"]) == (None, SECRET, "of Birch")
    start = whole[0]["text"].index(SECRET)
    found = [{"doc_id": "d", "start": start, "end": start + len(SECRET)}, {"doc_id": "d", "start": 8, "end": start - 9}]
    result = evaluate_run(EvalSet([linked]), {"q": found}, k=2, match_method="span", metrics=["leak_share", "recall"])
    assert (result["leak_share@2"], result["recall@2"]) == (0.5, 1)
