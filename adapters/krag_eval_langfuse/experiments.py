"""Evaluators for Langfuse's experiments: the scores of each item, and macro and micro values of the whole run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from krag_eval import InvalidInputError, Scorer
from krag_eval_langfuse.client import check_installed, load_langfuse
from krag_eval_langfuse.fields import BareStrings, Where, find_gold, find_retrieved, gold_at
from krag_eval_langfuse.scores import ScoreNames

if TYPE_CHECKING:
    from langfuse.experiment import EvaluatorFunction, RunEvaluatorFunction


class _Scoring:
    """What the evaluators of items and of runs have in common."""

    def __init__(
        self,
        k: int | str | Sequence[int | str | None] | None,
        metrics: Any,
        gold: Where,
        retrieved: Where,
        prefix: str,
        level: str,
        doc_key: str,
        settings: dict[str, Any],
    ) -> None:
        if level == "document":
            settings = {"match_method": "id", "id_key": doc_key, **settings}
        self._k, self._metrics, self._settings = k, metrics, settings
        self._gold, self._retrieved = gold, retrieved
        self._level, self._doc_key = level, doc_key
        self._strings = BareStrings.under(settings)
        self._names = ScoreNames(prefix)
        self._names.check(self.scorer().keys)  # what is wrong with the arguments is told here, not item by item

    def scorer(self) -> Scorer:
        """A scorer of its own for each call: experiments run items side by side."""
        return Scorer(self._k, metrics=self._metrics, **self._settings)

    def gold(self, expected: Any) -> list[Any] | None:
        """The gold documents of an item; None where it has no expected output."""
        fields = find_gold(expected, self._gold, self._strings)
        return None if fields is None else gold_at(fields, self._level, self._doc_key)

    def retrieved(self, output: Any) -> Any:
        """The ranking of an item."""
        return find_retrieved(output, self._retrieved, self._strings)

    def evaluations(self, values: Mapping[str, float | None], metadata: dict[str, Any]) -> list[Any]:
        """What Langfuse makes scores of: the values that are defined."""
        evaluation = load_langfuse("as_langfuse_evaluators").Evaluation
        return [
            evaluation(name=self._names[key], value=value, data_type="NUMERIC", metadata=metadata)
            for key, value in values.items()
            if value is not None
        ]


def as_langfuse_evaluators(
    k: int | str | Sequence[int | str | None] | None = (1, 3, 5, 10),
    *,
    metrics: Any = None,
    gold: Where = None,
    retrieved: Where = None,
    prefix: str = "krag.",
    level: str = "chunk",
    doc_key: str = "doc_id",
    **settings: Any,
) -> list[EvaluatorFunction]:
    """Evaluators of items, for `run_experiment(evaluators=...)` of a Langfuse client or dataset.

    An item without expected output has no scores: what is relevant is not known. One whose gold list is empty has
    none either: all values are undefined. A task that returns the exception of its retriever, or `{"error": ...}`,
    counts as nothing retrieved; Langfuse leaves an item out whose task raises.

    Args:
        k: One cut-off or several, each at least 1; None scores all ranks.
        metrics: Names of `METRICS`, or functions; all by default.
        gold: Where the gold documents stand in the expected output: a key, or a function of it. By default the
            expected output is the list, or has it under a key such as `gold`, `gold_chunk_ids` or `documents`.
        retrieved: The same for the output of the task, which is the list or has it under a name such as `retrieved`,
            `documents` or `source_nodes`.
        prefix: What the names of all scores begin with.
        level: `"chunk"` or `"document"`; at document level ids are read from the metadata under `doc_key`.
        doc_key: The metadata key of document ids.
        **settings: The scoring settings that `evaluate` takes. With `match_method="id"` bare strings are ids,
            otherwise they are texts.

    Returns:
        A list with one evaluator, which makes all scores of an item from one matching.

    Raises:
        InvalidInputError: An argument cannot be used.
        MissingDependencyError: langfuse is not installed.
    """
    check_installed("as_langfuse_evaluators")
    scoring = _Scoring(k, metrics, gold, retrieved, prefix, level, doc_key, settings)

    def krag_eval_retrieval(*, output: Any, expected_output: Any = None, **_: Any) -> list[Any]:
        """The scores of one item."""
        documents = scoring.gold(expected_output)
        if documents is None:
            return []
        scorer = scoring.scorer()
        query = scorer.score(documents, scoring.retrieved(output))
        metadata = {"signature": scorer.signature, "n_gold": query.n_gold, "n_retrieved": query.n_retrieved}
        return scoring.evaluations(query.values, metadata)

    return [krag_eval_retrieval]


def as_langfuse_run_evaluators(
    k: int | str | Sequence[int | str | None] | None = (1, 3, 5, 10),
    *,
    metrics: Any = None,
    gold: Where = None,
    retrieved: Where = None,
    prefix: str = "krag.",
    level: str = "chunk",
    doc_key: str = "doc_id",
    **settings: Any,
) -> list[RunEvaluatorFunction]:
    """Evaluators of runs, for `run_experiment(run_evaluators=...)`: macro and micro values over all its items.

    The values are those of `evaluate` with the lists of all items that have an expected output.

    Args:
        k: As for `as_langfuse_evaluators`, and so is all the rest.
        metrics: Names of `METRICS`, or functions.
        gold: Where the gold documents stand in the expected output.
        retrieved: Where the retrieved documents stand in the output.
        prefix: What the names of all scores begin with.
        level: `"chunk"` or `"document"`.
        doc_key: The metadata key of document ids.
        **settings: The scoring settings that `evaluate` takes.

    Returns:
        A list with one evaluator.

    Raises:
        InvalidInputError: An argument cannot be used.
        MissingDependencyError: langfuse is not installed.
    """
    check_installed("as_langfuse_run_evaluators")
    scoring = _Scoring(k, metrics, gold, retrieved, prefix, level, doc_key, settings)

    def krag_eval_retrieval_of_run(*, item_results: Sequence[Any], **_: Any) -> list[Any]:
        """The aggregates of one run."""
        golds, rankings = [], []
        for number, item_result in enumerate(item_results):
            try:
                documents = scoring.gold(_field(_field(item_result, "item"), "expected_output"))
                if documents is not None:
                    golds.append(documents)
                    rankings.append(scoring.retrieved(_field(item_result, "output")))
            except InvalidInputError as error:
                raise InvalidInputError(f"item {number}: {error}") from None
        if not golds:
            raise InvalidInputError(
                f"Not one of {len(item_results)} items has an expected output, so nothing is known to be relevant. "
                "Each item needs its gold documents there. Add them, or name a function with `gold=`."
            )
        scorer = scoring.scorer()
        result = scorer.score_batch(golds, rankings)
        scorer.check()
        metadata = {"signature": scorer.signature, "n_queries": len(golds), "n_items": len(item_results)}
        return scoring.evaluations(result.to_dict(), metadata)

    return [krag_eval_retrieval_of_run]


def _field(holder: Any, name: str) -> Any:
    return holder.get(name) if isinstance(holder, Mapping) else getattr(holder, name, None)
