"""A report as JSON: everything by name, numbers in full, None where undefined."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

from krag_eval._version import __version__
from krag_eval.report.by_query import causes_by_query, gold_by_query, retrieved_ids, slices_by_query
from krag_eval.report.records import Report, ReportedSystem, Section, Table
from krag_eval.report.sections import sections_of


def json_lines(report: Report) -> Iterator[str]:
    """The report as JSON in pieces: indented, but for the queries, each of which takes one line.

    Raises:
        InvalidInputError: A result was streamed and kept no queries.
    """
    head = _dump(_without_queries(report), indent=2)
    yield head.removesuffix("\n}") + ',\n  "queries": ['
    for place, query in enumerate(_queries(report)):
        yield f"{',' if place else ''}\n    {_dump(query)}"
    yield "\n  ]\n}\n"


def _dump(value: dict[str, Any], indent: int | None = None) -> str:
    text = json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False)
    # A lone surrogate cannot be written as UTF-8; its escape can, and means the same in JSON.
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


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
        "no_answer": {
            "n_queries": result.no_answer.n_queries,
            "empty_share": result.no_answer.empty_share,
            "mean_retrieved": result.no_answer.mean_retrieved,
        },
        "unjudged": result.n_unjudged,
        "unmatchable": dict(result.unmatchable),
        "n_errors": len(result.errors),
        "latency": None if latency is None else latency.to_dict(),
        "parameters": {} if run is None else _plain(run.parameters),
        "recorded": {} if run is None else _plain(run.recorded),
        "causes": {
            "k": diagnosis.k,
            "n_gold": diagnosis.n_gold,
            "n_found": diagnosis.n_found,
            "counts": diagnosis.counts,
            "ceilings": {name: getattr(diagnosis.ceilings, name) for name in type(diagnosis.ceilings).__slots__},
        },
    }


def _plain(value: Any) -> Any:
    """What a user recorded, as JSON can hold it: what is no number becomes None, what is of another type its text."""
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
        "tables": [_table(table) for table in section.tables],
    }


def _table(table: Table) -> dict[str, Any]:
    return {
        "key": table.key,
        "title": table.title,
        "note": table.note,
        "columns": [{"key": column.key, "title": column.title, "help": column.help} for column in table.columns],
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
                    "gold": [{"id": fate.id, "cause": fate.cause, "rank": fate.rank} for fate in fates],
                    "retrieved": ids,
                }
                for system, row, fates, ids in zip(report.systems, rows, gold, retrieved, strict=True)
            },
        }
