"""Language models for tests, and what they are asked and say."""

from __future__ import annotations

import json
from collections.abc import Callable

SCHEMA = {
    "type": "object",
    "properties": {"capital": {"type": "string", "minLength": 1}, "people": {"type": "integer"}},
    "required": ["capital"],
}
ANSWER = {"capital": "서울"}
JSON = json.dumps(ANSWER, ensure_ascii=False)


class Waits:
    """A sleep that only notes how long it should have been."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


def scripted(*steps: str | Exception) -> Callable[[str], str]:
    """A function that gives or raises one after the other, and notes the prompts in `prompts`."""
    left = list(steps)

    def answer(prompt: str) -> str:
        answer.prompts.append(prompt)  # type: ignore[attr-defined]
        step = left.pop(0)
        if isinstance(step, Exception):
            raise step
        return step

    answer.prompts = []  # type: ignore[attr-defined]
    return answer


class StatusError(Exception):
    """As clients raise it: with an HTTP status and the headers of the response."""

    def __init__(self, message: str, status: int, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status_code = status
        self.response = type("Response", (), {"headers": headers or {}, "status_code": status})()
