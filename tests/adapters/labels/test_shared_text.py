"""Passages and chunks with a stretch in common are found, in every script, and no others."""

from __future__ import annotations

import numpy as np
import pytest

from krag_eval.toolkit import size_of
from krag_eval_labels.shared_text import SHINGLE, common_letters, find_sharing

STRETCHES = {
    "Latin": "the quick brown fox jumped over it",
    "Cyrillic": "съешь ещё этих мягких французских булок",
    "Thai": "เป็นมนุษย์สุดประเสริฐเลิศคุณค่ากว่า",
    "Hangul": "다람쥐헌쳇바퀴에타고파이제그만",
    "Kana": "いろはにほへとちりぬるをわかよ",
    "Chinese": "天地玄黄宇宙洪荒日月",
}
every_script = pytest.mark.parametrize("text", STRETCHES.values(), ids=STRETCHES)


def sharing(passages: list[str], chunks: list[str], groups: list[int] | None = None) -> list[list[int]]:
    of_passages, of_chunks = np.zeros(len(passages), dtype=np.int64), np.array(groups or [0] * len(chunks))
    return [places.tolist() for places in find_sharing(passages, chunks, of_passages, of_chunks)]


def shortest(text: str) -> str:
    """The shortest beginning that has a shingle."""
    return next(text[:stop] for stop in range(len(text)) if size_of(text[:stop]) >= SHINGLE)


def test_a_chinese_character_counts_as_three_letters_and_a_korean_one_as_two() -> None:
    sizes = [size_of(text) for text in ("ab ", "ё", "ก", "한", "か", "中", "\U00020000", "")]
    assert sizes == [3, 1, 1, 2, 2, 3, 3, 0]


@every_script
def test_a_common_stretch_of_a_shingle_is_found_and_a_shorter_one_is_not(text: str) -> None:
    stretch = shortest(text)
    assert sharing([stretch], ["nothing", f"0123456789 {stretch} 98", f"0123456789 {stretch[1:]} 98"]) == [[1]]
    assert sharing([stretch[1:]], [stretch]) == [[]]


@every_script
def test_the_common_letters_are_those_of_the_stretch(text: str) -> None:
    stretch = shortest(text)
    common = common_letters(f"12345 {stretch} 67890", f"abc {stretch} def")
    assert common.tolist() == [False] * 5 + [True] * (size_of(stretch) + 2) + [False] * 5
    assert not common_letters(stretch, stretch[1:]).any()


def test_only_chunks_of_the_same_group_are_looked_at() -> None:
    text = STRETCHES["Latin"]
    assert sharing([text, "x"], [text, text, text], [1, 0, 0]) == [[1, 2], []]


def test_what_stands_nearly_everywhere_tells_nothing() -> None:
    footer = "all rights reserved by the owner of this text"
    chunks = [f"{footer} {number}" for number in range(1_000)]
    assert sharing([footer] * 20, chunks) == [[]] * 20
    assert sharing([footer], chunks) == [list(range(1_000))]


def test_a_phrase_that_both_have_elsewhere_is_not_counted() -> None:
    phrase, body = "he said to prince andrew that it was", "".join(f"word{number} " for number in range(40))
    common = common_letters(f"{phrase} {body}", f"{body} {'x ' * 50} {phrase} and so on")
    assert not common[: len(phrase) - 10].any()
    assert common[len(phrase) + 1 : len(phrase) + len(body)].all()


def test_nothing_is_found_for_nothing() -> None:
    assert sharing([], ["a"]) == []
    assert sharing(["a" * 30], []) == [[]]
    assert sharing(["", "a"], ["", "a"]) == [[], []]
