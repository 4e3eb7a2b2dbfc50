"""The public names of this adapter; `__init__.py` loads each when it is first used."""

from .processor import RetrievalSpanProcessor as RetrievalSpanProcessor
from .processor import send_traces as send_traces
from .sinks import AnnotationCounters as AnnotationCounters
from .sinks import EvaluationEventSink as EvaluationEventSink
from .sinks import PhoenixSink as PhoenixSink
