"""Say with options what messages of the library say with Python arguments."""

from __future__ import annotations

import ast
import json
import re
import shlex
import sys

# What messages of the library call a thing, and what it is called on the command line.
_SAME_NAMES = (
    "allow_repeated_ids", "baseline", "budgets", "by", "cluster", "columns", "concurrency", "confidence", "containment",
    "corpus", "depth", "doc_key", "effect", "embedding_prefix", "embeddings", "encoding", "evalset", "force",
    "format", "fresh", "gain", "grade_key", "id_key", "journal", "k", "keep", "level", "llm",
    "margin", "max_bad_rows", "max_error_rate", "metrics", "missing", "n_bootstrap", "n_randomisation", "near",
    "near_questions", "power", "precision_denominator", "repeated", "resume", "retries", "retry_errors",
    "rouge_measure", "samples", "seed", "sheet", "similarity_threshold", "skip_e2e", "span_measure", "threshold",
    "timeout", "tokenizer", "unjudged", "use_stemmer", "weights", "workers",
)  # fmt: skip
_OPTIONS = {name: f"--{name.replace('_', '-')}" for name in _SAME_NAMES} | {
    "match_method": "--match",
    "judge": "--judge",
    "people": "--labels",
    "normalize": "--raw-text",
}
_SIDES = {"actual": "gold", "predicted": "retrieved"}
# force=True, missing='empty', threshold=0.4
_ARGUMENT = re.compile(
    rf"`?\b({'|'.join(_OPTIONS)})=(?:True|(all|[0-9.]*[0-9](?:,[0-9]+)*)|\"([^\"]+)\"|'([^']+)'|\[([^]]+)\])`?"
)
_NAME = re.compile(rf"`({'|'.join(_OPTIONS)})`")
_SIDE = re.compile(rf"(documents?) of `({'|'.join(_SIDES)})`")
_COLUMNS = re.compile(r"columns=(\{(?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[^'\"}])*\})")
_TABLE = re.compile(r"\b(encoding|format|sheet)=('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")")
_TABLE_OPTIONS = {"encoding": "--encoding", "format": "--from", "sheet": "--sheet"}
_FLATTEN = re.compile(r'run\.flatten\("(\w+)"\)')
_LIMIT = re.compile(r'set_limits\((\w+)="(\w+)"\)')
_CALL = re.compile(r", or call `\w+`|; `\w+` numbers rows without one")  # which the command line cannot do
# How the ids of a side are spelled, as an expression of `id`.
_SPELLED = re.compile(r"\b((?:id|re)\.[a-z]+\(.*?) for the (gold and retrieved|gold|retrieved) ids")
_SPELLINGS = (
    (r"id\.removeprefix\((.*)\)", r"without the prefix \1"),
    (r"id\.removesuffix\((.*)\)", r"without the suffix \1"),
    (r"id\.rpartition\((.*)\)\[0\]", r"cut off at the last \1"),
    (r"id\.rpartition\((.*)\)\[2\]", r"from the last \1 on, without it"),
    (r"id\.partition\((.*)\)\[0\]", r"cut off at the first \1"),
    (r"id\.partition\((.*)\)\[2\]", r"from the first \1 on, without it"),
    (r"id\.strip\(\)", "without surrounding white space"),
    (r"id\.casefold\(\)", "in lower case"),
    (r"id\.strip\(\)\.casefold\(\)", "in lower case and without surrounding white space"),
    (r"re\.sub\(.*\)", "without leading zeros in their numbers"),
)


def as_typed(message: str) -> str:
    """Return a message with what to type: options, or, for the gate, the settings of its policy file."""
    command = sys.argv[1] if len(sys.argv) > 1 else ""
    return _with_sides(message) if command == "gate" else in_options(message)


def in_options(message: str) -> str:
    """Return a message of the library with options in place of Python arguments.

    >>> in_options("Choose another name, or overwrite it with force=True.")
    'Choose another name, or overwrite it with --force.'
    >>> in_options("No document of `actual` has a text, which match_method='rouge1+text' reads.")
    'No gold document has a text, which --match rouge1,text reads.'
    >>> in_options('With match_method="id" and id_key="source id", 2 of 2 queries would match.')
    "With --match id and --id-key 'source id', 2 of 2 queries would match."
    >>> in_options("Say so: columns={'gold': '정답 문서'}, encoding='cp949'.")
    "Say so: --columns 'gold=정답 문서', --encoding cp949."
    >>> in_options('With id.removesuffix("-1") for the retrieved ids, 2 of 2 queries would match.')
    'With the retrieved ids without the suffix "-1", 2 of 2 queries would match.'
    """
    message = _FLATTEN.sub(r"--flatten \1", _LIMIT.sub(r"--limits \1=\2", message))
    message = _COLUMNS.sub(lambda found: _columns(ast.literal_eval(found[1])), message)
    message = _TABLE.sub(lambda found: f"{_TABLE_OPTIONS[found[1]]} {shlex.quote(ast.literal_eval(found[2]))}", message)
    message = _ARGUMENT.sub(lambda found: _option(*found.groups()), _CALL.sub("", message))
    message = _with_sides(_SPELLED.sub(_spelled, message))
    return _NAME.sub(lambda found: f"`{_OPTIONS[found[1]]}`", message)


def _with_sides(message: str) -> str:
    """Return a message without the names of Python's two lists."""
    return _SIDE.sub(lambda found: f"{_SIDES[found[2]]} {found[1]}", message)


def _columns(columns: dict[str, str]) -> str:
    """Return the option that names these columns."""
    pairs = ",".join(f"{field}={column}" for field, column in columns.items())
    is_plain = not any(re.search("[,={]", column) for column in columns.values())
    return f"--columns {shlex.quote(pairs if is_plain else json.dumps(columns, ensure_ascii=False))}"


def _spelled(found: re.Match[str]) -> str:
    """Say in words how ids are to be spelled."""
    words = (known.expand(how) for pattern, how in _SPELLINGS if (known := re.fullmatch(pattern, found[1])))
    return next((f"the {found[2]} ids {how}" for how in words), found[0])


def _option(argument: str, *values: str | None) -> str:
    """Return an option with its value, of which one way to write it is given."""
    *_, listed = values
    value = re.sub("['\" ]", "", listed) if listed else next(filter(None, values), "")
    value = value.replace("+", ",") if argument == "match_method" else value
    return _OPTIONS[argument] + (f" {shlex.quote(value)}" if value else "")
