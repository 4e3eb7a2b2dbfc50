"""The whole way in one call: questions from chunks, retrieval, answers, and one report."""

from krag_eval.bench.answering import AnswerError
from krag_eval.bench.benching import run_bench
from krag_eval.bench.records import Bench

__all__ = ["AnswerError", "Bench", "run_bench"]
