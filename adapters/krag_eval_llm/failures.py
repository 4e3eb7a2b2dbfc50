"""Decide what an exception of a language model's client means, and whether to try again."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from krag_eval import KragEvalError
from krag_eval.toolkit import describe_error, status_and_wait

Reason = Literal["bad_json", "refused", "rate_limited", "timed_out", "unreachable", "rejected"]

_LONGEST_MESSAGE = 400
_OF_THE_SET_UP = {401, 402, 403, 404, 405}
_OF_THE_SERVER = {409, 425, 500, 502, 503, 504, 520, 522, 524, 529}
_WORDS_OF_THE_SET_UP = ("authentication", "permissiondenied", "unauthorized", "invalidapikey", "notfounderror")
# Bugs, which a retry does not fix.
_MISTAKES = (
    *(TypeError, AttributeError, NameError, ImportError, NotImplementedError, AssertionError, LookupError),
    *(SyntaxError, StopIteration, StopAsyncIteration, FileNotFoundError, PermissionError),
)


class LanguageModelError(KragEvalError, RuntimeError):
    """A language model could not be used."""


class NoAnswerError(LanguageModelError):
    """A prompt got no usable answer; another prompt may get one.

    Args:
        message: What happened.
        reason: `"bad_json"`, `"refused"`, `"rate_limited"`, `"timed_out"`, `"unreachable"` or `"rejected"`.
        answer: The answer of the model, if any.
    """

    def __init__(self, message: str, reason: Reason = "unreachable", answer: str | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.answer = answer

    def __reduce__(self) -> tuple[type[NoAnswerError], tuple[object, ...]]:
        return type(self), (str(self), self.reason, self.answer)

    @property
    def is_of_the_model(self) -> bool:
        """Whether the model answered, though not usably; otherwise the prompt or the answer got lost."""
        return self.reason in ("bad_json", "refused", "rejected")


class ModelSetupError(LanguageModelError):
    """No prompt will be answered: a wrong key, an unknown model, a bug in the program."""


@dataclass(frozen=True, slots=True)
class Failure:
    """What an exception of a client means.

    Attributes:
        reason: Why there is no answer; None if the setup is wrong.
        is_temporary: Whether a retry may succeed.
        wait: The seconds that the server asks to wait, or None.
    """

    reason: Reason | None
    is_temporary: bool
    wait: float | None = None


def classify(error: BaseException) -> Failure:
    """Classify an exception by its HTTP status or that of its cause, else by its name.

    >>> classify(TimeoutError()), classify(KeyError("x")).reason
    (Failure(reason='timed_out', is_temporary=True, wait=None), None)
    """
    for one in _causes(error):
        (status, wait), names = status_and_wait(one), [base.__name__.lower() for base in type(one).__mro__]
        if status == 429 or any("ratelimit" in n or "throttl" in n or n == "resourceexhausted" for n in names):
            if "insufficient_quota" in (getattr(one, "code", None), getattr(one, "type", None)):
                return Failure(None, is_temporary=False)
            return Failure("rate_limited", is_temporary=True, wait=wait)
        if status in _OF_THE_SET_UP or any(word in n for n in names for word in _WORDS_OF_THE_SET_UP):
            return Failure(None, is_temporary=False)
        if status == 408 or any("timeout" in n or n == "deadlineexceeded" for n in names):
            return Failure("timed_out", is_temporary=True, wait=wait)
        if status in _OF_THE_SERVER:
            return Failure("unreachable", is_temporary=True, wait=wait)
        if status is not None and 400 <= status < 500:
            return Failure("rejected", is_temporary=False)
        if any("outputparser" in n for n in names):
            return Failure("bad_json", is_temporary=True)
    if isinstance(error, _MISTAKES):
        return Failure(None, is_temporary=False)
    return Failure("unreachable", is_temporary=True, wait=status_and_wait(error)[1])


def describe(error: BaseException, redact: Callable[[str], str]) -> str:
    """Describe an error as `Type: message` in one line, without credentials; a bug also by file and line."""
    words = describe_error(error, redact, longest=_LONGEST_MESSAGE)
    frames = traceback.extract_tb(error.__traceback__)
    if isinstance(error, _MISTAKES) and frames:
        words += f" ({frames[-1].filename}:{frames[-1].lineno})"
    return words


def _causes(error: BaseException) -> Iterator[BaseException]:
    one: BaseException | None = error
    for _ in range(5):
        if one is None:
            return
        yield one
        one = one.__cause__
