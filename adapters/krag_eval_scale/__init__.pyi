"""The public names, once: type checkers read them here, and `__init__.py` loads each when it is first used."""

from .grouped_results import GroupedResults as GroupedResults
from .logs import score_logs as score_logs
from .repeats import RepeatFinder as RepeatFinder
from .scorer import BadRow as BadRow
from .scorer import ColumnarScorer as ColumnarScorer
from .scorer import PartialState as PartialState
