"""Where names and modules are now whose old places still work for one release, with a warning that names the new one.

Results that were pickled before name their classes by the old modules, too.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType

_RANKING = "average_precision err f1 hit_rate iprec precision r_precision rbp recall reciprocal_rank sets"
_CHECKS = "corpus_checks findings passages shared_text validation"
_FORMATS = (
    "autorag beir conversations dialects judged_rows llama_index msmarco otlp qrels_json ragas squad topics trec"
    " workbook yaml_rows"
)
MODULES = {
    "krag_eval.analysis.comparison.proven": "krag_eval_report.proven",
    "krag_eval.analysis.comparison.tables": "krag_eval_report.sections.comparison",
    "krag_eval._utils.processes": "krag_eval_scale.processes",
    "krag_eval.analysis.diagnosis": "krag_eval.evaluation.diagnosis",
    "krag_eval.analysis.estimation": "krag_eval_labels.estimation",
    "krag_eval.analysis.label_audit": "krag_eval_labels",
    "krag_eval.analysis.leaderboard": "krag_eval_report.run_table",
    "krag_eval.analysis.pytest_plugin": "krag_eval_pytest.plugin",
    "krag_eval.analysis.verification": "krag_eval_verify.verification",
    "krag_eval.analysis.misses": "krag_eval.evaluation.misses",
    "krag_eval.datasets.field_roles": "krag_eval_formats.field_roles",
    "krag_eval.datasets.formats.huggingface": "krag_eval.datasets.rows",
    **{f"krag_eval.datasets.formats.{name}": f"krag_eval_formats.{name}" for name in _FORMATS.split()},
    "krag_eval.datasets.inspection": "krag_eval_formats.inspection",
    "krag_eval.datasets.traces": "krag_eval_formats.traces",
    "krag_eval._utils.signals": "krag_eval_cli.signals",
    "krag_eval.cli": "krag_eval_cli",
    "krag_eval.datasets.showing": "krag_eval_report.notebooks",
    "krag_eval.evaluation.answers": "krag_eval_answers",
    "krag_eval.evaluation.charts": "krag_eval_report.plots.charts",
    "krag_eval.evaluation.showing": "krag_eval_report.sections.summary",
    "krag_eval.evaluation.groups": "krag_eval_scale.grouped_results",
    "krag_eval.datasets.reanchoring": "krag_eval_labels.reanchoring",
    **{f"krag_eval.datasets.{name}": f"krag_eval_labels.{name}" for name in _CHECKS.split()},
    "krag_eval.llm": "krag_eval_llm",
    **{f"krag_eval.metrics.{one}": "krag_eval.metrics.ranking" for one in _RANKING.split()},
    "krag_eval.report.chunkers": "krag_eval_chunkers.compare",
    "krag_eval.report.leaderboard": "krag_eval_report.run_table",
    "krag_eval.report": "krag_eval_report",  # after those within it
    "krag_eval.retrievers.live.monitor": "krag_eval_live.alerts",  # before the package that it was in
    "krag_eval.retrievers.live.watch": "krag_eval_monitor.watch",
    "krag_eval.retrievers.live": "krag_eval_live",
    "krag_eval.retrievers.local": "krag_eval_chunkers.local",
    "krag_eval.scale": "krag_eval_scale",
    "krag_eval.tables.html": "krag_eval_report.notebook_tables",
    "krag_eval.tables.latex": "krag_eval_report.latex_tables",
    "krag_eval.tables.markdown": "krag_eval_report.markdown_tables",
}


_NAMES = {
    "krag_eval.analysis": "Comparison Funnel FunnelSlice FunnelStage GateReport RankingComparison",
    "krag_eval.datasets": "Latency Stage",
    "krag_eval.documents.tokenizers": "Tokenizer",
    "krag_eval.evaluation": (
        "Calibration Diagnosis EvaluationStart Explanation Miss NoAnswerCurve QueryResult QueryReview ReviewedQuery"
        " Sweep"
    ),
    "krag_eval.matching.settings": "ScoringSettings",
    "krag_eval.metrics": "FURTHER_METRICS",
    "krag_eval.metrics.judgments": "Judgments",
    "krag_eval.metrics.names": "DEFAULT_CUT_OFFS LIVE_CUT_OFFS",
    "krag_eval.retrievers": "RetrieverScores",
    "krag_eval_answers": "ANSWER_METRICS AnswerPairs AnswerResult AnswerRow evaluate_answers",
    "krag_eval_chunkers": "ChunkerComparison Chunking compare_chunkers",
    "krag_eval_formats": "TraceSession TraceSpan inspect_file read_traces",
    "krag_eval_labels": (
        "Agreement DoctorReport Estimate Estimation Finding ReanchorReport ValidationReport apply_labels audit_labels"
        " estimate label_agreement plan_labels reanchor validate write_queue"
    ),
    "krag_eval_live": "Alert LiveCounters LiveScorer RetrievalSink ScoredRetrieval ScoredSession",
    "krag_eval_llm": (
        "Bench ContextResult ContextRow GeneratedEvalSet GenerationReport LanguageModel ModelSetupError NoAnswerError"
        " as_language_model generate_evalset judge_contexts run_bench"
    ),
    "krag_eval_monitor": "Watch",
    "krag_eval_report": "Leaderboard Report build_report leaderboard write_report",
    "krag_eval_verify": "Verification verify",
    "krag_eval_scale": "BadRow ColumnarScorer GroupedResults PartialState RepeatFinder score_logs",
}
NAMES = {name: (module, name) for module, names in _NAMES.items() for name in names.split()}
"""By the name that `krag_eval` had: the module, and the name there."""
NAMES |= {"Departure": NAMES["Alert"], "examine": NAMES["audit_labels"]}

_OF_ROOMS = {
    "krag_eval.datasets": (
        "as_evalset evalset_from_rows evalset_to_rows read_corpus read_evalset read_run stream_pairs write_evalset"
        " write_run DOC_KEY LEVELS Finding ReanchorReport ValidationReport reanchor"
    ),
    "krag_eval.retrievers": "aevaluate_retriever evaluate_retriever evaluate_retrievers",
}
_CONSTANTS = {name: ("krag_eval.datasets.question", name) for name in ("DOC_KEY", "LEVELS")}


def with_old_names(room: str, load: Callable[[str], object]) -> Callable[[str], object]:
    """Return the `__getattr__` of a room that gives its records, and what it gave before there were only these."""
    old = _OF_ROOMS[room].split()

    def get(name: str) -> object:
        if name not in old:
            return load(name)
        module, new = (_CONSTANTS | NAMES).get(name, ("krag_eval", name))
        said = f"`{room}.{name}` is now `{module}.{new}`. Import it from there."
        warnings.warn(said, DeprecationWarning, stacklevel=2)
        moved: object = getattr(import_module(module), new)
        return moved

    return get


def new_place(name: str) -> str | None:
    """Return the new name of a module, or of one in a package that moved; None if it did not."""
    for old, new in MODULES.items():
        if name == old or name.startswith(f"{old}."):
            return new + name.removeprefix(old)
    return None


class Moved:
    """Finds a module of an old name in its new place; a finder and a loader as `importlib.abc` has them."""

    def find_spec(self, name: str, *_: object) -> ModuleSpec | None:
        """Return how to load the module, if it has moved."""
        has_moved = name.startswith("krag_eval.") and new_place(name) is not None
        return ModuleSpec(name, self) if has_moved else None  # type: ignore[arg-type]

    def create_module(self, _: ModuleSpec) -> None:
        """Leave it to Python; what it makes is replaced."""

    def exec_module(self, module: ModuleType) -> None:
        """Put the module of the new name in place of the new module."""
        old = module.__name__
        new = str(new_place(old))
        sys.modules[old] = import_module(new)
        said = f"`{old}` is now `{new}`. Import from there."
        warnings.warn(said, DeprecationWarning, stacklevel=2)  # the machinery of imports is not counted
