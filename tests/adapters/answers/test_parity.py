"""The answer metrics against SQuAD's definition, written out, and against rouge_score, to the last bit."""

from __future__ import annotations

import random
import re
import string
from collections import Counter
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from krag_eval import TOKENIZERS
from krag_eval.documents.tokenizers import StemmingTokenizer
from krag_eval_answers.evaluate import evaluate_answers
from krag_eval_answers.metrics import ANSWER_METRICS
from krag_eval_answers.pairs import AnswerPairs, AnswerSettings

ROUGE = ("rouge1", "rouge2", "rougeL", "rougeLsum")
WORDS = [
    "a",
    "an",
    "the",
    "The",
    "three",
    "days,",
    "state-of-the-art",
    "don't",
    "U.S.",
    "2.5",
    "서울은",
    "北京",
    "—",
    ".",
]
texts = st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join)


def squad_normal(text: str) -> str:
    """Lower text, remove punctuation, then articles, then extra white space, as the description has it."""
    lowered = text.lower()
    without_punctuation = "".join(character for character in lowered if character not in set(string.punctuation))
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", without_punctuation).split())


def squad_em(reference: str, answer: str) -> float:
    return float(squad_normal(reference) == squad_normal(answer))


def squad_f1(reference: str, answer: str) -> float:
    gold, predicted = squad_normal(reference).split(), squad_normal(answer).split()
    n_same = sum((Counter(predicted) & Counter(gold)).values())
    if n_same == 0:
        return 0
    precision, recall = 1.0 * n_same / len(predicted), 1.0 * n_same / len(gold)
    return (2 * precision * recall) / (precision + recall)


def values(metric: str, references: list[str], answers: list[str], **settings: Any) -> list[float]:
    pairs = AnswerPairs(references, answers, AnswerSettings(**settings))
    return list(map(float, ANSWER_METRICS[metric].function(pairs)))


def rouge_values(scorer: RougeScorer, kind: str, references: list[str], answers: list[str]) -> list[float]:
    return [scorer.score(*pair)[kind].fmeasure for pair in zip(references, answers, strict=True)]


@pytest.mark.parametrize(
    ("reference", "answer", "same", "f1"),
    [
        ("Denver Broncos", "the Denver Broncos.", 1, 1),
        ("three working days", "within three days", 0, 2 * (2 / 3) * (2 / 3) / (2 / 3 + 2 / 3)),
        ("a b b", "b b b", 0, 2 * (2 / 3) * 1 / (2 / 3 + 1)),
        ("state-of-the-art", "state of the art", 0, 0),
        ("2.5", "25", 1, 1),
        ("the", "a", 1, 0),
        ("北京", "北京市", 0, 0),
        ("北京", "北京。", 0, 0),
        ("two words", "neither", 0, 0),
    ],
)
def test_squad_by_hand(reference: str, answer: str, same: float, f1: float) -> None:
    assert values("squad_exact_match", [reference], [answer]) == [same]
    assert values("squad_f1", [reference], [answer]) == [f1]


@given(st.lists(st.tuples(texts, texts), min_size=1, max_size=8))
@example([("", "the")])
def test_squad_is_its_definition_word_for_word(pairs: list[tuple[str, str]]) -> None:
    references, answers = (list(side) for side in zip(*pairs, strict=True))
    assert values("squad_exact_match", references, answers) == [squad_em(*pair) for pair in pairs]
    assert values("squad_f1", references, answers) == [squad_f1(*pair) for pair in pairs]


@given(st.text(max_size=40), st.text(max_size=40))
@example("\u00a0the\u2003end", "The end")
@example("\x1c the\x85", "the")
def test_squad_is_its_definition_on_any_text(reference: str, answer: str) -> None:
    assert values("squad_exact_match", [reference], [answer]) == [squad_em(reference, answer)]
    assert values("squad_f1", [reference], [answer]) == [squad_f1(reference, answer)]


def test_the_best_reference_counts_as_in_squad() -> None:
    gold = {"q": ["Super Bowl L", "L", "the Super Bowl"]}
    result = evaluate_answers(gold, {"q": "Super Bowl"}, metrics=["squad_exact_match", "squad_f1"])
    assert (result["squad_exact_match"], result["squad_f1"]) == (1, max(squad_f1(r, "Super Bowl") for r in gold["q"]))


def random_texts(seed: int, vocabulary: list[str], separators: str, n: int = 150) -> list[str]:
    rng = random.Random(seed)
    return [
        "".join(rng.choice(vocabulary) + rng.choice(separators) for _ in range(rng.randint(0, 30))) for _ in range(n)
    ]


ENGLISH = ["the", "delivery", "deliveries", "delivered", "takes", "taking", "3", "days", "not", "a-b", "running", "ran"]
MANY = [
    *ENGLISH,
    "배송은",
    "3일",
    "доставка",
    "Доставки",
    "北京",
    "東京タワー",
    "ภาษาไทย",
    "السلام",
    "İstanbul",
    "ﬁne",
    "👍",
]


@pytest.mark.sample(3)
@pytest.mark.parametrize("kind", ROUGE)
@pytest.mark.parametrize("stem", [False, True])
def test_rouge_equals_rouge_score_with_its_own_tokenizer(kind: str, stem: bool) -> None:
    references, answers = random_texts(1, MANY, "  \n.,"), random_texts(2, MANY, "  \n.,")
    expected = rouge_values(RougeScorer([kind], use_stemmer=stem), kind, references, answers)
    assert values(kind, references, answers, tokenizer="rouge_score", use_stemmer=stem) == expected
    assert sum(expected) > 0


@pytest.mark.full
@pytest.mark.parametrize("kind", ROUGE)
@pytest.mark.parametrize("name", ["words", "characters", "whitespace"])
def test_rouge_equals_rouge_score_with_ours_on_many_scripts(kind: str, name: str) -> None:
    references, answers = random_texts(3, MANY, "  \n\n。"), random_texts(4, MANY, "  \n\n。")
    expected = rouge_values(RougeScorer([kind], tokenizer=TOKENIZERS[name]), kind, references, answers)
    assert values(kind, references, answers, tokenizer=name) == expected
    assert sum(expected) > 0


@pytest.mark.full
@pytest.mark.parametrize("kind", ROUGE)
def test_rouge_equals_rouge_score_on_korean_morphemes(kind: str) -> None:
    references = ["배송은 사흘 안에 됩니다.\n반품은 무료입니다.", "환불은 3일 걸려요", "문의는 고객센터로"]
    answers = ["반품이 무료이고\n배송이 사흘 걸립니다.", "환불에 3일이 걸립니다", "고객센터에 문의하세요"]
    expected = rouge_values(RougeScorer([kind], tokenizer=TOKENIZERS["kiwi"]), kind, references, answers)
    assert values(kind, references, answers, tokenizer="kiwi") == expected


@pytest.mark.sample(3)
@pytest.mark.parametrize("kind", ROUGE)
def test_the_stemmer_works_on_our_words_as_on_any(kind: str) -> None:
    stemmer = StemmingTokenizer(TOKENIZERS["words"])
    references, answers = random_texts(5, MANY, " \n"), random_texts(6, MANY, " \n")
    expected = rouge_values(RougeScorer([kind], tokenizer=stemmer), kind, references, answers)
    assert values(kind, references, answers, use_stemmer=True) == expected


@given(st.lists(st.tuples(*[st.text(alphabet="ab c\n", max_size=25)] * 2), min_size=1, max_size=5))
@example([("a b\na", "a\nb a")])
@example([("\n\n", "a")])
def test_lines_of_few_letters_are_marked_as_rouge_score_marks_them(pairs: list[tuple[str, str]]) -> None:
    references, answers = (list(side) for side in zip(*pairs, strict=True))
    scorer = RougeScorer(["rougeLsum"])
    assert values("rougeLsum", references, answers) == rouge_values(scorer, "rougeLsum", references, answers)


def test_long_lines_are_marked_as_rouge_score_marks_them() -> None:
    rng = random.Random(7)
    lines = ["\n".join(" ".join(rng.choices("abcdefgh", k=rng.randint(60, 90))) for _ in range(3)) for _ in range(8)]
    scorer = RougeScorer(["rougeLsum"])
    assert values("rougeLsum", lines[:4], lines[4:]) == rouge_values(scorer, "rougeLsum", lines[:4], lines[4:])


def test_the_best_reference_counts_as_in_rouge_score() -> None:
    references, answer = ["in three days", "within three working days", "soon"], "three working days"
    expected = RougeScorer(list(ROUGE)).score_multi(references, answer)
    result = evaluate_answers([references], [answer], metrics=list(ROUGE))
    assert {kind: result[kind] for kind in ROUGE} == {kind: expected[kind].fmeasure for kind in ROUGE}
