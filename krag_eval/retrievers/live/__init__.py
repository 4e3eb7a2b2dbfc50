"""Score retrievals of a running application: what the adapters of LangChain and LlamaIndex share."""

from krag_eval.retrievers.live.alerts import Alert
from krag_eval.retrievers.live.gold import GoldLookup
from krag_eval.retrievers.live.retrievals import LiveCounters
from krag_eval.retrievers.live.scorer import LiveScorer
from krag_eval.retrievers.live.sinks import RetrievalSink, ScoredRetrieval, ScoredSession

__all__ = [
    "Alert",
    "GoldLookup",
    "LiveCounters",
    "LiveScorer",
    "RetrievalSink",
    "ScoredRetrieval",
    "ScoredSession",
]
