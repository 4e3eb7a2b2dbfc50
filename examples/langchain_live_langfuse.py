"""Score the retrievals of a running LangChain chain, and send the scores to their observations in Langfuse.

    python -m examples.langchain_live_langfuse

A chain with a retriever in memory answers questions in Korean and English, several at a time. Each retrieval is scored
on a thread of its own and lands at its own retriever observation. Without keys everything goes to a recorder on this
machine, and what arrived there is printed.

Needs both extras, and langchain for Langfuse's own handler: pip install "krag-eval[langchain,langfuse]" langchain
"""

from __future__ import annotations

import os
import uuid
from collections import Counter
from contextlib import nullcontext

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langfuse import Langfuse
from langfuse.langchain import CallbackHandler

from examples.loopback_langfuse import LoopbackLangfuse
from krag_eval import EvalSet
from krag_eval_langchain import RetrievalScoringHandler
from krag_eval_langfuse import LangfuseScoreHandler

NOTES = {
    "refunds": "환불은 승인 후 3영업일 안에 됩니다.",
    "islands": "제주도와 섬 지역은 배송이 이틀 더 걸립니다.",
    "hours": "The help desk is open on weekdays from nine to six.",
    "gifts": "Gift wrapping can be chosen when you order.",
}
QUESTIONS = EvalSet(
    [
        {"id": "q1", "question": "환불은 언제 되나요?", "gold_chunk_ids": ["refunds"]},
        {"id": "q2", "question": "제주도 배송은 얼마나 걸리나요?", "gold_chunk_ids": ["islands"]},
        {"id": "q3", "question": "When is the help desk open?", "gold_chunk_ids": ["hours"]},
    ]
)


class LetterRetriever(BaseRetriever):
    """Ranks notes by the pairs of letters that they share with the question; put your own retriever here."""

    k: int = 2

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002 - LangChain passes it
    ) -> list[Document]:
        shared = {name: (pairs(query) & pairs(text)).total() for name, text in NOTES.items()}
        best = sorted((name for name in NOTES if shared[name]), key=lambda name: -shared[name])
        return [Document(NOTES[name], id=name) for name in best[: self.k]]


def pairs(text: str) -> Counter[str]:
    return Counter(text[place : place + 2].lower() for place in range(len(text) - 1))


def first_of(notes: list[Document]) -> str:
    """In the place of a model."""
    return notes[0].page_content if notes else "Sorry."


def main() -> None:
    # To send to the real service, set LANGFUSE_PUBLIC_KEY, LANGFUSE_SECRET_KEY and LANGFUSE_BASE_URL.
    has_keys = "LANGFUSE_PUBLIC_KEY" in os.environ and "LANGFUSE_SECRET_KEY" in os.environ
    with nullcontext() if has_keys else LoopbackLangfuse() as server:
        # Clients are singletons by their public key: the recorder gets one with a key of its own.
        key = None if server is None else f"pk-lf-{uuid.uuid4()}"
        client = Langfuse() if server is None else Langfuse(public_key=key, secret_key="sk-local", base_url=server.url)
        tracing = CallbackHandler(public_key=key)
        scores = LangfuseScoreHandler(client, langchain_handler=tracing)
        scoring = RetrievalScoringHandler(QUESTIONS, k=(1, 2), metrics=["recall", "mrr"], sinks=[scores])

        chain = LetterRetriever() | RunnableLambda(first_of)
        asked = [*((q.question or "", q.id) for q in QUESTIONS), ("Do you sell bicycles?", None)]
        configs: list[RunnableConfig] = [
            {"callbacks": [tracing, scoring], "metadata": {"krag_query_id": query_id} if query_id else {}}
            for _, query_id in asked
        ]
        for (question, _), answer in zip(asked, chain.batch([q for q, _ in asked], config=configs), strict=True):
            print(f"{question} -> {answer}")

        scoring.flush(timeout=10)
        client.flush()
        print(scoring.result())
        print(f"scored {scoring.scored}, without gold {scoring.no_gold}, without a target {scoring.no_target}")
        print(f"sent {scores.sent}, skipped {scores.skipped}, failed {scores.failed}")
        if server is not None:
            inputs = {span.id: span.input for span in server.spans if span.kind == "RETRIEVER"}
            for score in sorted(server.scores, key=lambda score: (score["observationId"], score["name"])):
                if score["name"] == "krag.recall_at_1":
                    print(
                        f"{score['name']} = {score['value']:g} at the observation of {inputs[score['observationId']]}"
                    )
            client.shutdown()


if __name__ == "__main__":
    main()
