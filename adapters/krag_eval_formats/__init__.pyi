"""The public names, once: type checkers read them here, and `__init__.py` loads each when it is first used."""

from .inspection import Inspection as Inspection
from .inspection import inspect_file as inspect_file
from .otlp import TraceSpan as TraceSpan
from .traces import TraceSession as TraceSession
from .traces import read_traces as read_traces
