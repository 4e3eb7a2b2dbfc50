"""Limits on what is read and compared, so that a small hostile file takes neither all memory nor hours.

They count work (bytes, values, cells, characters, pairs of tokens) and no seconds, so that the same input is refused or
accepted on every machine. They are far above what real data has, and can be raised in one place.
"""

from __future__ import annotations

import functools
import os
import re

from krag_eval._utils.errors import Argument, InvalidInputError, Parts, did_you_mean, refuse

LIMITS_VARIABLE = "KRAG_EVAL_LIMITS"
DEFAULT_LIMITS = {
    "row": "64MB",
    "file": "256MB",
    "unpacked": "16GB",
    "values": "4M",
    "cells": "1M",
    "columns": "20k",
    "policy": "20k",
    "text": "16M",
    "tokenized": "300k",
    "token_pairs": "20G",
}
# So many need no look at the limit.
ALWAYS_VALUES = 10_000
_UNITS = {"": 0, "k": 1, "M": 2, "G": 3, "T": 4}
_SIZE = re.compile(r"([0-9]{1,18})([kMGT]?)(B?)")


def limit(name: str) -> int:
    """Return a limit that is in force: the default, or what `set_limits` or the environment variable says."""
    return _parsed(os.environ.get(LIMITS_VARIABLE, ""))[name]


def set_limits(**limits: str | int | None) -> dict[str, int]:
    """Raise or lower limits on what is read and compared, in this process and in those that it starts.

    The environment variable `KRAG_EVAL_LIMITS`, such as `row=1GB,values=50M`, does the same, for machines that were
    started before, such as those of Spark; on the command line it is `--limits row=1GB,values=50M`.

    Args:
        **limits: A number, or a text such as `"2GB"` or `"50M"`; None restores the default.

            `row`: bytes of one row: a line of a text file, or what a row of Parquet unpacks to. By default 64 MB.
            `file`: bytes of what is read as a whole: a JSON file, an unpacked workbook, a page of Parquet. 256 MB.
            `unpacked`: bytes that a gzip file unpacks to. 16 GB.
            `values`: values in a row or in a JSON file, such as those of a list. 4 million; 10,000 are always allowed.
            `cells`: cells of a workbook, empty ones before a filled one included. 1 million.
            `columns`: columns of a table. 20,000.
            `policy`: keys, tables, values and comments of a policy, parts of dotted keys included; 25
                characters count as one at least. 20,000.
            `text`: characters of a text to cut into tokens, 16 million; to normalize, a third of them, unless ASCII.
            `tokenized`: characters of a text for a tokenizer from elsewhere, such as Kiwi or your own. 300,000.
            `token_pairs`: the product of the lengths of two texts that ROUGE-L compares, in tokens. 20 billion.

    Returns:
        All limits now in force.

    Raises:
        InvalidInputError: There is no such limit, or a value is no size.

    >>> set_limits(row="1GB")["row"], set_limits(row=None)["row"]
    (1073741824, 67108864)
    """
    given = _given(os.environ.get(LIMITS_VARIABLE, "")) | {name: str(size) for name, size in limits.items()}
    text = ",".join(f"{name}={size}" for name, size in given.items() if size != "None")
    _parsed(text)
    os.environ[LIMITS_VARIABLE] = text
    return dict(_parsed(text))


def to_allow(name: str, needed: int | None = None) -> Parts:
    """Return the sentence that says how to allow more; `needed` is how much, by default sixteen times the limit.

    >>> "".join(map(str, to_allow("values", 5_000_001)))
    'If it is real data, allow it with set_limits(values="6M").'
    """
    size = _rounded(name, needed or limit(name) * 16)
    limits = Argument("limits", {name: size}, f'set_limits({name}="{size}")')
    return "If it is real data, allow it with ", limits, "."


def shown(name: str) -> str:
    """Return a limit as messages show it: `64 MB`, or `4,000,000`."""
    is_bytes = DEFAULT_LIMITS[name].endswith("B")
    return re.sub("(?=[kMGTB])", " ", _rounded(name, limit(name)), count=1) if is_bytes else f"{limit(name):,}"


def _rounded(name: str, size: int) -> str:
    """Return a size in the largest unit of which it has one, rounded up."""
    base, mark = (1024, "B") if DEFAULT_LIMITS[name].endswith("B") else (1000, "")
    unit, power = next((u, p) for u, p in reversed(_UNITS.items()) if size >= base**p)
    return f"{-(-size // base**power)}{unit}{mark}"


def _given(text: str) -> dict[str, str]:
    return dict(part.strip().partition("=")[::2] for part in text.split(",") if part.strip())


@functools.lru_cache(maxsize=8)
def _parsed(text: str) -> dict[str, int]:
    limits = {}
    for name, size in (DEFAULT_LIMITS | _given(text)).items():
        if name not in DEFAULT_LIMITS:
            known = did_you_mean(name, DEFAULT_LIMITS)
            raise InvalidInputError(f"There is no limit {name!r:.60}.{known} Known are {', '.join(DEFAULT_LIMITS)}.")
        found = _SIZE.fullmatch(size.strip())
        if found is None or not int(found[1]):
            refuse(f"limits[{name!r}]", "a size such as 500MB or 10M", size)
        limits[name] = int(found[1]) * (1024 if found[3] else 1000) ** _UNITS[found[2]]
    return limits
