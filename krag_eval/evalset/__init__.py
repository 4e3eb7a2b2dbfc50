"""Question sets and runs: their records, and the files that they come from."""

from krag_eval.evalset.evalset import EvalSet, as_evalset
from krag_eval.evalset.question import DOC_KEY, LEVELS, Question
from krag_eval.evalset.reading import read_evalset, read_run, write_evalset, write_run
from krag_eval.evalset.run import RetrieverError, Run, RunRow

__all__ = [
    "DOC_KEY",
    "LEVELS",
    "EvalSet",
    "Question",
    "RetrieverError",
    "Run",
    "RunRow",
    "as_evalset",
    "read_evalset",
    "read_run",
    "write_evalset",
    "write_run",
]
