"""`krag-eval convert`: convert a question set or a run to another format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from krag_eval import InvalidInputError, read_evalset, read_run, write_evalset, write_run
from krag_eval.toolkit import Format, Source, load, no_looser_than, number_of, one_of
from krag_eval_cli.files import FileOptions, check_free
from krag_eval_cli.output import console

_KINDS = ("evalset", "run")


def convert(
    source: Path,
    target: Path,
    *,
    to_format: str | None = None,
    kind: str | None = None,
    queries: Path | None = None,
    evalset: Path | None = None,
    id_key: str | None = None,
    grade_key: str = "relevance",
    force: bool = False,
    max_bad_rows: int = 0,
    files: FileOptions,
) -> None:
    """Convert an evaluation set or a run; report on stderr what the new format cannot hold.

    Parameters:
        source (IN): An evaluation set or a run; BEIR: the folder.
        target (OUT): The file to write; BEIR: the folder.
        to_format (--to FORMAT): {to_format}; by the ending of OUT by default, and jsonl for `-`.
        kind: evalset or run, if IN holds both.
        queries: The query texts, for TREC qrels.
        evalset: The questions of a run, for ragas rows.
    """
    named, table = files.named_columns(), files.table(source) | {"rows": files.rows}
    written = Format.name_to_write(target, to_format)
    check_free(target, force)
    read, kinds = _look_at(source, files.from_format, named, table)
    settings: dict[str, Any] = {"format": read, "columns": named or None, "max_bad_rows": max_bad_rows, **table}
    settings["separator"] = files.separator
    if (_only(kinds, source) if kind is None else one_of("kind", kind, _KINDS)) == "evalset":
        questions = read_evalset(source, id_key=id_key, grade_key=grade_key, queries=queries, **settings)
        with no_looser_than(source):
            write_evalset(questions, target, format=written, id_key=id_key, grade_key=grade_key)
        count = number_of(len(questions), "question")
    else:
        known = (
            None
            if evalset is None
            else read_evalset(evalset, id_key=id_key, grade_key=grade_key, **files.table(evalset))
        )
        run = read_run(source, evalset=known, id_key=id_key, **settings)
        with no_looser_than(source):
            write_run(run, target, format=written, evalset=known, id_key=id_key)
        count = number_of(len(run), "ranking")
    console().print(f"{count} from {source} ({read}) to {target} ({written})", soft_wrap=True)


def _look_at(
    path: Path, name: str | None, columns: Mapping[str, str], table: Mapping[str, Any]
) -> tuple[str, Sequence[str]]:
    """Return the format of a file, and whether it holds an evaluation set, a run or both, if that can be detected."""
    its = None if name is None else Format.named(name)
    source = Source(path, None if its is None else its.container, columns=columns, **table)
    if columns and source.container is not None:
        return name or source.container, source.named_kinds
    read, kinds = Format.detect(source) if name is None or its is None else (name, its.kinds_in(source))
    found = load("krag_eval.formats", "inspect")(path, **table).kind if not kinds and source.sample else ""
    return read, {"run": ("run",), "log": ("run",), "both": _KINDS}.get(found, kinds)


def _only(kinds: Sequence[str], path: Path) -> str:
    if len(kinds) > 1:
        raise InvalidInputError(
            f"{path}: holds an evaluation set and a run. Choose one with --kind evalset or --kind run."
        )
    return kinds[0] if kinds else "evalset"
