"""Keep API keys and passwords out of messages, journals and reports, and describe a foreign error in one line."""

from __future__ import annotations

import itertools
import os
import re
import traceback
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any

from krag_eval._utils.errors import OfOneProcess

# `max_tokens` and `tokenizer` are no secrets; a plain `token` is.
_NAME = re.compile(r"key|token(?!s|iz)|secret|passw|credential|authorization|bearer", re.IGNORECASE)
_SHORTEST = 6
_DEEPEST = 4
_MOST_MEMBERS = 200
# Of a longer message no more than this many times its first characters is read.
_READ_TIMES = 20
# What looks like a credential, whoever's it is: user and password of an address, keys by prefix, values after a name.
_PATTERNS = (
    (re.compile(r"(?<=://)[^\s/?#]*@"), ""),
    (re.compile(r"([?&](?:key|token|sig|signature)=)[^\s\"'&#]{4,}", re.IGNORECASE), r"\1[key]"),
    (re.compile(r"\b(?:sk|pk|rk|gsk|xai|hf|lsv2|ghp|glpat|AIza|AKIA|eyJ)[-_A-Za-z0-9.*]{12,}"), "[key]"),
    (re.compile(r"\b((?:bearer|basic)\s+)[^\s\"',;}]{6,}", re.IGNORECASE), r"\1[key]"),
    (
        re.compile(
            r"((?:api[-_ ]?key|access[-_ ]?token|auth[-_ ]?token|secret|passw(?:or)?d|pwd|authorization)"
            r"[\"']?(?: provided)?\s*[=:]\s*[\"']?)(?!\[key\])(?:bearer\s+)?[^\s\"',;&}]{4,}",
            re.IGNORECASE,
        ),
        r"\1[key]",
    ),
)


class Redactor(OfOneProcess):
    """Removes credentials from texts: those that an object or the environment holds, and whatever looks like one.

    Args:
        holder: A client or model; its attributes are looked through, a few levels deep.

    >>> Redactor()("401 from https://me:secret@search.example/v1?key=abc123")
    '401 from https://search.example/v1?key=[key]'
    """

    def __init__(self, holder: object = None) -> None:
        found = {*_held(holder, _DEEPEST), *(value for name, value in os.environ.items() if _is_secret_name(name))}
        self._values = sorted((value for value in found if len(value) >= _SHORTEST), key=len, reverse=True)

    def __call__(self, text: str) -> str:
        """Return the text without credentials."""
        for value in self._values:
            text = text.replace(value, "[key]")
        for pattern, instead in _PATTERNS:
            text = pattern.sub(instead, text)
        return text


def describe_error(error: BaseException, redact: Callable[[str], str] | None = None, *, longest: int = 500) -> str:
    """Describe an error as `Type: message`, on one line, without credentials.

    Args:
        error: What a foreign program raised.
        redact: What takes credentials out; by default those of the environment, and what looks like one.
        longest: How many characters its message may have.

    >>> describe_error(ConnectionError("refused, Authorization: Bearer abc123"))
    'ConnectionError: refused, Authorization: [key]'
    """
    message = message_of(error, redact or Redactor(), longest)
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def message_of(error: BaseException, redact: Callable[[str], str], longest: int) -> str:
    """Return the message of an error alone, as `describe_error` shows it; empty if it has none that can be read."""
    try:
        message = redact(" ".join(str(error)[: _READ_TIMES * longest].split()))
    except Exception:  # noqa: BLE001 - a foreign error that cannot be printed still has a name
        return ""
    return message if len(message) <= longest else message[: longest - 1] + "…"


def as_cause(error: BaseException, redact: Callable[[str], str]) -> BaseException | None:
    """Return the error to raise from; None if it, or one behind it, would show a credential in the traceback."""
    shown = "".join(traceback.format_exception(error, limit=0))
    return error if redact(shown) == shown else None


def _is_secret_name(name: object) -> bool:
    return isinstance(name, str) and _NAME.search(name) is not None


def _held(holder: object, depth: int) -> Iterator[str]:
    """Yield the strings that an object holds under names of secrets."""
    for name, value in itertools.islice(_members(holder), _MOST_MEMBERS):
        if _is_secret_name(name):
            yield from _strings(value)
        is_holder = isinstance(value, (Mapping, list, tuple)) or hasattr(value, "__dict__")
        if depth > 1 and is_holder and not isinstance(value, (type, ModuleType)):
            yield from _held(value, depth - 1)


def _members(holder: object) -> Iterator[tuple[object, object]]:
    """Yield the members of a mapping, a sequence, an object, or of the object of a bound method, with their names."""
    try:
        if isinstance(holder, (list, tuple)):
            yield from enumerate(holder)
        elif isinstance(holder, Mapping):
            yield from holder.items()
        else:
            yield from [*getattr(holder, "__dict__", {}).items(), *_private(holder).items()]
            yield "__self__", getattr(holder, "__self__", None)
            yield from (
                item for kind in type(holder).__mro__ for item in vars(kind).items() if _is_secret_name(item[0])
            )
    except Exception:  # noqa: BLE001 - a foreign object that cannot be looked into
        return


def _private(holder: object) -> Mapping[str, Any]:
    found = getattr(holder, "__pydantic_private__", None)
    return found if isinstance(found, Mapping) else {}


def _strings(value: object) -> Iterator[str]:
    reveal = getattr(value, "get_secret_value", None)  # pydantic's SecretStr, which LangChain keeps keys in
    try:
        value = reveal() if callable(reveal) else value
    except Exception:  # noqa: BLE001 - as above
        return
    if isinstance(value, str) and "/" not in value[:1]:  # no path of a key file
        yield value
