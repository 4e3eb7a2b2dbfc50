# opik==2.2.122
"""The recipe of docs/platforms.md, in its platform."""

from __future__ import annotations

from run import recipe  # type: ignore[import-not-found]

metric = recipe("opik").Retrieval(name="retrieval", track=False)
scores = metric.score(output=["d7", "d1"], expected_output=["d1", "d2"], input="When?")
assert {score.name: score.value for score in scores} == {"recall_at_5": 0.5, "mrr_at_5": 0.5}, scores
assert metric.score(output=["d7"], expected_output=[]) == []
