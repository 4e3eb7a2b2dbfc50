"""`krag-eval chunkers`: compare chunkings of a corpus on the same spans, at equal budgets of tokens."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from krag_eval import InvalidInputError
from krag_eval.toolkit import CallSettings, Table, refuse
from krag_eval_chunkers.compare import BUDGETS, CUT_APART, compare_chunkers
from krag_eval_chunkers.local import LOCAL
from krag_eval_cli.files import FileOptions
from krag_eval_cli.loading import load_object
from krag_eval_cli.options import Declared
from krag_eval_cli.output import (
    Bars,
    check_report,
    collected_warnings,
    console,
    print_notes,
    print_section,
    print_written,
    put_json,
    stopping,
    write_all,
)

_SIZE = re.compile(r"(?:words|chars):|\w+:\d")  # no object of a module has a name that begins with a digit


def chunkers(
    evalset: Path,
    *,
    corpus: Path,
    chunker: list[str],
    retriever: str = "bm25",
    budgets: str | None = None,
    baseline: str | None = None,
    cluster: str | None = None,
    show: Annotated[int, Declared(least=0)] = 10,
    out: Path | None = None,
    plots: Path | None = None,
    force: bool = False,
    json_out: Path | None = None,
    files: FileOptions,
    **passed: Annotated[Any, CallSettings, "concurrency timeout retries"],
) -> None:
    """Compare chunkers: how much of the same gold spans a retriever finds, at equal token budgets.

    Parameters:
        evalset (EVALSET): Questions whose gold documents are spans of the corpus.
        corpus: The documents to split, in any format that reanchor reads.
        chunker ([NAME=]CHUNKER): words:SIZE:OVERLAP, chars:SIZE:OVERLAP, or module:object, such as chunking:recursive:
            a splitter of LangChain, LlamaIndex, chonkie or semchunk, a function from a text to its chunks, or a class
            or function that makes one; repeatable.
        retriever (RETRIEVER): bm25, bm25-characters, dense, hybrid, or module:object: a function from a list of chunks
            to a retriever.
        budgets (N,N,...): Budgets in tokens; 200,400,800,1600 by default.
        baseline (NAME): The chunker to compare with; the best one by default.
        show: How many questions whose span is split to show.
        out: Write a report as .html, .md, .json or .csv.
        plots (DIR): Write the plots into this folder, as SVG and as PNG.
        concurrency: How many questions to ask at a time.
        timeout (SECONDS): Seconds per attempt.
        retries: How often to retry a failed question.
    """
    check_report(out, [evalset, corpus], force)
    found = _read(chunker)
    search = retriever if retriever in LOCAL else load_object(retriever, "--retriever", "a function")
    questions, documents = files.evalset(evalset), files.corpus(corpus)
    with stopping(), collected_warnings() as caught, Bars() as bars:
        compared = compare_chunkers(
            questions,
            documents,
            found,
            search,
            BUDGETS if budgets is None else _numbers(budgets),
            baseline=baseline,
            cluster=cluster,
            progress=bars.show,
            **passed,
        )
    print_notes(caught)
    if put_json(json_out, compared.to_json):
        return
    written = write_all(compared.as_report(), out, plots, format=None, force=force) if out or plots else []
    for section in compared.sections:
        print_section(replace(section, tables=tuple(_shortened(section.tables, show))), console())
        console().print()
    print_written(written)


def _shortened(tables: Sequence[Table], most: int) -> Iterator[Table]:
    """Yield the tables, that of the questions that are cut apart with at most so many rows."""
    for table in tables:
        n_more = len(table.rows) - most if table.key == CUT_APART else 0
        note = f"and {n_more} more. Show them all with --show {len(table.rows)}."
        yield replace(table, rows=table.rows[:most], note=note) if n_more > 0 else table


def _read(given: list[str]) -> dict[str, object]:
    """Return the chunkers by name: the one given, the object of a module, or the sizes as they are written."""
    found: dict[str, object] = {}
    for text in given:
        name, equals, spec = text.rpartition("=")
        is_size = _SIZE.match(spec) is not None
        name = name if equals else spec if is_size else spec.partition(":")[2] or spec
        if name in found:
            raise InvalidInputError(
                f"`--chunker` names two chunkers {name!r:.60}. Put another name and an equals sign before one of them."
            )
        found[name] = spec if is_size else load_object(spec, "--chunker", "a chunker")
    return found


def _numbers(text: str) -> list[int]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and len(part) < 19 for part in parts):
        refuse("budgets", "numbers of tokens such as 200,400", text)
    return [int(part) for part in parts]
