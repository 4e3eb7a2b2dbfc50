"""Write a report as CSV, JSON, Markdown or HTML.

CSV has one row per query and system, for spreadsheets. JSON has everything by name, with full precision and null for
undefined values. Markdown has the tables of GitHub.
"""

from __future__ import annotations

import errno
import itertools
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from krag_eval import InvalidInputError, __version__
from krag_eval.toolkit import (
    Argument,
    Section,
    Table,
    check_kind,
    check_path,
    csv_lines,
    did_you_mean,
    is_standard,
    json_text,
    refuse,
    write_atomically,
)
from krag_eval_report.build import build_report
from krag_eval_report.html.page import html_parts
from krag_eval_report.languages import language_of, translated
from krag_eval_report.markdown_tables import escape, escape_line, section_markdown
from krag_eval_report.records import (
    Report,
    ReportedSystem,
    causes_by_query,
    gold_by_query,
    retrieved_ids,
    slices_by_query,
)
from krag_eval_report.sections import sections_of


def report_csv(report: Report) -> Iterator[str]:
    """Return the header and one line per system and query, with full precision.

    Strings that a spreadsheet would take for a formula get a leading `'`, and strings too long for a cell are cut.
    Undefined values are empty.

    Raises:
        InvalidInputError: A result comes from a stream and has no queries.
    """
    slices = slices_by_query(report)
    keys = list(dict.fromkeys(key for system in report.systems for key in system.detail.values))
    before, after = ["system", "index", "id", "question"], ["n_gold", "n_retrieved", "causes", "error", *keys]
    columns = [*before, *_headings(slices, {*before, *after}), *after]
    rows = (row for system in report.systems for row in _rows(system, slices, keys))
    return csv_lines(itertools.chain([columns], rows))


def _headings(fields: Iterable[str], taken: set[str]) -> Iterator[str]:
    """Yield the names of fields; one that is the name of another column gets the prefix `slice`."""
    for field in fields:
        name = field
        while name in taken:
            name = f"slice {name}"
        taken.add(name)
        yield name


def _rows(system: ReportedSystem, slices: dict[str, list[list[str]]], keys: Sequence[str]) -> Iterator[list[Any]]:
    causes = causes_by_query(system)
    for query in system.result.per_query:
        yield [
            system.name,
            query.index,
            query.id,
            query.query,
            *("; ".join(of_field[query.index]) for of_field in slices.values()),
            query.n_gold,
            query.n_retrieved,
            "; ".join(causes[query.index]),
            query.error,
            *(query.values.get(key) for key in keys),
        ]


def json_lines(report: Report) -> Iterator[str]:
    """Yield the report as JSON in pieces: indented, with one line per query.

    Raises:
        InvalidInputError: A result comes from a stream and has no queries.
    """
    head = _dump(_without_queries(report), indent=2)
    yield head.removesuffix("\n}") + ',\n  "queries": ['
    for place, query in enumerate(_queries(report)):
        yield f"{',' if place else ''}\n    {_dump(query)}"
    yield "\n  ]\n}\n"


def _dump(value: dict[str, Any], indent: int | None = None) -> str:
    return json_text(value, indent=indent, allow_nan=False)


def _without_queries(report: Report) -> dict[str, Any]:
    questions = report.evalset
    return {
        "krag_eval": __version__,
        "title": report.title,
        "n_queries": report.n_queries,
        "evalset": None if questions is None else {"name": questions.name, "fingerprint": questions.fingerprint},
        "notes": list(report.notes),
        "systems": [_system(system) for system in report.systems],
        "comparison": None if report.comparison is None else report.comparison.to_dict(),
        "sections": [_section(section) for section in sections_of(report)],
    }


def _system(system: ReportedSystem) -> dict[str, Any]:
    result, diagnosis, run = system.result, system.diagnosis, system.run
    latency = None if run is None else run.latency
    return {
        "name": system.name,
        "signature": result.signature,
        "metrics": result.to_dict(),
        "intervals": None
        if result.intervals is None
        else {key: None if ends is None else list(ends) for key, ends in result.intervals.items()},
        "undefined": result.undefined,
        "no_answer": _named(result.no_answer, "n_queries", "empty_share", "mean_retrieved"),
        "unjudged": result.n_unjudged,
        "unmatchable": dict(result.unmatchable),
        "n_errors": len(result.errors),
        "latency": None if latency is None else latency.to_dict(),
        "parameters": {} if run is None else _plain(run.parameters),
        "recorded": {} if run is None else _plain(run.recorded),
        "causes": _named(diagnosis, "k", "n_gold", "n_found", "counts") | {"ceilings": asdict(diagnosis.ceilings)},
    }


def _named(holder: object, *names: str) -> dict[str, Any]:
    return {name: getattr(holder, name) for name in names}


def _plain(value: Any) -> Any:
    """Convert a recorded value to JSON: NaN and infinity become None, other types their text."""
    if isinstance(value, Mapping):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int)) else str(value)


def _section(section: Section) -> dict[str, Any]:
    return {
        "key": section.key,
        "title": section.title,
        "paragraphs": list(section.paragraphs),
        "tables": [_json_table(table) for table in section.tables],
    }


def _json_table(table: Table) -> dict[str, Any]:
    return {
        **_named(table, "key", "title", "note"),
        "columns": [_named(column, "key", "title", "help") for column in table.columns],
        "rows": [
            {
                column.key: {"value": _plain(cell.value), "text": cell.text}
                for column, cell in zip(table.columns, row, strict=True)
            }
            for row in table.rows
        ],
    }


def _queries(report: Report) -> Iterator[dict[str, Any]]:
    slices = slices_by_query(report)
    causes = {system.name: causes_by_query(system) for system in report.systems}
    columns = zip(
        zip(*(system.result.per_query for system in report.systems), strict=True),
        zip(*(gold_by_query(system) for system in report.systems), strict=True),
        zip(*(retrieved_ids(system) for system in report.systems), strict=True),
        strict=True,
    )
    for index, (rows, gold, retrieved) in enumerate(columns):
        first = rows[0]
        yield {
            "index": index,
            "id": first.id,
            "question": first.query or None,
            "slices": {field: values[index] for field, values in slices.items()},
            "n_gold": first.n_gold,
            "systems": {
                system.name: {
                    "values": dict(row.values),
                    "n_retrieved": row.n_retrieved,
                    "error": row.error,
                    "causes": causes[system.name][index],
                    "gold": fates,
                    "retrieved": ids,
                }
                for system, row, fates, ids in zip(report.systems, rows, gold, retrieved, strict=True)
            },
        }


def markdown(report: Report, language: str | None = None) -> Iterator[str]:
    """Yield the report as Markdown in pieces, in English or in another language; warnings of the core stay English.

    Raises:
        InvalidInputError: There is no such language, or a result comes from a stream and has no queries.
        MissingDependencyError: A package of the extra `report`, which languages need, is not installed.
    """
    if language is None:
        yield from markdown_of(report.title, report.notes, sections_of(report))
        return
    chosen = language_of(language)
    sections = (translated(section, chosen) for section in sections_of(report))
    yield from markdown_of(chosen.text(report.title), map(chosen.text, report.notes), sections)


def markdown_of(title: str, notes: Iterable[str], sections: Iterable[Section]) -> Iterator[str]:
    """Yield a title, notes and sections as Markdown in pieces."""
    yield f"# {escape(title)}\n"
    for note in notes:
        yield f"\n> {escape_line(note)}\n"
    for section in sections:
        yield from section_markdown(section)


FORMATS: dict[str, Callable[..., Iterable[str]]] = {
    "html": html_parts,
    "md": markdown,
    "json": json_lines,
    "csv": report_csv,
}
_IN_LANGUAGES = ("html", "md")
_ENDINGS = {".html": "html", ".htm": "html", ".md": "md", ".markdown": "md", ".json": "json", ".csv": "csv"}


def write_report(
    report: Report,
    path: str | os.PathLike[str],
    format: str | None = None,  # noqa: A002 - the word that users of such functions know
    force: bool = False,
    language: str | None = None,
) -> Path:
    """Write a report to a file, completely or not at all.

    Args:
        report: The result of `build_report`.
        path: The file to write.
        format: `"html"` (needs the extra `report`), `"md"`, `"json"` or `"csv"`; by default the ending of the path.
        force: Replace an existing file.
        language: `"en"`, `"ko"`, `"ru"` or `"zh"`, for HTML and Markdown (needs the extra `report`). By default
            Markdown is English, and a page is in the language of the reader's browser.

    Returns:
        The path.

    Raises:
        InvalidInputError: The format or the language is unknown, the file exists or cannot be written, or a result
            comes from a stream.
        MissingDependencyError: A package that HTML or the language needs is not installed.
    """
    check_kind(
        "report", report, Report, "Make one with `build_report({'name': result})`, or call `result.report(path)`."
    )
    target, chosen = check_target(path, format, force, language)
    parts = FORMATS[chosen](report) if language is None else FORMATS[chosen](report, language)
    try:
        write_atomically(target, parts)
    except OSError as error:
        raise InvalidInputError(
            f"{target}: cannot be written ({error.strerror or error}). Nothing was changed. Give another path."
        ) from error
    return target


def report_file(
    path: str | os.PathLike[str],
    evalset: object,
    systems: Mapping[str, Any],
    *,
    format: str | None = None,  # noqa: A002
    force: bool = False,
    language: str | None = None,
    **options: Any,
) -> Path:
    """Build a report and write it, once the path and the format are known to be right; the entry point of `.report`."""
    check_target(path, format, force, language)
    report = build_report(evalset, systems, **options)
    return write_report(report, path, format=format, force=force, language=language)


def check_target(
    path: str | os.PathLike[str],
    format: str | None = None,  # noqa: A002
    force: bool = False,
    language: str | None = None,
) -> tuple[Path, str]:
    """Check the path, the format and the language before any work starts.

    Raises:
        InvalidInputError: The format or the language is unknown, the file exists, or its folder does not.
    """
    check_path(path)
    if not os.fspath(path):
        raise InvalidInputError("`path` is empty. Give the name of a file, such as report.html.")
    target = Path(path)
    chosen = _format_of(target, format)
    if language is not None:
        if chosen not in _IN_LANGUAGES:
            raise InvalidInputError(
                Argument("language"),
                f" is for html and md; {chosen} has the same names in every language. Leave it out.",
            )
        language_of(language)
    if is_standard(target):
        return target, chosen
    if target.is_dir():
        raise InvalidInputError(f"{target}: is a folder. Give the path of a file in it, such as report.{chosen}.")
    if target.is_file() and not force:
        raise InvalidInputError(
            f"{target}: already exists. Give another path, or replace it with ", Argument("force", True), "."
        )
    folder = target.parent
    if not folder.is_dir():
        what = "is not a folder" if folder.exists() else "does not exist"
        raise InvalidInputError(f"{target}: its folder {what}. Create the folder first, or give another path.")
    if not os.access(folder, os.W_OK) and not target.exists():
        raise InvalidInputError(
            f"{target}: cannot be written ({os.strerror(errno.EACCES)}). Give a path in a folder that you may write to."
        )
    return target, chosen


def _format_of(path: Path, given: str | None) -> str:
    known = ", ".join(FORMATS)
    if str(path) == "-" and not (is_standard(path) and given):
        refuse("path", "a file such as report.html", "-", "Give one, or a ", Argument("format"), ".")
    if given is not None:
        name = str(given).lower().removeprefix(".")
        if name not in FORMATS:
            raise InvalidInputError(
                Argument("format"),
                f" {given!r:.60} is not a report format.{did_you_mean(given, FORMATS)} Known formats: {known}.",
            )
        return name
    ending = path.suffix.lower()
    if ending not in _ENDINGS:
        found = f"the unknown ending {ending!r}" if ending else "no ending"
        raise InvalidInputError(
            f"{path}: has {found}. It must end with .html, .md, .json or .csv. Rename it, or give a ",
            Argument("format"),
            f" of {known}.",
        )
    return _ENDINGS[ending]
