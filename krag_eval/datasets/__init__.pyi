"""Question sets and runs: their records, and the files that they come from."""

from .corpus import read_corpus as read_corpus
from .evalset import EvalSet as EvalSet
from .evalset import as_evalset as as_evalset
from .question import DOC_KEY as DOC_KEY
from .question import LEVELS as LEVELS
from .question import Question as Question
from .reading import read_evalset as read_evalset
from .reading import read_run as read_run
from .reading import write_evalset as write_evalset
from .reading import write_run as write_run
from .rows import evalset_from_rows as evalset_from_rows
from .rows import evalset_to_rows as evalset_to_rows
from .run import Latency as Latency
from .run import Run as Run
from .run import RunRow as RunRow
from .sessions import Search as Search
from .sessions import Stage as Stage
from .streaming import stream_pairs as stream_pairs
