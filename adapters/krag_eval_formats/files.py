"""The formats of other programs: how each is recognized, read and written, and which of them hold a corpus.

To add one, write a module beside this one whose functions have the names of `Format`'s attributes (`kinds_in` for
`kinds`), and add its entry to `FORMATS`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

from krag_eval import Document
from krag_eval.toolkit import CONTAINERS, Format, Source
from krag_eval_formats import (
    autorag,
    beir,
    conversations,
    huggingface,
    judged_rows,
    llama_index,
    msmarco,
    qrels_json,
    ragas,
    squad,
    trec,
)
from krag_eval_formats.narrow import NarrowWriting

_FUNCTIONS = [
    name
    for name in Format.__slots__
    if name not in ("kinds", "detected_in", "endings", "container", "writing", "has_columns")
]
_ROWS, _TEXT = tuple(CONTAINERS), (None, "tsv")  # rows with names; plain text, which has any ending


def _format(module: ModuleType, **settings: Any) -> Format:
    """Return a format whose functions a module defines, under the names of the attributes of `Format`."""
    functions = {name: getattr(module, name) for name in _FUNCTIONS if hasattr(module, name)}
    return Format(kinds=module.kinds_in, writing=NarrowWriting, **(functions | settings))


FORMATS: Mapping[str, Format] = {
    "trec": _format(trec, detected_in=_TEXT, endings=(".qrels", ".trec", ".run")),
    "scores": _format(qrels_json, detected_in=("json",), endings=(".scores.json",), container="json"),
    "beir": _format(beir, detected_in=_TEXT),
    "msmarco": _format(msmarco, detected_in=_TEXT),
    "llama_index": _format(llama_index, detected_in=("json",), endings=(".llama_index.json",), container="json"),
    "ragas": _format(ragas, detected_in=_ROWS, endings=(".ragas.jsonl", ".ragas.json")),
    "squad": _format(squad, detected_in=("json",), endings=(".squad.json",), container="json"),
    "squad_spans": Format(kinds=squad.kinds_in, container="json", questions=squad.questions_as_spans),
    "chunking_evaluation": Format(
        kinds=squad.excerpt_kinds_in, detected_in=("csv",), questions=squad.excerpt_questions
    ),
    "autorag": _format(autorag, detected_in=("parquet", "json", "jsonl")),
    "locomo": _format(conversations, detected_in=("json", "jsonl")),
    "hf": _format(huggingface, detected_in=_ROWS, has_columns=True),
    "judgments": _format(judged_rows, detected_in=_ROWS),
}


def passages(source: Source) -> Iterator[tuple[str, Document]] | None:
    """Return the documents of a corpus, each with its place; None if its rows are documents themselves."""
    if source.container == "json" and llama_index.kinds_in(source):
        return llama_index.passages(source)
    if source.container == "json" and squad.kinds_in(source):
        return squad.passages(source)
    if source.container in ("json", "jsonl") and conversations.has_sessions(source):
        return conversations.passages(source)
    if source.container == "tsv" and len(source.columns) == 2 and source.columns[0].isdecimal():
        return msmarco.passages(source)
    return None
