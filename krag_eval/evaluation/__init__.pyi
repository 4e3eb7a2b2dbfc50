"""The records of this room that users meet: what public calls take and return."""

from .detail import Detail as Detail
from .detail import GoldTable as GoldTable
from .detail import SearchOutcome as SearchOutcome
from .diagnosis import Diagnosis as Diagnosis
from .diagnosis import Miss as Miss
from .explanation import Explanation as Explanation
from .misses import QueryReview as QueryReview
from .misses import ReviewedQuery as ReviewedQuery
from .pipeline import EvaluationStart as EvaluationStart
from .results import QueryResult as QueryResult
from .thresholds import Calibration as Calibration
from .thresholds import NoAnswerCurve as NoAnswerCurve
from .thresholds import NoAnswerPoint as NoAnswerPoint
from .thresholds import Sweep as Sweep
