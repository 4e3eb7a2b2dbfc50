"""The outcome of a bench, and the sections that it adds to a report."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from krag_eval import EvalSet, EvaluationResult, Question, Run
from krag_eval.toolkit import (
    Cell,
    Column,
    ComparedByFields,
    FloatArray,
    MeanState,
    Section,
    Table,
    format_value,
    load,
)
from krag_eval_answers import AnswerResult
from krag_eval_llm.bench.answering import AnswerError
from krag_eval_llm.context_judge.result import ContextResult, ContextRow
from krag_eval_llm.question_generation import GenerationReport
from krag_eval_llm.question_generation.checks import REASONS
from krag_eval_llm.question_generation.report import FLATTERY

EVAL_MODES: dict[str, tuple[str, ...]] = {
    "all": ("literal", "paraphrase", "scenario", "negative"),
    "literal": ("literal",),
    "semantic": ("paraphrase", "scenario"),
}
"""The types of questions that each mode asks."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Bench(ComparedByFields):
    """The results of every stage, and the report on all of them.

    Attributes:
        evalset: The questions.
        generation: How they were generated; None if they were given.
        run: What the retriever returned.
        retrieval: Its scores.
        answers: The answers by question, an exception in place of a failed one; None if none were made.
        answer_scores: Their scores; None if there are no answers, or no question has a reference.
        context: The judged context; None if nothing was judged.
        left_out: For each skipped stage, why.
        report: The report on everything.
    """

    evalset: EvalSet
    generation: GenerationReport | None
    run: Run
    retrieval: EvaluationResult
    answers: Mapping[str, str | Exception] | None
    answer_scores: AnswerResult | None
    context: ContextResult | None
    left_out: tuple[str, ...]
    report: Any

    def write(
        self,
        path: str | os.PathLike[str],
        *,
        format: str | None = None,  # noqa: A002 - the word that users of such methods know
        force: bool = False,
    ) -> Path:
        """Write the report, like `write_report`.

        Raises:
            InvalidInputError: The file exists, or cannot be written.
            MissingDependencyError: A package that HTML needs is not installed.
        """
        written: Path = load("krag_eval.reports", "write")(self.report, path, format=format, force=force)
        return written


_NO_TYPE = "(none)"
_OURS = f"{AnswerError.__name__}: "  # means nothing to readers of a report


def bench_sections(
    questions: EvalSet,
    asked: EvalSet,
    generation: GenerationReport | None,
    scores: AnswerResult | None,
    context: ContextResult | None,
    left_out: Sequence[str],
) -> tuple[Section, ...]:
    """Return the sections of a bench, in the order of its stages.

    Args:
        questions: All questions.
        asked: Those to be answered.
        generation: How they were generated; None if they were given.
        scores: The scores of the answers.
        context: The context that a model judged.
        left_out: What was skipped, and why.
    """
    return tuple(
        section
        for section in (
            _questions(questions, generation),
            None if scores is None else _answers(asked, scores),
            None if context is None else _context(asked, context),
            Section("left_out", "Left out", tuple(left_out)) if left_out else None,
        )
        if section is not None
    )


def given_answers(
    questions: EvalSet,
    asked: EvalSet,
    answers: Mapping[str, str | Exception] | None,
    scores: AnswerResult | None,
    context: ContextResult | None,
) -> dict[int, dict[str, Any]]:
    """Return by the place of each question the answer that was given, its scores, and what the judge said."""
    place = {question.id: number for number, question in enumerate(questions)}
    given = {}
    for row, question in enumerate(asked):
        answer = None if answers is None else answers.get(question.id)
        error = str(answer).removeprefix(_OURS) if isinstance(answer, Exception) else None
        values = {} if scores is None else {name: float(column[row]) for name, column in scores.values.items()}
        judged = None if context is None else context.rows[row]
        values |= {} if judged is None else {name: v for name, v in judged.values.items() if v is not None}
        given[place[question.id]] = {
            "text": answer if isinstance(answer, str) else None,
            "error": error,
            "scores": [(name, format_value(v)) for name, v in values.items() if not math.isnan(v)],
            "verdicts": [] if judged is None else [*_verdicts(judged)],
        }
    return given


def _verdicts(row: ContextRow) -> Iterator[tuple[str, bool | None, str | None]]:
    for rank, chunk in enumerate(row.chunks, 1):
        said = chunk.error if chunk.repeats is None else f"repeats rank {chunk.repeats}"
        useful = {True: "useful", False: "not useful", None: "no verdict"}[chunk.is_useful]
        yield f"rank {rank}: {useful}", chunk.is_useful, chunk.reason or said
    for statement in row.statements:
        yield statement.text, statement.is_attributed, statement.reason
    for failure in row.failures:
        yield "the judge failed", None, failure


def _questions(questions: EvalSet, generation: GenerationReport | None) -> Section:
    if generation is None:
        return Section("questions", "The questions", (f"{len(questions)} questions were given; none were generated.",))
    dropped = ", ".join(f"{count} {REASONS[reason][0]}" for reason, count in generation.dropped.items())
    made = (
        f"{generation.n_made} of {generation.n_wanted} questions were written by {generation.model} from "
        f"{generation.n_chunks} chunks (prompts {generation.prompts}, language {generation.language}, seed "
        f"{generation.seed})."
    )
    paragraphs = [
        made,
        f"Answers of the model that were not used: {dropped}." if dropped else "No answer of the model was dropped.",
        FLATTERY,
    ]
    if generation.stopped is not None:
        paragraphs.insert(1, generation.stopped)
    columns = (
        Column("type", "type", is_number=False),
        Column("made", "made"),
        Column("wanted", "wanted"),
        Column("dropped", "dropped"),
        Column("overlap", "words from the chunk", help="Mean share of a question's words that appear in its chunk."),
    )
    rows = tuple(
        (
            Cell.of_text(name),
            Cell.of_count(one.made),
            Cell.of_count(one.wanted),
            Cell.of_count(sum(one.dropped.values())),
            Cell.of_share(one.overlap),
        )
        for name, one in generation.types.items()
    )
    return Section("questions", "How the questions were made", tuple(paragraphs), (Table("made", None, columns, rows),))


def _answers(asked: EvalSet, scores: AnswerResult) -> Section:
    paragraphs = [f"{scores.n_answers} questions were to be answered; the answers are scored against the references."]
    if scores.errors:
        first = next(iter(scores.errors.values())).removeprefix(_OURS)
        paragraphs.append(f"{len(scores.errors)} of them got no answer; the first: {first}")
    paragraphs += _without_reference(asked, "they have no text metrics")
    if scores.n_refusals:
        paragraphs.append(f"{scores.n_refusals} answers say that there is none.")
    table = _table("answer_scores", asked, scores.to_dict(), scores.intervals, scores.undefined, scores.values)
    return Section("answers", "Answers", (*paragraphs, scores.signature), (table,))


def _context(asked: EvalSet, context: ContextResult) -> Section:
    paragraphs = [
        f"A language model judged the retrieved context of {len(asked)} questions: these values are its opinion."
    ]
    paragraphs += _without_reference(asked, "nothing was judged for them")
    if context.n_failed:
        first = next(row.failures[0] for row in context.rows if row.failures)
        paragraphs.append(
            f"The judge gave no usable verdict on {context.n_failed} of them; these are undefined. The first: {first}"
        )
    values = {
        key: [math.nan if row.values[key] is None else row.values[key] for row in context.rows] for key in context.means
    }
    table = _table("context_scores", asked, context.to_dict(), context.intervals, context.undefined, values)
    return Section("context", "Retrieved context, judged by a model", (*paragraphs, context.signature), (table,))


def _without_reference(asked: EvalSet, consequence: str) -> list[str]:
    n_without = sum(not question.is_negative and not question.answer for question in asked)
    return [f"Questions whose answer is not known: {n_without}; {consequence}."] if n_without else []


def _table(
    key: str,
    asked: EvalSet,
    means: Mapping[str, float | None],
    intervals: Mapping[str, tuple[float, float] | None] | None,
    undefined: Mapping[str, int],
    values: Mapping[str, FloatArray | Sequence[float | None]],
) -> Table:
    """Return one row per metric: its mean with the interval, undefined values, and the mean of each question type."""
    types = list(dict.fromkeys(question.type or _NO_TYPE for question in asked))
    types = types if len(types) > 1 else []
    columns = (
        Column("metric", "metric", is_number=False),
        Column("mean", "mean"),
        Column("interval", "95 % interval"),
        Column("undefined", "undefined"),
        *(Column(f"type:{name}", name) for name in types),
    )
    rows = tuple(
        (
            Cell.of_text(metric),
            Cell.of_value(mean),
            Cell.of_interval(None if intervals is None else intervals[metric]),
            Cell.of_count(undefined[metric]),
            *_by_type(asked, types, values[metric]),
        )
        for metric, mean in means.items()
    )
    return Table(key, None, columns, rows)


def _by_type(
    asked: Sequence[Question], types: Sequence[str], values: FloatArray | Sequence[float | None]
) -> Iterator[Cell]:
    for name in types:
        of_type = [value for one, value in zip(asked, values, strict=True) if (one.type or _NO_TYPE) == name]
        state = MeanState()
        state.add(np.array(of_type, dtype=np.float64))
        yield Cell.of_value(state.mean)
