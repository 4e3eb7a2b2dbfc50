"""krag_eval at home in Langfuse: scores of an evaluation, of live retrievals, of experiments and of what is recorded.

Importing this package does not import langfuse.
"""

from krag_eval_langfuse.backfill import ScoredTraces, score_traces
from krag_eval_langfuse.client import LangfuseDeliveryError
from krag_eval_langfuse.datasets import evalset_from_langfuse_dataset, push_evalset
from krag_eval_langfuse.experiments import as_langfuse_evaluators, as_langfuse_run_evaluators
from krag_eval_langfuse.handler import LangfuseScoreHandler
from krag_eval_langfuse.outbox import Resent, resend_outbox
from krag_eval_langfuse.scores import Target
from krag_eval_langfuse.sender import ScoreCounters

__all__ = [
    "LangfuseDeliveryError",
    "LangfuseScoreHandler",
    "Resent",
    "ScoreCounters",
    "ScoredTraces",
    "Target",
    "as_langfuse_evaluators",
    "as_langfuse_run_evaluators",
    "evalset_from_langfuse_dataset",
    "push_evalset",
    "resend_outbox",
    "score_traces",
]
