"""krag_eval: did my retriever find the right documents, how well were they ranked, and why not?

>>> from krag_eval import evaluate_all
>>> evaluate_all([["a", "b"]], [["b", "x"]], k=2)["mrr"]
1.0

Which names of the front door are loaded when they are first asked for, and from where.
"""

import sys
import typing as _typing
from collections.abc import Iterable

from krag_eval._utils.errors import (
    InvalidInputError,
    KragEvalError,
    KragEvalWarning,
    MissingDependencyError,
    UnknownArgumentError,
    UnknownMetricError,
)
from krag_eval._utils.suggestions import tell_names
from krag_eval._utils.version import __version__
from krag_eval.documents.document import Document, KragDocument, as_document
from krag_eval.documents.text import normalize
from krag_eval.documents.tokenizers import TOKENIZERS, Tokenizer
from krag_eval.evaluation.evaluate import evaluate, evaluate_ids
from krag_eval.evaluation.explanation import Explanation
from krag_eval.evaluation.krag import (
    EmbeddingRougeOfflineRetrievalEvaluators,
    OfflineRetrievalEvaluators,
    RAGEvaluator,
    RougeOfflineRetrievalEvaluators,
    evaluate_all,
)
from krag_eval.evaluation.pipeline import EvaluationCallback, EvaluationStart
from krag_eval.evaluation.results import EvaluationResult, QueryResult
from krag_eval.evaluation.streaming import Scorer, evaluate_stream
from krag_eval.matching.settings import AveragingMethod, MatchingCriteria, TokenizerType
from krag_eval.metrics import FURTHER_METRICS, METRICS
from krag_eval.metrics.judgments import Judgments

if _typing.TYPE_CHECKING:
    from krag_eval._utils.errors import RunStoppedError
    from krag_eval._utils.journal import Outbox, OutboxEntry
    from krag_eval._utils.progress import RunProgress
    from krag_eval._utils.redaction import Redactor
    from krag_eval.analysis.comparison import Comparison, compare
    from krag_eval.analysis.diagnosis import Diagnosis, Miss, diagnose
    from krag_eval.analysis.gate import GateReport, Policy, assert_retrieval, check_gate, read_policy
    from krag_eval.analysis.label_audit import DoctorReport, apply_labels, examine, write_queue
    from krag_eval.analysis.verification import Verification, verify
    from krag_eval.datasets import (
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
    from krag_eval.evaluation.answers import ANSWER_METRICS, AnswerPairs, AnswerResult, AnswerRow, evaluate_answers
    from krag_eval.evaluation.exports import to_deepeval_rows, to_ragas_rows
    from krag_eval.evaluation.intervals import intervals_of
    from krag_eval.evaluation.runs import evaluate_run
    from krag_eval.evaluation.thresholds import Calibration, NoAnswerCurve, Sweep, calibrate, no_answer_curve, sweep
    from krag_eval.llm import LanguageModel, ModelSetupError, NoAnswerError, as_language_model
    from krag_eval.llm.bench import Bench, run_bench
    from krag_eval.llm.context_judge import ContextResult, ContextRow, judge_contexts
    from krag_eval.llm.question_generation import GeneratedEvalSet, GenerationReport, generate_evalset
    from krag_eval.report import Report, build_report, write_report
    from krag_eval.retrievers import RetrieverScores, aevaluate_retriever, evaluate_retriever, evaluate_retrievers
    from krag_eval.retrievers.live import Departure, LiveCounters, LiveScorer, RetrievalSink, ScoredRetrieval
    from krag_eval.retrievers.runner import arun_retriever, run_retriever
    from krag_eval.scale import ColumnarScorer, PartialState, RepeatFinder, score_logs

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


# Who only scores lists does not pay for files, threads and processes.
LAZY_NAMES: dict[str, tuple[str, ...]] = {
    "evaluation.answers": ("ANSWER_METRICS", "AnswerPairs", "AnswerResult", "AnswerRow", "evaluate_answers"),
    "llm.bench": ("Bench", "run_bench"),
    "evaluation.thresholds": ("Calibration", "NoAnswerCurve", "Sweep", "calibrate", "no_answer_curve", "sweep"),
    "scale": ("ColumnarScorer", "PartialState", "RepeatFinder"),
    "analysis.comparison": ("Comparison", "compare"),
    "llm.context_judge": ("ContextResult", "ContextRow", "judge_contexts"),
    "analysis.diagnosis": ("Diagnosis", "Miss", "diagnose"),
    "analysis.label_audit": ("DoctorReport", "apply_labels", "examine", "write_queue"),
    "datasets": (
        "EvalSet",
        "Finding",
        "Latency",
        "Question",
        "ReanchorReport",
        "Run",
        "RunRow",
        "ValidationReport",
        "as_evalset",
        "evalset_from_rows",
        "evalset_to_rows",
        "read_corpus",
        "read_evalset",
        "read_run",
        "reanchor",
        "stream_pairs",
        "validate",
        "write_evalset",
        "write_run",
    ),
    "analysis.gate": ("GateReport", "Policy", "assert_retrieval", "check_gate", "read_policy"),
    "llm.question_generation": ("GeneratedEvalSet", "GenerationReport", "generate_evalset"),
    "evaluation.intervals": ("intervals_of",),
    "_utils.journal": ("Outbox", "OutboxEntry"),
    "llm": ("LanguageModel", "ModelSetupError", "NoAnswerError", "as_language_model"),
    "retrievers.live": ("Departure", "LiveCounters", "LiveScorer", "RetrievalSink", "ScoredRetrieval"),
    "scale.logs": ("score_logs",),
    "_utils.redaction": ("Redactor",),
    "report": ("Report", "build_report", "write_report"),
    "retrievers": ("RetrieverScores", "aevaluate_retriever", "evaluate_retriever", "evaluate_retrievers"),
    "evaluation.exports": ("to_deepeval_rows", "to_ragas_rows"),
    "evaluation.runs": ("evaluate_run",),
    "_utils.errors": ("RunStoppedError",),
    "_utils.progress": ("RunProgress",),
    "retrievers.runner": ("arun_retriever", "run_retriever"),
    "analysis.verification": ("Verification", "verify"),
}

_NEED_PYARROW = {*LAZY_NAMES["scale"], *LAZY_NAMES["scale.logs"]}


def offered(names: Iterable[str]) -> list[str]:
    """The names that `import *` can give here: it asks for every one, and a missing package would end it."""
    return [name for name in names if name not in _NEED_PYARROW] if _lacks("pyarrow") else list(names)


def _lacks(package: str) -> bool:
    """Whether a package is not installed; importlib.util would say so, too, and is slow to import."""
    if package in sys.modules:
        return sys.modules[package] is None
    return all(finder.find_spec(package, None) is None for finder in sys.meta_path)


__all__[:] = offered(__all__)


def __getattr__(name: str) -> object:
    from importlib import import_module

    for module, names in LAZY_NAMES.items():
        if name in names:
            value: object = getattr(import_module(f"krag_eval.{module}"), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module 'krag_eval' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
