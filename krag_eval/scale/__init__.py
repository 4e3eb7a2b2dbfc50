"""Score logs of any size with the numbers of `evaluate`: Arrow record batches, and Parquet files on one machine."""

from krag_eval._utils.errors import needing

with needing("krag_eval.scale", "pyarrow", "arrow"):
    import pyarrow as pa  # noqa: F401 - whether it is there

from krag_eval.scale.logs import score_logs
from krag_eval.scale.repeats import RepeatFinder
from krag_eval.scale.scorer import BadRow, ColumnarScorer, PartialState

__all__ = ["BadRow", "ColumnarScorer", "PartialState", "RepeatFinder", "score_logs"]
