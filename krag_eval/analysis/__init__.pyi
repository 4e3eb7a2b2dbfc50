"""The records of this room that users meet: what public calls take and return."""

from .comparison.result import Comparison as Comparison
from .comparison.rows import ComparisonRow as ComparisonRow
from .comparison.rows import Outcome as Outcome
from .comparison.rows import Transition as Transition
from .comparison.systems import Slice as Slice
from .funnel import Funnel as Funnel
from .funnel import FunnelSlice as FunnelSlice
from .funnel import FunnelStage as FunnelStage
from .gate import Check as Check
from .gate import Demands as Demands
from .gate import GateReport as GateReport
from .gate import Requirement as Requirement
from .rankings import RankingComparison as RankingComparison
