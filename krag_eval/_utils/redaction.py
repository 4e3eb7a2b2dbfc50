"""Keep API keys and passwords out of messages, journals and reports, and describe a foreign error in one line."""

from __future__ import annotations

import functools
import itertools
import json
import os
import re
import string
import traceback
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any
from urllib.parse import quote, unquote

from krag_eval._utils.objects import OfOneProcess

_SHORTEST = 6
_DEEPEST = 4
_MOST_MEMBERS = 200
_MOST_HELD = 5_000
# Of a longer message no more than this many times its first characters is read.
_READ_TIMES = 20
_LONGEST_TRACEBACK = 1_000_000
_MOST_CLEAN = 200_000

# Names that stand for credentials alone: whatever follows them is one.
_NAME = (
    r"(?:passw(?:or)?d|pass[-_ ]?phrase|(?<![A-Za-z])(?:pwd|pass)|secret|credentials?|dsn"
    r"|conn(?:ection)?[-_ ]?str(?:ing)?|(?:api|access|account|subscription|master|admin|functions?|signing|encryption"
    r"|private|auth|app(?:lication)?|storage|license|service)[-_ ]?key"
    r"|(?:access|auth|refresh|session|id|security|sas|bot|api|bearer|oauth|private)[-_ ]?token)"
    r"(?:[-_](?:access|key|base|value|prod|dev|test|old|new|main|default)){0,2}(?:[-_]?\d{1,3})?"
)
# Names that stand for other things too: what follows them has to look like a key.
_WEAK_NAME = r"(?:(?<![a-z])(?:token|pass|auth|otp|sid|sig|jwt|session[-_]?id)|[-_]token)"
_LIKE_A_KEY = r"(?=[^\s\"',;&]{0,64}\d)(?=[^\s\"',;&]{0,64}[A-Za-z])"
# A value that says that there is none, or where it is.
_NONE = (
    r"(?!\[key\]|(?:none|null|nil|true|false|undefined|str|string|required|missing|invalid)\b|\$[{(]|\$[A-Z]|<|\*"
    r"|\.\.\.|[\w.]{1,64}[(\[])"
)
_QUOTE = r"\\{0,3}[\"']"
_OPEN = rf"(?:b(?=[\"']))?(?:{_QUOTE})?"
_IN_QUOTES = r"(?:(?<=\")[^\"\n]{4,}|(?<=')[^'\n]{4,})"
_BARE = r"(?:[^\s\"',;&)}\]<>\\]|[,)}\]](?=\w))"
# `name=`, `"name": `, `name'] = ` or `name%3D`, with the quote that begins the value.
_IS = rf"(?:{_QUOTE}\]?)?(?:\s{{0,3}}(?:=[=>]?|:=|%3D)|(?<=[\"'])\s?:)\s{{0,3}}{_OPEN}"
_SAYS = rf"(?:{_QUOTE})?\s?[,:=]\s?{_OPEN}"

# By what a key begins with: the rest of its form.
_KEYS = {
    r"sk-": r"(?:(?:proj|ant|or|lf|svcacct|admin)-[\w-]{12,}|[A-Za-z0-9]{20,}|\w{2,8}\*{3}[\w*]*)",
    r"pk-lf-|[spr]k_(?:live|test)_|lsv2_|sbp_|sb_secret_|do[a-z]_v1_|shp[a-z]{2}_|fm[12]_|fo1_": r"[\w-]{12,}",
    r"(?:hf|gsk|npm|r8|gh[a-z]|glsa|ntn|api_org|whsec|secret)_": r"(?=[A-Za-z]{0,64}\d)[A-Za-z0-9]{20,}",
    r"pcsk_|jina_|lin_api_|github_pat_|figd_|sntr[a-z]{2}_|dckr_pat_|tgp_v1_|ATATT3|ATCTT3": r"[\w-]{20,}",
    r"gl(?:pat|[dr]t|cbt|ptt|ft|imt|agent|soat|oas)-|xox[a-z]-|xapp-|GOCSPX-|nvapi-|tvly-|pplx-|tskey-|NRAK-|PMAK-": (
        r"[\w.-]{16,}"
    ),
    r"pypi-|pa-|xai-": r"(?=[\w-]{0,64}\d)[\w-]{40,}",
    r"A[KSBC][IC]A": r"[A-Z0-9]{16}\b",
    r"AIza|eyJ": r"[\w-]{12,}(?:\.[\w-]{4,}){0,2}",
    r"ya29\.|hv[a-z]\.|dp\.[a-z]{2,5}\.|SG\.": r"(?=[\w.-]{0,64}\d)[\w.-]{20,}",
    r"dapi|SK|AC|key-": r"[0-9a-f]{32}",
    r"pat\w{14}\.": r"[0-9a-f]{64}",
    r"\d{8,12}:": r"[\w-]{35}\b",
    r"\w{14}\.atlasv1\.": r"[\w-]{20,}",
    r"[MNO][\w-]{23,27}\.[\w-]{6}\.": r"[\w-]{27,}",
    r"\w{3}8Q~": r"[\w.~-]{30,}",
}
_CHARACTERS = {"a": string.ascii_letters + string.digits + "_.~*-", "=": "=@", ":": ":>%\"'"}
# What the bytes of a text are: `a` of a key, `=` in an assignment or address, `:` after a name, or a space.
_KINDS = bytes(
    next((ord(kind) for kind, chars in _CHARACTERS.items() if chr(code) in chars), 32) for code in range(256)
)
_NAMES = ("=", ":", ">", "%3d", "',", '",')
_KEY_FORM = rf"(?<![A-Za-z0-9])(?:{'|'.join(f'(?:{begin}){rest}' for begin, rest in _KEYS.items())})"
# What looks like a credential, whoever's it is, under what a text in lower case must have one of, as prose rarely has.
# What the first group matches is shown, and `[key]` instead of the rest.
_SHAPES = {
    ("-----begin",): (
        r"()-----BEGIN [A-Z ]{0,40}PRIVATE KEY[A-Z ]{0,10}-----[\s\S]*?(?:-----END [A-Z ]{0,60}-----|\Z)",
    ),
    ("hooks.slack", "/webhooks/", ".webhook.office"): (
        r"(/(?:hooks\.slack\.com|discord(?:app)?\.com/api/webhooks|[\w.-]{1,80}\.webhook\.office\.com)/)[^\s\"'<>\[]+",
    ),
    ("?", "&"): (
        (
            r"([?&](?:x-(?:amz|goog)-(?:signature|credential|security-token)|sig|signature|code|jwt|key|sid|auth|session"
            rf"|(?:\w{{1,20}}[-_])?token|{_NAME})=){_NONE}(?:(?=[^\s\"'&#]{{0,64}}\d)[^\s\"'&#]{{4,}}|[^\s\"'&#]{{16,}})"
        ),
    ),
    ("authorization", "bearer ", "basic "): (
        (
            rf"(authorization{_SAYS}){_NONE}(?:(?:bearer|basic|token|digest|negotiate|api-?key|key|oauth)\s+"
            rf"|[a-z][\w-]{{1,30}}\s+{_LIKE_A_KEY}|{_LIKE_A_KEY})[^\s\"',;&}}]{{4,}}"
        ),
        rf"(\b(?:bearer|basic)\s+)(?:{_LIKE_A_KEY}[^\s\"',;}}]{{6,}}|[^\s\"',;}}]{{20,}})",
    ),
    ("=",): (r"(\b(?:response|signature|credential|nonce)=\"?)[\w+/=%-]{16,}",),
    ("cookie",): (
        (
            rf"(cookie{_SAYS}|<cookie\s)[^\s=;,\"'{{\[]+=[^\s;,\"']*(?:;\s?[^\s=;,\"']+(?:=[^\s;,\"']*)?)*"
            rf"|(?<=cookies=)\{{[^}}]{{4,}}"
        ),
    ),
    # In prose a name and a colon say little, so that a word of letters is a credential only at the end.
    _NAMES: (
        rf"({_NAME}(?:{_IS}|>(?=[^\s<]{{4,999}}<))){_NONE}(?:{_IN_QUOTES}|{_BARE}{{4,}})",
        (
            rf"({_NAME}(?:\sprovided)?\s?:\s{{0,3}}){_NONE}(?!https?:|\d{{1,5}}[-a-z ]{{0,5}}\b)"
            r"(?:(?=[!-~]{0,64}(?:\d|[!@#$%^*+=~]\w))[!#-&(-+\--:=-~]{6,}|[a-z]{6,}(?=[,;)}\]]|\Z))"
        ),
        rf"({_WEAK_NAME}{_IS}){_NONE}{_LIKE_A_KEY}(?:{_IN_QUOTES}|{_BARE}{{6,}})",
        rf"([-_](?:token|key)(?:{_QUOTE})?\s?:\s?{_OPEN}|(?<![\w-])key{_IS}){_NONE}{_LIKE_A_KEY}[\w+/=.~-]{{20,}}",
        rf"((?:{_NAME}|{_WEAK_NAME}|-key)[\"']\s?,\s?b?[\"']){_NONE}{_LIKE_A_KEY}[^\s\"']{{8,}}",
    ),
    (" -", "\n-"): (
        rf"((?<![\w-])--?(?:\w{{1,20}}-){{0,2}}(?:{_NAME}|token|auth)[\s=]\s?(?:{_QUOTE})?){_NONE}[^\s\"'-][^\s\"']{{3,}}",
        r"((?<![\w-])(?:-u|--user|--proxy-user)[\s=]\s?[\"']?[^\s:\"']{1,60}:)(?!\d+\b)[^\s\"'\[]{3,}",
    ),
}
_VALUE_OF = re.compile(
    r"(?:pass|pwd|secret|cred|dsn|conn|key|token|auth|otp|sid|sig|jwt)[\w\"'\\\] -]{0,24}(?:[=:,>]|%3d)"
)
_LONG_WORD = b"a" * 16
# What a text has with a credential that is no long word and needs no `=`, `@` or colon.
_SIGNS = (" -", "\n-", "private key", "bearer ", "basic ", "authorization")


def _kinds(text: str) -> bytes:
    return text.encode(errors="replace").translate(_KINDS)


def _is_suspicious(text: str) -> bool:
    """Whether a text may hold what looks like a credential: a glance, which is enough for most texts."""
    kinds, lower = _kinds(text), f" {text.lower()}"
    if b"=" in kinds or _LONG_WORD in kinds:
        return True
    for sign in _SIGNS:  # in half the time of `any`
        if sign in lower:
            return True
    return b":" in kinds and ("hook" in lower or _VALUE_OF.search(lower) is not None)


@functools.cache
def _key_form() -> re.Pattern[str]:
    return re.compile(_KEY_FORM)


@functools.cache
def _shapes() -> tuple[tuple[tuple[str, ...], list[tuple[re.Pattern[str], str]]], ...]:
    """Return the patterns, compiled when the first text is written, with what is shown instead of each."""
    return (
        # User and password of an address, also with a slash in the password, but not `host:9200/path?q=a@b`.
        (("://",), [(re.compile(r"(?<=://)(?:[^\s/?#]*@|[^\s/?#@:]{0,99}:(?!\d{1,5}[/?#])[^\s\"'<>]{1,200}@)"), "")]),
        (("jdbc:oracle:",), [(re.compile(r"(jdbc:oracle:\w{1,9}:)[^\s@]{1,200}@"), r"\1")]),
        *(
            (signs, [(re.compile(shape, re.IGNORECASE), r"\1[key]") for shape in shapes])
            for signs, shapes in _SHAPES.items()
        ),
    )


# Names of variables and attributes that hold credentials, and of those that only sound like it.
_CREDENTIAL = re.compile(rf"{_NAME}|authorization|webhook|(?<![A-Za-z])pw(?![A-Za-z])", re.IGNORECASE)
_KEY = re.compile(r"(?:key|creds?|token|jwt)(?![a-z])", re.IGNORECASE)
_OTHER = re.compile(r"auth|bearer|session|cookie|private|signature|sas(?![a-z])", re.IGNORECASE)
_ANY = re.compile(f"{_CREDENTIAL.pattern}|{_KEY.pattern}|{_OTHER.pattern}", re.IGNORECASE)
_HOLDS_NONE = re.compile(
    r"^(?:OLD)?PWD$|SSH_AUTH|^(?:XDG|DBUS|GNOME|DESKTOP|KEYBOARD|SESSION_MANAGER)|TOKENS|(?:^|_)(?:id|doc|document|text"
    r"|grade|date|content|sort|primary|foreign)_key$"
    r"|_(?:FILE|PATH|DIR|FOLDER|TYPE|NAME|TTL|TIMEOUT|LENGTH|HEADER|ENABLED|METHOD|BACKEND|PROVIDER)$",
    re.IGNORECASE,
)
_NAMED = re.compile(rf"(?:{_NAME}|(?:proxy-)?authorization|(?:set-)?cookie)\Z", re.IGNORECASE)
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
        self._values = sorted((form for value in found for form in _forms(value)), key=len, reverse=True)
        self._plain = [value for value in self._values if not _is_suspicious(value)]

    def __call__(self, text: str) -> str:
        """Return the text without credentials."""
        for value in self._values:
            text = text.replace(value, "[key]")
        lower = f" {text.lower()}"
        if _LONG_WORD in _kinds(text):
            text = _key_form().sub("[key]", text)
        for signs, shapes in _shapes():
            if any(map(lower.__contains__, signs)) and (signs is not _NAMES or _VALUE_OF.search(lower)):
                for shape, instead in shapes:
                    text = shape.sub(instead, text)
        return text

    def is_clean(self, names: set[str], texts: set[str]) -> bool:
        """Whether neither the names nor the texts of metadata hold a credential.

        Ordinary ones are found clean at a glance; what else is clean is remembered, as documents are retrieved often.
        """
        if not names <= self._clean_names:
            if any(map(_NAMED.search, names)) or self("\n".join(names)) != "\n".join(names):
                return False
            self._clean_names |= names
        text = "\n ".join(texts)
        if not _is_suspicious(text) and not (self._plain and any(map(text.__contains__, self._plain))):
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
            return type(value)(map(self.of, value))
        if not isinstance(value, Mapping):
            return value
        return {
            self.of(name): "[key]" if type(item) in (str, int) and _NAMED.search(str(name)) else self.of(item)
            for name, item in value.items()
        }


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
    message = message_of(error, redact, longest)
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def message_of(error: BaseException, redact: Callable[[str], str], longest: int) -> str:
    """Return the message of an error alone, as `describe_error` shows it; empty if it has none that can be read."""
    try:
        message, most = str(error), _READ_TIMES * longest
        told = redact(" ".join(message[:most].split()))
    except Exception:  # noqa: BLE001 - a foreign error that cannot be printed still has a name
        return ""
    if len(told) > longest:
        return told[: longest - 1] + "…"
    return told if len(message) <= most else told.rpartition(" ")[0] + " …"  # its last word may be half a credential


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
    """Yield the value as it stands in messages: also on one line, in JSON and in an address."""
    for form in {value, " ".join(value.split()), json.dumps(value)[1:-1], quote(value, safe=""), unquote(value)}:
        if len(form) >= _SHORTEST:
            yield form


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
