"""The answer metrics by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from krag_eval.answers.exact_match import exact_match
from krag_eval.answers.pairs import AnswerPairs
from krag_eval.answers.rouge_l import rouge_l
from krag_eval.answers.rouge_lsum import rouge_lsum
from krag_eval.answers.rouge_n import rouge1, rouge2
from krag_eval.answers.semantic_similarity import semantic_similarity
from krag_eval.answers.squad_exact_match import squad_exact_match
from krag_eval.answers.squad_f1 import squad_f1
from krag_eval.answers.token_f1 import token_f1
from krag_eval.columns import FloatArray
from krag_eval.errors import InvalidInputError, UnknownMetricError, did_you_mean

AnswerFunction = Callable[[AnswerPairs], FloatArray]


@dataclass(frozen=True, slots=True)
class AnswerMetric:
    """How an answer metric is called.

    Attributes:
        function: From pairs to one value a pair.
        counts_tokens: Whether it is computed some thousand pairs at a time, whose tokens are cut once for all metrics.
        needs_embeddings: Whether it is left out unless an embedding model is given.
    """

    function: AnswerFunction
    counts_tokens: bool = True
    needs_embeddings: bool = False


ANSWER_METRICS: dict[str, AnswerMetric] = {
    "exact_match": AnswerMetric(exact_match),
    "token_f1": AnswerMetric(token_f1),
    "squad_exact_match": AnswerMetric(squad_exact_match),
    "squad_f1": AnswerMetric(squad_f1),
    "rouge1": AnswerMetric(rouge1),
    "rouge2": AnswerMetric(rouge2),
    "rougeL": AnswerMetric(rouge_l),
    "rougeLsum": AnswerMetric(rouge_lsum),
    "semantic_similarity": AnswerMetric(semantic_similarity, counts_tokens=False, needs_embeddings=True),
}
REFUSAL_METRICS = ("negative_rejection", "false_refusal")
"""What stands beside the metrics in every result: shares of refusals, computed from answers alone."""


def choose_answer_metrics(metrics: object, *, has_embeddings: bool) -> dict[str, AnswerMetric]:
    """The metrics asked for: names, or functions from `AnswerPairs` to one value a pair.

    Args:
        metrics: A name, a function, or a list of these; None for all that can be computed.
        has_embeddings: Whether there is an embedding model.

    Raises:
        UnknownMetricError: A name is unknown.
        InvalidInputError: There is none, two have the same name, or one needs an embedding model that is not given.
    """
    if metrics is None:
        return {name: m for name, m in ANSWER_METRICS.items() if has_embeddings or not m.needs_embeddings}
    given = (metrics,) if isinstance(metrics, str) or callable(metrics) else metrics
    known = ", ".join(ANSWER_METRICS)
    if not isinstance(given, Sequence) or not given:
        raise InvalidInputError(
            f"`metrics` must be a list of names or functions, got {metrics!r:.60}. Known metrics: {known}."
        )
    table: dict[str, AnswerMetric] = {}
    for metric in given:
        if isinstance(metric, str) and metric in ANSWER_METRICS:
            table[metric] = ANSWER_METRICS[metric]
        elif not isinstance(metric, str) and callable(metric) and hasattr(metric, "__name__"):
            if metric.__name__ in {*ANSWER_METRICS, *REFUSAL_METRICS, *table}:
                raise InvalidInputError(
                    f"Two metrics are called {metric.__name__!r}. Give the function a name of its own, with `def`."
                )
            table[metric.__name__] = AnswerMetric(metric, counts_tokens=False)
        else:
            raise UnknownMetricError(
                f"Unknown answer metric {metric!r:.60}.{did_you_mean(metric, ANSWER_METRICS)} Known metrics: {known}."
            )
    if needy := [name for name, m in table.items() if m.needs_embeddings and not has_embeddings]:
        raise InvalidInputError(
            f"The metric {needy[0]!r} needs an embedding model, and none was given. Pass embeddings=..., such as a "
            "LangChain `Embeddings`, a LlamaIndex embedding model or a function from a list of texts to vectors."
        )
    return table
