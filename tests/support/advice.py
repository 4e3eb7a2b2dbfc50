"""Follow the advice of the warning that nothing matches, word for word."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from krag_eval import KragEvalWarning

_ADVICE = re.compile(r"With (.*), ([0-9,]+) of ([0-9,]+) quer(?:y|ies)(?: that (?:was|were) tried)? would match")
_ARGUMENT = "match_method=|id_key=|id_map=|no `"
_STEP = re.compile(rf", (?={_ARGUMENT})| and (?={_ARGUMENT}|actual =|predicted =|the (?:gold|retrieved) )")


def warned_by(call: Callable[[], object], like: str = "Not one ") -> str:
    """Return the one warning of a call."""
    with pytest.warns(KragEvalWarning, match=like) as caught:
        call()
    (warning,) = caught
    return str(warning.message)


def counts_in(message: str) -> tuple[int, int]:
    """Return how many queries would match, and of how many."""
    found = _ADVICE.search(message)
    assert found is not None, message
    return int(found[2].replace(",", "")), int(found[3].replace(",", ""))


def follow(message: str, actual: Any, predicted: Any, settings: dict[str, Any]) -> tuple[Any, Any, dict[str, Any]]:
    """Return both sides and the settings as the message tells to change them."""
    found = _ADVICE.search(message)
    assert found is not None, message
    names: dict[str, Any] = {"actual": actual, "predicted": predicted}
    settings = dict(settings)
    for step in _STEP.split(found[1]):
        if step.startswith("no `"):
            settings.pop(step[4:-1])
        elif re.match(r"\w+=", step):
            settings |= eval(f"dict({step})")
        else:
            lines = step[step.index("(import") + 1 : -1] if "(import" in step else step
            lines = lines[lines.index("(actual = ") + 1 : -1] if "(actual = " in lines else lines
            lines = lines[lines.index("(predicted = ") + 1 : -1] if "(predicted = " in lines else lines
            exec(lines.replace("; ", "\n"), names)
    return names["actual"], names["predicted"], settings
