"""The same text in another form of Unicode is the same text: every way of matching, in many languages."""

from __future__ import annotations

import unicodedata
from typing import Literal, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krag_eval import TOKENIZERS, evaluate
from krag_eval.documents.text import VARIATION_SELECTOR
from tests.support.marks import nothing_may_match

Composition = Literal["NFC", "NFD", "NFKC", "NFKD"]
COMPOSITIONS: tuple[Composition, ...] = get_args(Composition)
WORDS = TOKENIZERS["words"]

SENTENCES = {
    "Arabic": "السَّلامُ عليكم، التوصيل في ٣ أيام",
    "Armenian": "Առաքումը տևում է երեք օր",
    "Bengali": "ডেলিভারি তিন দিন সময় নেয়",
    "Burmese": "ပို့ဆောင်မှု သုံးရက် ကြာသည်",
    "Chinese, simplified": "配送通常需要三天。",
    "Chinese, traditional": "臺灣的配送通常需要三天。",
    "English": "Café delivery takes 3 days, naïvely",
    "Georgian": "მიწოდებას სამი დღე სჭირდება",
    "German": "Die Lieferung über Größe und Länge",
    "Greek": "Η παράδοση του Μαΐου, προϋπόθεση",
    "Hebrew with vowel signs": "שָׁלוֹם עוֹלָם טוֹב",
    "Hindi": "डिलीवरी में तीन दिन लगते हैं क़",
    "Japanese": "プレゼントの配送に３日がかかります",
    "Khmer": "ការដឹកជញ្ជូនចំណាយពេលបីថ្ងៃ",
    "Korean": "배송은 보통 사흘 걸립니다",
    "Lao": "ການຈັດສົ່ງໃຊ້ເວລາສາມມື້ ນ້ຳ",
    "Russian": "Ёлку и йод доставят за три дня",
    "Tamil": "டெலிவரிக்கு மூன்று நாட்கள் ஆகும்",
    "Thai": "การจัดส่งน้ำใช้เวลา ๓ วัน",
    "Tibetan": "བཀྲ་ཤིས་བདེ་ལེགས། ཉི་མ་གསུམ།",
    "Turkish": "Çığ İstanbul'a üç günde ulaşır",
    "Vietnamese": "Giao hàng mất ba ngày làm việc",
    "mixed": "ＡＢ１２ 서울 Москва 東京ｶﾞｽ ①",
}
METHODS = ["text", "containment", "rouge1", "rouge2", "rougeL"]


def similarities(gold: list[str], retrieved: list[str], method: str, threshold: float = 1) -> list[list[float]]:
    """For each retrieved text, how similar it is to each gold text that it matches."""
    # Beside them stands a text with words, so that no side is without.
    shown = evaluate([[*gold, "zzz"]], [[*retrieved, "qqq"]], 1, match_method=method, threshold=threshold).explain(0)
    return [[m.similarity for m in rank.matches if m.gold < len(gold)] for rank in shown.ranks[: len(retrieved)]]


@pytest.mark.sample(3)
@pytest.mark.parametrize("method", METHODS)
def test_every_composition_of_a_sentence_matches_every_other_in_full(method: str) -> None:
    for sentence in SENTENCES.values():
        forms = [unicodedata.normalize(composition, sentence) for composition in COMPOSITIONS]
        assert similarities(forms, forms, method) == [[1.0] * len(forms)] * len(forms), sentence


CASED = ["Armenian", "English", "Greek", "Russian", "Vietnamese"]


@pytest.mark.parametrize("method", METHODS)
def test_a_sentence_in_capitals_matches_the_sentence_in_full(method: str) -> None:
    for sentence in map(SENTENCES.__getitem__, CASED):
        capitals = sentence.upper()
        assert similarities([sentence, capitals], [capitals, sentence], method) == [[1.0] * 2] * 2, sentence


@pytest.mark.parametrize("method", METHODS)
def test_sentences_of_different_languages_do_not_match(method: str) -> None:
    sentences = [sentence for name, sentence in SENTENCES.items() if name != "Chinese, traditional"]
    assert similarities(sentences, sentences, method, 0.5) == [[1.0]] * len(sentences)


SIGNS = ["…!?", "—", "👨\u200d👩\u200d👧", "❤\ufe0f", "👍🏽", "🏴", "・。", "§ ±"]


@pytest.mark.parametrize("method", METHODS)
def test_signs_alone_are_the_same_text_as_themselves_and_have_no_word_for_rouge(method: str) -> None:
    assert similarities(SIGNS, SIGNS, method, 0) == [[] if method.startswith("rouge") else [1.0]] * len(SIGNS)


ALIKE = [("臺灣", "台湾"), ("ёлка", "елка"), ("İstanbul", "istanbul"), ("ılık", "ilik"), ("שָׁלוֹם", "שלום"), ("٣", "3")]


@pytest.mark.sample(3)
@nothing_may_match
@pytest.mark.parametrize("method", METHODS)
def test_what_a_reader_may_take_for_the_same_is_another_text_where_unicode_says_so(method: str) -> None:
    for one, other in ALIKE:
        assert similarities([one], [other], method, 0.01) == [[]], (one, other)


LETTERS = "ΪΫΐΰἈᾼſİßǅ각が\u1100\u1161\u11a8\u3099\u0301\u0308\u0345\u0316ำ. "


@given(text=st.text() | st.text(st.sampled_from(LETTERS)), composition=st.sampled_from(COMPOSITIONS))
def test_words_do_not_depend_on_how_the_text_was_composed_and_are_composed_themselves(
    text: str, composition: Composition
) -> None:
    tokens = WORDS.tokenize(text)
    assert WORDS.tokenize(unicodedata.normalize(composition, text)) == tokens
    if not any(map(VARIATION_SELECTOR.match, text)):
        assert [unicodedata.normalize("NFKC", token) for token in tokens] == tokens
