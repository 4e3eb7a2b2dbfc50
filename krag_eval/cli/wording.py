"""Say with options what messages of the library say with Python arguments."""

from __future__ import annotations

import re
import shlex

# What messages of the library call a thing, and what it is called on the command line.
_OPTIONS = {
    "allow_repeated_ids": "--allow-repeated-ids",
    "concurrency": "--concurrency",
    "containment": "--containment",
    "corpus": "--corpus",
    "doc_key": "--doc-key",
    "evalset": "--evalset",
    "force": "--force",
    "format": "--format",
    "fresh": "--fresh",
    "gain": "--gain",
    "grade_key": "--grade-key",
    "id_key": "--id-key",
    "level": "--level",
    "llm": "--llm",
    "match_method": "--match",
    "max_error_rate": "--max-error-rate",
    "metrics": "--metrics",
    "missing": "--missing",
    "normalize": "--raw-text",
    "resume": "--resume",
    "retries": "--retries",
    "retry_errors": "--retry-errors",
    "rouge_measure": "--rouge-measure",
    "threshold": "--threshold",
    "timeout": "--timeout",
    "tokenizer": "--tokenizer",
}
_SIDES = {"actual": "gold", "predicted": "retrieved"}
# force=True, missing='empty', threshold=0.4
_ARGUMENT = re.compile(rf"`?\b({'|'.join(_OPTIONS)})=(?:True|([0-9.]*[0-9])|\"([^\"]+)\"|'([^']+)')`?")
_NAME = re.compile(rf"`({'|'.join(_OPTIONS)})`")
_SIDE = re.compile(rf"(documents?) of `({'|'.join(_SIDES)})`")
_CALL = re.compile(r", or call `\w+`")  # which the command line cannot do


def in_options(message: str) -> str:
    """Return a message of the library with options in place of Python arguments.

    >>> in_options("Choose another name, or overwrite it with force=True.")
    'Choose another name, or overwrite it with --force.'
    >>> in_options("No document of `actual` has a text, which match_method='rouge1+text' reads.")
    'No gold document has a text, which --match rouge1,text reads.'
    >>> in_options('With match_method="id" and id_key="source id", 2 of 2 queries would match.')
    "With --match id and --id-key 'source id', 2 of 2 queries would match."
    """
    message = _ARGUMENT.sub(lambda found: _option(found[1], found[2] or found[3] or found[4]), _CALL.sub("", message))
    message = _SIDE.sub(lambda found: f"{_SIDES[found[2]]} {found[1]}", message)
    return _NAME.sub(lambda found: f"`{_OPTIONS[found[1]]}`", message)


def _option(argument: str, value: str | None) -> str:
    value = value.replace("+", ",") if value and argument == "match_method" else value
    return _OPTIONS[argument] + (f" {shlex.quote(value)}" if value else "")
