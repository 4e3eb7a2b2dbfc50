"""Evaluation sets that a language model writes about chunks, each question checked, nothing asked twice."""

from krag_eval.llm.question_generation.generate import generate_evalset
from krag_eval.llm.question_generation.report import GeneratedEvalSet, GenerationReport, TypeReport

__all__ = ["GeneratedEvalSet", "GenerationReport", "TypeReport", "generate_evalset"]
