"""What is looked at before a bench asks anything: a mistake told at the end has cost money by then."""

from __future__ import annotations

from typing import Unpack

from krag_eval.bench.answerers import as_answerer
from krag_eval.checks import one_of
from krag_eval.documents import Document
from krag_eval.embeddings import check_embeddings
from krag_eval.errors import MissingDependencyError
from krag_eval.evalset import LEVELS
from krag_eval.evaluation import evaluate
from krag_eval.settings import ScoringSettings, make_settings
from krag_eval.statistics import need_scipy


def check_before(answer: object, level: str, **settings: Unpack[ScoringSettings]) -> None:
    """See whether the last stages will be able to use what was given, by scoring a document against itself.

    An embedding model is asked for one vector where matching needs it.

    Raises:
        InvalidInputError: Something cannot be used.
        MissingDependencyError: A package is not installed.
    """
    if answer is not None:
        as_answerer(answer)
    one_of("level", level, LEVELS)
    make_settings(**settings)
    if settings.get("embeddings") is not None:
        check_embeddings(settings["embeddings"])
    document = Document(id="d", text="text", metadata={str(settings.get("id_key")): "d"})
    evaluate([[document]], [[document]], k=1, **settings)


def why_no_intervals() -> str | None:
    """What is missing for intervals; None where nothing is."""
    try:
        need_scipy("The interval of a mean")
    except MissingDependencyError as error:
        return str(error)
    return None
