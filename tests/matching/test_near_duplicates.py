"""Texts in nearly the same words: the groups are those that comparing every text with every other one gives."""

from __future__ import annotations

import itertools
import json
import random
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from krag_eval import TOKENIZERS, InvalidInputError
from krag_eval.matching import near_duplicates
from krag_eval.matching.near_duplicates import NEAR, group_near_duplicates, near_pairs
from krag_eval.matching.settings import make_settings
from tests.support.reference import rouge


def by_comparing_all(texts: list[str], threshold: float) -> list[tuple[int, ...]]:
    """Connected components, from the definition."""
    tokens = [TOKENIZERS["words"].tokenize(text) for text in texts]
    group = list(range(len(texts)))
    for one, other in combinations(range(len(texts)), 2):
        if tokens[one] and tokens[other] and rouge(tokens[one], tokens[other], "rougeL", "fmeasure") >= threshold:
            group = [group[one] if name == group[other] else name for name in group]
    members = [tuple(place for place, name in enumerate(group) if name == one) for one in dict.fromkeys(group)]
    return sorted(places for places in members if len(places) > 1)


words = st.lists(st.sampled_from(["a", "b", "c", "서울", "京", "где"]), max_size=6).map(" ".join)


@given(st.lists(words, max_size=12), st.sampled_from([0.01, 0.3, 0.5, 2 / 3, 0.8, 1.0]))
def test_the_groups_are_those_of_comparing_all_pairs(texts: list[str], threshold: float) -> None:
    assert group_near_duplicates(texts, threshold) == by_comparing_all(texts, threshold)


@given(st.lists(words, max_size=14), st.sampled_from([0.3, 0.5, 0.8]), st.integers(1, 4), st.integers(1, 4))
def test_neither_blocks_nor_known_groups_change_the_groups(
    texts: list[str], threshold: float, rows: int, large: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(near_duplicates, "_ROWS_AT_ONCE", rows)
        patch.setattr(near_duplicates, "_LARGE", large)
        assert group_near_duplicates(texts, threshold) == by_comparing_all(texts, threshold)


@pytest.mark.parametrize("language", ["en", "ru", "zh", "ar", "th"])
def test_the_groups_of_real_questions_are_those_of_comparing_all_pairs(shared_data: Path, language: str) -> None:
    path = shared_data / "xquad" / f"xquad.{language}.json"
    articles = json.loads(path.read_text(encoding="utf-8"))["data"][:2]
    texts = [row["question"] for article in articles for part in article["paragraphs"] for row in part["qas"]]
    found = group_near_duplicates(texts, 0.7)
    assert found == by_comparing_all(texts, 0.7)
    assert found


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "How old was Manning when he played Super Bowl 50?",
            "How old was Peyton Manning when he played Super Bowl 50",
        ),
        ("평창 스페셜 올림픽의 슬로건은 무엇인가?", "평창 스페셜 올림픽의 슬로건은?"),
        ("Как называются маленькие щупальца?", "Как называются маленькие щупальца цидиппид?"),
        ("球栉水母的小触手叫什么？", "球栉水母拥有的小触手叫什么？"),
        ("كم كان عمر مانينغ عندما لعب في سوبر بول 50؟", "كم كان عمر بايتون مانينغ عندما لعب في سوبر بول 50؟"),
        ("แมนนิง อายุเท่าไรตอนที่เขาเล่น", "แมนนิง อายุเท่าไรตอนเขาเล่น"),
    ],
)
def test_near_duplicates_are_found_in_every_script(one: str, other: str) -> None:
    assert group_near_duplicates([one, "北京 где 서울 nothing of it", other]) == [(0, 2)]


def test_a_pair_exactly_at_the_threshold_is_near() -> None:
    texts = ["a b c d e", "a b c d x"]  # 4 of 5 words
    assert group_near_duplicates(texts, 0.8) == [(0, 1)]
    assert group_near_duplicates(texts, 0.8000001) == []


def test_a_group_needs_no_text_that_is_near_to_all_others() -> None:
    assert group_near_duplicates(["a b c d e", "b c d e f", "c d e f g"], 0.8) == [(0, 1, 2)]


def test_texts_without_words_are_near_to_nothing() -> None:
    assert group_near_duplicates(["", "?!", "?!", " "]) == []


@pytest.mark.full
def test_thousands_of_questions_from_one_template_are_one_group() -> None:
    numbers = random.Random(0).sample(range(10_000), 2_000)
    texts = [f"What is the population of the city of place{n} in the year 2010?" for n in numbers]
    assert group_near_duplicates(["Who is it?", *texts]) == [tuple(range(1, 2_001))]


def test_the_tokenizer_decides_what_a_word_is() -> None:
    texts = ["환불 신청 기간", "환불 신청 기간은"]
    assert group_near_duplicates(texts) == []
    assert group_near_duplicates(texts, tokenizer="characters") == [(0, 1)]


@pytest.mark.parametrize("threshold", [0, -0.1, 1.1, float("nan"), "0.5", True])
def test_a_threshold_that_is_none_is_refused(threshold: float) -> None:
    with pytest.raises(InvalidInputError, match="`threshold`"):
        group_near_duplicates(["a"], threshold)


TEXT = st.lists(st.sampled_from("abcd"), max_size=6).map(" ".join)


@given(st.lists(st.lists(st.none() | TEXT, max_size=5), max_size=4))
def test_near_pairs_are_those_of_each_text_and_an_earlier_one_of_its_query(rows: list[list[str | None]]) -> None:
    texts = [text for row in rows for text in row]
    offsets = np.cumsum([0, *map(len, rows)])
    expected: dict[int, set[int]] = {}
    for start, stop in itertools.pairwise(offsets.tolist()):
        for earlier, later in combinations(range(start, stop), 2):
            one, other = ((texts[place] or "").split() for place in (earlier, later))
            if one and other and rouge(one, other, "rougeL", "fmeasure") >= NEAR:
                expected.setdefault(later, set()).add(earlier)
    assert near_pairs(texts, offsets, make_settings(match_method="id")) == expected
