"""From texts to tokens: in many scripts by hand, on ASCII as in rouge_score, and what a user's own may return."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge_score.tokenizers import DefaultTokenizer

from krag_eval import TOKENIZERS, InvalidInputError, MissingDependencyError, TokenizerType, evaluate
from krag_eval.documents import tokenizers
from krag_eval.documents.tokenizers import StemmingTokenizer, as_tokenizer, tokenize_all
from tests.support.marks import nothing_may_match

WORDS, CHARACTERS, KIWI = TOKENIZERS["words"], TOKENIZERS["characters"], TOKENIZERS["kiwi"]

# The tokens, written with spaces between them.
BY_HAND = {
    "English": ("State-of-the-art, don't snake_case 3.14!", "state of the art don t snake case 3 14"),
    "French": ("Café déjà-vu, naïve", "café déjà vu naïve"),
    "decomposed accents": ("Cafe\u0301", "café"),
    "German": ("Die Straße", "die straße"),
    "Turkish": ("İstanbul", "i\u0307stanbul"),
    "Greek": ("ΟΔΟΣ Σίσυφος", "οδος σίσυφος"),
    "Greek capitals of a letter with two signs": ("Μαΐου ΜΑΪ\u0301ΟΥ", "μαΐου μαΐου"),
    "Russian": ("Ёлка и ель-2", "ёлка и ель 2"),
    "Korean": ("서울은 한국의 수도다.", "서울은 한국의 수도다"),
    "Korean with Latin": ("한국어AI모델", "한국어ai모델"),
    "decomposed Hangul": ("\u1100\u1161\u11a8", "각"),
    "Chinese": ("北京是首都。", "北 京 是 首 都"),
    "Chinese with Latin": ("中国abc中国", "中 国 abc 中 国"),
    "Chinese numerals": ("〇 〡〢", "〇 〡 〢"),
    "rare Han": ("𠮷野家", "𠮷 野 家"),
    "Han with a variation selector": ("葛\ufe00城", "葛 城"),
    "Japanese": ("東京タワーへ、人々", "東 京 タ ワ ー へ 人 々"),
    "prolonged sound mark": ("コーヒー・ラーーメ", "コ ー ヒ ー ラ ー ー メ"),
    "half width kana": ("ｺｰﾋｰ ｶﾞ", "コ ー ヒ ー ガ"),
    "decomposed kana": ("か\u3099", "が"),
    "Thai": ("สวัสดี ๑๒", "ส ว ั ส ด ี ๑ ๒"),
    "Thai with Latin": ("ไทยthai", "ไ ท ย thai"),
    "Lao": ("ສະບາຍດີ", "ສ ະ ບ າ ຍ ດ ີ"),
    "Khmer": ("សួស្តី", "ស ួ ស ្ ត ី"),
    "Myanmar": ("မင်္ဂလာပါ", "မ င ် ္ ဂ လ ာ ပ ါ"),
    "Arabic": ("السَّلامُ عليكم، ١٢٣", "السَّلامُ عليكم ١٢٣"),
    "Hebrew": ("שָׁלוֹם עולם", "שָׁלוֹם עולם"),
    "Hindi": ("हिन्दी में कि।", "हिन्दी में कि"),
    "Tibetan": ("བཀྲ་ཤིས།", "བཀྲ ཤིས"),
    "Mongolian with a variation selector": ("ᠠ\u180bᠨ", "ᠠᠨ"),
    "emoji": ("❤\ufe0f love 👍🏽!", "love"),
    "an emoji's variation selector inside": ("a\ufe0fb", "ab"),
    "full width": ("Ａｂｃ１２", "abc12"),
    "compatibility forms": ("x² Ⅷ ½ ㍿", "x2 viii 1 2 株 式 会 社"),
    "mathematical digits": ("𝟙𝟚", "12"),
    "zero width space": ("a\u200bb", "a b"),
    "nothing to see": ("…!? \u200b\n", ""),
    "surrogates and NUL": ("a\ud800b\x00c", "a b c"),
}


@pytest.mark.parametrize(("text", "tokens"), BY_HAND.values(), ids=BY_HAND)
def test_words_by_hand(text: str, tokens: str) -> None:
    assert tokens.split(" ") * bool(tokens) == WORDS.tokenize(text)


@pytest.mark.parametrize(("text", "tokens"), BY_HAND.values(), ids=BY_HAND)
def test_characters_are_the_words_letter_by_letter(text: str, tokens: str) -> None:
    assert list(tokens.replace(" ", "")) == CHARACTERS.tokenize(text)


def test_ideographic_variation_selectors_are_no_tokens() -> None:
    assert WORDS.tokenize("葛\U000e0100城") == ["葛", "城"]


def test_white_space_of_every_kind_splits_and_nothing_but_case_is_touched() -> None:
    assert TOKENIZERS["whitespace"].tokenize(" The\u3000end.\u00a0Ａ\t\n😀 ") == ["the", "end.", "ａ", "😀"]


PARTS = ["running", "Flies", "generalizations", "cat's", "state-of-the-art", "a1", "_x_", "2024", "\x1f", "...", "the"]
ASCII = st.text(st.characters(max_codepoint=127)) | st.lists(st.sampled_from(PARTS)).map(" ".join)


@pytest.mark.sample(3)
@pytest.mark.peer
@pytest.mark.parametrize("use_stemmer", [False, True])
@pytest.mark.parametrize("name", ["words", "rouge_score"])
@given(text=ASCII)
def test_on_ascii_text_the_tokens_are_those_of_rouge_score(name: str, use_stemmer: bool, text: str) -> None:
    ours = StemmingTokenizer(TOKENIZERS[name]) if use_stemmer else TOKENIZERS[name]
    assert ours.tokenize(text) == DefaultTokenizer(use_stemmer=use_stemmer).tokenize(text)


@pytest.mark.peer
@given(text=st.text() | st.text(st.sampled_from("aBÉß가中İK①１ \ud800")))
def test_the_strict_tokenizer_is_that_of_rouge_score_on_any_text(text: str) -> None:
    assert TOKENIZERS["rouge_score"].tokenize(text) == DefaultTokenizer(use_stemmer=False).tokenize(text)


@given(text=st.text() | st.text(st.characters(categories=["Cs", "Mn", "Mc", "Me", "Cf", "Nl", "No", "Sk", "Lm"])))
def test_words_of_any_text_hold_no_space_and_come_out_again_when_joined(text: str) -> None:
    tokens = WORDS.tokenize(text)
    assert all(token and token == "".join(token.split()) for token in tokens)
    assert WORDS.tokenize(" ".join(WORDS.tokenize(" ".join(tokens)))) == WORDS.tokenize(" ".join(tokens))


def test_only_ascii_words_of_more_than_three_letters_are_stemmed() -> None:
    stems = StemmingTokenizer(WORDS).tokenize("Running flies his cafés Доставками 2024")
    assert stems == ["run", "fli", "his", "cafés", "доставками", "2024"]


HOSTILE = [
    "a",
    "_",
    "a ",
    "한",
    "中",
    "ー",
    "\u200b",
    "\ufe0f",
    "\ud800",
    "Σ\u0345",
    "\u1100\u1161\u11a8",
    "😀",
    "ẛ\u0323",
]


@pytest.mark.full
@pytest.mark.parametrize("name", ["words", "characters", "rouge_score", "whitespace"])
@pytest.mark.parametrize("pattern", HOSTILE, ids=ascii)
def test_a_megabyte_of_one_pattern_is_tokenized_in_one_go(name: str, pattern: str) -> None:
    assert isinstance(
        TOKENIZERS[name].tokenize(pattern * (1_000_000 // len(pattern.encode("utf-8", "surrogatepass")))), list
    )


def test_kiwi_finds_morphemes_without_punctuation() -> None:
    assert KIWI.tokenize("배송은 3일 걸려요! AI입니다.")[:4] == ["배송", "은", "3", "일"]
    assert KIWI.tokenize("ＡＩ") == ["ai"]
    assert KIWI.tokenize("") == KIWI.tokenize("\x00") == KIWI.tokenize("…!?") == []
    assert KIWI.tokenize("가방\x00\ud800학교") == ["가방", "학교"]


@pytest.mark.full
def test_kiwi_keeps_the_order_of_many_texts() -> None:
    texts = [f"{number}번 가방 \ud800" * (1 + number % 40) if number % 7 else "" for number in range(400)]
    assert list(tokenize_all(KIWI, texts)) == [KIWI.tokenize(text) for text in texts]


@nothing_may_match
def test_kiwi_matches_where_only_the_particles_differ() -> None:
    numbers = [
        evaluate([["학교에서 가방을 찾았다"]], [["가방은 학교에 찾았다"]], 1, match_method="rouge1", tokenizer=name)[
            "recall@1"
        ]
        for name in ("words", "kiwi", TokenizerType.KIWI)
    ]
    assert numbers == [0, 1, 1]


@pytest.fixture
def no_kiwi(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(sys.modules, "kiwipiepy", None)
    tokenizers._kiwi.cache_clear()
    yield
    tokenizers._kiwi.cache_clear()


@pytest.mark.full
@pytest.mark.usefixtures("no_kiwi")
def test_without_kiwipiepy_the_error_names_the_extra() -> None:
    with pytest.raises(MissingDependencyError, match=r"kiwi.*not installed.*krag-eval\[ko\]") as caught:
        evaluate([["가"]], [["나"]], match_method="rouge1", tokenizer="kiwi")
    assert (caught.value.package, caught.value.extra) == ("kiwipiepy", "ko")
    assert isinstance(caught.value, ImportError)


class Lines:
    """A tokenizer of a user's own, that notes how it was called."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def tokenize(self, text: str) -> list[str]:
        self.seen.append(text)
        return text.split("\n")


class BulkLines(Lines):
    def tokenize_all(self, texts: Sequence[str]) -> list[list[str]]:
        return [text.split("\n") for text in texts]


@pytest.mark.parametrize(
    "own",
    [Lines(), BulkLines(), str.splitlines, lambda text: tuple(text.split("\n"))],
    ids=["an object", "in bulk", "a method", "a function"],
)
def test_a_tokenizer_of_ones_own_is_asked(own: object) -> None:
    result = evaluate([["a b\nc"]], [["c\nx"]], 1, match_method="rouge1", tokenizer=own)
    assert [match.similarity for match in result.explain(0).ranks[0].matches] == [0.5]
    assert list(tokenize_all(as_tokenizer(own), ["a b\nc", "d"])) == [["a b", "c"], ["d"]]


def test_each_unique_text_is_tokenized_at_most_once_and_in_bulk_where_possible() -> None:
    single, bulk = Lines(), BulkLines()
    for own in (single, bulk):
        evaluate([["a\nb", "c"]] * 3, [["a\nx", "a\nb"], ["c"], []], match_method=["rouge1", "rougeL"], tokenizer=own)
    assert sorted(single.seen) == ["a\nb", "a\nx", "c"]
    assert bulk.seen == []


WRONG = {
    "a string": lambda text: text,
    "bytes": lambda text: text.encode(),
    "None": lambda _: None,
    "a generator": lambda text: (word for word in text.split()),
    "a set": lambda text: set(text.split()),
    "numbers": lambda text: [len(text)],
    "None among the tokens": lambda text: [text, None],
    "lists of tokens": lambda text: [[text]],
}


@pytest.mark.sample(3)
@pytest.mark.parametrize("use_stemmer", [False, True])
@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_a_tokenizer_that_returns_something_else_is_an_error_that_says_so(wrong: object, use_stemmer: bool) -> None:
    with pytest.raises(InvalidInputError, match=r"tokenizer .* returned .* must "):
        evaluate([["a b"]], [["a c", "a b"]], match_method="rouge1", tokenizer=wrong, use_stemmer=use_stemmer)


@pytest.mark.parametrize("surplus", [-1, 1])
def test_a_bulk_tokenizer_that_returns_a_list_too_few_or_too_many_is_an_error(surplus: int) -> None:
    class Miscounting(Lines):
        def tokenize_all(self, texts: Sequence[str]) -> list[list[str]]:
            return [["a"]] * (len(texts) + surplus)

    with pytest.raises(InvalidInputError, match="Miscounting"):
        evaluate([["a b"]], [["a c", "a b"]], match_method="rouge1", tokenizer=Miscounting())


UNUSABLE = {
    "word": r"Unknown tokenizer 'word'\. Did you mean 'words'\? Known tokenizers: words, .*kiwi",
    "Kiwi": "Did you mean 'kiwi'",
    "": "Unknown tokenizer ''",
    None: "got None",
    7: "got 7",
    Lines: "got a type",
}


@pytest.mark.parametrize("unusable", UNUSABLE, ids=repr)
def test_what_is_no_tokenizer_is_refused_with_a_suggestion(unusable: object) -> None:
    with pytest.raises(InvalidInputError, match=UNUSABLE[unusable]):  # type: ignore[index]
        evaluate([["a"]], [["a"]], match_method="rouge1", tokenizer=unusable)
