"""`krag-eval convert`: convert a question set or a run to another format."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from krag_eval import InvalidInputError
from krag_eval._utils.checks import one_of
from krag_eval._utils.formatting import number_of
from krag_eval.cli.options import Force, GradeKey, IdKey, MaxBadRows, one_of_each
from krag_eval.datasets import read_evalset, read_run, write_evalset, write_run
from krag_eval.datasets.formats.registry import FORMATS, check_format, detect, format_to_write, kinds_in
from krag_eval.datasets.formats.source import Source

_KINDS = ("evalset", "run")


def convert(
    source: Annotated[Path, typer.Argument(metavar="IN", help="An evaluation set or a run; BEIR: the folder.")],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="The file to write; BEIR: the folder.")],
    from_format: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="FORMAT",
            help="The format of IN; detected by default.",
            autocompletion=one_of_each(FORMATS),
        ),
    ] = None,
    to_format: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="FORMAT",
            help="jsonl, json, csv, tsv, parquet, trec, scores, beir, llama_index, ragas or squad; "
            "by the ending of OUT by default.",
            autocompletion=one_of_each(FORMATS),
        ),
    ] = None,
    kind: Annotated[str | None, typer.Option(help="evalset or run, if IN holds both.")] = None,
    columns: Annotated[
        str | None,
        typer.Option(metavar="FIELD=COLUMN,...", help="Rename columns: question=query,gold=pos."),
    ] = None,
    queries: Annotated[Path | None, typer.Option(help="The query texts, for TREC qrels.")] = None,
    evalset: Annotated[Path | None, typer.Option(help="The questions of a run, for ragas rows.")] = None,
    id_key: IdKey = None,
    grade_key: GradeKey = "relevance",
    force: Force = False,
    max_bad_rows: MaxBadRows = 0,
) -> None:
    """Convert an evaluation set or a run; report on stderr what the new format cannot hold."""
    named = _parse_columns(columns)
    written = format_to_write(target, to_format)
    if target.exists() and not force:
        raise InvalidInputError(f"{target}: already exists. Choose another name, or overwrite it with --force.")
    read, kinds = _look_at(source, from_format, has_columns=bool(named), max_bad_rows=max_bad_rows)
    if (_only(kinds, source) if kind is None else one_of("--kind", kind, _KINDS)) == "evalset":
        questions = read_evalset(
            source,
            format=read,
            id_key=id_key,
            grade_key=grade_key,
            columns=named or None,
            queries=queries,
            max_bad_rows=max_bad_rows,
        )
        write_evalset(questions, target, format=written, id_key=id_key, grade_key=grade_key)
        count = number_of(len(questions), "question")
    else:
        known = None if evalset is None else read_evalset(evalset, id_key=id_key, grade_key=grade_key)
        run = read_run(source, known, format=read, id_key=id_key, max_bad_rows=max_bad_rows)
        write_run(run, target, format=written, evalset=known, id_key=id_key)
        count = number_of(len(run), "ranking")
    print(f"{count} from {source} ({read}) to {target} ({written})")


def _parse_columns(text: str | None) -> dict[str, str]:
    """Return `question=query,gold=pos` as a mapping; None gives an empty one."""
    pairs = [part.partition("=") for part in (text or "").split(",") if part.strip()]
    if any(not field.strip() or not column.strip() for field, _, column in pairs):
        raise InvalidInputError(f"`--columns` must be such as question=query,gold=pos, got {text!r:.80}.")
    return {field.strip(): column.strip() for field, _, column in pairs}


def _look_at(path: Path, name: str | None, *, has_columns: bool, max_bad_rows: int) -> tuple[str, Sequence[str]]:
    """Return the format of a file, and whether it holds an evaluation set, a run or both, if that can be detected."""
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
            f"{path}: holds an evaluation set and a run. Choose one with --kind evalset or --kind run."
        )
    return kinds[0] if kinds else "evalset"
