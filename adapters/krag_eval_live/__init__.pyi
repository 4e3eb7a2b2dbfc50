"""The public names, once: type checkers read them here, and `__init__.py` loads each when it is first used."""

from .alerts import Alert as Alert
from .retrievals import LiveCounters as LiveCounters
from .scorer import LiveScorer as LiveScorer
from .sinks import RetrievalSink as RetrievalSink
from .sinks import ScoredRetrieval as ScoredRetrieval
from .sinks import ScoredSession as ScoredSession
