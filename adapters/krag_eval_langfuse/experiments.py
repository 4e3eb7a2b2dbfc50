"""Evaluators for Langfuse experiments: scores of each item, and macro and micro values of the whole run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from krag_eval import InvalidInputError, RowScorer, Scorer
from krag_eval.toolkit import DEFAULT_CUT_OFFS, IdKey, need_installed, warn
from krag_eval_langfuse.client import load_langfuse
from krag_eval_langfuse.fields import BareStrings, Where, find_gold, find_retrieved, gold_at
from krag_eval_langfuse.scores import ScoreNames

if TYPE_CHECKING:
    from langfuse.experiment import EvaluatorFunction, RunEvaluatorFunction


_NO_OUTPUT = "the task returned None"
_RETURN = "Return the documents from the task, [] if there are none."


@dataclass
class _Scoring:
    """The arguments that the evaluators of items and of runs share."""

    k: int | str | Sequence[int | str | None] | None
    metrics: Any
    gold_at: Where
    retrieved_at: Where
    prefix: str
    level: str
    doc_key: IdKey
    booleans: bool
    verdicts: bool
    config_ids: Mapping[str, str] | None
    settings: dict[str, Any]

    def __post_init__(self) -> None:
        if self.level == "document":
            self.settings = {"match_method": "id", "id_key": self.doc_key, **self.settings}
        self._strings = BareStrings.under(self.settings)
        self.names = ScoreNames(self.prefix, booleans=self.booleans, verdicts=self.verdicts, config_ids=self.config_ids)
        scorer = self.scorer()  # invalid arguments are reported here, not item by item
        self.rows = RowScorer(self.k, metrics=self.metrics, **self.settings)
        self.names.check(scorer.keys, scorer.result().keys())

    def scorer(self) -> Scorer:
        """Return a new scorer, of the items of a run."""
        return Scorer(self.k, metrics=self.metrics, **self.settings)

    def gold(self, expected: Any) -> list[Any] | None:
        """Return the gold documents of an item, or None if it has no expected output."""
        fields = find_gold(expected, self.gold_at, self._strings)
        return None if fields is None else gold_at(fields, self.level, self.doc_key)

    def retrieved(self, output: Any) -> Any:
        """Return the ranking of an item; of an item without an output, an exception in its place."""
        return RuntimeError(_NO_OUTPUT) if output is None else find_retrieved(output, self.retrieved_at, self._strings)

    def read(
        self, item_results: Sequence[Any], check: Callable[[Any, Any], object] | None = None
    ) -> tuple[list[tuple[list[Any], Any, bool]], list[Exception]]:
        """Return the gold, the ranking, and whether there is no output, of each item with gold; and what is wrong.

        Args:
            item_results: The items of a run.
            check: Called with the gold and the ranking of each; raises if they cannot be scored.
        """
        found, wrong = [], list[Exception]()
        for number, item_result in enumerate(item_results):
            try:
                gold = self.gold(_field(_field(item_result, "item"), "expected_output"))
                if gold is not None:
                    output = _field(item_result, "output")
                    ranking = self.retrieved(output)
                    if check is not None:
                        check(gold, ranking)
                    found.append((gold, ranking, output is None))
            except InvalidInputError as error:
                wrong.append(error.at(f"item {number}"))
            except Exception as error:  # noqa: BLE001 - what the user's own `gold` or `retrieved` raises
                error.add_note(f"item {number}")
                wrong.append(error)
        return found, wrong

    def evaluations(
        self,
        values: Mapping[str, float | str | None],
        metadata: dict[str, Any],
        *,
        of_run: bool = False,
        comment: str | None = None,
    ) -> list[Any]:
        """Return the defined values as evaluations of Langfuse."""
        evaluation = load_langfuse("as_langfuse_evaluators").Evaluation
        found = []
        for key, value in values.items():
            if value is not None:
                data_type, config_id = self.names.kind_of(key, value, of_run=of_run)
                of_key = {"name": self.names[key], "data_type": data_type, "config_id": config_id}
                found.append(evaluation(value=value, metadata=metadata, comment=comment, **of_key))
        return found


def as_langfuse_evaluators(
    k: int | str | Sequence[int | str | None] | None = DEFAULT_CUT_OFFS,
    *,
    metrics: Any = None,
    gold: Where = None,
    retrieved: Where = None,
    prefix: str = "krag.",
    level: str = "chunk",
    doc_key: IdKey = "doc_id",
    booleans: bool = False,
    verdicts: bool = False,
    config_ids: Mapping[str, str] | None = None,
    **settings: Any,
) -> list[EvaluatorFunction]:
    """Return evaluators of items, for `run_experiment(evaluators=...)` of a Langfuse client or dataset.

    An item without expected output has no scores, since its gold is unknown. One with an empty gold list has none
    either: all values are undefined. A task that returns the exception of its retriever, `{"error": ...}` or None
    counts as a retriever that raised: as nothing retrieved. Langfuse leaves out items whose task raises.

    Args:
        k: One cut-off or several, each at least 1; None scores all ranks.
        metrics: Names of `METRICS`, or functions; all by default.
        gold: Where the gold documents are in the expected output: a key, or a function of it. By default the expected
            output is the list, or holds it under a key such as `gold`, `gold_chunk_ids` or `documents`.
        retrieved: The same for the output of the task. By default it is the list, or holds it under a name such as
            `retrieved`, `documents` or `source_nodes`.
        prefix: The prefix of the names of all scores.
        level: `"chunk"` or `"document"`; at document level ids are read from the metadata under `doc_key`.
        doc_key: The metadata key of document ids.
        booleans: As for `LangfuseScoreHandler`.
        verdicts: As for `LangfuseScoreHandler`.
        config_ids: As for `LangfuseScoreHandler`.
        **settings: The scoring settings that `evaluate` takes. With `match_method="id"` bare strings are ids,
            otherwise they are texts.

    Returns:
        A list with one evaluator, which computes all scores of an item.

    Raises:
        InvalidInputError: An argument is invalid.
        MissingDependencyError: langfuse is not installed.
    """
    need_installed("as_langfuse_evaluators", "langfuse", "langfuse")
    scoring = _Scoring(k, metrics, gold, retrieved, prefix, level, doc_key, booleans, verdicts, config_ids, settings)
    warned: list[bool] = []

    def krag_eval_retrieval(*, output: Any, expected_output: Any = None, **_: Any) -> list[Any]:
        """Return the scores of one item."""
        documents = scoring.gold(expected_output)
        if documents is None:
            return []
        query = scoring.rows.score_query(documents, scoring.retrieved(output))
        metadata = {"signature": scoring.rows.signature, "n_gold": query.n_gold, "n_retrieved": query.n_retrieved}
        if query.error is not None:
            metadata["retriever_raised"] = True
        if output is None and not warned:
            warned.append(True)
            warn(f"An item is scored as a failed retrieval: {_NO_OUTPUT}. {_RETURN}")
        return scoring.evaluations({**query.values, **scoring.names.verdict(query)}, metadata)

    return [krag_eval_retrieval]


def as_langfuse_run_evaluators(
    k: int | str | Sequence[int | str | None] | None = DEFAULT_CUT_OFFS,
    *,
    metrics: Any = None,
    gold: Where = None,
    retrieved: Where = None,
    prefix: str = "krag.",
    level: str = "chunk",
    doc_key: IdKey = "doc_id",
    booleans: bool = False,
    verdicts: bool = False,
    config_ids: Mapping[str, str] | None = None,
    **settings: Any,
) -> list[RunEvaluatorFunction]:
    """Return evaluators of runs, for `run_experiment(run_evaluators=...)`: macro and micro values over all items.

    The values are those of `evaluate` for all items that have an expected output. Items that cannot be scored, such as
    one whose task returned a string, are left out: a warning names the first, and the scores say how many. The
    arguments are those of `as_langfuse_evaluators`.

    Args:
        k: One cut-off or several.
        metrics: Names of `METRICS`, or functions.
        gold: Where the gold documents are in the expected output.
        retrieved: Where the retrieved documents are in the output.
        prefix: The prefix of the names of all scores.
        level: `"chunk"` or `"document"`.
        doc_key: The metadata key of document ids.
        booleans: The values of items are BOOLEAN where they are 0 or 1; those of a run are always NUMERIC.
        verdicts: Only for items; accepted so that both functions can get the same arguments.
        config_ids: The ids of score configs by key.
        **settings: The scoring settings that `evaluate` takes.

    Returns:
        A list with one evaluator.

    Raises:
        InvalidInputError: An argument is invalid.
        MissingDependencyError: langfuse is not installed.
    """
    need_installed("as_langfuse_run_evaluators", "langfuse", "langfuse")
    scoring = _Scoring(k, metrics, gold, retrieved, prefix, level, doc_key, booleans, verdicts, config_ids, settings)

    def krag_eval_retrieval_of_run(*, item_results: Sequence[Any], **_: Any) -> list[Any]:
        """Return the aggregates of one run; an item that cannot be scored costs only itself."""
        found, wrong = scoring.read(item_results)
        scorer = scoring.scorer()
        try:
            result = scorer.score_batch([gold for gold, _, _ in found], [ranking for _, ranking, _ in found])
        except InvalidInputError:  # of one item, or there is none
            found, wrong = scoring.read(item_results, check=scoring.rows.score_query)
            if wrong and not found:
                raise wrong[0] from None
            if not found:
                raise InvalidInputError(
                    f"None of {len(item_results)} items has an expected output, so no gold documents are known. Add "
                    "them to the expected output of each item, or pass a function with `gold=`."
                ) from None
            scorer = scoring.scorer()
            result = scorer.score_batch([gold for gold, _, _ in found], [ranking for _, ranking, _ in found])
        n_items, n_without_output = len(found), sum(is_missing for _, _, is_missing in found)
        if n_without_output == n_items:
            raise InvalidInputError(f"There are no documents to score: for all {n_items} items {_NO_OUTPUT}. {_RETURN}")
        if n_without_output:
            warn(f"{n_without_output} of {n_items} items are scored as failed retrievals: {_NO_OUTPUT}. {_RETURN}")
        left_out = f"{len(wrong)} of {len(item_results)} items cannot be scored and are left out" if wrong else None
        if left_out:
            warn(f"{left_out}. The first one: {wrong[0]!s:.300}")
        scorer.check()
        metadata = {"signature": scorer.signature, "n_queries": n_items, "n_items": len(item_results)}
        if result.errors:
            metadata["n_failed"] = len(result.errors)
        if wrong:
            metadata["n_left_out"] = len(wrong)
        return scoring.evaluations(result.to_dict(), metadata, of_run=True, comment=left_out)

    return [krag_eval_retrieval_of_run]


def _field(holder: Any, name: str) -> Any:
    return holder.get(name) if isinstance(holder, Mapping) else getattr(holder, name, None)
