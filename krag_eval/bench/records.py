"""What a bench comes to."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from krag_eval.report import write_report

if TYPE_CHECKING:
    from krag_eval.answers import AnswerResult
    from krag_eval.context_judge import ContextResult
    from krag_eval.evalset import EvalSet, Run
    from krag_eval.generation import GenerationReport
    from krag_eval.report import Report
    from krag_eval.results import EvaluationResult

EVAL_MODES: dict[str, tuple[str, ...]] = {
    "all": ("literal", "paraphrase", "scenario", "negative"),
    "literal": ("literal",),
    "semantic": ("paraphrase", "scenario"),
}
"""The types of questions that each mode asks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """The outcome of every stage, and the report of them all.

    Attributes:
        evalset: The questions.
        generation: How they were made; None where they were given.
        run: What the retriever returned.
        retrieval: Its scores.
        answers: The answers by question, an exception in the place of one that failed; None where none were made.
        answer_scores: Their scores; None where none were made, or no question has a reference.
        context: What the model judged of the retrieved context; None where nothing was judged.
        left_out: For each stage that was left out, why.
        report: All of it.
    """

    evalset: EvalSet
    generation: GenerationReport | None
    run: Run
    retrieval: EvaluationResult
    answers: Mapping[str, str | Exception] | None
    answer_scores: AnswerResult | None
    context: ContextResult | None
    left_out: tuple[str, ...]
    report: Report

    def write(
        self,
        path: str | os.PathLike[str],
        *,
        format: str | None = None,  # noqa: A002 - the word that users of such methods know
        force: bool = False,
    ) -> Path:
        """Write the report as `write_report` does.

        Raises:
            InvalidInputError: The file is there, or cannot be written.
            MissingDependencyError: HTML was asked for, and a package of the extra `report` is not installed.
        """
        return write_report(self.report, path, format=format, force=force)
