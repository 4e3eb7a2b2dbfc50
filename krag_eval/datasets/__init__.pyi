"""The records of this room that users meet: what public calls take and return."""

from .evalset import EvalSet as EvalSet
from .question import Question as Question
from .run import Latency as Latency
from .run import Run as Run
from .run import RunRow as RunRow
from .sessions import Search as Search
from .sessions import Stage as Stage
