"""Spans of the real instrumentations of LangChain and LlamaIndex: live, from an exported file, from Phoenix."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from llama_index.core import MockEmbedding, VectorStoreIndex
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import TextNode
from openinference.instrumentation.langchain import LangChainInstrumentor
from openinference.instrumentation.llama_index import LlamaIndexInstrumentor
from opentelemetry.exporter.otlp.json.file.trace_exporter import FileSpanExporter
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from krag_eval import EvalSet, evaluate_run
from krag_eval_formats import read_traces
from krag_eval_otel import RetrievalSpanProcessor
from tests.adapters.phoenix.conftest import Server
from tests.adapters.phoenix.test_annotations import Shop

GOLD = EvalSet([{"id": "Q1", "question": "When do you open?", "gold_chunk_ids": ["d1"]}])


class Words(BaseRetriever):
    ids: list[str]

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return [Document(id=one, page_content=f"{one} {query}", metadata={"source": "faq"}) for one in self.ids]


class Merged(BaseRetriever):
    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        config = {"callbacks": run_manager.get_child()}
        return [*Words(ids=["d2"]).invoke(query, config=config), *Words(ids=["d3"]).invoke(query, config=config)]  # type: ignore[arg-type]


@tool
def search(query: str) -> str:
    """Search the shop."""
    return str(Words(ids=["d1", "d2"]).invoke(query))


def run_langchain() -> None:
    def answer(_: object) -> str:
        Merged().invoke("opening hours")
        return str(search.invoke({"query": "when open"}))

    RunnableLambda(answer).invoke(
        {"messages": [{"role": "user", "content": "When do you open?"}]}, config={"metadata": {"krag_query_id": "Q1"}}
    )


def run_llama_index() -> None:
    nodes = [TextNode(id_="d1", text="Open from 9 to 18."), TextNode(id_="d2", text="Closed on Sunday.")]
    index = VectorStoreIndex(nodes, embed_model=MockEmbedding(2))
    fusion = QueryFusionRetriever([index.as_retriever()] * 2, llm=MockLLM(), num_queries=1, use_async=False)
    RetrieverQueryEngine.from_args(fusion, llm=MockLLM()).query("When do you open?")


@contextmanager
def instrumented(instrumentor: Any, provider: Any) -> Iterator[None]:
    instrumentor.instrument(tracer_provider=provider)
    try:
        yield
    finally:
        instrumentor.uninstrument()


@pytest.mark.filterwarnings("ignore:.*Equal scores leave the order open")  # MockEmbedding makes no others
@pytest.mark.parametrize(
    ("instrumentor", "run_it", "searches", "stages"),
    [
        (
            LangChainInstrumentor(),
            run_langchain,
            [("opening hours", "Merged", ["d2", "d3"]), ("when open", "search", ["d1", "d2"])],
            [("Words", ()), ("Words #2", ()), ("Merged", ("Words", "Words #2"))],
        ),
        (
            LlamaIndexInstrumentor(),
            run_llama_index,
            [("When do you open?", "QueryFusionRetriever", ["d1", "d2"])],
            [
                ("VectorIndexRetriever", ()),
                ("VectorIndexRetriever #2", ()),
                ("QueryFusionRetriever", ("VectorIndexRetriever", "VectorIndexRetriever #2")),
            ],
        ),
    ],
    ids=["langchain", "llama_index"],
)
def test_the_session_is_the_same_live_from_a_file_and_from_phoenix(
    instrumentor: Any,
    run_it: Callable[[], None],
    searches: list[Any],
    stages: list[Any],
    phoenix: Server,
    tmp_path: Path,
) -> None:
    path, shop = tmp_path / "spans.jsonl", Shop(phoenix)
    scoring = RetrievalSpanProcessor(GOLD, k=[1, 5], keep_documents=True)
    with path.open("w", encoding="utf-8") as file:
        for processor in (scoring, shop.exported, SimpleSpanProcessor(FileSpanExporter(stream=file))):
            shop.provider.add_span_processor(processor)
        with instrumented(instrumentor, shop.provider):
            run_it()
        result = scoring.result()
    n_spans = sum(
        len(scope["spans"])
        for line in path.read_text(encoding="utf-8").splitlines()
        for resource in json.loads(line)["resourceSpans"]
        for scope in resource["scopeSpans"]
    )
    listed = tmp_path / "listed.json"
    listed.write_text(json.dumps(phoenix.spans(shop.name, n_spans)), encoding="utf-8")
    runs = [read_traces(one, evalset=GOLD, repeated="last") for one in (path, listed)]
    for run in runs:
        row = run.rows["Q1"]
        assert [(s.query, s.tool, [d.id for d in s.retrieved]) for s in row.searches] == searches
        assert [(stage.name, stage.inputs) for stage in row.searches[0].stages] == stages
        values = evaluate_run(GOLD, run, [1, 5]).per_query[0].values
        if run is runs[0]:  # Phoenix keeps times in microseconds
            assert values == {key: result.per_query[-1].values[key] for key in values}
    shop.provider.shutdown()
