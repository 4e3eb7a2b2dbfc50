"""Retrieved chunks judged by a language model, for those who have one. Everything else runs without."""

from krag_eval.context_judge.context_precision import context_precision
from krag_eval.context_judge.context_recall import context_recall
from krag_eval.context_judge.judging import CONTEXT_METRICS, judge_contexts
from krag_eval.context_judge.records import ChunkVerdict, ContextRow, StatementVerdict
from krag_eval.context_judge.result import ContextResult

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
