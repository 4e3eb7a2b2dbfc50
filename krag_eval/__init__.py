"""krag_eval: did my retriever find the right documents, how well were they ranked, and why not?

>>> from krag_eval import evaluate_all
>>> evaluate_all([["a", "b"]], [["b", "x"]], k=2)["mrr"]
1.0
"""

import typing as _typing

from krag_eval._lazy_names import LAZY_NAMES as _LAZY_NAMES
from krag_eval._lazy_names import offered as _offered
from krag_eval._version import __version__
from krag_eval.callbacks import EvaluationCallback, EvaluationStart
from krag_eval.documents import Document, KragDocument, as_document
from krag_eval.errors import (
    InvalidInputError,
    KragEvalError,
    KragEvalWarning,
    MissingDependencyError,
    UnknownArgumentError,
    UnknownMetricError,
)
from krag_eval.evaluation import evaluate, evaluate_all, evaluate_ids
from krag_eval.evaluators import (
    EmbeddingRougeOfflineRetrievalEvaluators,
    OfflineRetrievalEvaluators,
    RougeOfflineRetrievalEvaluators,
)
from krag_eval.explanation import Explanation
from krag_eval.judgments import Judgments
from krag_eval.metrics import FURTHER_METRICS, METRICS
from krag_eval.query_results import QueryResult
from krag_eval.rag import RAGEvaluator
from krag_eval.results import EvaluationResult
from krag_eval.scorer import Scorer
from krag_eval.settings import AveragingMethod, MatchingCriteria, TokenizerType
from krag_eval.stream import evaluate_stream
from krag_eval.text import normalize
from krag_eval.tokenizers import TOKENIZERS, Tokenizer
from krag_eval.wrong_names import tell_names

if _typing.TYPE_CHECKING:
    from krag_eval.answers import ANSWER_METRICS, AnswerPairs, AnswerResult, AnswerRow, evaluate_answers
    from krag_eval.bench import Bench, run_bench
    from krag_eval.calibration import Calibration, calibrate
    from krag_eval.columnar import ColumnarScorer, PartialState, RepeatFinder
    from krag_eval.comparison import Comparison, compare
    from krag_eval.context_judge import ContextResult, ContextRow, judge_contexts
    from krag_eval.diagnosis import Diagnosis, Miss, diagnose
    from krag_eval.doctor import DoctorReport, apply_labels, examine, write_queue
    from krag_eval.evalset import (
        EvalSet,
        Finding,
        Latency,
        Question,
        ReanchorReport,
        Run,
        RunRow,
        ValidationReport,
        as_evalset,
        evalset_from_rows,
        evalset_to_rows,
        read_corpus,
        read_evalset,
        read_run,
        reanchor,
        stream_pairs,
        validate,
        write_evalset,
        write_run,
    )
    from krag_eval.gate import GateReport, Policy, assert_retrieval, check_gate, read_policy
    from krag_eval.generation import GeneratedEvalSet, GenerationReport, generate_evalset
    from krag_eval.intervals import intervals_of
    from krag_eval.journal import Outbox, OutboxEntry
    from krag_eval.language_model import LanguageModel, ModelSetupError, NoAnswerError, as_language_model
    from krag_eval.live import Departure, LiveCounters, LiveScorer, RetrievalSink, ScoredRetrieval
    from krag_eval.log_scoring import score_logs
    from krag_eval.no_answer import NoAnswerCurve, no_answer_curve
    from krag_eval.redaction import Redactor
    from krag_eval.report import Report, build_report, write_report
    from krag_eval.retrievers import RetrieverScores, aevaluate_retriever, evaluate_retriever, evaluate_retrievers
    from krag_eval.rows import to_deepeval_rows, to_ragas_rows
    from krag_eval.run_evaluation import evaluate_run
    from krag_eval.runner import RunProgress, RunStoppedError, arun_retriever, run_retriever
    from krag_eval.threshold_sweep import Sweep, sweep
    from krag_eval.verification import Verification, verify

__all__ = [
    "ANSWER_METRICS",
    "FURTHER_METRICS",
    "METRICS",
    "TOKENIZERS",
    "AnswerPairs",
    "AnswerResult",
    "AnswerRow",
    "AveragingMethod",
    "Bench",
    "Calibration",
    "ColumnarScorer",
    "Comparison",
    "ContextResult",
    "ContextRow",
    "Departure",
    "Diagnosis",
    "DoctorReport",
    "Document",
    "EmbeddingRougeOfflineRetrievalEvaluators",
    "EvalSet",
    "EvaluationCallback",
    "EvaluationResult",
    "EvaluationStart",
    "Explanation",
    "Finding",
    "GateReport",
    "GeneratedEvalSet",
    "GenerationReport",
    "InvalidInputError",
    "Judgments",
    "KragDocument",
    "KragEvalError",
    "KragEvalWarning",
    "LanguageModel",
    "Latency",
    "LiveCounters",
    "LiveScorer",
    "MatchingCriteria",
    "Miss",
    "MissingDependencyError",
    "ModelSetupError",
    "NoAnswerCurve",
    "NoAnswerError",
    "OfflineRetrievalEvaluators",
    "Outbox",
    "OutboxEntry",
    "PartialState",
    "Policy",
    "QueryResult",
    "Question",
    "RAGEvaluator",
    "ReanchorReport",
    "Redactor",
    "RepeatFinder",
    "Report",
    "RetrievalSink",
    "RetrieverScores",
    "RougeOfflineRetrievalEvaluators",
    "Run",
    "RunProgress",
    "RunRow",
    "RunStoppedError",
    "ScoredRetrieval",
    "Scorer",
    "Sweep",
    "Tokenizer",
    "TokenizerType",
    "UnknownArgumentError",
    "UnknownMetricError",
    "ValidationReport",
    "Verification",
    "__version__",
    "aevaluate_retriever",
    "apply_labels",
    "arun_retriever",
    "as_document",
    "as_evalset",
    "as_language_model",
    "assert_retrieval",
    "build_report",
    "calibrate",
    "check_gate",
    "compare",
    "diagnose",
    "evalset_from_rows",
    "evalset_to_rows",
    "evaluate",
    "evaluate_all",
    "evaluate_answers",
    "evaluate_ids",
    "evaluate_retriever",
    "evaluate_retrievers",
    "evaluate_run",
    "evaluate_stream",
    "examine",
    "generate_evalset",
    "intervals_of",
    "judge_contexts",
    "no_answer_curve",
    "normalize",
    "read_corpus",
    "read_evalset",
    "read_policy",
    "read_run",
    "reanchor",
    "run_bench",
    "run_retriever",
    "score_logs",
    "stream_pairs",
    "sweep",
    "tell_names",
    "to_deepeval_rows",
    "to_ragas_rows",
    "validate",
    "verify",
    "write_evalset",
    "write_queue",
    "write_report",
    "write_run",
]
__all__[:] = _offered(__all__)


def __getattr__(name: str) -> object:
    from importlib import import_module

    for module, names in _LAZY_NAMES.items():
        if name in names:
            value: object = getattr(import_module(f"krag_eval.{module}"), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module 'krag_eval' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
