"""Keeps API keys out of messages, journals and reports."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

_NAME = re.compile(r"key|token|secret|passw|credential|authorization|bearer", re.IGNORECASE)
_SHORTEST = 6
_DEEPEST = 4
_MOST_MEMBERS = 200
# What looks like a credential, whoever's it is: user and password of an address, keys by prefix, values after a name.
_PATTERNS = (
    (re.compile(r"(?<=://)[^\s/@]*@"), ""),
    (re.compile(r"\b(?:sk|pk|rk|gsk|xai|hf|lsv2|ghp|glpat|AIza|AKIA|eyJ)[-_A-Za-z0-9.*]{12,}"), "[key]"),
    (re.compile(r"\b((?:bearer|basic)\s+)[^\s\"',;}]{6,}", re.IGNORECASE), r"\1[key]"),
    (
        re.compile(
            r"((?:api[-_ ]?key|access[-_ ]?token|auth[-_ ]?token|client[-_ ]?secret|secret|password|authorization)"
            r"[\"']?(?: provided)?\s*[=:]\s*[\"']?)(?!\[key\])(?:bearer\s+)?[^\s\"',;&}]{4,}",
            re.IGNORECASE,
        ),
        r"\1[key]",
    ),
)


class Redactor:
    """Takes credentials out of texts: those that an object or the environment holds, and what looks like one.

    Args:
        holder: A client or model; its attributes are looked through, a few levels deep.
    """

    def __init__(self, holder: object) -> None:
        found = {*_held(holder, _DEEPEST), *(value for name, value in os.environ.items() if _is_secret_name(name))}
        self._values = sorted((value for value in found if len(value) >= _SHORTEST), key=len, reverse=True)

    def __call__(self, text: str) -> str:
        """The text without credentials."""
        for value in self._values:
            text = text.replace(value, "[key]")
        for pattern, instead in _PATTERNS:
            text = pattern.sub(instead, text)
        return text


def _is_secret_name(name: object) -> bool:
    # `max_tokens` and `tokenizer` are no secrets; a plain `token` is.
    return isinstance(name, str) and _NAME.search(name) is not None and "tokens" not in name.lower()


def _held(holder: object, depth: int) -> Iterator[str]:
    """The strings that an object holds under names of secrets."""
    for name, value in itertools.islice(_members(holder), _MOST_MEMBERS):
        if _is_secret_name(name):
            yield from _strings(value)
        is_holder = isinstance(value, (Mapping, list, tuple)) or hasattr(value, "__dict__")
        if depth > 1 and is_holder and not isinstance(value, (type, ModuleType)):
            yield from _held(value, depth - 1)


def _members(holder: object) -> Iterator[tuple[object, object]]:
    """The members of a mapping, a sequence or an object, with their names; of a bound method those of its object."""
    try:
        if isinstance(holder, (list, tuple)):
            yield from enumerate(holder)
        elif isinstance(holder, Mapping):
            yield from holder.items()
        else:
            yield from [*getattr(holder, "__dict__", {}).items(), *_private(holder).items()]
            yield "__self__", getattr(holder, "__self__", None)
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
