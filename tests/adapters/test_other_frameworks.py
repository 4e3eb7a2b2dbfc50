"""Haystack, MLflow, ragas and deepeval: what goes in from them, and what comes out for them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from krag_eval import EvaluationResult, InvalidInputError, evaluate

if TYPE_CHECKING:
    from haystack.document_stores.in_memory import InMemoryDocumentStore
    from mlflow.tracking import MlflowClient

TEXTS = {
    "hours": "The museum is open from ten to six, and on Thursdays until nine.",
    "price": "A ticket costs eight euros; children and pupils pay nothing.",
    "시간": "박물관은 열 시부터 여섯 시까지 열고 목요일에는 아홉 시까지 엽니다.",
    "билет": "Билет стоит восемь евро, дети и школьники проходят бесплатно.",
}
QUERIES = ["When is the museum open?", "What does a ticket cost?", "박물관은 언제 엽니까"]
GOLD = [["hours"], ["price", "билет"], ["시간"]]


def as_dicts(ids: list[str]) -> list[dict[str, Any]]:
    return [{"id": id_, "text": TEXTS[id_], "meta": {"source": f"{id_}.html"}} for id_ in ids]


GOLD_DICTS = [as_dicts(ids) for ids in GOLD]


# Haystack


@pytest.fixture(scope="module")
def store() -> InMemoryDocumentStore:
    from haystack import Document
    from haystack.document_stores.in_memory import InMemoryDocumentStore

    filled = InMemoryDocumentStore(bm25_tokenization_regex=r"(?u)\w\w+")
    filled.write_documents(
        [Document(id=id_, content=text, meta={"source": f"{id_}.html"}) for id_, text in TEXTS.items()]
    )
    return filled


@pytest.mark.parametrize(
    "settings",
    [
        {"match_method": "id"},
        {"match_method": "id", "id_key": "source"},
        {"match_method": "text"},
        {"match_method": "rougeL", "threshold": 0.7},
        {"match_method": ["id", "containment"]},
    ],
    ids=str,
)
def test_what_a_haystack_retriever_returns_scores_as_the_same_documents_as_dicts(
    store: InMemoryDocumentStore, settings: dict[str, Any]
) -> None:
    from haystack import Document
    from haystack.components.retrievers.in_memory import InMemoryBM25Retriever

    retriever = InMemoryBM25Retriever(store, top_k=3)
    outputs = [retriever.run(query=query)["documents"] for query in QUERIES]
    assert {type(document) for output in outputs for document in output} == {Document}
    gold = [[Document(id=d["id"], content=d["text"], meta=d["meta"]) for d in row] for row in GOLD_DICTS]
    result = evaluate(gold, outputs, k=(1, 3), **settings)
    expected = evaluate(GOLD_DICTS, [as_dicts([d.id for d in row]) for row in outputs], k=(1, 3), **settings)
    assert result.to_dict() == expected.to_dict()
    assert result["mrr@3"] == 1.0
    assert (result["recall@3"] or 0) < 1


def test_what_a_haystack_pipeline_returns_is_scored(store: InMemoryDocumentStore) -> None:
    from haystack import Pipeline
    from haystack.components.retrievers.in_memory import InMemoryBM25Retriever

    pipeline = Pipeline()
    pipeline.add_component("retriever", InMemoryBM25Retriever(store, top_k=1))
    outputs = [pipeline.run({"retriever": {"query": query}}) for query in QUERIES]
    ranked = [output["retriever"]["documents"] for output in outputs]
    result = evaluate(GOLD_DICTS, ranked, k=1, match_method="id")
    assert result["recall@1"] == (1 + 1 / 2 + 1) / 3


def test_a_haystack_document_without_content_never_matches_a_text(store: InMemoryDocumentStore) -> None:
    from haystack import Document

    table = [Document(id="hours", content=None, meta={"table": True}), Document(id="price", content=TEXTS["price"])]
    assert evaluate([GOLD_DICTS[1]], [table], k=2)["mrr@2"] == 1 / 2
    assert evaluate([GOLD_DICTS[0]], [table], k=2, match_method="id")["mrr@2"] == 1.0


# MLflow


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MlflowClient]:
    """A client of a store of files, the one kind that needs neither a server nor a database."""
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    import mlflow
    from mlflow.tracking import MlflowClient

    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    yield MlflowClient()
    mlflow.set_tracking_uri(before)


def only_retriever() -> EvaluationResult:
    return evaluate(GOLD_DICTS, [as_dicts(["price", "hours"]), as_dicts(["price"]), []], k=(1, 3, None))


@pytest.mark.full
def test_mlflow_logs_the_safe_dict_as_it_is(client: MlflowClient) -> None:
    import mlflow

    result = only_retriever()
    with mlflow.start_run() as run:
        mlflow.log_metrics(result.to_dict(names="safe"))
    logged = client.get_run(run.info.run_id).data.metrics
    assert logged == {key.replace("@", "_at_"): value for key, value in result.to_dict().items()}
    assert logged["recall_at_1"] == result["recall@1"]
    assert logged["micro_recall"] == result["micro_recall"]


@pytest.mark.full
def test_mlflow_refuses_the_names_and_the_undefined_values_that_the_safe_dict_has_not(client: MlflowClient) -> None:
    import mlflow

    nothing_to_find = evaluate([[]], [["a"]], k=1)
    assert set(nothing_to_find.to_dict().values()) == {None}
    assert nothing_to_find.to_dict(names="safe") == {}
    with mlflow.start_run():
        with pytest.raises(mlflow.exceptions.MlflowException, match="recall@1"):
            mlflow.log_metrics({"recall@1": 1.0})
        with pytest.raises(mlflow.exceptions.MlflowException, match="Missing value"):
            mlflow.log_metrics({"recall_at_1": None})  # type: ignore[dict-item]


@pytest.mark.full
def test_names_of_metrics_of_ones_own_are_made_safe_too(client: MlflowClient) -> None:
    import mlflow

    def доля(judged: Any, k: int | None) -> Any:
        return judged.covered_within(k) / judged.n_gold

    metrics: Any = [доля, lambda judged, _: judged.n_gold * 0.5]
    safe = evaluate([["a"]], [["a"]], k=2, metrics=metrics).to_dict(names="safe")
    assert safe == {"доля_at_2": 1.0, "_lambda__at_2": 0.5}
    with mlflow.start_run() as run:
        mlflow.log_metrics(safe)
    assert client.get_run(run.info.run_id).data.metrics == safe


def test_the_safe_dict_holds_finite_floats_alone_and_other_names_are_refused() -> None:
    safe = only_retriever().to_dict(names="safe")
    assert {type(value) for value in safe.values()} == {float}
    assert all(math.isfinite(value) for value in safe.values())
    assert json.loads(json.dumps(safe)) == safe
    with pytest.raises(InvalidInputError, match=r"`names` must be one of 'plain', 'safe'"):
        only_retriever().to_dict(names="saef")  # type: ignore[call-overload]
