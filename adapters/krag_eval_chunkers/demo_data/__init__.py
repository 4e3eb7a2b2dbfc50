"""The bundled collection of `krag-eval demo`: customer-service notes of an invented online shop, and questions.

Onbori sells kitchen appliances and coffee in four countries, and each branch writes in its own language and has its
own rules. A note of one branch therefore never answers a question put to another, even where both speak about the
same thing. Some notes are outdated and say so: they help to answer a question, but do not answer it.

A question of type `negative` is answered nowhere in the collection. Gold passages carry a grade (2 answers, 1 helps)
only where the passages of one question differ in worth.

A second, small collection has what the first one lacks: versions of documents, documents of two business customers
(`tenant`), and questions that say what must not be retrieved for them. It stands apart because every number that is
printed about the first one would change with it.
"""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

__all__ = ["load_collection", "load_rules_collection"]


def load_collection() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The documents and the questions of the demo collection, freshly read.

    Returns:
        Documents as `{"id", "text", "metadata"}` and questions as rows of an evaluation set:
        `{"id", "question", "gold", "type", "metadata"}`.

    >>> documents, questions = load_collection()
    >>> sorted({document["metadata"]["language"] for document in documents})
    ['en', 'ko', 'ru', 'zh']
    """
    return _rows("collection", "documents.jsonl"), _rows("collection", "questions.jsonl")


def load_rules_collection() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The documents and the questions of the collection with tenants and versions, freshly read.

    Returns:
        Documents as those of `load_collection`, with `title`, `tenant` and `version` in their metadata, and questions
        that also have `asker`, `allowed` and, where there are older versions, `must_not`.

    >>> documents, questions = load_rules_collection()
    >>> sorted({document["metadata"]["tenant"] for document in documents})
    ['linden', 'public', 'seaview']
    >>> questions[0]["must_not"][0]
    {'id': 'delivery-2025', 'reason': 'superseded by delivery-2026'}
    """
    return _rows("rules", "documents.jsonl"), _rows("rules", "questions.jsonl")


def _rows(folder: str, name: str) -> list[dict[str, Any]]:
    # The folder is no package, so it is reached from the package that holds it.
    text = resources.files(__name__).joinpath(folder, name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.split("\n") if line]
