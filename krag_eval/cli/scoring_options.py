"""The options that decide numbers: the same for every command that scores runs."""

from __future__ import annotations

from typing import Annotated

import typer

from krag_eval.cli.embedding_options import EmbeddingPrefix, Embeddings, SimilarityThreshold, load_embeddings
from krag_eval.cli.parsing import parse_names, parse_threshold
from krag_eval.settings import ScoringSettings
from krag_eval.text import normalize

__all__ = [
    "Containment",
    "DocKey",
    "EmbeddingPrefix",
    "Embeddings",
    "Gain",
    "GradeKey",
    "IdKey",
    "Level",
    "Match",
    "PrecisionDenominator",
    "Proxy",
    "RawText",
    "RougeMeasure",
    "SimilarityThreshold",
    "Threshold",
    "Tokenizer",
    "UseStemmer",
    "scoring_settings",
]

Match = Annotated[
    str,
    typer.Option(
        help="id, text, containment, rouge1, rouge2, rougeL, embedding; several with commas: the first that holds wins."
    ),
]
Threshold = Annotated[
    str | None,
    typer.Option(
        help="Similarity from which two texts match, 0 to 1; or one a method, as rouge1=0.6,rougeL=0.5. By default "
        "0.5 for ROUGE, 0.7 for embedding."
    ),
]
RougeMeasure = Annotated[str, typer.Option(help="fmeasure, recall (of the gold text) or precision.")]
Containment = Annotated[str, typer.Option(help="either, gold_in_retrieved or retrieved_in_gold.")]
Tokenizer = Annotated[str, typer.Option(help="words, rouge_score, characters, whitespace or kiwi.")]
UseStemmer = Annotated[bool, typer.Option("--use-stemmer", help="Porter's stemmer on ASCII tokens.")]
RawText = Annotated[bool, typer.Option("--raw-text", help="Compare texts as they are, not normalised.")]
Level = Annotated[str, typer.Option(help="chunk, or document: score by the documents that chunks come from.")]
DocKey = Annotated[str, typer.Option(help="The metadata key of document ids.")]
Proxy = Annotated[
    bool, typer.Option("--proxy", help="Let doc_hit stand in for recall where gold chunks are not known.")
]
IdKey = Annotated[str | None, typer.Option(help="Read ids from the metadata under this key alone.")]
GradeKey = Annotated[str, typer.Option(help="Read grades from the metadata under this key.")]
PrecisionDenominator = Annotated[str, typer.Option(help="retrieved, or k as TREC does.")]
Gain = Annotated[str, typer.Option(help="exponential (2^grade - 1) or linear.")]


def scoring_settings(
    *,
    match: str,
    threshold: str | None,
    rouge_measure: str,
    containment: str,
    tokenizer: str,
    use_stemmer: bool,
    raw_text: bool,
    embeddings: str | None,
    embedding_prefix: str,
    similarity_threshold: float | None,
    id_key: str | None,
    grade_key: str,
    precision_denominator: str,
    gain: str,
) -> ScoringSettings:
    """What was written after the options, as the scoring settings of the library.

    Raises:
        InvalidInputError: An option cannot be read, or the embedding model not be loaded.
    """
    return {
        "match_method": parse_names(match) or [],
        "threshold": parse_threshold(threshold),
        "rouge_measure": rouge_measure,
        "containment": containment,
        "tokenizer": tokenizer,
        "use_stemmer": use_stemmer,
        "normalize": None if raw_text else normalize,
        "embeddings": load_embeddings(embeddings, match, similarity_threshold),
        "embedding_prefix": embedding_prefix,
        "similarity_threshold": similarity_threshold,
        "id_key": id_key,
        "grade_key": grade_key,
        "precision_denominator": precision_denominator,
        "gain": gain,
    }
