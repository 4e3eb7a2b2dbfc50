"""The rows of the evaluation set, as a page carries them so that a filtered list can be downloaded as a set.

A row is a line of JSON that `krag-eval evaluate` reads. Texts stand in the page once: in a row their place is taken by
a string that begins with `MARK`, which the page replaces by the text of that number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from krag_eval import KragEvalError, Question
from krag_eval.toolkit import dump_json
from krag_eval_report.html.numbered import Texts
from krag_eval_report.records import Report

MARK = "\x01"
"""What begins a string of a row that stands for a text; the number of the text follows, or `q` for the question."""
_TEXTS = ("question", "answer", "text")


def rows_of(report: Report, texts: Texts, redact: Callable[[str], str]) -> list[str | None] | None:
    """Return one line of JSON per question, with numbers for its texts; None without an evaluation set.

    Metadata and other fields of users are written without credentials. A row that JSON cannot hold is None.
    """
    if report.evalset is None:
        return None
    return [_line_of(question, texts, redact) for question in report.evalset]


def _line_of(question: Question, texts: Texts, redact: Callable[[str], str]) -> str | None:
    try:
        row = question.to_dict()
        asked = {"question": f"{MARK}q"} if "question" in row else {}
        return dump_json(_placed({**row, **dict.fromkeys(asked)}, texts, redact) | asked, question.id)
    except (KragEvalError, TypeError, ValueError):
        return None


def _placed(value: Any, texts: Texts, redact: Callable[[str], str], name: str | None = None) -> Any:
    if isinstance(value, dict):
        return {key: _placed(one, texts, redact, key) for key, one in _redacted(value, redact)}
    if isinstance(value, (list, tuple)):
        return [_placed(one, texts, redact, name) for one in value]
    if not isinstance(value, str):
        return value
    return f"{MARK}{texts.number(value)}" if value.startswith(MARK) or name in _TEXTS else redact(value)


def _redacted(fields: dict[str, Any], redact: Callable[[str], str]) -> Iterator[tuple[str, Any]]:
    """Yield the fields; a value that is a credential by its name or by itself is written without it."""
    for name, value in fields.items():
        if isinstance(value, str) and name not in _TEXTS:
            line = f"{name}: {value}"
            without = redact(line)
            yield name, value if without == line else without.removeprefix(f"{name}: ")
        else:
            yield name, value
