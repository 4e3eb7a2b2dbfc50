"""Judge retrieved chunks with a language model (extra `llm`)."""

from krag_eval.llm.context_judge.judge import CONTEXT_METRICS, judge_contexts
from krag_eval.llm.context_judge.result import (
    ChunkVerdict,
    ContextResult,
    ContextRow,
    StatementVerdict,
    context_precision,
    context_recall,
)

__all__ = [
    "CONTEXT_METRICS",
    "ChunkVerdict",
    "ContextResult",
    "ContextRow",
    "StatementVerdict",
    "context_precision",
    "context_recall",
    "judge_contexts",
]
