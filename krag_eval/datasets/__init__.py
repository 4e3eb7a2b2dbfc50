"""Question sets and runs: their records, and the files that they come from."""

from krag_eval.datasets.corpus import read_corpus
from krag_eval.datasets.evalset import EvalSet, as_evalset
from krag_eval.datasets.findings import Finding, ValidationReport
from krag_eval.datasets.formats.huggingface import evalset_from_rows, evalset_to_rows
from krag_eval.datasets.inspection import Inspection, inspect_file
from krag_eval.datasets.question import DOC_KEY, LEVELS, Question
from krag_eval.datasets.reading import read_evalset, read_run, write_evalset, write_run
from krag_eval.datasets.reanchoring import ReanchorReport, reanchor
from krag_eval.datasets.run import Latency, Run, RunRow
from krag_eval.datasets.sessions import Search, Stage
from krag_eval.datasets.streaming import stream_pairs
from krag_eval.datasets.validation import validate

__all__ = [
    "DOC_KEY",
    "LEVELS",
    "EvalSet",
    "Finding",
    "Inspection",
    "Latency",
    "Question",
    "ReanchorReport",
    "Run",
    "RunRow",
    "Search",
    "Stage",
    "ValidationReport",
    "as_evalset",
    "evalset_from_rows",
    "evalset_to_rows",
    "inspect_file",
    "read_corpus",
    "read_evalset",
    "read_run",
    "reanchor",
    "stream_pairs",
    "validate",
    "write_evalset",
    "write_run",
]
