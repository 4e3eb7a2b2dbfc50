"""`krag-eval convert`: a question set or a run from one format into another."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence, Sized
from pathlib import Path
from typing import TypeVar

from krag_eval import InvalidInputError
from krag_eval.checks import one_of
from krag_eval.cli.tables import notes
from krag_eval.errors import KragEvalWarning
from krag_eval.evalset import read_evalset, read_run, write_evalset, write_run
from krag_eval.evalset.formats.choosing import check_format, format_to_write
from krag_eval.evalset.formats.detect import detect, kinds_in
from krag_eval.evalset.formats.source import Source
from krag_eval.evalset.formats.table import FORMATS

KINDS = ("evalset", "run")
T = TypeVar("T")


def parse_columns(text: str | None) -> dict[str, str]:
    """`question=query,gold=pos` as a mapping; None is an empty one."""
    pairs = [part.partition("=") for part in (text or "").split(",") if part.strip()]
    if any(not field.strip() or not column.strip() for field, _, column in pairs):
        raise InvalidInputError(f"`--columns` must be such as question=query,gold=pos, got {text!r:.80}.")
    return {field.strip(): column.strip() for field, _, column in pairs}


def run_convert(
    source: Path,
    target: Path,
    *,
    from_format: str | None,
    to_format: str | None,
    kind: str | None,
    force: bool,
    evalset: Path | None,
    queries: Path | None,
    columns: Mapping[str, str],
    id_key: str | None,
    grade_key: str,
    max_bad_rows: int = 0,
) -> None:
    """Read, write, and say what was written and what could not be."""
    written = format_to_write(target, to_format)
    if target.exists() and not force:
        raise InvalidInputError(f"{target}: is there already. Choose another name, or replace it with --force.")
    read, kinds = _look_at(source, from_format, has_columns=bool(columns), max_bad_rows=max_bad_rows)
    if (_only(kinds, source) if kind is None else one_of("--kind", kind, KINDS)) == "evalset":
        questions = noted(
            lambda: read_evalset(
                source,
                format=read,
                id_key=id_key,
                grade_key=grade_key,
                columns=columns or None,
                queries=queries,
                max_bad_rows=max_bad_rows,
            )
        )
        noted(lambda: write_evalset(questions, target, format=written, id_key=id_key, grade_key=grade_key))
        count = _count(questions, "question")
    else:
        known = None if evalset is None else noted(lambda: read_evalset(evalset, id_key=id_key, grade_key=grade_key))
        run = noted(lambda: read_run(source, known, format=read, id_key=id_key, max_bad_rows=max_bad_rows))
        noted(lambda: write_run(run, target, format=written, evalset=known, id_key=id_key))
        count = _count(run, "ranking")
    print(f"{count} from {source} ({read}) to {target} ({written})")


def _look_at(path: Path, name: str | None, *, has_columns: bool, max_bad_rows: int) -> tuple[str, Sequence[str]]:
    """The format of a file, and whether it holds an evaluation set or a run, as far as it can be told."""
    if name is not None:
        source = Source(path, FORMATS[check_format(name)].container, max_bad_rows=max_bad_rows)
        return name, kinds_in(source, name)
    source = Source(path, max_bad_rows=max_bad_rows)
    if has_columns and source.container is not None:
        return source.container, ("evalset",)
    return detect(source)


def _only(kinds: Sequence[str], path: Path) -> str:
    if len(kinds) > 1:
        raise InvalidInputError(
            f"{path}: holds an evaluation set and a run. Say which one to convert with --kind evalset or --kind run."
        )
    return kinds[0] if kinds else "evalset"


def noted(work: Callable[[], T]) -> T:
    """What the work gives; its warnings go to stderr, a line each."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", KragEvalWarning)
        result = work()
    for warning in caught:
        notes().print(str(warning.message), markup=False)
    return result


def _count(things: Sized, word: str) -> str:
    return f"1 {word}" if len(things) == 1 else f"{len(things)} {word}s"
