"""Answers scored against references: the metrics, one a file, and how often a system refuses."""

from krag_eval.answers.evaluating import evaluate_answers
from krag_eval.answers.pairs import AnswerPairs
from krag_eval.answers.refusal_phrases import FILLERS, REFUSALS
from krag_eval.answers.refusals import RefusalTest
from krag_eval.answers.result import AnswerResult, AnswerRow
from krag_eval.answers.settings import AnswerSettings
from krag_eval.answers.table import ANSWER_METRICS, AnswerMetric

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
