"""Retrievers run over an evaluation set: called in any way they can be, recorded row by row, resumed at any time."""

from krag_eval.progress import RunProgress
from krag_eval.runner.failures import RunStoppedError
from krag_eval.runner.running import arun_retriever, run_retriever

__all__ = ["RunProgress", "RunStoppedError", "arun_retriever", "run_retriever"]
