"""Question sets and runs from files and into files, in the format that is named or that the file shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from krag_eval._utils.checks import check_kind, check_path
from krag_eval._utils.errors import InvalidInputError, warn
from krag_eval._utils.files.io import StrPath
from krag_eval._utils.formatting import number_of
from krag_eval.datasets.argument_order import gold_first
from krag_eval.datasets.beside import beside
from krag_eval.datasets.bulk import without_collector
from krag_eval.datasets.evalset import EvalSet
from krag_eval.datasets.formats import native
from krag_eval.datasets.formats.registry import open_source, write
from krag_eval.datasets.formats.source import check_documents, stem
from krag_eval.datasets.question import Question, check_new
from krag_eval.datasets.run import Run, RunRow, known
from krag_eval.documents.readers import IdKey


def read_evalset(
    path: StrPath,
    *,
    format: str | None = None,  # noqa: A002 - the word that pandas, polars and the command line use
    id_key: IdKey | None = None,
    grade_key: str = "relevance",
    columns: Mapping[str, str | Sequence[str]] | None = None,
    queries: StrPath | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    rows: str | None = None,
    separator: str | None = None,
    max_bad_rows: int = 0,
) -> EvalSet:
    """Read a set of questions.

    Args:
        path: The file, or a BEIR folder.
        format: A name of `FORMATS`; by default what the ending and the beginning of the file show.
        id_key: The key of the metadata under which ids will be read; gold documents need nothing else then. Several
            keys are one id together: `("document", "page")`.
        grade_key: The key of the metadata under which grades will be read.
        columns: For rows with other names, the column of each field of `Question`: `{"question": "query"}`; by default
            what `inspect_file` finds, if that is certain. A nested field is a path: `inputs.question`. A name
            without a number stands for all numbered columns: `gold_1`, `gold_2` and so on.
        queries: A file with the texts of the queries, for TREC qrels, which have ids alone.
        encoding: The encoding of a text that is not UTF-8, such as `"cp949"`.
        sheet: The sheet of a workbook, if several hold something.
        rows: The key under which a JSON or YAML file has its rows, if several keys hold rows.
        separator: What separates the ids in a cell or a string; by default what looks like it in cells of tables.
        max_bad_rows: How many bad lines of a file of JSONL, CSV, TSV or TREC may be skipped, with a warning, and saved
            in `path.rejected.jsonl`; with 0 the first bad line is an error.

    Raises:
        InvalidInputError: The file cannot be read; the message begins with `path:line:` if a line is to blame.
        MissingDependencyError: The format needs a package that is not installed.
    """
    check_path(path)
    keys = () if id_key is None or isinstance(id_key, str) else tuple(id_key)
    table: dict[str, Any] = {"columns": columns, "encoding": encoding, "sheet": sheet, "rows": rows}
    source, read = open_source(
        path, format, "evalset", separator=separator, id_key=keys, max_bad_rows=max_bad_rows, **table
    )
    questions: dict[str, Question] = {}

    def check(place: str, question: Question) -> Question:
        check_documents(place, "gold", question.gold, id_key=id_key, grade_key=grade_key, is_gold=True)
        check_new(question.id, questions, f"{place}: the question id")
        return question

    with without_collector(), source.rejects.kept(source.lines):
        for _, question in source.rejects.each(read(source), check):
            questions[question.id] = question
        if not questions:
            raise InvalidInputError(f"{path}: holds no question. An evaluation set needs at least one.")
    evalset = EvalSet(questions.values(), name=source.name, **source.set_rules)
    evalset = evalset if queries is None else beside("queries")(evalset, queries, encoding)
    again = [text for text, n in Counter(evalset.texts).items() if n > 1 and text.strip()] if source.is_numbered else []
    if again:
        warn(
            f"{path}: has no ids, and {number_of(len(again), 'question')} in several rows, such as {again[0]!r:.60}. "
            "Each row is scored by itself: if a row is one gold document of its question, put all into one row."
        )
    evalset.n_rejected = len(source.rejects)
    return evalset


def write_evalset(
    evalset: EvalSet,
    path: StrPath,
    *,
    format: str | None = None,  # noqa: A002 - as above
    id_key: IdKey | None = None,
    grade_key: str = "relevance",
) -> None:
    """Write a set of questions, whole or not at all; what the format cannot hold is named in a warning.

    Args:
        evalset: The questions.
        path: The file, or for BEIR the folder, which must not exist.
        format: A name of `FORMATS`; by default the one of the ending.
        id_key: The metadata key of the ids to write, for formats that hold one id per document.
        grade_key: The metadata key of the grades to write, for formats that hold one grade per document.

    Raises:
        InvalidInputError: It cannot be written, its ending belongs to no format, or it could hold nothing of the set.
        MissingDependencyError: The format needs a package that is not installed.
    """
    check_kind("evalset", evalset, EvalSet, "Make one with `EvalSet(rows)` or `as_evalset`; it comes before the path.")
    check_path(path)
    write(path, format, "evalset", evalset, id_key=id_key, grade_key=grade_key)


@gold_first(old="path, evalset")
def read_run(
    path: StrPath,
    *,
    evalset: EvalSet | None = None,
    name: str | None = None,
    format: str | None = None,  # noqa: A002 - as above
    id_key: IdKey | None = None,
    columns: Mapping[str, str | Sequence[str]] | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    rows: str | None = None,
    separator: str | None = None,
    max_bad_rows: int = 0,
) -> Run:
    """Read what a retriever returned.

    Args:
        path: The file, which may be the journal of `run_retriever`, also of a run that was cut short.
        evalset: The set that the run must belong to.
        name: The name of the run; by default the one in the file, else the file's name without its ending.
        format: A name of `FORMATS`; by default what the ending and the beginning of the file show.
        id_key: The key of the metadata under which ids will be read.
        columns: For rows with other names, the column of each field: `{"query_id": "id", "retrieved": "result"}`. A
            name without a number stands for all numbered columns: `result_1`, `result_2` and so on.
            `retrieved_ids` and `retrieved_texts` say what these hold. Rows without ids belong to the questions with
            the same `question`.
        encoding: As for `read_evalset`.
        sheet: As for `read_evalset`.
        rows: As for `read_evalset`.
        separator: As for `read_evalset`.
        max_bad_rows: How many bad lines of a file of JSONL, CSV, TSV or TREC may be skipped, with a warning, and saved
            in `path.rejected.jsonl`; with 0 the first bad line is an error. A
            ranking that is skipped counts as nothing retrieved.

    Raises:
        InvalidInputError: The file cannot be read; the message begins with `path:line:` if a line is to blame.
        MissingDependencyError: The format needs a package that is not installed.
    """
    check_path(path)
    table: dict[str, Any] = {"columns": columns, "encoding": encoding, "sheet": sheet, "rows": rows}
    source, read = open_source(
        path, format, "run", evalset=evalset, separator=separator, max_bad_rows=max_bad_rows, **table
    )
    header = native.run_header(source) if read is native.rankings else {}
    rankings: dict[str, RunRow] = {}
    unknown: list[str] = []
    again: dict[str, list[str | None]] = {}

    def check(place: str, row: RunRow) -> RunRow:
        ids = [one.id for one in row.retrieved]
        if None in ids or row.searches or row.cited:  # few rows must be looked at closer
            if header and (checked := known(row, id_key, place)) is not row:  # older versions recorded such rows
                row = checked
                unknown.append(str(row.error))
            check_documents(place, "retrieved", row.found, id_key=id_key)
            ids = [one.id for one in row.retrieved if one.id is not None]
        check_new(row.query_id, rankings, f"{place}: the query")
        if evalset is not None and evalset.get(row.query_id) is None:
            raise InvalidInputError(
                f"{place}: the evaluation set has no question {row.query_id!r:.60}. Is this the run of another set?"
            )
        if len({*ids}) < len(ids):
            again[row.query_id] = ids
        return row

    with without_collector(), source.rejects.kept(source.lines):
        for _, row in source.rejects.each(read(source), check):
            rankings[row.query_id] = row
    if not rankings:
        warn(f"{path}: holds no ranking, so every question counts as nothing retrieved. Is it the right file?")
    if again:
        first, ids = next(iter(again.items()))
        twice = next(one for one, n in Counter(ids).items() if n > 1)
        warn(
            f"{path}: {number_of(len(again), 'query')} with the same document several times, such as {twice!r:.60} for "
            f"{first!r:.60}. Only its first rank can count as found."
        )
    if unknown:
        warn(
            f"{path}: the retriever returned something else than documents for {number_of(len(unknown), 'question')}, "
            f"which count as errors: {unknown[0]}. Run the retriever again to ask them again."
        )
    return Run(
        name=name or header.get("name") or stem(path),
        rows=rankings,
        parameters=header.get("parameters", {}),
        recorded=header.get("recorded", {}),
        n_rejected=len(source.rejects),
    )


def write_run(
    run: Run,
    path: StrPath,
    *,
    format: str | None = None,  # noqa: A002 - as above
    evalset: EvalSet | None = None,
    id_key: IdKey | None = None,
) -> None:
    """Write a run, whole or not at all; what the format cannot hold is named in a warning.

    Args:
        run: The rankings.
        path: The file.
        format: A name of `FORMATS`; by default the one of the ending.
        evalset: The questions, for rows of ragas, which hold both.
        id_key: The metadata key of the ids to write, for formats that hold one id per document.

    Raises:
        InvalidInputError: It cannot be written, its ending belongs to no format, or it could hold nothing of the run.
        MissingDependencyError: The format needs a package that is not installed.
    """
    check_kind("run", run, Run, "Make one with `Run.of(name, rows)` or `run_retriever`; it comes before the path.")
    check_path(path)
    write(path, format, "run", run, id_key=id_key, evalset=evalset)
