"""Text of users made harmless: as text of a page, as JSON in a script tag; and a policy that lets nothing else run."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from typing import Any

# Characters that HTML has no place for, or that UTF-8 cannot hold.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
# What could end a script tag or a line of a script. In JSON these stand in strings only, where an escape says the same.
_ESCAPED = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def printable(value: object) -> object:
    r"""A value for a template: in text, what HTML cannot hold becomes the replacement character.

    Markup stays as it is; the template escapes everything else.

    >>> printable("a\x00b\tc")
    'a\ufffdb\tc'
    """
    if not isinstance(value, str) or hasattr(value, "__html__"):
        return value
    return _UNPRINTABLE.sub("\ufffd", value)


def json_in_script(value: Any) -> str:
    r"""A value as JSON that may stand in `<script type="application/json">`, whatever its strings hold.

    Raises:
        ValueError: The value holds NaN or an infinite number, which JSON does not know.

    >>> print(json_in_script(["</script>", 1.5]))
    ["\u003c/script\u003e",1.5]
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character, escape in _ESCAPED.items():
        text = text.replace(character, escape)
    return _LONE_SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def policy(script: str, style: str) -> str:
    """A Content-Security-Policy under which this script and this style run, and nothing is loaded from anywhere."""
    return (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")
