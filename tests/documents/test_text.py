"""When two texts count as the same: as wholes, and by their tokens in any language."""

from __future__ import annotations

import random
import time
import unicodedata
from typing import Any, Literal, get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from krag_eval import KragEvalWarning, evaluate, normalize
from krag_eval.documents.text import normalize_all

Composition = Literal["NFC", "NFD", "NFKC", "NFKD"]
COMPOSITIONS: tuple[Composition, ...] = get_args(Composition)

# st.text alone draws no lone surrogates, and seldom what composes, folds or vanishes.
PLAIN = st.text() | st.text(st.characters(categories=["Cs", "Cf", "Zs", "Cc", "Mn", "Lu"]))
AWKWARD = st.text(
    st.sampled_from(" \t\n\u00a0\u3000\u200b\u200d\ufeff\u0345\u0301\u0316İıßſΣςŉǰﬁＡ각\u1100\u1161ガ\u3099ﾞ")
)
ANY = PLAIN | AWKWARD

EQUAL = {
    "letter case": ("Delivery TIME", "delivery time"),
    "sharp s": ("STRASSE", "straße"),
    "final sigma": ("ΟΔΟΣ", "οδος"),
    "Cyrillic case": ("ДОСТАВКА", "доставка"),
    "Armenian ligature": ("և", "եւ"),
    "Latin ligature": ("ﬁnd", "find"),
    "full width": ("ＡＢＣ　１２３", "abc 123"),
    "half width kana": ("ｶﾞﾗｽ", "ガラス"),
    "composed and decomposed accents": ("café", "cafe\u0301"),
    "accents in another order": ("a\u0316\u0301", "a\u0301\u0316"),
    "composed and decomposed Hangul": ("각", "\u1100\u1161\u11a8"),
    "composed and decomposed kana": ("が", "か\u3099"),
    "superscript": ("x²", "x2"),
    "circled number": ("①", "1"),
    "ellipsis": ("wait…", "wait..."),
    "Arabic presentation form": ("ﺍﻟﺘﻮﺻﻴﻞ", "التوصيل"),
    "runs of white space": ("a \t\n\r\f\v b", "a b"),
    "ends": ("\n  a b  ", "a b"),
    "no-break, narrow and ideographic space": ("a\u00a0b\u202fc\u3000d", "a b c d"),
    "line and paragraph separator, next line": ("a\u2028b\u2029c\u0085d", "a b c d"),
    "zero width space": ("co\u200bop", "coop"),
    "byte order mark": ("\ufefftext", "text"),
    "soft hyphen": ("Liefer\u00adzeit", "lieferzeit"),
    "joiners": ("می\u200cخواهم \u2060क्\u200dष", "میخواهم क्ष"),
    "direction marks": ("\u200eabc\u200f \u202babc\u202c \u2067d\u2069 \u061ce", "abc abc d e"),
    "emoji variation selector": ("❤\ufe0f", "❤"),
    "Mongolian variation selector": ("ᠠ\u180b\u180f", "ᠠ"),
    "Khmer vowel that nobody sees": ("ក\u17b4", "ក"),
    "a mark behind a zero width space": ("e\u200b\u0301", "é"),
    "a mark behind what casefolding takes apart": ("ß\u0301", "sś"),
    "only what cannot be seen": (" \u200b\u00ad\ufeff\n", ""),
}


@pytest.mark.parametrize(("one", "other"), EQUAL.values(), ids=EQUAL)
def test_texts_that_look_the_same_have_the_same_form(one: str, other: str) -> None:
    assert normalize(one) == normalize(other)


def test_ideographic_variation_selectors_are_dropped_as_zero_width_like_the_others() -> None:
    assert normalize("葛\U000e0100城市") == normalize("葛城市")


DIFFERENT = {
    "another accent": ("cafe", "café"),
    "a voiced kana": ("か", "が"),
    "white space inside": ("a b", "ab"),
    "punctuation": ("a.", "a"),
    "another script": ("a", "а"),
    "dotless i": ("ı", "i"),
    "a missing Hindi mark": ("कि", "क"),
    "a missing Thai tone": ("เสื้อ", "เสือ"),
    "NUL": ("a\x00", "a"),
    "another surrogate": ("\ud800", "\ud801"),
}


@pytest.mark.parametrize(("one", "other"), DIFFERENT.values(), ids=DIFFERENT)
def test_texts_that_differ_keep_different_forms(one: str, other: str) -> None:
    assert normalize(one) != normalize(other)


FORMS = {
    "  Ｆｕｌｌ   Width\u200b\n ": "full width",
    "Straße": "strasse",
    "Ⅷ ½": "viii 1⁄2",
    "서울\u3000역": "서울 역",
    "\x00A\x1fB": "\x00a b",
    "\ud800A": "\ud800a",
    "İstanbul": "i̇stanbul",
}


@pytest.mark.parametrize("text", FORMS, ids=ascii)
def test_the_form_is_what_it_is_by_hand(text: str) -> None:
    assert FORMS[text] == normalize(text)


@given(ANY)
def test_normalising_twice_changes_nothing_more(text: str) -> None:
    assert normalize(normalize(text)) == normalize(text)


@given(ANY)
def test_the_form_is_folded_and_has_no_white_space_but_single_spaces_inside(text: str) -> None:
    form = normalize(text)
    assert form == form.casefold() == " ".join(form.split())


@given(ANY, st.sampled_from(COMPOSITIONS))
def test_the_form_does_not_depend_on_how_the_text_was_composed(text: str, composition: Composition) -> None:
    assert normalize(unicodedata.normalize(composition, text)) == normalize(text)


@given(st.lists(ANY.filter(str.split), min_size=1), st.text(" \t\n\r\u00a0\u3000\u2003", min_size=1))
def test_the_kind_and_number_of_spaces_changes_nothing(words: list[str], space: str) -> None:
    assert normalize(space.join(["", *words, ""])) == normalize(" ".join(words))


@given(
    ANY, st.sampled_from("\u200b\u200c\u200d\u2060\ufeff\u00ad\u200e\u202e\u2066\ufe0f\ufe0e\u180e\u034f"), st.data()
)
def test_a_zero_width_character_anywhere_changes_nothing(text: str, invisible: str, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(text)))
    assert normalize(text[:place] + invisible + text[place:]) == normalize(text)


@given(st.text(st.characters(max_codepoint=127)))
@example("a  b")
def test_ascii_text_takes_a_short_cut_to_the_same_form(text: str) -> None:
    assert normalize(f"{text} é") == f"{normalize(text)} é".strip()


@pytest.mark.full
@pytest.mark.parametrize("pattern", ["a", "가 ", "\u200b", " \n", "ß", "\u1100\u1161\u11a8", "ﬁ", "\ud800"], ids=ascii)
def test_a_megabyte_of_anything_is_normalised_in_one_go(pattern: str) -> None:
    n = 1_000_000 // len(pattern)
    assert normalize(pattern * n) == normalize(normalize(pattern * n))


def test_long_runs_of_accents_in_the_wrong_order_do_not_take_quadratic_time() -> None:
    # CPython sorts the marks of one letter by insertion: of this text in seconds, of a megabyte in minutes.
    start = time.process_time()
    normalize("a" + "\u0301\u0316" * 30_000)
    assert time.process_time() - start < 1


def test_many_marks_on_a_letter_are_put_in_order_in_a_long_text_as_in_a_short_one() -> None:
    rng = random.Random(0)
    letters = ["a" + "".join(rng.choices("\u0301\u0316\u0323\u0308\u0327\u0334", k=50)) for _ in range(60)]
    form = normalize("".join(letters))
    assert form == "".join(map(normalize, letters)) == normalize(form)
    assert form == normalize(unicodedata.normalize("NFD", "".join(letters)))


SIMILAR = {
    "Korean": ("배송은 보통 사흘 걸립니다", "배송은 보통 닷새 정도 걸립니다"),
    "Russian": ("Доставка занимает три дня", "Доставка занимает пять дней"),
    "Chinese": ("配送通常需要三天", "配送一般需要五天"),
    "Japanese": ("配送には通常三日かかります", "配送は通常五日かかるでしょう"),
    "Thai": ("การจัดส่งใช้เวลาสามวัน", "การจัดส่งมักใช้เวลาห้าวัน"),
    "Arabic": ("يستغرق التوصيل ثلاثة أيام", "يستغرق التوصيل عادة خمسة أيام"),
}


@pytest.mark.sample(3)
@pytest.mark.parametrize("kind", ["rouge1", "rouge2", "rougeL"])
@pytest.mark.parametrize("language", SIMILAR)
def test_rouge_is_1_for_equal_texts_in_every_language_and_between_0_and_1_for_similar_ones(
    language: str, kind: str
) -> None:
    # rouge_score's own tokenizer keeps ASCII alone, so that all of these score 0.0 there.
    text, similar = SIMILAR[language]
    result = evaluate([[text]], [[text, similar]], 1, match_method=kind, threshold=0)
    equal, less = [rank.matches[0].similarity for rank in result.explain(0).ranks]
    assert 0 < less < equal == 1
    with pytest.warns(KragEvalWarning, match="has a token"):
        ascii_only = evaluate([[text]], [[text]], 1, match_method=kind, tokenizer="rouge_score", threshold=0)
    assert ascii_only["recall@1"] == 0


@pytest.mark.parametrize("kind", ["rouge1", "rouge2", "rougeL"])
def test_texts_without_tokens_match_nothing_not_even_at_threshold_0(kind: str) -> None:
    texts = ["", " ", "…!?", "\u200b", "a b"]
    shown = evaluate([texts], [texts], 1, match_method=kind, threshold=0).explain(0)
    assert [[match.gold for match in rank.matches] for rank in shown.ranks] == [[], [], [], [], [4]]


XS = ["x" * n for n in (1, 2, 7, 8, 9, 15, 16, 17, 63, 64, 65, 72, 200)]
LONG_WORDS = [*XS, *(x[:-1] + "y" for x in XS), *("y" + x[1:] for x in XS[1:]), *(f"{x}0{x}" for x in XS)]
ODD = [
    "",
    " ",
    "  ",
    "\n",
    "\x00",
    "\x00\x00",
    "x\x00",
    "x\x00\x00",
    "é",
    "e\u0301",
    "\ud800",
    "\ud83d\ude00",
    "😀",
    "中",
    "中" * 30,
]


@pytest.mark.parametrize(
    "tokenizer", ["words", "rouge_score", "whitespace", pytest.param(lambda text: [text[:-2]], id="a function")]
)
def test_tokens_that_resemble_each_other_are_told_apart(tokenizer: Any) -> None:
    tokens = LONG_WORDS if isinstance(tokenizer, str) else LONG_WORDS + ODD
    gold, retrieved = [f"{token} \t" for token in tokens], [f"{token}\t " for token in tokens]
    shown = evaluate([gold], [retrieved], 1, match_method="rouge1", tokenizer=tokenizer).explain(0)
    assert [[match.gold for match in rank.matches] for rank in shown.ranks] == [[i] for i in range(len(tokens))]


@given(st.lists(st.text(st.sampled_from("aB \t\n\x00é배\u200b."), max_size=6), max_size=9), st.integers(1, 4))
def test_texts_normalised_together_are_what_they_are_alone(texts: list[str], at_once: int) -> None:
    assert normalize_all(texts, at_once) == [normalize(text) for text in texts]
