"""The bundled collection of `krag-eval demo`: customer-service notes of an invented online shop, and questions.

Onbori sells kitchen appliances and coffee in four countries, and each branch writes in its own language and has its
own rules. A note of one branch therefore never answers a question put to another, even where both speak about the
same thing. Some notes are outdated and say so: they help to answer a question, but do not answer it.

A question of type `negative` is answered nowhere in the collection. Gold passages carry a grade (2 answers, 1 helps)
only where the passages of one question differ in worth.
"""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

__all__ = ["load_collection"]


def load_collection() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The documents and the questions of the demo collection, freshly read.

    Returns:
        Documents as `{"id", "text", "metadata"}` and questions as rows of an evaluation set:
        `{"id", "question", "gold", "type", "metadata"}`.

    >>> documents, questions = load_collection()
    >>> sorted({document["metadata"]["language"] for document in documents})
    ['en', 'ko', 'ru', 'zh']
    """
    return _rows("documents.jsonl"), _rows("questions.jsonl")


def _rows(name: str) -> list[dict[str, Any]]:
    # The folder is no package, so it is reached from the package that holds it.
    text = resources.files(__name__).joinpath("collection", name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.split("\n") if line]
