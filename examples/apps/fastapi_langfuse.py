"""A FastAPI service whose functions Langfuse observes: each request is a trace, and its search gets its scores.

    python -m examples.apps.fastapi_langfuse

It sends to a recorder on this machine. In your service, `Langfuse()` reads LANGFUSE_PUBLIC_KEY and the other variables.
"""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.testclient import TestClient
from langchain_core.documents import Document
from langfuse import Langfuse, observe
from opentelemetry.sdk.trace import TracerProvider

from examples.apps.langchain_parts import vector_store
from examples.apps.shop import IN_OTHER_WORDS, QUESTIONS
from examples.loopback_langfuse import LoopbackLangfuse
from krag_eval_langfuse import LangfuseScoreHandler
from krag_eval_otel import RetrievalSpanProcessor  # krag_eval

server = LoopbackLangfuse().__enter__()
provider = TracerProvider()
client = Langfuse(public_key="pk-lf-service", secret_key="sk-lf-service", base_url=server.url, tracer_provider=provider)
scoring = RetrievalSpanProcessor(QUESTIONS, k=2, sinks=[LangfuseScoreHandler(client)])  # krag_eval
provider.add_span_processor(scoring)  # krag_eval
service = FastAPI()


@observe(as_type="tool")
def search(query: str) -> list[Document]:
    return vector_store.similarity_search(query, k=2)


@observe
def answer(question: str) -> str:
    return " ".join(document.page_content for document in search(IN_OTHER_WORDS[question]))


@service.get("/ask")
def ask(question: str) -> dict[str, Any]:
    return {"answer": answer(question, langfuse_public_key="pk-lf-service")}  # type: ignore[call-arg]


def main() -> None:
    with TestClient(service) as browser:
        for question in QUESTIONS:
            reply = browser.get("/ask", params={"question": question.question})
            print(f"{question.question} -> {reply.json()['answer']}")
    client.flush()
    print(scoring.result())
    places = {score["observationId"] for score in server.scores}
    print(f"{len(server.scores)} scores arrived at {len(places)} searches.")


if __name__ == "__main__":
    main()
