"""Several retrievers compared on one set of questions, as pandas frames."""

from krag_eval.retrievers.comparing import RetrieverScores, evaluate_retrievers

__all__ = ["RetrieverScores", "evaluate_retrievers"]
