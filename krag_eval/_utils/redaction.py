"""Keep API keys and passwords out of messages, journals and reports, and describe a foreign error in one line."""

from __future__ import annotations

import base64
import functools
import html
import itertools
import json
import os
import re
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import ModuleType
from typing import Any
from urllib.parse import quote, quote_plus, unquote

from krag_eval._utils.credentials import NAME, is_suspicious, joined_lines, places, without
from krag_eval._utils.objects import OfOneProcess

_SHORTEST, _SHORTEST_ENCODED = 6, 8
_DEEPEST = 4
_MOST_MEMBERS = 200
_MOST_HELD = 5_000
# Of a longer message no more than this many times its first characters is read.
_READ_TIMES = 20
_LONGEST_TRACEBACK = 1_000_000
_MOST_CLEAN = 200_000

# Names of variables and attributes that hold credentials, and of those that only sound like it.
_CREDENTIAL = re.compile(rf"{NAME}|authorization|webhook|(?<![A-Za-z])pw(?![A-Za-z])", re.IGNORECASE)
_KEY = re.compile(r"(?:key|creds?|token|jwt)(?![a-z])", re.IGNORECASE)
_OTHER = re.compile(r"auth|bearer|session|cookie|private|signature|sas(?![a-z])", re.IGNORECASE)
_ANY = re.compile(f"{_CREDENTIAL.pattern}|{_KEY.pattern}|{_OTHER.pattern}", re.IGNORECASE)
_HOLDS_NONE = re.compile(
    r"^(?:OLD)?PWD$|SSH_AUTH|^(?:XDG|DBUS|GNOME|DESKTOP|KEYBOARD|SESSION_MANAGER)|TOKENS|(?:^|_)(?:id|doc|document|text"
    r"|grade|date|content|sort|primary|foreign)_key$"
    r"|_(?:FILE|PATH|DIR|FOLDER|TYPE|NAME|TTL|TIMEOUT|LENGTH|HEADER|ENABLED|METHOD|BACKEND|PROVIDER)$",
    re.IGNORECASE,
)
_NAMED = re.compile(rf"(?:{NAME}|(?:proxy-)?authorization|(?:set-)?cookie)\Z", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z]+(?:[-_ .][A-Za-z]+)*\Z|[\d.:-]+\Z")
_PASSWORD = re.compile(r"(?<=://)[^\s/?#@:]{0,99}:(?!\d{1,5}[/?#])([^\s\"'<>]{1,200})@")


class Redactor(OfOneProcess):
    """Removes credentials from texts: those that an object or the environment holds, and whatever looks like one.

    Args:
        holder: A client or model; its attributes are looked through, a few levels deep.

    >>> Redactor()("401 from https://me:secret@search.example/v1?key=abc123")
    '401 from https://search.example/v1?key=[key]'
    """

    def __init__(self, holder: object = None) -> None:
        found = {*_held(holder, _DEEPEST, iter(range(_MOST_HELD))), *_variables()}
        self._clean, self._clean_names = set[str](), set[str]()
        self._values = _longest_first(form for value in found for form in _forms(value))
        self._encoded = _longest_first({form for value in found for form in _encoded(value)} - set(self._values))
        self._plain = [value for value in (*self._values, *self._encoded) if not is_suspicious(value)]

    def __call__(self, text: str) -> str:
        """Return the text without credentials."""
        values = [*self._values, *self._encoded]
        for value in values:
            text = text.replace(value, "[key]")
        if "\n" in text and values:  # also where a line was wrapped
            joined = joined_lines(text)
            there = {value for value in values if value in joined.text}
            found = (match for value in there for match in re.finditer(re.escape(value), joined.text))
            text = without(text, [(*joined.place(*match.span()), "[key]") for match in found])
        return without(text, places(text))

    def is_clean(self, names: set[str], texts: set[str]) -> bool:
        """Whether neither the names nor the texts of metadata hold a credential.

        Ordinary ones are found clean at a glance; what else is clean is remembered, as documents are retrieved often.
        """
        if not names <= self._clean_names:
            if any(map(_NAMED.search, names)) or self("\n".join(names)) != "\n".join(names):
                return False
            self._clean_names |= names
        text = "\n ".join(texts)
        if not is_suspicious(text) and not (self._plain and any(map(text.__contains__, self._plain))):
            return True
        new = texts - self._clean
        text = "\n".join(new)
        if self(text) != text:
            return False
        if len(self._clean) > _MOST_CLEAN:
            self._clean.clear()
        self._clean |= new
        return True

    def of(self, value: Any) -> Any:
        """Return a copy of the value without credentials in its texts, and without what is named as one."""
        if isinstance(value, str):
            return self(value)
        if type(value) in (list, tuple):
            if len(value) == 2:  # perhaps a header
                return type(value)((self.of(value[0]), self._member(*value)))
            return type(value)(map(self.of, value))
        if not isinstance(value, Mapping):
            return value
        return {self.of(name): self._member(name, item) for name, item in value.items()}

    def _member(self, name: object, item: Any) -> Any:
        is_credential = isinstance(name, str) and _NAMED.search(name) and type(item) in (str, int, list, tuple)
        return "[key]" if is_credential else self.of(item)


def redact(text: str) -> str:
    """Return a text without the credentials of the environment and without what looks like one."""
    return default_redactor()(text)


def default_redactor() -> Redactor:
    """Return a redactor of the credentials in the environment as it is now."""
    return _of_environment(tuple(os.environ.items()))


@functools.lru_cache(maxsize=1)
def _of_environment(variables: tuple[tuple[str, str], ...]) -> Redactor:  # noqa: ARG001 - what it is remembered for
    return Redactor()


def describe_error(error: BaseException, redact: Callable[[str], str] = redact, *, longest: int = 500) -> str:
    """Describe an error as `Type: message`, on one line, without credentials.

    Args:
        error: What a foreign program raised.
        redact: What takes credentials out; by default those of the environment, and what looks like one.
        longest: How many characters its message may have.

    >>> describe_error(ConnectionError("refused, Authorization: Bearer abc123"))
    'ConnectionError: refused, Authorization: [key]'
    """
    name = type(error).__name__
    try:
        message, most = str(error), _READ_TIMES * longest
        told = redact(" ".join(redact(message[:most]).split()))  # wrapped keys need the lines, and others lie on two
    except Exception:  # noqa: BLE001 - a foreign error that cannot be printed still has a name
        return name
    if len(told) > longest:
        told = told[: longest - 1] + "…"
    elif len(message) > most:
        told = told.rpartition(" ")[0] + " …"  # its last word may be half a credential
    return f"{name}: {told}" if told else name


def as_cause(error: BaseException, redact: Callable[[str], str] = redact) -> BaseException | None:
    """Return the error to raise from; None if it, or one behind it, would show a credential in the traceback."""
    shown = "".join(traceback.format_exception(error, limit=0))
    return error if len(shown) < _LONGEST_TRACEBACK and redact(shown) == shown else None


def _variables() -> Iterator[str]:
    """Yield the credentials of the environment, and the passwords in its addresses."""
    for name, value in os.environ.items():
        if _holds_one(name, value):
            yield value
        if "://" in value:
            yield from _PASSWORD.findall(value)


def _forms(value: str) -> Iterator[str]:
    """Yield the value as it stands in messages: also on one line, and in JSON."""
    for form in (value, " ".join(value.split()), json.dumps(value)[1:-1]):
        if len(form) >= _SHORTEST:
            yield form


def _encoded(value: str) -> Iterator[str]:
    """Yield the value as it stands in addresses, pages and headers: encoded, in base64 and hexadecimal."""
    data = value.encode(errors="replace")
    once = (quote(value, safe=""), quote(value), quote_plus(value), unquote(value))
    plain = (html.escape(value), repr(value)[1:-1], repr(data)[2:-1], json.dumps(value, ensure_ascii=False)[1:-1])
    escaped = [
        *plain,
        *(json.dumps(one)[1:-1] for one in plain),
        json.dumps(value)[1:-1].replace("/", r"\/"),
        "".join(f"\\u{ord(letter):04x}" for letter in value),
        value.encode("ascii", "xmlcharrefreplace").decode(),
    ]
    for form in (*once, *(quote(one, safe="") for one in once), *escaped):
        if len(form) >= _SHORTEST:
            yield from (form, re.sub("%..", lambda found: found[0].lower(), form))
    if len(data) >= _SHORTEST_ENCODED:
        for form in (data.hex(), data.hex(" "), data.hex(":")):
            yield from (form, form.upper())
        for before in range(3):  # wherever it stands in what was encoded, the letters that it alone decides
            letters = base64.b64encode(bytes(before) + data).rstrip(b"=").decode()
            letters = letters[(0, 2, 3)[before] : len(letters) - ((before + len(data)) % 3 > 0)]
            yield from (letters, letters.replace("+", "-").replace("/", "_"))


def _longest_first(values: Iterable[str]) -> list[str]:
    return sorted(set(values), key=len, reverse=True)


def _holds_one(name: object, value: str) -> bool:
    """Whether a variable or an attribute holds a credential: its name says so, and it is no path, switch or word."""
    if not isinstance(name, str) or _HOLDS_NONE.search(name) or _is_path(value):
        return False
    if _CREDENTIAL.search(name):
        return True
    is_word = _WORD.match(value) is not None
    return (bool(_KEY.search(name)) and (name.isupper() or not is_word)) or (bool(_OTHER.search(name)) and not is_word)


def _is_path(value: str) -> bool:
    root = "/" + value[1:].partition("/")[0]
    return value.startswith(("~/", "./", "../")) or value[1:3] == ":\\" or (value[:1] == "/" and os.path.exists(root))  # noqa: PTH110


def _held(holder: object, depth: int, left: Iterator[int]) -> Iterator[str]:
    """Yield the strings that an object holds under names of secrets.

    Args:
        holder: The object.
        depth: How many levels are looked through.
        left: One item for each further member that may be looked at.
    """
    members = [member for member, _ in zip(itertools.islice(_members(holder), _MOST_MEMBERS), left, strict=False)]
    for name, value in members:
        yield from (text for text in _strings(value) if _holds_one(name, text))
    for _, value in members if depth > 1 else ():
        is_holder = isinstance(value, (Mapping, list, tuple)) or hasattr(value, "__dict__")
        if is_holder and not isinstance(value, (type, ModuleType)):
            yield from _held(value, depth - 1, left)


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
            yield from (item for kind in type(holder).__mro__ for item in vars(kind).items() if _ANY.search(item[0]))
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
    if isinstance(value, str):
        yield value
