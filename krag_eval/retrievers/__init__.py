"""One retriever scored, and several compared on one set of questions, as pandas frames."""

from krag_eval.retrievers.comparing import RetrieverScores, evaluate_retrievers
from krag_eval.retrievers.evaluating import aevaluate_retriever, evaluate_retriever

__all__ = ["RetrieverScores", "aevaluate_retriever", "evaluate_retriever", "evaluate_retrievers"]
