"""Where evidence stands, what quotes, what is a question, in which script: by hand, in several languages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krag_eval.documents.text import normalize
from krag_eval_llm.question_generation.checks import (
    Candidate,
    CandidateFilter,
    Span,
    find_evidence,
    overlap,
    quotes_chunk,
)
from krag_eval_llm.question_generation.chunks import Chunk, in_order, split_evenly
from krag_eval_llm.question_generation.languages import is_in, is_question, language_for, script_of

QUESTIONS = [
    *("When does it open?", "when does it open", "My parcel is lost. What now?", "Is it open (today)?"),
    *("환불은 언제 되나요?", "환불은 언제 되나요.", "어디서 신청합니까", "며칠 걸려요?"),
    *("Сколько идёт посылка?", "Как вернуть товар", "¿Cuándo llega?", "Wann kommt es an"),
    *("钱什么时候到账？", "可以退货吗。", "怎么申请退款", "いつ届きますか。", "送料はいくらですか"),
    *("متى يصل الطلب؟", "كيف أعيد المنتج", "ฉันจะได้เงินเมื่อไหร่", "ส่งฟรีไหมคะ"),
    "“When?” he asked, and who came?",
]
STATEMENTS = [
    *("It opens at nine.", "Refunds", "When it opens, we come.", "", "..."),
    *("환불은 사흘 걸립니다.", "환불은 사흘 걸려요.", "Посылка идёт три дня.", "退款需要三天。", "退款几天内到账。"),
    *("三日かかります。", "يصل الطلب غدا.", "เงินคืนภายในสามวัน"),
]


@pytest.mark.sample(5)
@pytest.mark.parametrize("text", QUESTIONS)
def test_a_question_is_one(text: str) -> None:
    assert is_question(text)


@pytest.mark.parametrize("text", STATEMENTS)
def test_a_statement_is_none(text: str) -> None:
    assert not is_question(text)


@pytest.mark.parametrize(
    ("evidence", "chunk", "found"),
    [
        ("two days", "It takes two days.", Span(9, 17, "two days")),
        ("two days", "Two  days, then two days.", Span(0, 9, "Two  days")),
        ("「三日以内に戻ります」", "返金は三日以内に戻ります。", Span(3, 12, "三日以内に戻ります")),
        ("사흘 안에", "환불은 사흘\n안에 끝납니다.", Span(4, 9, "사흘\n안에")),
        ("한국의 수도", "저는 한국의 수도", Span(3, 9, "한국의 수도")),
        ("It takes two days.", "It takes two days, or three.", Span(0, 17, "It takes two days")),
        ("it takes three days", "It takes two days.", None),
        ("days", "It takes two days.", None),
        ("", "It takes two days.", None),
    ],
)
def test_evidence_is_found_where_it_stands(evidence: str, chunk: str, found: Span | None) -> None:
    assert find_evidence(evidence, chunk) == found


@given(st.text(min_size=1, max_size=60), st.text(max_size=20), st.text(max_size=20))
def test_whatever_is_found_says_the_same_after_normalising(middle: str, before: str, after: str) -> None:
    chunk = f"{before} {middle} {after}"
    span = find_evidence(middle, chunk)
    if span is not None:
        assert chunk[span.start : span.end] == span.text
        assert normalize(span.text) in normalize(chunk)
        assert len(normalize(span.text)) >= 2


def test_a_long_verbatim_evidence_is_found_in_any_text_that_has_it() -> None:
    chunk = "Ünïcode ﬁrst. Then a sentence with ½ and № 5. Last one."
    assert find_evidence("THEN A SENTENCE WITH 1⁄2 AND NO 5", chunk) == Span(14, 44, "Then a sentence with ½ and № 5")


@pytest.mark.parametrize(
    ("question", "quotes"),
    [
        ("환불은 영업일 기준 사흘 안에 카드로 되나요?", True),
        ("돈은 언제 돌려받나요?", False),
    ],
)
def test_quotations_are_told_in_korean(question: str, quotes: bool) -> None:
    assert quotes_chunk(question, "환불은 영업일 기준 사흘 안에 카드로 처리됩니다.", 0.5) is quotes


def test_a_short_name_that_both_have_is_no_quotation() -> None:
    chunk = "The Blue Whale card of Acme Bank has no yearly fee, and pays back one percent of what you spend abroad."
    assert not quotes_chunk("Is the Blue Whale card free?", chunk, 0.5)
    assert quotes_chunk("Who pays back one percent of what you spend?", chunk, 0.5)
    assert not quotes_chunk("Who pays back one percent of what you spend?", chunk, 0.9)


def test_the_share_of_words_is_by_hand() -> None:
    assert overlap("Is the card free?", "The card costs nothing.") == 2 / 4
    assert overlap("?", "The card costs nothing.") is None


@pytest.mark.parametrize(
    ("answer", "is_answered"),
    [("takes two LONG", True), ("two long days", False), ("days to come", True)],
)
def test_the_answer_of_a_negative_question_is_looked_for_in_one_chunk_at_a_time(answer: str, is_answered: bool) -> None:
    corpus = [Chunk("1", "It takes two long"), Chunk("2", "days to come.")]
    checks = CandidateFilter(corpus, near=0.7, most_quoted=0.5)
    question = {"question": "When does the shop open?", "answer": answer}
    found = checks.check("negative", Chunk("3", "Something else."), question, "Latin")
    assert found == "is_answered" if is_answered else isinstance(found, Candidate)


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("환불 정책 (refund policy)", "Hangul"),
        ("Возврат денег через API", "Cyrillic"),
        ("退款政策 API", "Han"),
        ("ＡＰＩ的使用", "Han"),
        ("返金ポリシー", "Kana"),
        ("سياسة الاسترجاع", "Arabic"),
        ("นโยบายการคืนเงิน", "Thai"),
        ("Refunds 2024", "Latin"),
        ("12345 !!", None),
    ],
)
def test_the_script_of_a_text(text: str, script: str | None) -> None:
    assert script_of(text) == script
    assert is_in(text, script)


def test_languages_that_are_not_known_are_passed_on_and_not_checked() -> None:
    assert language_for("Klingon", "x") == ("Klingon", None)
    assert is_in("anything", None)
    assert language_for("KO", "English text") == ("Korean", "Hangul")
    assert language_for("auto", "返金は三日です") == ("the language of the passage (Japanese)", "Kana")


def test_one_chunk_of_each_document_comes_before_a_second_one_of_any() -> None:
    chunks = [Chunk(f"{doc}{n}", "t", doc) for doc, size in (("a", 5), ("b", 1), ("c", 2)) for n in range(size)]
    ordered = in_order(chunks, 3)
    assert sorted(chunk.doc_id or "" for chunk in ordered[:3]) == ["a", "b", "c"]
    assert sorted(chunk.doc_id or "" for chunk in ordered[3:5]) == ["a", "c"]
    assert sorted(chunk.id for chunk in ordered) == sorted(chunk.id for chunk in chunks)
    assert ordered != in_order(chunks, 4)
    # Documents are taken by chance, too.
    whole = [Chunk(f"{n}", "t", f"{n}") for n in range(20)]
    assert whole != in_order(whole, 0) != in_order(whole, 1)


@given(st.integers(1, 50), st.lists(st.text(min_size=1), min_size=1, max_size=5, unique=True))
def test_types_get_equal_shares_and_the_first_ones_what_is_left_over(n: int, types: list[str]) -> None:
    split = split_evenly(n, types)
    assert [split.count(kind) for kind in types] == [
        n // len(types) + (place < n % len(types)) for place in range(len(types))
    ]


def test_half_of_the_words_of_a_chunk_are_a_quotation_even_if_no_run_of_them_is_long() -> None:
    chunk = "cards cost ten, cash costs two"
    question = "Do cards really cost more than cash?"
    assert quotes_chunk(question, chunk, 0.5)  # cards, cost, cash: three of six words, and no run of 24 letters
    assert not quotes_chunk(question, chunk, 0.51)
