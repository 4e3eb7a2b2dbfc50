"""Write texts into HTML and JSON so that whatever they contain is text."""

from __future__ import annotations

import json
import re
from typing import Any

# Characters that HTML forbids or UTF-8 cannot encode.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
# Characters that could end a script tag or a line. JSON has them in strings only, where an escape means the same.
_ESCAPED = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def printable(value: object) -> object:
    r"""Replace in a text what HTML cannot contain by the replacement character.

    Markup stays as it is; the template escapes everything else.

    >>> printable("a\x00b\tc")
    'a\ufffdb\tc'
    """
    if not isinstance(value, str) or hasattr(value, "__html__"):
        return value
    return _UNPRINTABLE.sub("\ufffd", value)


def json_in_script(value: Any) -> str:
    r"""Return a value as JSON that is safe in `<script type="application/json">`, whatever its strings contain.

    Raises:
        ValueError: The value contains NaN or infinity, which JSON does not have.

    >>> print(json_in_script(["</script>", 1.5]))
    ["\u003c/script\u003e",1.5]
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character, escape in _ESCAPED.items():
        text = text.replace(character, escape)
    return text if text.isascii() else _LONE_SURROGATE.sub(_escaped, text)


def json_in_attribute(value: Any) -> str:
    """Return a value as JSON in which no character is one that HTML replaces."""
    return _UNPRINTABLE.sub(_escaped, json_in_script(value))


def _escaped(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"
