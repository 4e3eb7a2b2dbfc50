"""The words that the page marks are those of the tokenizer `words`, cut by a script in a real browser."""

from __future__ import annotations

import json
import unicodedata
from importlib import resources
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from krag_eval.documents.tokenizers import WordTokenizer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from playwright.sync_api import Browser, Page

SCRIPT = (resources.files("krag_eval_report.html") / "templates" / "words.js").read_text(encoding="utf-8")
WORDS = "(texts) => texts.map((text) => tokens(normalForm(text).form).map(({ word }) => word))"
# What most writers of Arabic leave out, the page leaves out too.
ARABIC_SIGNS = dict.fromkeys([*range(0x64B, 0x660), 0x670, 0x640])

TEXTS = [
    "State-of-the-art, 2024!",
    "서울은 Корея 首都",
    "배송이 늦어요. A/S는 3일.",
    unicodedata.normalize("NFD", "배송이 늦어요 Café"),
    "ＦＵＬＬ　ｗｉｄｔｈ １２３ ㎏ ① ﬁne",
    "ｶﾞｷﾞ ﾊﾟ ガギ",
    "ไทยแลนด์ ๑๒๓ ฿5",
    "ພາສາລາວ ខ្មែរ မြန်မာ",
    "كِتَابٌ جديد ـــ ١٢٣",
    "〇〡〢 〆切 々 ヽ",
    "हिन्दी में",
    "a\u0301b\ufe0f c\u200dd",
    "e\U000e0100x",
    "ΟΔΟΣ İstanbul ß",
    "😀👍 x😀y",
    "_under_score_ don't 1.5",
    "𠀀𠀁 x𝒜y",
    "\ud800 lone \udfff",
    "",
]


@pytest.fixture(scope="module")
def words_page(browser: Browser) -> Page:
    return browser.new_page()


def in_browser(page: Page, what: str, *arguments: Any) -> Any:
    """Evaluate an expression of the page's own script; JSON keeps half pairs of surrogates."""
    text = json.dumps(arguments)
    return json.loads(
        page.evaluate(f"(given) => {{ {SCRIPT}\n return JSON.stringify((({what}))(...JSON.parse(given))) }}", text)
    )


def test_a_text_has_the_words_that_the_tokenizer_gives_it(words_page: Page) -> None:
    cut = in_browser(
        words_page, "(texts) => texts.map((t) => tokens(normalForm(t).form).map(({ word }) => word))", TEXTS
    )
    assert dict(zip(TEXTS, cut, strict=True)) == {text: _expected(text) for text in TEXTS}


ALPHABET = st.one_of(
    st.sampled_from("abßéİΣ배송이늦가힣ᄇㅐᆼ首都天気ひらカﾊﾞไท๑ك\u0650ت\u0301\u093f\ufe0f\u200d １Ａ①㎏,.-_ \n😀𠀀"),
    st.characters(exclude_categories=["Cs", "Cn", "Co"], max_codepoint=0x1FFFF),
)


@settings(max_examples=25)
@given(st.lists(st.text(ALPHABET, max_size=30), min_size=1, max_size=40))
def test_any_text_has_the_words_that_the_tokenizer_gives_it(words_page: Page, texts: list[str]) -> None:
    cut = in_browser(
        words_page, "(texts) => texts.map((t) => tokens(normalForm(t).form).map(({ word }) => word))", texts
    )
    assert cut == [_expected(text) for text in texts]


@settings(max_examples=25)
@given(st.lists(st.text(ALPHABET, max_size=30), min_size=1, max_size=40))
def test_what_is_marked_lies_within_the_text_in_order(words_page: Page, texts: list[str]) -> None:
    found = in_browser(words_page, "(texts) => texts.map((t) => [t.length, sharedSpans(t, vocabulary([t]))])", texts)
    for length, spans in found:
        places = [place for span in spans for place in span]
        assert places == sorted(set(places))
        assert all(0 <= place <= length for place in places)


@pytest.mark.parametrize(
    ("text", "other", "expected"),
    [
        ("배송은 빨라요", "배송이 늦어요", ["배송"]),
        ("배는 커요", "배가 고파요", []),  # one syllable says nothing
        ("배 사과", "배", ["배"]),  # but is a word
        ("배송비용 안내", "배송비는", ["배송비"]),
        ("天气很好", "天空", []),
        ("今天天气很好", "天气好", ["天气"]),
        ("天 气", "天气", []),  # not in a row
        ("ประเทศไทย", "ไทย", ["ไทย"]),
        ("การค้า", "อาการ", ["การ"]),
        ("กาแฟ", "สิการ", []),  # two Thai letters side by side say nothing
        ("ที่นี่ดี", "ที่นี่", []),  # nor two with their marks
        ("ที่นี่ดีมาก", "อยู่ที่นี่ดีกว่า", ["ที่นี่ดี"]),
        ("中ไทย文", "华ไทย", ["ไทย"]),
        ("The End.", "the end of it", ["The", "End"]),
        ("كتاب", "كِتَاب", ["كتاب"]),
        ("كِتَاب جديد", "كتاب", ["كِتَاب"]),
        (unicodedata.normalize("NFD", "배송은"), "배송이", [unicodedata.normalize("NFD", "배송은")]),
        ("ＥＮＤ ㎏", "end kg", ["ＥＮＤ", "㎏"]),
        ("constructor", "__proto__ toString", []),
    ],
)
def test_what_two_texts_share(words_page: Page, text: str, other: str, expected: Sequence[str]) -> None:
    shared = "(text, other) => sharedSpans(text, vocabulary([other])).map(([start, end]) => text.slice(start, end))"
    assert in_browser(words_page, shared, text, other) == expected


def _expected(text: str) -> list[str]:
    return [word.translate(ARABIC_SIGNS) for word in WordTokenizer().tokenize(text)]
