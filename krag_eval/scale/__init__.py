"""Scoring of Arrow record batches: the same numbers as `evaluate`, for engines that hold more than one machine can.

Scoring of Parquet files of any size on one machine: row groups shared among processes, stopped and resumed.
"""

from krag_eval._utils.errors import needing
from krag_eval.scale.logs import score_logs
from krag_eval.scale.repeats import RepeatFinder
from krag_eval.scale.scorer import ColumnarScorer, PartialState

with needing("ColumnarScorer", "pyarrow", "arrow"):
    import pyarrow as pa
with needing("score_logs", "pyarrow", "arrow"):
    import pyarrow as pa  # noqa: F401 - whether it is there

__all__ = ["ColumnarScorer", "PartialState", "RepeatFinder", "score_logs"]
