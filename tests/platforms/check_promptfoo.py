#
"""The recipe of docs/platforms.md, in its platform."""

from __future__ import annotations

from run import recipe  # type: ignore[import-not-found]

found = recipe("promptfoo").get_assert('["d7", "d1"]', {"vars": {"gold": ["d1", "d2"]}})
assert found["pass"], found
assert found["namedScores"] == {"recall_at_5": 0.5, "mrr_at_5": 0.5}, found
