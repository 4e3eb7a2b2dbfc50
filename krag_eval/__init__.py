"""krag_eval: did my retriever find the right documents, how well were they ranked, and why not?

>>> from krag_eval import evaluate_all
>>> evaluate_all([["a", "b"]], [["b", "x"]], k=2)["mrr"]
1.0
"""

import typing as _typing

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

if _typing.TYPE_CHECKING:
    from krag_eval.answers import ANSWER_METRICS, AnswerPairs, AnswerResult, AnswerRow, evaluate_answers
    from krag_eval.bench import Bench, run_bench
    from krag_eval.calibration import Calibration, calibrate
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
    from krag_eval.language_model import LanguageModel, ModelSetupError, NoAnswerError, as_language_model
    from krag_eval.live import Departure, LiveCounters, LiveScorer, RetrievalSink, ScoredRetrieval
    from krag_eval.no_answer import NoAnswerCurve, no_answer_curve
    from krag_eval.report import Report, build_report, write_report
    from krag_eval.retrievers import RetrieverScores, evaluate_retrievers
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
    "Policy",
    "QueryResult",
    "Question",
    "RAGEvaluator",
    "ReanchorReport",
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
    "UnknownMetricError",
    "ValidationReport",
    "Verification",
    "__version__",
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
    "stream_pairs",
    "sweep",
    "to_deepeval_rows",
    "to_ragas_rows",
    "validate",
    "verify",
    "write_evalset",
    "write_queue",
    "write_report",
    "write_run",
]

# Loaded when they are first asked for: who only scores lists does not pay for files, threads and processes.
_LAZY = {
    "Bench": "bench",
    "run_bench": "bench",
    "judge_contexts": "context_judge",
    "ContextRow": "context_judge",
    "ContextResult": "context_judge",
    "GeneratedEvalSet": "generation",
    "GenerationReport": "generation",
    "generate_evalset": "generation",
    "LanguageModel": "language_model",
    "ModelSetupError": "language_model",
    "NoAnswerError": "language_model",
    "as_language_model": "language_model",
    "evaluate_answers": "answers",
    "AnswerRow": "answers",
    "AnswerResult": "answers",
    "AnswerPairs": "answers",
    "ANSWER_METRICS": "answers",
    "validate": "evalset",
    "reanchor": "evalset",
    "ReanchorReport": "evalset",
    "ValidationReport": "evalset",
    "Finding": "evalset",
    "no_answer_curve": "no_answer",
    "NoAnswerCurve": "no_answer",
    "verify": "verification",
    "Verification": "verification",
    "write_queue": "doctor",
    "examine": "doctor",
    "apply_labels": "doctor",
    "DoctorReport": "doctor",
    "Latency": "evalset",
    "evalset_to_rows": "evalset",
    "evalset_from_rows": "evalset",
    "stream_pairs": "evalset",
    "read_corpus": "evalset",
    "intervals_of": "intervals",
    "to_deepeval_rows": "rows",
    "to_ragas_rows": "rows",
    "RetrieverScores": "retrievers",
    "evaluate_retrievers": "retrievers",
    "Comparison": "comparison",
    "compare": "comparison",
    "as_evalset": "evalset",
    "RunProgress": "runner",
    "RunStoppedError": "runner",
    "run_retriever": "runner",
    "arun_retriever": "runner",
    "read_policy": "gate",
    "check_gate": "gate",
    "assert_retrieval": "gate",
    "Policy": "gate",
    "GateReport": "gate",
    "sweep": "threshold_sweep",
    "Sweep": "threshold_sweep",
    "calibrate": "calibration",
    "Calibration": "calibration",
    "diagnose": "diagnosis",
    "Miss": "diagnosis",
    "Diagnosis": "diagnosis",
    "evaluate_run": "run_evaluation",
    "Report": "report",
    "build_report": "report",
    "write_report": "report",
    "Departure": "live",
    "LiveCounters": "live",
    "LiveScorer": "live",
    "RetrievalSink": "live",
    "ScoredRetrieval": "live",
    "EvalSet": "evalset",
    "Question": "evalset",
    "Run": "evalset",
    "RunRow": "evalset",
    "read_evalset": "evalset",
    "read_run": "evalset",
    "write_evalset": "evalset",
    "write_run": "evalset",
}


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module 'krag_eval' has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(f"krag_eval.{_LAZY[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
