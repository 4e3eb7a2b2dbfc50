# haystack-ai==3.4.0
"""The recipe of docs/platforms.md, in its platform."""

from __future__ import annotations

from importlib import import_module

from run import assert_names_field, recipe  # type: ignore[import-not-found]

haystack = import_module("haystack")
pipeline = haystack.Pipeline()
pipeline.add_component("scorer", recipe("haystack").RetrievalScorer(k=2))
again = haystack.Pipeline.loads(pipeline.dumps(), allowed_modules=["recipe"])
documents = [haystack.Document(id="d7", content="Closed."), haystack.Document(id="d1", content="Two days.")]
for one in (pipeline, again):
    scores = one.run({"scorer": {"gold": ["d1", "d2"], "documents": documents}})["scorer"]["scores"]
    assert (scores["recall@2"], scores["mrr@2"]) == (0.5, 0.5), scores
assert_names_field("gold", pipeline.run, {"scorer": {"gold": None, "documents": documents}})
