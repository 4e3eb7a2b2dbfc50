"""Compare systems: is one really better than another, where is it worse, and what became of the misses?"""

from krag_eval.analysis.comparison.compare import DECISIVE_METRICS, compare
from krag_eval.analysis.comparison.result import Comparison
from krag_eval.analysis.comparison.rows import ComparisonRow, Outcome, Transition

__all__ = ["DECISIVE_METRICS", "Comparison", "ComparisonRow", "Outcome", "Transition", "compare"]
