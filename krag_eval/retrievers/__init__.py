"""One retriever scored, and several compared on one set of questions, as pandas frames."""

from krag_eval.retrievers.evaluate import RetrieverScores, aevaluate_retriever, evaluate_retriever, evaluate_retrievers

__all__ = ["RetrieverScores", "aevaluate_retriever", "evaluate_retriever", "evaluate_retrievers"]
