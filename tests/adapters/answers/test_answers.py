"""Answers scored by hand, at the edges and by law."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from krag_eval import InvalidInputError
from krag_eval_answers.evaluate import evaluate_answers
from krag_eval_answers.metrics import ANSWER_METRICS
from krag_eval_answers.pairs import AnswerPairs, AnswerSettings

TEXT_METRICS = [name for name, metric in ANSWER_METRICS.items() if not metric.needs_embeddings]
words = st.lists(
    st.sampled_from(["three", "days", "서울은", "北京", "в", "мае", "ไทย", "2.5", "\n"]), min_size=1, max_size=7
)
texts = words.map(" ".join)


def values(metric: str, references: list[str], answers: list[str], **options: Any) -> list[float]:
    pairs = AnswerPairs(references, answers, AnswerSettings(**options))
    return list(map(float, ANSWER_METRICS[metric].function(pairs)))


@pytest.mark.parametrize(
    ("reference", "answer", "same", "f1"),
    [
        ("three days", "Three days!", 1, 1),
        ("three days", "three working days", 0, 2 * (2 / 3) * 1 / (2 / 3 + 1)),
        ("北京市", "北京", 0, 2 * 1 * (2 / 3) / (1 + 2 / 3)),
        ("北京", "「北 京」。", 1, 1),
        ("東京タワー", "東京タワーです", 0, 2 * (5 / 7) * 1 / (5 / 7 + 1)),
        ("กรุงเทพ", "กรุงเทพ ฯ", 0, 2 * (7 / 8) * 1 / (7 / 8 + 1)),
        ("３일 이내", "3일 이내。", 1, 1),
        ("Straße", "STRASSE", 1, 1),
        ("me\u200bta", "meta", 1, 1),
        ("«три дня»", "Три дня…", 1, 1),
        ("2.5", "25", 0, 0),
        ("the end", "end", 0, 2 * 1 * (1 / 2) / (1 + 1 / 2)),
        ("🙂", "🙂", 1, 1),
        ("🙂", "🙁", 0, 0),
        ("🙂", "yes", 0, 0),
        ("서울에서", "서울", 0, 0),
    ],
)
def test_ours_by_hand_in_any_script(reference: str, answer: str, same: float, f1: float) -> None:
    assert values("exact_match", [reference], [answer]) == [same]
    assert values("token_f1", [reference], [answer]) == [f1]


def test_chinese_is_all_or_nothing_to_squad_and_not_to_us() -> None:
    result = evaluate_answers(["会议在五月三日举行"], ["会议于五月三日举行"], metrics=["squad_f1", "token_f1"])
    assert (result["squad_f1"], result["token_f1"]) == (0, 8 / 9)


@pytest.mark.parametrize("tokenizer", ["characters", pytest.param("kiwi", marks=pytest.mark.full)])
def test_korean_particles_cost_less_in_morphemes_and_characters(tokenizer: str) -> None:
    (by_words,) = values("token_f1", ["서울"], ["서울에서"])
    (by_parts,) = values("token_f1", ["서울"], ["서울에서"], tokenizer=tokenizer)
    assert by_words == 0 < by_parts < 1


def test_under_characters_no_space_counts() -> None:
    assert values("exact_match", ["배송 완료"], ["배송완료"], tokenizer="characters") == [1]
    assert values("exact_match", ["배송 완료"], ["배송완료"]) == [0]


def test_normalising_can_be_left_out_or_replaced() -> None:
    assert values("exact_match", ["Straße"], ["STRASSE"], normalize=None) == [0]
    assert values("exact_match", ["the end"], ["end"], normalize=lambda text: text.replace("the ", "")) == [1]
    with pytest.raises(InvalidInputError, match="`normalize` returned 5"):
        values("exact_match", ["a"], ["b"], normalize=lambda text: 5)


def test_the_stemmer_is_of_rouge_alone() -> None:
    assert values("rouge1", ["running"], ["runs"], use_stemmer=True) == [1]
    assert values("token_f1", ["running"], ["runs"], use_stemmer=True) == [0]


@pytest.mark.sample(4)
@pytest.mark.parametrize("metric", TEXT_METRICS)
@given(pairs=st.lists(st.tuples(texts, texts), min_size=1, max_size=6))
def test_every_value_lies_between_0_and_1_and_equal_texts_have_1(metric: str, pairs: list[tuple[str, str]]) -> None:
    references, answers = (list(side) for side in zip(*pairs, strict=True))
    found = values(metric, references, answers)
    assert all(0 <= value <= 1 for value in found)
    worded = [text for text in references if len(text.split()) > 1]
    assert values(metric, worded, worded) == [1] * len(worded)


@given(pairs=st.lists(st.tuples(texts, texts), min_size=1, max_size=6))
def test_an_exact_match_has_an_f1_of_1(pairs: list[tuple[str, str]]) -> None:
    references, answers = (list(side) for side in zip(*pairs, strict=True))
    for exact, f1 in (("exact_match", "token_f1"), ("squad_exact_match", "squad_f1")):
        same, share = values(exact, references, answers), values(f1, references, answers)
        for one, other, text in zip(same, share, references, strict=True):
            assert one <= other or not text.strip()


@settings(max_examples=settings().max_examples // 4)
@given(st.lists(st.tuples(st.lists(texts, min_size=1, max_size=3), texts, texts), min_size=1, max_size=5))
def test_another_reference_never_lowers_a_value(rows: list[tuple[list[str], str, str]]) -> None:
    answers = [answer for _, answer, _ in rows]
    few = evaluate_answers([references for references, _, _ in rows], answers)
    more = evaluate_answers([[*references, new] for references, _, new in rows], answers)
    for metric in TEXT_METRICS:
        assert not (few.values[metric] > more.values[metric]).any()  # undefined where the references are empty


@pytest.mark.full
@given(st.lists(st.tuples(st.one_of(st.none(), texts), texts), min_size=1, max_size=6), st.randoms())
def test_neither_the_order_nor_the_company_changes_a_bit(
    rows: list[tuple[str | None, str]], rng: random.Random
) -> None:
    result = evaluate_answers(*(list(side) for side in zip(*rows, strict=True)))
    order = list(range(len(rows)))
    rng.shuffle(order)
    other = evaluate_answers([rows[place][0] for place in order], [rows[place][1] for place in order])
    assert result.to_dict() == other.to_dict()
    alone = [evaluate_answers([reference], [answer]) for reference, answer in rows]
    for metric, column in result.values.items():
        np.testing.assert_array_equal(column, [one.values[metric][0] for one in alone])


@pytest.mark.full
def test_more_pairs_than_a_block_holds_are_scored_the_same() -> None:
    rng = random.Random(3)
    some = [" ".join(rng.choices(["three", "days", "in", "May"], k=3)) for _ in range(9000)]
    result = evaluate_answers(some[:4500], some[4500:], metrics=["exact_match", "rougeL"])
    assert result.values["exact_match"].tolist() == [
        float(a == b) for a, b in zip(some[:4500], some[4500:], strict=True)
    ]
    assert result.values["rougeL"][4400:].tolist() == values("rougeL", some[4400:4500], some[8900:])


def test_empty_answers_score_0_and_are_counted() -> None:
    result = evaluate_answers(["the", "in May", "soon", None], ["", None, " \n", float("nan")])
    assert {result[name] for name in TEXT_METRICS} == {0}
    assert (result.n_empty, result.n_missing, result.n_refusals) == (4, 0, 4)
    assert result["negative_rejection"] == 1
