"""Scoring of Parquet files of any size on one machine: row groups shared among processes, stopped and resumed."""

from krag_eval.errors import needing

with needing("score_logs", "pyarrow", "arrow"):
    import pyarrow as pa  # noqa: F401 - whether it is there

from krag_eval.log_scoring.scoring import score_logs

__all__ = ["score_logs"]
