"""Which names of the front door are loaded when they are first asked for, and from where."""

import sys
from collections.abc import Iterable

# Who only scores lists does not pay for files, threads and processes.
LAZY_NAMES: dict[str, tuple[str, ...]] = {
    "answers": ("ANSWER_METRICS", "AnswerPairs", "AnswerResult", "AnswerRow", "evaluate_answers"),
    "bench": ("Bench", "run_bench"),
    "calibration": ("Calibration", "calibrate"),
    "columnar": ("ColumnarScorer", "PartialState", "RepeatFinder"),
    "comparison": ("Comparison", "compare"),
    "context_judge": ("ContextResult", "ContextRow", "judge_contexts"),
    "diagnosis": ("Diagnosis", "Miss", "diagnose"),
    "doctor": ("DoctorReport", "apply_labels", "examine", "write_queue"),
    "evalset": (
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
    "gate": ("GateReport", "Policy", "assert_retrieval", "check_gate", "read_policy"),
    "generation": ("GeneratedEvalSet", "GenerationReport", "generate_evalset"),
    "intervals": ("intervals_of",),
    "journal": ("Outbox", "OutboxEntry"),
    "language_model": ("LanguageModel", "ModelSetupError", "NoAnswerError", "as_language_model"),
    "live": ("Departure", "LiveCounters", "LiveScorer", "RetrievalSink", "ScoredRetrieval"),
    "log_scoring": ("score_logs",),
    "no_answer": ("NoAnswerCurve", "no_answer_curve"),
    "redaction": ("Redactor",),
    "report": ("Report", "build_report", "write_report"),
    "retrievers": ("RetrieverScores", "aevaluate_retriever", "evaluate_retriever", "evaluate_retrievers"),
    "rows": ("to_deepeval_rows", "to_ragas_rows"),
    "run_evaluation": ("evaluate_run",),
    "runner": ("RunProgress", "RunStoppedError", "arun_retriever", "run_retriever"),
    "threshold_sweep": ("Sweep", "sweep"),
    "verification": ("Verification", "verify"),
}

_NEED_PYARROW = {*LAZY_NAMES["columnar"], *LAZY_NAMES["log_scoring"]}


def offered(names: Iterable[str]) -> list[str]:
    """The names that `import *` can give here: it asks for every one, and a missing package would end it."""
    return [name for name in names if name not in _NEED_PYARROW] if _lacks("pyarrow") else list(names)


def _lacks(package: str) -> bool:
    """Whether a package is not installed; importlib.util would say so, too, and is slow to import."""
    if package in sys.modules:
        return sys.modules[package] is None
    return all(finder.find_spec(package, None) is None for finder in sys.meta_path)
