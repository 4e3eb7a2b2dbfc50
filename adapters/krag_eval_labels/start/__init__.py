"""From a log without gold to a number: choose questions, pool what to label, and estimate for the log's traffic."""

from krag_eval_labels.start.folder import Started, start_from_log
from krag_eval_labels.start.number import LogNumber, number_from_labels

__all__ = ["LogNumber", "Started", "number_from_labels", "start_from_log"]
