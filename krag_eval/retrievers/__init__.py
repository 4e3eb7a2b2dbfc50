"""Retrievers asked and scored: recorded runs, frames of values, agents, and what a running application retrieves."""

from krag_eval.retrievers.evaluate import RetrieverScores, aevaluate_retriever, evaluate_retriever, evaluate_retrievers

__all__ = ["RetrieverScores", "aevaluate_retriever", "evaluate_retriever", "evaluate_retrievers"]
