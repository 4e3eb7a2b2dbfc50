# ragas==0.4.3 langchain-community<0.4
"""The recipe of docs/platforms.md, in its platform."""

from __future__ import annotations

from run import recipe  # type: ignore[import-not-found]

result = recipe("ragas").recall.score(gold=["d1", "d2"], retrieved=["d7", "d1"])
assert result.value == 0.5, result
