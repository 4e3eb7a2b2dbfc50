"""The stages of a bench, each with its journal and its line of progress."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from krag_eval.bench.answerers import Answerer, as_answerer, is_model, model_answerer
from krag_eval.bench.answering import ANSWERS_JOURNAL, answer_questions
from krag_eval.bench.records import EVAL_MODES
from krag_eval.bench.verdicts import VERDICTS_JOURNAL, Verdicts
from krag_eval.context_judge import ContextResult, judge_contexts
from krag_eval.errors import warn
from krag_eval.evalset import EvalSet, Run, write_evalset
from krag_eval.generation import GeneratedEvalSet, generate_evalset
from krag_eval.journal import KeyedJournal
from krag_eval.language_model import LanguageModel, as_language_model
from krag_eval.naming import qualified_name
from krag_eval.progress import ProgressHook
from krag_eval.runner import RunStoppedError, run_retriever

EVALSET_FILE = "evalset.jsonl"
"""The generated questions, in the folder of the journals."""


@dataclass(frozen=True, slots=True)
class Stages:
    """How the stages are carried out.

    Attributes:
        journals: The folder of the journals; None keeps none.
        concurrency: How many questions are asked at a time.
        timeout: Seconds for one call, or None.
        progress: Called with how far a stage has come, or None.
    """

    journals: Path | None
    concurrency: int
    timeout: float | None
    progress: ProgressHook | None

    def generate(
        self, corpus: object, model: LanguageModel, *, samples: int, mode: str, language: str, seed: int
    ) -> GeneratedEvalSet:
        """Have the model write questions of a mode; beside their journal they are a set to read and to ask again."""
        made = generate_evalset(
            corpus,
            model,
            n=samples,
            types=EVAL_MODES[mode],
            language=language,
            seed=seed,
            journal=self._journal("questions.jsonl"),
            progress=self.progress,
            concurrency=self.concurrency,
            retry_errors=True,
        )
        if self.journals is not None and len(made):
            write_evalset(made.evalset, self.journals / EVALSET_FILE)
        return made

    def retrieve(
        self, retriever: object, questions: EvalSet, *, k: int, name: str | None, parameters: Mapping[str, Any] | None
    ) -> Run:
        """Ask the retriever.

        Warns:
            KragEvalWarning: It failed on some questions, which count as nothing retrieved.

        Raises:
            RunStoppedError: It failed on all of them, or on most of many.
        """
        run = run_retriever(
            retriever,
            questions,
            k=k,
            name=name,
            parameters=parameters,
            concurrency=self.concurrency,
            timeout=self.timeout,
            journal=self._journal("run.jsonl"),
            retry_errors=True,
            progress=self.progress,
        )
        if run.errors:
            told = f"on {len(run.errors)} of {len(questions)} questions; the first: {next(iter(run.errors.values()))}"
            if len(run.errors) == len(questions):
                raise RunStoppedError(f"The retriever failed {told}. Nothing can be scored: mend it, and run again.")
            warn(f"The retriever failed {told}. They count as nothing retrieved, and are asked when it is run again.")
        return run

    def answer(
        self, questions: EvalSet, run: Run, answer: object, model: LanguageModel | None, name: str | None
    ) -> dict[str, str | Exception] | None:
        """Have the questions answered by the system given, or by the model; None where there is neither."""
        answerer: Answerer
        if answer is not None:
            answerer, by = as_answerer(answer, self.timeout), name or _name_of(answer)
        elif model is not None:
            answerer, by = model_answerer(model), model.name
        else:
            return None
        path = self._journal("answers.jsonl")
        with KeyedJournal(path, ANSWERS_JOURNAL, {"answered_by": by}, retry_errors=True) as rows:
            return answer_questions(
                list(questions), run, answerer, rows, concurrency=self.concurrency, progress=self.progress
            )

    def judge(self, questions: EvalSet, run: Run, model: LanguageModel, *, k: int, intervals: bool) -> ContextResult:
        """Have the model judge what was retrieved for these questions."""
        rows_asked = {question.id: run.rows[question.id] for question in questions if question.id in run.rows}
        with KeyedJournal(self._journal("verdicts.jsonl"), VERDICTS_JOURNAL, {"model": model.name}) as rows:
            return judge_contexts(
                questions,
                replace(run, rows=rows_asked),
                model,
                k=k,
                cache=Verdicts(rows),
                concurrency=self.concurrency,
                intervals=intervals,
                progress=self.progress,
            )

    def _journal(self, name: str) -> Path | None:
        return None if self.journals is None else self.journals / name


def _name_of(answer: object) -> str:
    return as_language_model(answer).name if is_model(answer) else qualified_name(answer)
