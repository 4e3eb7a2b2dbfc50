"""Other people's programs, each behind the one call that is timed."""

from __future__ import annotations

import os
import sys
import types
from collections.abc import Callable
from itertools import product
from typing import Any

from benchmarks.data import Collection

# krag imports them for its embeddings, which nothing here uses.
_MODEL_CLIENTS = {
    "langchain_openai": "OpenAIEmbeddings",
    "langchain_huggingface": "HuggingFaceEmbeddings",
    "langchain_ollama": "OllamaEmbeddings",
}
KRAG_METRICS = ("hit_rate", "mrr", "recall", "precision", "f1_score", "map", "ndcg")


def krag_evaluation(data: Collection, kind: str, threshold: float, tokenizer: str, k: int) -> Callable[[], object]:
    """All metrics of krag's own evaluator at one cut-off; its tokenizer is loaded here, outside the clock."""
    os.environ.setdefault("MPLBACKEND", "agg")
    for module, name in _MODEL_CLIENTS.items():
        stub = types.ModuleType(module)
        setattr(stub, name, type(name, (), {}))
        sys.modules.setdefault(module, stub)
    from krag.document import KragDocument
    from krag.evaluators import RougeOfflineRetrievalEvaluators, TokenizerType

    gold, retrieved = (
        [[KragDocument(page_content=text) for text in row] for row in side] for side in (data.gold, data.retrieved)
    )
    evaluator = RougeOfflineRetrievalEvaluators(
        gold, retrieved, match_method=kind, threshold=threshold, tokenizer=TokenizerType(tokenizer)
    )
    evaluator.tokenizer.tokenize_fn("한 번")
    return lambda: [getattr(evaluator, f"calculate_{name}")(k) for name in KRAG_METRICS]


def _pairs(data: Collection) -> tuple[list[str], list[str]]:
    both = [
        pair for gold, retrieved in zip(data.gold, data.retrieved, strict=True) for pair in product(gold, retrieved)
    ]
    return [gold for gold, _ in both], [retrieved for _, retrieved in both]


def rouge_score_decisions(data: Collection, kind: str, threshold: float) -> Callable[[], int]:
    """How many pairs match by rouge_score, each scored once."""
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer([kind])
    targets, predictions = _pairs(data)

    def work() -> int:
        pairs = zip(targets, predictions, strict=True)
        return sum(scorer.score(target, prediction)[kind].fmeasure >= threshold for target, prediction in pairs)

    return work


def rouge_score_rs_decisions(data: Collection, kind: str, threshold: float) -> Callable[[], int]:
    """How many pairs match by rouge-score-rs, all scored by one call on all cores."""
    from rouge_score_rs.rouge_scorer import RougeScorer

    scorer: Any = RougeScorer([kind])
    targets, predictions = _pairs(data)
    return lambda: sum(row[kind].fmeasure >= threshold for row in scorer.score_batch(targets, predictions))
