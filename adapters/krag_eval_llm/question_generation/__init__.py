"""Generate evaluation sets from chunks, with a language model or from their metadata, and check every question."""

from krag_eval_llm.question_generation.forbidden import generate_forbidden
from krag_eval_llm.question_generation.generate import generate_evalset
from krag_eval_llm.question_generation.report import GeneratedEvalSet, GenerationReport, TypeReport

__all__ = ["GeneratedEvalSet", "GenerationReport", "TypeReport", "generate_evalset", "generate_forbidden"]
