"""Run an experiment in Langfuse with krag_eval's retrieval metrics for each item and for the whole run.

    python -m examples.langfuse_experiment

A retriever in memory answers four questions twice, once by the words of a question and once by its letters. Langfuse
gets each item's scores at its trace, and the macro and micro values at the run. Without keys everything goes to a
recorder on this machine, and what arrived there is printed.

Needs langfuse: pip install "krag-eval[langfuse]"
"""

from __future__ import annotations

import os
import uuid
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from langfuse import Langfuse

from examples.loopback_langfuse import LoopbackLangfuse
from krag_eval import EvalSet
from krag_eval_langfuse import as_langfuse_evaluators, as_langfuse_run_evaluators, push_evalset

CORPUS = {
    "refunds": "환불은 승인 후 3영업일 안에 됩니다.",
    "islands": "제주도와 섬 지역은 배송이 이틀 더 걸립니다.",
    "returns": "반품은 받은 날부터 14일 안에 신청하세요.",
    "hours": "상담 시간은 평일 9시부터 18시까지입니다.",
    "gifts": "선물 포장은 주문할 때 고를 수 있습니다.",
}
QUESTIONS = EvalSet(
    [
        {"id": "q1", "question": "환불은 언제 되나요?", "gold_chunk_ids": ["refunds"]},
        {"id": "q2", "question": "제주도 배송은 얼마나 걸리나요?", "gold_chunk_ids": ["islands"]},
        {"id": "q3", "question": "반품과 환불은 어떻게 하나요?", "gold_chunk_ids": ["returns", "refunds"]},
        {"id": "q4", "question": "매장은 어디에 있나요?", "gold": []},  # nothing in the corpus answers it
    ],
    name="shop",
)


def by_words(text: str) -> list[str]:
    return text.split()


def by_letters(text: str) -> list[str]:
    return [text[place : place + 2] for place in range(len(text) - 1)]


def retriever(pieces: Callable[[str], list[str]]) -> Callable[..., list[dict[str, str]]]:
    """A task for Langfuse: the three chunks that share most pieces with the question, best first."""

    def search(*, item: Any, **_: Any) -> list[dict[str, str]]:
        asked = Counter(pieces(item.input))
        shared = {name: (asked & Counter(pieces(text))).total() for name, text in CORPUS.items()}
        best = sorted((name for name in CORPUS if shared[name]), key=lambda name: -shared[name])
        return [{"id": name, "text": CORPUS[name]} for name in best[:3]]

    return search


def main() -> None:
    # To send to the real service, set LANGFUSE_PUBLIC_KEY, LANGFUSE_SECRET_KEY and LANGFUSE_BASE_URL.
    has_keys = "LANGFUSE_PUBLIC_KEY" in os.environ and "LANGFUSE_SECRET_KEY" in os.environ
    with nullcontext() if has_keys else LoopbackLangfuse() as server:
        client = Langfuse() if server is None else local_client(server)
        push_evalset(client, QUESTIONS, "krag-eval-example")
        dataset = client.get_dataset("krag-eval-example")
        for pieces in (by_words, by_letters):
            result = dataset.run_experiment(
                name=f"krag-eval example, {pieces.__name__}",
                task=retriever(pieces),
                evaluators=as_langfuse_evaluators(k=(1, 3), metrics=["recall", "mrr"], match_method="id"),
                run_evaluators=as_langfuse_run_evaluators(k=(1, 3), metrics=["recall", "mrr"], match_method="id"),
            )
            print(result.name)
            for item in result.item_results:
                scores = {score.name: score.value for score in item.evaluations}
                print(f"  {dict(item.item)['id']} at trace {item.trace_id}: {scores or 'nothing to find, no scores'}")
            print("  whole run:", {score.name: f"{score.value:.3f}" for score in result.run_evaluations})
        client.flush()
        if server is not None:
            places = Counter("run" if "datasetRunId" in score else "items" for score in server.scores)
            print(f"Sent to {server.url}: {places['items']} scores of items, {places['run']} of runs.")
            client.shutdown()


def local_client(server: LoopbackLangfuse) -> Langfuse:
    """A client of the recorder, with fresh keys: clients are singletons by their public key."""
    return Langfuse(public_key=f"pk-lf-{uuid.uuid4()}", secret_key="sk-lf-local", base_url=server.url)


if __name__ == "__main__":
    main()
