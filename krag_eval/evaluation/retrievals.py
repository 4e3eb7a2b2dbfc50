"""Score what an application retrieves as it runs: single retrievals, and sessions of several, whose gold is known."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import replace
from typing import Any, Unpack

from krag_eval._utils.checks import as_number, one_of
from krag_eval._utils.errors import InvalidInputError, RetrieverError, describe_type
from krag_eval.datasets.question import LEVELS, settings_at
from krag_eval.datasets.run import RunRow
from krag_eval.documents.document import Document, may_be_need
from krag_eval.documents.needs import as_need
from krag_eval.documents.readers import IdKey, as_grade, as_id, fields_of, reader_of, split_pair
from krag_eval.evaluation.detail import Detail
from krag_eval.evaluation.pipeline import (
    MetricFunction,
    MetricsByName,
    choose_metrics,
    columns_of,
    judge_batch,
    measure,
    rules_if_any,
    signature_of,
)
from krag_eval.evaluation.results import EvaluationResult
from krag_eval.evaluation.sessions import bind_sessions, choose_session_metrics, judge_with_rules
from krag_eval.evaluation.streaming import Scorer
from krag_eval.matching.forbidden import Rules
from krag_eval.matching.fronts import DOCUMENT_IDS, NO_LISTS, NOTHING_RETRIEVED_YET
from krag_eval.matching.settings import MatchingCriteria, ScoringSettings
from krag_eval.metrics import LEAK_METRICS, METRICS
from krag_eval.metrics.cut_offs import GivenCutOff
from krag_eval.metrics.judgments import count_repeats
from krag_eval.metrics.leaks import Leaks, no_leaks
from krag_eval.metrics.sessions import SessionJudgments

Gold = Sequence[Sequence[object]]


class RetrievalScorer(Scorer):
    """A scorer for retrievals and sessions of questions whose gold is known, at chunk or document level.

    Args:
        k: One cut-off or several, or a budget such as `"2000tok"`; None scores all ranks.
        metrics: Names of `METRICS`, or functions; all by default.
        level: `"chunk"` or `"document"`; at document level, ids are read from the metadata under `doc_key`.
        doc_key: The metadata key of document ids.
        of_set: Whether the gold is an evaluation set: `match_method` is `"id"` by default then.
        with_leaks: Whether something must not be retrieved: the metrics of leaks are scored then, too.
        parts: What else can change a number, for the signature.
        between_steps: Called between the steps of the scoring.
        **settings: The scoring settings that `evaluate` takes.

    Raises:
        InvalidInputError: A setting cannot be used.
        UnknownMetricError: A metric is not known.
    """

    def __init__(
        self,
        k: int | str | Sequence[int | str | None] | None,
        *,
        metrics: str | Sequence[str | MetricFunction] | None,
        level: str,
        doc_key: IdKey,
        of_set: bool,
        with_leaks: bool = False,
        parts: Sequence[str] = (),
        between_steps: Callable[[], None],
        **settings: Unpack[ScoringSettings],
    ) -> None:
        at_documents = one_of("level", level, LEVELS) == "document"
        if of_set or at_documents:
            settings = settings_at(level, doc_key, settings)
        asked = [*METRICS, *LEAK_METRICS] if with_leaks and metrics is None else metrics
        super().__init__(k, metrics=asked, **settings)
        self._k, self._with_leaks, self._yield = k, with_leaks, between_steps
        self._parts = [*(["level:document"] if at_documents else []), *parts]
        self.signature = signature_of(self._settings, self._cut_offs, MatchingCriteria.PARTIAL, self._parts)
        self.front = DOCUMENT_IDS if at_documents else NO_LISTS

    @property
    def id_key(self) -> IdKey | None:
        """Where the ids of documents are read."""
        return self._settings.id_key

    def read_gold(self, name: str, given: object) -> Sequence[object]:
        """Return the gold documents of a query; if only ids are matched, they may be bare ids, or a mapping to grades.

        Args:
            name: The id or the text of the query, for messages.
            given: Its gold documents.

        Raises:
            InvalidInputError: It is no list of documents.
        """
        only_ids = self._settings.methods == ("id",) and isinstance(self._settings.id_key, str | None)
        if only_ids and isinstance(given, Mapping) and given and "id" not in given and _are_grades(given.values()):
            return [self._of_id(key, grade) for key, grade in given.items()]
        if isinstance(given, (list, tuple)) or (only_ids and isinstance(given, Set)):
            return [self._of_id(*split_pair(one)) for one in given] if only_ids else list(given)
        hint = f"[{given!r:.40}]" if reader_of(given) is not None else "[]"
        raise InvalidInputError(
            f"The gold of the query {name!r:.80} is {describe_type(given)}. "
            f"It must be a list of documents, such as {hint}."
        )

    def _of_id(self, given: object, grade: object) -> object:
        """Return a bare id as a document, also in a need: if only ids are matched, it cannot be anything else."""
        if grade is None and may_be_need(given) and (need := as_need(given)) is not None:
            return replace(need, any_of=[self._of_id(*split_pair(one)) for one in need.any_of])
        bare = as_id(given)
        if bare is None:
            return given if grade is None else (given, grade)
        key = self._settings.id_key
        return Document(id=bare, grade=as_grade(grade), metadata={} if key is None else fields_of(bare, key))

    def check_gold(self, gold: Gold) -> None:
        """Check that gold documents can be read and matched, before anything is retrieved.

        Raises:
            InvalidInputError: A document cannot be read, or none has what the methods read.
        """
        judged = judge_batch(gold, [[] for _ in gold], self._settings)
        judged.document_counts.check(self._settings, NOTHING_RETRIEVED_YET)

    def count_repeats(self, rankings: Sequence[object]) -> list[int]:
        """Return how many documents of each ranking repeat an earlier one."""
        counts: list[int] = count_repeats(judge_batch([[] for _ in rankings], rankings, self._settings).batch).tolist()
        return counts

    @staticmethod
    def repeats_in(detail: Detail) -> list[int]:
        """Return how many documents of each ranking that was scored repeat an earlier one."""
        counts: list[int] = count_repeats(detail.batch).tolist()
        return counts

    def evaluate(
        self, gold: Gold, rankings: Sequence[object], queries: Sequence[str], query_ids: Sequence[str], **rules: Any
    ) -> EvaluationResult:
        """Return the result of these retrievals alone, with rows.

        Args:
            gold: The gold documents of each query.
            rankings: The retrieved documents of each query, best first, or what the retriever raised.
            queries: The text of each query.
            query_ids: The id of each query.
            **rules: `must_not` and `allowed`, as `score_batch` takes them.
        """
        judged = judge_batch(gold, rankings, self._settings, rules=self._rules(gold, **rules))
        return measure(
            judged, self._cut_offs, self._metrics, queries=queries, query_ids=query_ids, signature_parts=self._parts
        )

    def score_session(self, gold: Sequence[object], row: RunRow, **rules: Any) -> dict[str, float | None]:
        """Return the values of one session by key; None where one is undefined.

        Args:
            gold: The gold documents of its question.
            row: Its searches.
            **rules: `must_not` and `allowed`, as `score_batch` takes them.

        Raises:
            InvalidInputError: A document cannot be read.
        """
        sessions, leaks, cut_offs, table = self._judge_sessions([gold], [row], self._rules([gold], **rules))
        forbidden = {"leaks": leaks or no_leaks(len(sessions))}
        numbers = {
            key: float(metric.function(sessions.judgments, k, **(forbidden if metric.reads_leaks else {}))[0])
            for key, (metric, k) in columns_of(table, cut_offs).items()
        }
        return {key: None if math.isnan(number) else number for key, number in numbers.items()}

    def evaluate_sessions(
        self, gold: Gold, rows: Sequence[RunRow], queries: Sequence[str], query_ids: Sequence[str], **rules: Any
    ) -> EvaluationResult:
        """Return the result of these sessions, by the metrics of rankings, too, if each of them is one search.

        Args:
            gold: The gold documents of each question.
            rows: The searches of each session.
            queries: The text of each question.
            query_ids: The id of each question.
            **rules: `must_not` and `allowed`, as `score_batch` takes them.

        Raises:
            InvalidInputError: A document cannot be read.
        """
        read = self._rules(gold, **rules)
        rankings = [RetrieverError(row.error) if row.error is not None else row.found for row in rows]
        sessions, leaks, of_sessions, table = self._judge_sessions(gold, rows, read)
        has_sessions = any(row.is_session for row in rows)
        if not has_sessions:  # the metrics of rankings stand beside those of sessions
            table = {**_at(self._metrics, self._cut_offs), **_at(table, of_sessions)}
            of_sessions = tuple(dict.fromkeys((*self._cut_offs, *of_sessions)))
        return measure(
            replace(judge_batch(gold, rankings, self._settings, rules=read), leaks=leaks),
            of_sessions,
            table,
            queries=queries,
            query_ids=query_ids,
            signature_parts=self._parts,
            sessions=sessions if has_sessions else None,
        )

    def _judge_sessions(
        self, gold: Gold, rows: Sequence[RunRow], rules: Rules | None
    ) -> tuple[SessionJudgments, Leaks | None, Sequence[GivenCutOff], MetricsByName]:
        """Return what the searches of each session found and leaked, and the metrics that can be computed."""
        sessions, leaks = judge_with_rules(gold, rows, self._settings, rules)
        names = [*choose_session_metrics(sessions), *(LEAK_METRICS if self._with_leaks else ())]
        cut_offs, table = choose_metrics(names, self._settings, self._k, of_run=True)
        return sessions, leaks, cut_offs, bind_sessions(table, sessions)

    def _rules(self, gold: Gold, *, must_not: object = None, allowed: object = None) -> Rules | None:
        return rules_if_any(must_not, allowed, gold, self._settings)

    def _between_steps(self) -> None:
        self._yield()


def _at(metrics: MetricsByName, cut_offs: Sequence[GivenCutOff]) -> MetricsByName:
    """Return the metrics, those without cut-offs of their own at these."""
    return {name: replace(metric, cut_offs=metric.cut_offs or tuple(cut_offs)) for name, metric in metrics.items()}


def _are_grades(values: Iterable[object]) -> bool:
    return all(as_number(value) is not None for value in values)
