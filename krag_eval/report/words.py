"""How tables say things."""

from __future__ import annotations

import re

# What no page has a place for, or UTF-8 cannot hold.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
_PLURALS = {"query": "queries"}


def number_of(count: int, thing: str) -> str:
    """The count and the thing, in the singular or the plural.

    >>> number_of(1, "query"), number_of(2, "query"), number_of(0, "gold document")
    ('1 query', '2 queries', '0 gold documents')
    """
    return f"{count} {thing if count == 1 else _PLURALS.get(thing, thing + 's')}"


def one_line(text: str) -> str:
    r"""Text on one line: white space is one space, and what cannot be shown the replacement character.

    >>> one_line(" a\n b") + one_line("\0") == "a b\ufffd"
    True
    """
    return _UNPRINTABLE.sub("\ufffd", " ".join(text.split()))
