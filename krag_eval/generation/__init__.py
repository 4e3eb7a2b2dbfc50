"""Evaluation sets that a language model writes about chunks, each question checked, nothing asked twice."""

from krag_eval.generation.generating import generate_evalset
from krag_eval.generation.report import GeneratedEvalSet, GenerationReport, TypeReport

__all__ = ["GeneratedEvalSet", "GenerationReport", "TypeReport", "generate_evalset"]
