"""Question sets and runs: their records, and the files that they come from."""

from krag_eval.evalset.corpus import read_corpus
from krag_eval.evalset.evalset import EvalSet, as_evalset
from krag_eval.evalset.findings import Finding, ValidationReport
from krag_eval.evalset.formats.hf import evalset_from_rows, evalset_to_rows
from krag_eval.evalset.latency import Latency
from krag_eval.evalset.question import DOC_KEY, LEVELS, Question
from krag_eval.evalset.reading import read_evalset, read_run, write_evalset, write_run
from krag_eval.evalset.reanchor_report import ReanchorReport
from krag_eval.evalset.reanchoring import reanchor
from krag_eval.evalset.run import Run, RunRow
from krag_eval.evalset.streaming import stream_pairs
from krag_eval.evalset.validation import validate

__all__ = [
    "DOC_KEY",
    "LEVELS",
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
]
