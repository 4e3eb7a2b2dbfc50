"""The public names of this adapter; `__init__.py` loads each when it is first used."""

from .backfill import ScoredTraces as ScoredTraces
from .backfill import score_traces as score_traces
from .client import LangfuseDeliveryError as LangfuseDeliveryError
from .client import LangfuseRequestError as LangfuseRequestError
from .datasets import evalset_from_langfuse_dataset as evalset_from_langfuse_dataset
from .datasets import push_evalset as push_evalset
from .experiments import as_langfuse_evaluators as as_langfuse_evaluators
from .experiments import as_langfuse_run_evaluators as as_langfuse_run_evaluators
from .handler import LangfuseScoreHandler as LangfuseScoreHandler
from .outbox import Resent as Resent
from .outbox import resend_outbox as resend_outbox
from .scores import Target as Target
from .sender import ScoreCounters as ScoreCounters
