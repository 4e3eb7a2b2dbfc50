"""What every score must be that leaves: checked with the SDK's own model, and with the rules that it lets through."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from datetime import datetime
from typing import Any

NAME = re.compile(r"[A-Za-z0-9_ .()-]{1,35}\Z")
BOOLEANS = (("BOOLEAN", 0.0), ("BOOLEAN", 1.0))
TARGETS = ("traceId", "sessionId", "datasetRunId")


def check(scores: Iterable[dict[str, Any]]) -> None:
    """Fail where a score breaks a rule of Langfuse; the model alone accepts unknown keys, "NaN" and two targets."""
    from langfuse import api
    from langfuse.api.core.pydantic_utilities import parse_obj_as

    model: Any = api.CreateScoreRequest if hasattr(api, "CreateScoreRequest") else api.ScoreBody  # the first langfuse 4
    aliases = {
        next((part.alias for part in info.metadata if hasattr(part, "alias")), None) or name
        for name, info in model.model_fields.items()
    }
    for score in scores:
        parsed: Any = parse_obj_as(model, score)
        assert sorted(set(score) - aliases - {"timestamp"}) == []
        assert parsed.data_type is not None
        if parsed.data_type.value == "CATEGORICAL":
            assert type(parsed.value) is str
            assert parsed.value
        else:
            assert type(parsed.value) is float
            assert math.isfinite(parsed.value)
            assert parsed.data_type.value == "NUMERIC" or (parsed.data_type.value, parsed.value) in BOOLEANS
        assert score.get("configId") != ""
        assert [name for name in TARGETS if score.get(name)] == [name for name in TARGETS if name in score]
        assert sum(name in score for name in TARGETS) == 1
        assert "traceId" in score or "observationId" not in score
        assert NAME.match(score["name"])
        assert score["id"]
        assert datetime.fromisoformat(score["timestamp"]).utcoffset() is not None
        assert all(isinstance(value, (str, int, float, bool)) for value in score["metadata"].values())


def by_target(scores: Iterable[dict[str, Any]]) -> dict[Any, dict[str, float]]:
    """The values by name, by what they belong to."""
    found: dict[Any, dict[str, float]] = {}
    for score in scores:
        place = score.get("observationId") or next(score[name] for name in TARGETS if name in score)
        values = found.setdefault(place, {})
        assert score["name"] not in values, f"{score['name']} came twice for {place}"
        values[score["name"]] = score["value"]
    return found
