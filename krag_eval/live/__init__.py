"""Scoring retrievals while they happen: what the adapters of LangChain and LlamaIndex have in common."""

from krag_eval.live.gold_lookup import GoldLookup
from krag_eval.live.monitor import Departure
from krag_eval.live.records import RetrievalSink, ScoredRetrieval
from krag_eval.live.retrievals import LiveCounters
from krag_eval.live.scoring import LiveScorer

__all__ = ["Departure", "GoldLookup", "LiveCounters", "LiveScorer", "RetrievalSink", "ScoredRetrieval"]
