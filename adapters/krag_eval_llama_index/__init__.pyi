"""The public names of this adapter; `__init__.py` loads each when it is first used."""

from .datasets import read_llama_index_qa as read_llama_index_qa
from .events import RetrievalScoring as RetrievalScoring
from .events import retrieval_scoring as retrieval_scoring
from .metrics import KragRetrievalMetric as KragRetrievalMetric
from .metrics import krag_metrics as krag_metrics
from .responses import score_response as score_response
from .responses import score_responses as score_responses
from .retrievers import aevaluate_retriever as aevaluate_retriever
from .retrievers import evaluate_retriever as evaluate_retriever
