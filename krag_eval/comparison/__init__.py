"""Is one system really better than another, where not, and what became of the misses?"""

from krag_eval.comparison.comparing import DECISIVE_METRICS, compare
from krag_eval.comparison.records import ComparisonRow, Outcome, Transition
from krag_eval.comparison.result import Comparison

__all__ = ["DECISIVE_METRICS", "Comparison", "ComparisonRow", "Outcome", "Transition", "compare"]
