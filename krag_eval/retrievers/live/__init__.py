"""Scoring retrievals while they happen: what the adapters of LangChain and LlamaIndex have in common."""

from krag_eval.retrievers.live.gold import GoldLookup
from krag_eval.retrievers.live.monitor import Alert
from krag_eval.retrievers.live.scorer import LiveScorer
from krag_eval.retrievers.live.sinks import LiveCounters, RetrievalSink, ScoredRetrieval

__all__ = ["Alert", "GoldLookup", "LiveCounters", "LiveScorer", "RetrievalSink", "ScoredRetrieval"]
