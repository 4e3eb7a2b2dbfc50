"""Matching by the cosine of embeddings, with a real multilingual encoder and with vectors by hand."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from krag_eval import (
    InvalidInputError,
    KragEvalWarning,
    evaluate,
    evaluate_stream,
    normalize,
)
from krag_eval.evaluation.pipeline import read_batch
from krag_eval.matching import Batch, find_matches
from krag_eval.matching.settings import make_settings
from tests.support.encoders import COMPASS, LangChainModel, LlamaIndexModel, Recorder, compass, real_encoder
from tests.support.marks import nothing_may_match

# Three facts in four languages each: whoever asks in one finds it in the others.
FACTS = {
    "late": ["The delivery is late", "배송이 늦습니다", "Доставка задерживается", "送货晚了"],
    "weather": ["It will rain tomorrow", "내일 비가 올 것입니다", "Завтра будет дождь", "明天会下雨"],
    "banana": ["Bananas are yellow", "바나나는 노란색입니다", "Бананы жёлтые", "香蕉是黄色的"],
}


@pytest.mark.full
@pytest.mark.parametrize(
    "model", [real_encoder(), LangChainModel(), LlamaIndexModel()], ids=["encode", "LangChain", "LlamaIndex"]
)
def test_translations_match_in_four_languages_and_other_facts_do_not(model: Any) -> None:
    everything = [text for texts in FACTS.values() for text in texts]
    gold = [[text] for text in everything]
    result = evaluate(gold, [everything] * len(gold), k=None, match_method="embedding", embeddings=model, threshold=0.4)
    for query, (fact, _) in enumerate((fact, text) for fact, texts in FACTS.items() for text in texts):
        relevant = [rank.document.text for rank in result.explain(query).ranks if rank.is_relevant]
        assert relevant == FACTS[fact]


def test_every_threshold_by_hand_also_at_the_border() -> None:
    gold = [["east"]]
    retrieved = [["west", "north", "north-east", "east-north-east", "east"]]
    found = {
        threshold: evaluate(gold, retrieved, k=None, threshold=threshold, **compass())["precision"]
        for threshold in (0.0, 0.000001, 0.6, 0.600001, 0.7, 0.8, 0.800001, 1.0)
    }
    assert found == {0.0: 1, 0.000001: 0.6, 0.6: 0.6, 0.600001: 0.4, 0.7: 0.4, 0.8: 0.4, 0.800001: 0.2, 1.0: 0.2}


def test_without_a_threshold_it_is_0_7_and_that_of_rouge_stays_0_5() -> None:
    result = evaluate([["east"]], [["north-east", "east-north-east"]], k=2, **compass())
    assert result["mrr@2"] == 0.5
    assert result.signature.startswith("match:embedding>=0.7|emb:tests.support.encoders.Recorder|norm:")
    both = evaluate([["east"]], [["east"]], k=1, **compass(match_method=["rouge1", "embedding"]))
    assert both.signature.startswith("match:rouge1>=0.5+embedding>=0.7|measure:fmeasure|tok:words|stem:no|emb:")


def test_the_prefix_is_sent_and_part_of_the_signature() -> None:
    model = Recorder({"passage: a": [1, 0], "passage: b": [1, 0]})
    result = evaluate([["a"]], [["b"]], k=1, **compass(embeddings=model, embedding_prefix="passage: "))
    assert result["recall@1"] == 1
    assert "|emb:tests.support.encoders.Recorder|embprefix:'passage: '|norm:" in result.signature


def test_a_negative_cosine_is_a_similarity_of_0_and_a_text_without_a_vector_has_none() -> None:
    with pytest.warns(KragEvalWarning, match="vector of zeros for 1 of 3 retrieved documents"):
        result = evaluate([["east"]], [["west", "nothing", "\u200b"]], k=None, threshold=0.0, **compass())
    ranks = result.explain(0).ranks
    assert [[match.similarity for match in rank.matches] for rank in ranks] == [[0.0], [], []]


def test_a_text_with_a_vector_of_zeros_does_not_match_itself() -> None:
    with (
        pytest.warns(KragEvalWarning, match="1 of 1 gold documents"),
        pytest.warns(KragEvalWarning, match="1 of 2 retrieved documents"),
    ):
        result = evaluate([["nothing"]], [["nothing", "east"]], k=None, threshold=0.0, **compass())
    assert result["hit_rate"] == 0


@nothing_may_match
def test_texts_that_are_equal_after_normalising_have_a_similarity_of_1_whatever_the_model_says() -> None:
    result = evaluate([["east"]], [["EAST"]], k=1, threshold=1.0, **compass())
    assert result.explain(0).ranks[0].matches[0].similarity == 1
    raw = evaluate([["east"]], [["EAST"]], k=1, threshold=0.1, normalize=None, **compass())
    assert raw["recall@1"] == 0


@nothing_may_match
@pytest.mark.parametrize("normalizer", [None, normalize], ids=["raw", "normalised"])
def test_white_space_is_not_sent_matches_nothing_and_is_no_fault_of_the_model(normalizer: Any) -> None:
    model = Recorder(COMPASS)
    given = compass(embeddings=model, normalize=normalizer)
    assert evaluate([["east", " \n"]], [[" \n"]], k=None, threshold=0.0, **given)["recall"] == 0
    assert model.asked == ["east"]


def test_documents_without_a_text_match_nothing() -> None:
    gold = [[{"id": "1", "text": "east"}, {"id": "2"}]]
    result = evaluate(gold, [[{"id": "2"}, {"id": "3", "text": "east"}]], k=None, threshold=0.0, **compass())
    assert result["recall"] == 0.5
    assert result.unmatchable == {"actual": 1, "predicted": 1}


def test_in_a_cascade_the_first_method_that_holds_is_remembered() -> None:
    gold = [[{"id": "1", "text": "east"}]]
    retrieved = [[{"id": "1", "text": "north"}, {"id": "2", "text": "east-north-east"}, {"id": "3", "text": "west"}]]
    result = evaluate(gold, retrieved, k=None, **compass(match_method=["id", "embedding"]))
    by = [[(match.method, match.similarity) for match in rank.matches] for rank in result.explain(0).ranks]
    assert by == [[("id", 1.0)], [("embedding", 0.8)], []]


def test_in_a_cascade_with_rouge_either_holds() -> None:
    model = Recorder({"a b c d": [1, 0], "a b c e": [0, 1], "x": [1, 0], "y": [0, 1]})
    result = evaluate(
        [["a b c d"]],
        [["y", "a b c e", "x"]],
        k=None,
        **compass(match_method=["embedding", "rouge1"], embeddings=model),
    )
    methods = [[match.method for match in rank.matches] for rank in result.explain(0).ranks]
    assert methods == [[], ["rouge1"], ["embedding"]]


def test_a_missing_model_is_told_before_anything_is_matched() -> None:
    with pytest.raises(InvalidInputError, match="match_method='embedding' needs an embedding model, and `embeddings`"):
        evaluate([["a"]], [["b"]], match_method=["id", "embedding"])
    with pytest.raises(InvalidInputError, match="`similarity_threshold` needs an embedding model"):
        evaluate([["a"]], [["b"]], match_method="rouge1", similarity_threshold=0.5)
    with pytest.raises(InvalidInputError, match="A name loads no model"):
        evaluate([["a"]], [["b"]], match_method="embedding", embeddings="bge-m3")
    with pytest.raises(InvalidInputError, match="`embedding_prefix` must be a string"):
        evaluate([["a"]], [["b"]], match_method="embedding", embeddings=Recorder({}), embedding_prefix=7)  # type: ignore[arg-type]


TEXTS = [f"text {n}" for n in range(8)]
ROWS = st.lists(st.lists(st.sampled_from(TEXTS), max_size=4), min_size=1, max_size=6)
# Few values, so that equal, opposite and zero vectors come up, and cosines right at the thresholds.
VECTORS = st.lists(
    st.tuples(*[st.sampled_from([-1.0, 0.0, 0.3, 0.75, 1.0])] * 3), min_size=len(TEXTS), max_size=len(TEXTS)
)
THRESHOLDS = st.sampled_from([0.0, 0.25, 0.5, 0.6, 0.8, 0.96, 1.0])


def batch_of(gold: Any, retrieved: Any, vectors: Any, **further: Any) -> Batch:
    model = Recorder(dict(zip(TEXTS, vectors, strict=True)))
    return read_batch(gold, retrieved, make_settings(match_method="embedding", embeddings=model, **further))


@given(gold=ROWS, retrieved=ROWS, vectors=VECTORS, threshold=THRESHOLDS)
def test_the_matches_are_those_of_the_plain_double_loop(
    gold: Any, retrieved: Any, vectors: Any, threshold: float
) -> None:
    n = min(len(gold), len(retrieved))
    batch = batch_of(gold[:n], retrieved[:n], vectors, threshold=threshold)
    matches = find_matches(batch)
    actual = set(zip(matches.actual.tolist(), matches.predicted.tolist(), matches.similarity.tolist(), strict=True))
    known = dict(zip(TEXTS, vectors, strict=True))
    expected = set()
    first_gold = first_retrieved = 0
    for one, other in zip(gold[:n], retrieved[:n], strict=True):
        for (i, left), (j, right) in itertools.product(enumerate(one), enumerate(other)):
            lengths = math.hypot(*known[left]) * math.hypot(*known[right])
            if not lengths:
                continue
            cosine = sum(a * b for a, b in zip(known[left], known[right], strict=True)) / lengths
            similarity = 1.0 if left == right else min(1.0, max(0.0, round(cosine, 6)))
            if similarity >= threshold:
                expected.add((first_gold + i, first_retrieved + j, similarity))
        first_gold += len(one)
        first_retrieved += len(other)
    assert actual == expected


@nothing_may_match
@given(gold=ROWS, retrieved=ROWS, vectors=VECTORS, threshold=THRESHOLDS, size=st.integers(1, 6), data=st.data())
@pytest.mark.filterwarnings("ignore::krag_eval.KragEvalWarning")
def test_neither_batches_nor_the_order_of_queries_change_a_bit(
    gold: Any, retrieved: Any, vectors: Any, threshold: float, size: int, data: Any
) -> None:
    pairs = list(zip(gold, retrieved, strict=False))
    known = dict(zip(TEXTS, vectors, strict=True))
    given = {"match_method": "embedding", "threshold": threshold, "k": (1, 3)}
    if not any(one for one, _ in pairs):
        pairs.append(([TEXTS[0]], [TEXTS[1]]))
    whole = evaluate(*map(list, zip(*pairs, strict=True)), embeddings=Recorder(known), **given)  # type: ignore[arg-type]
    stream = evaluate_stream(pairs, batch_size=size, embeddings=Recorder(known), **given)  # type: ignore[arg-type]
    assert stream.to_json() == whole.to_json()
    order = data.draw(st.permutations(range(len(pairs))))
    shuffled = [pairs[place] for place in order]
    other = evaluate(*map(list, zip(*shuffled, strict=True)), embeddings=Recorder(known), **given)  # type: ignore[arg-type]
    assert other.to_dict() == whole.to_dict()
    back = np.argsort(order)
    rows = list(other.per_query)
    assert [rows[int(place)].values for place in back] == [row.values for row in whole.per_query]


@given(gold=ROWS, retrieved=ROWS, vectors=VECTORS, low=THRESHOLDS, high=THRESHOLDS)
def test_no_match_is_lost_when_the_threshold_falls(
    gold: Any, retrieved: Any, vectors: Any, low: float, high: float
) -> None:
    n, (low, high) = min(len(gold), len(retrieved)), sorted([low, high])
    few, many = (
        set(zip(found.actual.tolist(), found.predicted.tolist(), strict=True))
        for found in (
            find_matches(batch_of(gold[:n], retrieved[:n], vectors, threshold=threshold)) for threshold in (high, low)
        )
    )
    assert few <= many


@pytest.mark.full
def test_with_the_real_encoder_batches_change_no_number() -> None:
    """Its last bits depend on the texts beside a text; six decimals do not."""
    everything = [text for texts in FACTS.values() for text in texts]
    pairs = [([text], everything[::-1]) for text in everything]
    given = {"k": (1, 5, None), "match_method": "embedding", "embeddings": real_encoder(), "threshold": 0.5}
    whole = evaluate(*map(list, zip(*pairs, strict=True)), **given)
    for size in (1, 3, 7):
        assert evaluate_stream(pairs, batch_size=size, **given).to_json() == whole.to_json()
