"""Which format a file is in, by its ending and by what it begins with."""

from __future__ import annotations

from typing import Literal

from krag_eval.errors import InvalidInputError
from krag_eval.evalset.formats import beir, hf, llama_index, ragas, scores, squad, trec_lines
from krag_eval.evalset.formats.journal import RUN_HEADER
from krag_eval.evalset.formats.source import Source
from krag_eval.evalset.formats.table import FORMATS
from krag_eval.files import SAVE_AS_UTF8, is_folder, looks_like

Kind = Literal["evalset", "run"]
_OF_RUNS = frozenset({"query_id", "retrieved", RUN_HEADER})
_OF_RAGAS = frozenset({"user_input", *ragas.REFERENCE, *ragas.RETRIEVED})


def detect(source: Source) -> tuple[str, tuple[Kind, ...]]:
    """The name of the format, and what the file holds in it: an evaluation set, a run, or both.

    Raises:
        InvalidInputError: The file cannot be opened, or is in no format that is known.
    """
    if beir.is_beir(source.path):
        return "beir", ("evalset",)
    if source.is_folder:
        raise InvalidInputError(
            f"{source.path}: cannot be read (Is a directory). "
            "A folder must be one of BEIR: with queries.jsonl, corpus.jsonl and qrels/test.tsv."
        )
    if not source.is_regular:
        return source.container or "jsonl", ()
    if source.container in (None, "tsv"):
        found = _of_lines(source)
        if found is not None:
            return found
    if source.container is None:
        hint = looks_like(source.head)
        raise InvalidInputError(
            f"{source.path}: is in no format that can be told from its name or its beginning{hint}. "
            + (SAVE_AS_UTF8 if hint else f"Name the format: {', '.join(FORMATS)}.")
        )
    return _of_document(source) if source.container == "json" else _of_names(source, source.names)


def kinds_in(source: Source, name: str) -> tuple[Kind, ...]:
    """What a file holds whose format was named, as far as it can be told.

    Raises:
        InvalidInputError: The file cannot be opened.
    """
    if FORMATS[name].rankings is None:
        return ("evalset",)
    if not source.is_regular:
        return ()
    if name in ("trec", "scores"):
        found = _of_lines(source) if name == "trec" else _of_document(source)
    else:
        found = _of_names(source, source.names)
    return found[1] if found is not None else ()


def _of_lines(source: Source) -> tuple[str, tuple[Kind, ...]] | None:
    """TREC's, which have no header and any ending, or the header of BEIR's qrels."""
    line = next((line for line in source.head.split(b"\n") if line.strip() and not line.startswith(b"#")), b"")
    if trec_lines.is_qrels(line):
        return "trec", ("evalset",)
    if trec_lines.is_results(line):
        return "trec", ("run",)
    return ("beir", ("evalset",)) if line.split() == [name.encode() for name in beir.HEADER] else None


def _of_document(source: Source) -> tuple[str, tuple[Kind, ...]]:
    document = source.document
    if llama_index.is_llama_index(document):
        return "llama_index", ("evalset",)
    if squad.is_squad(document):
        return "squad", ("evalset",)
    if scores.is_scores(document):
        return "scores", ("evalset", "run") if scores.are_whole(document) else ("run",)
    return _of_names(source, source.names)


def _of_names(source: Source, names: frozenset[str]) -> tuple[str, tuple[Kind, ...]]:
    """By the columns, or the keys of the first row."""
    if names & _OF_RAGAS:
        kinds: list[Kind] = ["evalset"] if names & set(ragas.REFERENCE) else []
        kinds += ["run"] if names & set(ragas.RETRIEVED) else []
        return "ragas", tuple(kinds)
    own = source.container or "jsonl"
    if names & set(hf.GOLD):
        return own, ("evalset",)
    if names & _OF_RUNS:
        return own, ("run",)
    if "_id" in names and is_folder(beir.root_of(source.path) / "qrels"):
        raise InvalidInputError(
            f"{source.path}: is one file of a BEIR folder. Give the folder, {beir.root_of(source.path)}."
        )
    return ("hf", ("evalset",)) if names >= hf.SQUAD_COLUMNS else (own, ())
