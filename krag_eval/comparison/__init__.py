"""Is one system really better than another, where not, and what became of the misses?"""

from krag_eval.comparison.comparing import compare
from krag_eval.comparison.records import ComparisonRow, Outcome, Transition
from krag_eval.comparison.result import Comparison

__all__ = ["Comparison", "ComparisonRow", "Outcome", "Transition", "compare"]
