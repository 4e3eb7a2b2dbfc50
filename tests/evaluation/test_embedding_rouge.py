"""The evaluator of two conditions, embeddings and ROUGE, and the setting behind it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krag_eval import (
    EmbeddingRougeOfflineRetrievalEvaluators,
    InvalidInputError,
    MatchingCriteria,
    RougeOfflineRetrievalEvaluators,
    diagnose,
    evaluate,
    sweep,
)
from tests.support.encoders import Recorder, real_encoder
from tests.support.marks import nothing_may_match

GOLD = "we open at nine on Monday"
# Both hold, ROUGE alone, the embedding alone, neither.
BOTH, WORDS, SENSE, NEITHER = "we open at nine on Monday too", "we open at nine on Sunday", "start: 9, Mon", "bananas"
MODEL = {GOLD: [1.0, 0.0], BOTH: [4.0, 3.0], WORDS: [0.0, 1.0], SENSE: [1.0, 0.1], NEITHER: [0.0, 1.0]}

ROUGE = 2 * (6 / 7) * 1 / (6 / 7 + 1)  # of GOLD and BOTH


def evaluator(retrieved: list[str], **settings: Any) -> EmbeddingRougeOfflineRetrievalEvaluators:
    given: dict[str, Any] = {"embeddings": Recorder(MODEL), "similarity_threshold": 0.8} | settings
    return EmbeddingRougeOfflineRetrievalEvaluators([[GOLD]], [retrieved], **given)


@nothing_may_match
def test_both_conditions_must_hold() -> None:
    scored = evaluator([NEITHER, SENSE, WORDS, BOTH])
    assert scored.calculate_mrr() == {"mrr": 0.25}
    assert scored.evaluate_all(k=3)["macro_recall"] == 0
    assert evaluator([BOTH], similarity_threshold=0.800001).calculate_mrr() == {"mrr": 0}
    assert evaluator([BOTH], rouge_threshold=ROUGE).calculate_mrr() == {"mrr": 1}
    assert evaluator([BOTH], rouge_threshold=0.924).calculate_mrr() == {"mrr": 0}


def test_the_thresholds_of_krag_are_the_default_and_its_arguments_keep_their_places() -> None:
    given = [[GOLD]], [[BOTH]], "rougeL", "macro", MatchingCriteria.PARTIAL, 0.6, 0.5, "whitespace"
    scored = EmbeddingRougeOfflineRetrievalEvaluators(*given, embeddings=Recorder(MODEL))
    assert scored.calculate_recall() == {"macro_recall": 1}
    assert scored.result().signature.startswith(
        "match:rougeL>=0.6&embedding>=0.5|measure:fmeasure|tok:whitespace|stem:no|emb:tests.support.encoders.Recorder|norm:"
    )
    usual = EmbeddingRougeOfflineRetrievalEvaluators([[GOLD]], [[BOTH]], embeddings=Recorder(MODEL))
    assert usual.result().signature.startswith("match:rouge1>=0.7&embedding>=0.7|")


@nothing_may_match
def test_what_rouge_tells_apart_is_not_embedded() -> None:
    model = Recorder(MODEL)
    evaluator([NEITHER, SENSE, WORDS, BOTH], embeddings=model)
    assert sorted(model.asked) == sorted([GOLD, WORDS, BOTH])
    nothing = Recorder({})
    assert evaluator([NEITHER], embeddings=nothing).calculate_mrr() == {"mrr": 0}
    assert nothing.batches == []


def test_the_match_keeps_its_rouge() -> None:
    match = evaluator([BOTH]).result().explain(0).ranks[0].matches[0]
    assert (match.method, match.similarity) == ("rouge1", ROUGE)


def test_the_setting_does_the_same_in_evaluate_and_in_a_sweep() -> None:
    given: dict[str, Any] = {"match_method": "rouge1", "similarity_threshold": 0.8}
    result = evaluate([[GOLD]], [[WORDS, BOTH]], k=2, threshold=0.7, embeddings=Recorder(MODEL), **given)
    assert result["mrr@2"] == 0.5
    swept = sweep([[GOLD]], [[WORDS, BOTH]], [0.7, 0.95], k=2, embeddings=Recorder(MODEL), **given)
    assert (swept.at(0.7)["mrr@2"], swept.at(0.95)["mrr@2"]) == (0.5, 0)


@nothing_may_match
def test_a_near_miss_is_near_in_both() -> None:
    few = evaluate(
        [[GOLD]],
        [[WORDS, SENSE, BOTH]],
        k=3,
        match_method="rouge1",
        threshold=0.95,
        similarity_threshold=0.9,
        embeddings=Recorder(MODEL),
    )
    nearest = few.explain(0).missed[0].nearest
    assert nearest is not None
    assert (nearest.rank, nearest.similarity) == (3, ROUGE)
    assert diagnose(few).misses[0].cause == "in_longer_text"


@pytest.mark.full
def test_the_real_encoder_tells_a_changed_word_from_a_changed_meaning() -> None:
    gold = [["Please do not cancel my order"], ["환불은 사흘 안에 됩니다"]]
    retrieved = [["Please do not cancel my dinner reservation tonight"], ["환불은 사흘 안에 됩니다."]]
    by_words = RougeOfflineRetrievalEvaluators(gold, retrieved, threshold=0.6)
    both = EmbeddingRougeOfflineRetrievalEvaluators(
        gold, retrieved, rouge_threshold=0.6, similarity_threshold=0.8, embeddings=real_encoder()
    )
    assert by_words.calculate_hit_rate() == {"hit_rate": 1}
    assert both.calculate_hit_rate() == {"hit_rate": 0.5}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"embeddings": None}, "`similarity_threshold` needs an embedding model"),
        ({"similarity_threshold": None}, "`similarity_threshold` must be a number from 0 to 1, got None"),
        ({"similarity_threshold": 70}, "`similarity_threshold` must be a number from 0 to 1, got 70"),
        ({"rouge_threshold": -1}, "`rouge_threshold` must be a number from 0 to 1, got -1"),
        ({"match_method": "embedding"}, "'rougeL', 'rougeLsum', got 'embedding'"),
        ({"embedding_type": "openai"}, "has no argument 'embedding_type'. A name loads no model: make it"),
    ],
)
def test_what_cannot_be_used_is_named(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        evaluator([BOTH], **settings)
    assert message in str(refused.value)


def test_a_cosine_beside_embeddings_alone_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="Give the cosine from which texts match as `threshold`"):
        evaluate([["a"]], [["b"]], match_method="embedding", similarity_threshold=0.8, embeddings=Recorder({}))


WORDS_OF_TEXTS = st.lists(st.sampled_from("abcd"), min_size=1, max_size=4).map(" ".join)
ROWS = st.lists(st.lists(WORDS_OF_TEXTS, max_size=3), min_size=1, max_size=4)
LEVELS = st.sampled_from([0.0, 0.3, 0.5, 0.8, 1.0])


def letters(texts: list[str]) -> list[list[float]]:
    """A vector a text: how often it has each letter, with a sign, so that cosines and ROUGE differ."""
    return [[text.count("a") - text.count("b"), text.count("c"), text.count("d") - 0.5] for text in texts]


@nothing_may_match
@given(gold=ROWS, retrieved=ROWS, rouge=LEVELS, cosine=LEVELS)
def test_what_both_match_is_what_each_matches(gold: Any, retrieved: Any, rouge: float, cosine: float) -> None:
    pairs = [(one, other) for one, other in zip(gold, retrieved, strict=False) if one]
    if not pairs:
        return
    sides = [one for one, _ in pairs], [other for _, other in pairs]

    def matches(**settings: Any) -> set[tuple[int, int]]:
        result = evaluate(*sides, k=None, embeddings=letters, **settings)
        assert result.detail is not None
        found = result.detail.matches
        return set(zip(found.actual.tolist(), found.predicted.tolist(), strict=True))

    both = matches(match_method="rouge1", threshold=rouge, similarity_threshold=cosine)
    alike = matches(match_method="embedding", threshold=cosine)
    assert both == matches(match_method="rouge1", threshold=rouge) & alike
