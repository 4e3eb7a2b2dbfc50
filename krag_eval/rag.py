"""`RAGEvaluator`: settings once, then the documents of each call."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from krag_eval.callbacks import EvaluationCallback, check_callbacks
from krag_eval.errors import InvalidInputError
from krag_eval.evaluators import OfflineRetrievalEvaluators, Values
from krag_eval.familiar import Familiar
from krag_eval.settings import (
    AveragingMethod,
    FurtherSettings,
    MatchingCriteria,
    TokenizerType,
    make_settings,
)
from krag_eval.thresholds import USUAL_THRESHOLDS
from krag_eval.wrong_names import TellsAttributes, tell_names


@tell_names
class RAGEvaluator(TellsAttributes):
    """Settings once, then the documents of each call.

    Args:
        match_method: A method or a list of methods of which the first that holds wins.
        averaging_method: `"micro"`, `"macro"` or `"both"`, for recall, precision and F1.
        matching_criteria: When a query is a hit: `"all"` of its gold documents are found, or `"partial"`.
        rouge_threshold: The similarity from which two texts match, 0 to 1; by default 0.5 of ROUGE, 0.7 of embeddings.
        tokenizer: A name, a `TokenizerType`, an object with `tokenize(text)`, or a function.
        callbacks: Receivers of scores.
        raise_errors: Let an error of a callback through.
        **settings: Further scoring settings that `evaluate` takes.

    >>> rag = RAGEvaluator(match_method="rouge1", rouge_threshold=0.6)
    >>> rag.evaluate_all([["Refunds take three days."]], [["Refunds take three working days."]], k=1)["hit_rate"]
    1.0
    """

    def __init__(
        self,
        match_method: str | Sequence[str] = "text",
        averaging_method: str = AveragingMethod.BOTH,
        matching_criteria: str = MatchingCriteria.ALL,
        rouge_threshold: float | Mapping[str, float] = USUAL_THRESHOLDS,
        tokenizer: str | TokenizerType | Any = "words",
        *,
        callbacks: Sequence[EvaluationCallback] = (),
        raise_errors: bool = False,
        **settings: Unpack[FurtherSettings],
    ) -> None:
        # Checked here, so that a mistake is reported at once and not at the first call.
        make_settings(match_method=match_method, threshold=rouge_threshold, tokenizer=tokenizer, **settings)
        check_callbacks(callbacks)
        Familiar(averaging_method, matching_criteria)
        self._make = functools.partial(
            OfflineRetrievalEvaluators,
            match_method=match_method,
            averaging_method=averaging_method,
            matching_criteria=matching_criteria,
            threshold=rouge_threshold,
            tokenizer=tokenizer,
            callbacks=callbacks,
            raise_errors=raise_errors,
            **settings,
        )
        self._evaluator: OfflineRetrievalEvaluators | None = None

    def evaluate_all(
        self, actual_docs: object, predicted_docs: object, k: int | None = None, visualize: bool = False
    ) -> Values:
        """Score these documents; earlier ones are forgotten.

        Args:
            actual_docs: The gold documents of each query: a list of lists.
            predicted_docs: The retrieved documents of each query, best first.
            k: The cut-off, at least 1; None scores all ranks.
            visualize: Also draw the chart of `visualize_results` and show it in a notebook.
        """
        self._evaluator = self._make(actual_docs, predicted_docs)
        values = self._evaluator.evaluate_all(k)
        if visualize:
            from krag_eval.charts import show

            show(self._evaluator.visualize_results(k))
        return values

    def get_evaluator(self) -> OfflineRetrievalEvaluators:
        """The evaluator of the last call.

        Raises:
            InvalidInputError: There was no call yet.
        """
        if self._evaluator is None:
            raise InvalidInputError("There is no evaluator yet. Call evaluate_all(actual_docs, predicted_docs) first.")
        return self._evaluator
