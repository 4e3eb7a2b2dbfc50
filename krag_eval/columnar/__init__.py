"""Scoring of Arrow record batches: the same numbers as `evaluate`, for engines that hold more than one machine can."""

from krag_eval.errors import needing

with needing("ColumnarScorer", "pyarrow", "arrow"):
    import pyarrow as pa  # noqa: F401 - whether it is there

from krag_eval.columnar.repeat_finder import RepeatFinder
from krag_eval.columnar.scorer import ColumnarScorer
from krag_eval.columnar.state import PartialState

__all__ = ["ColumnarScorer", "PartialState", "RepeatFinder"]
