"""Retrievers asked and scored: recorded runs, agents, and frames of values."""

from krag_eval.retrievers.evaluate import RetrieverScores, aevaluate_retriever, evaluate_retriever, evaluate_retrievers

__all__ = ["RetrieverScores", "aevaluate_retriever", "evaluate_retriever", "evaluate_retrievers"]
