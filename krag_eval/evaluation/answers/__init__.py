"""Score answers against references, and count refusals."""

from krag_eval.evaluation.answers.evaluate import evaluate_answers
from krag_eval.evaluation.answers.metrics import ANSWER_METRICS, AnswerMetric
from krag_eval.evaluation.answers.pairs import AnswerPairs, AnswerSettings
from krag_eval.evaluation.answers.refusals import FILLERS, REFUSALS, RefusalTest
from krag_eval.evaluation.answers.result import AnswerResult, AnswerRow

__all__ = [
    "ANSWER_METRICS",
    "FILLERS",
    "REFUSALS",
    "AnswerMetric",
    "AnswerPairs",
    "AnswerResult",
    "AnswerRow",
    "AnswerSettings",
    "RefusalTest",
    "evaluate_answers",
]
