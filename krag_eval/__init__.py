"""krag_eval: did my retriever find the right documents, how well were they ranked, and why not?

>>> from krag_eval import evaluate_all
>>> evaluate_all([["a", "b"]], [["b", "x"]], k=2)["mrr"]
1.0
"""

from krag_eval._version import __version__
from krag_eval.callbacks import EvaluationCallback, EvaluationStart
from krag_eval.documents import Document, KragDocument, as_document
from krag_eval.errors import (
    InvalidInputError,
    KragEvalError,
    KragEvalWarning,
    MissingDependencyError,
    UnknownMetricError,
)
from krag_eval.evaluation import evaluate, evaluate_all, evaluate_ids
from krag_eval.evaluators import OfflineRetrievalEvaluators, RougeOfflineRetrievalEvaluators
from krag_eval.explanation import Explanation
from krag_eval.judgments import Judgments
from krag_eval.metrics import METRICS
from krag_eval.query_results import QueryResult
from krag_eval.rag import RAGEvaluator
from krag_eval.results import EvaluationResult
from krag_eval.settings import AveragingMethod, MatchingCriteria, TokenizerType
from krag_eval.stream import evaluate_stream
from krag_eval.text import normalize
from krag_eval.tokenizers import TOKENIZERS, Tokenizer

__all__ = [
    "METRICS",
    "TOKENIZERS",
    "AveragingMethod",
    "Document",
    "EvaluationCallback",
    "EvaluationResult",
    "EvaluationStart",
    "Explanation",
    "InvalidInputError",
    "Judgments",
    "KragDocument",
    "KragEvalError",
    "KragEvalWarning",
    "MatchingCriteria",
    "MissingDependencyError",
    "OfflineRetrievalEvaluators",
    "QueryResult",
    "RAGEvaluator",
    "RougeOfflineRetrievalEvaluators",
    "Tokenizer",
    "TokenizerType",
    "UnknownMetricError",
    "__version__",
    "as_document",
    "evaluate",
    "evaluate_all",
    "evaluate_ids",
    "evaluate_stream",
    "normalize",
]
