"""Evaluate end to end in one call: questions from chunks, retrieval, answers, and one report."""

from krag_eval_llm.bench.answering import AnswerError
from krag_eval_llm.bench.bench import run_bench
from krag_eval_llm.bench.report import Bench

__all__ = ["AnswerError", "Bench", "run_bench"]
