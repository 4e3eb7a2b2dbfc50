"""The public names, once: type checkers read them here, and `__init__.py` loads each when it is first used."""

from .evaluate import evaluate_answers as evaluate_answers
from .metrics import ANSWER_METRICS as ANSWER_METRICS
from .pairs import AnswerPairs as AnswerPairs
from .references import References as References
from .references import read_references as read_references
from .refusals import RefusalTest as RefusalTest
from .result import AnswerResult as AnswerResult
from .result import AnswerRow as AnswerRow
from .result import answer_intervals as answer_intervals
from .result import table_of_means as table_of_means
