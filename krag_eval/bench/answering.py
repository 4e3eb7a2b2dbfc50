"""Questions answered from what was retrieved, several at a time, each answer in a journal as soon as it is there."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any

from krag_eval.bench.answerers import Answerer
from krag_eval.documents import Document
from krag_eval.errors import KragEvalError
from krag_eval.evalset import Question, Run
from krag_eval.journal import JournalKind, KeyedJournal
from krag_eval.language_model import ModelSetupError
from krag_eval.language_model.daemon_threads import as_they_come
from krag_eval.progress import ProgressHook, RunProgress
from krag_eval.redaction import describe_error

ANSWERS_JOURNAL = JournalKind("krag_eval_answers", "set of answers")


class AnswerError(KragEvalError, RuntimeError):
    """A question got no answer; the message says why."""


@dataclass(frozen=True, slots=True)
class _Task:
    question: Question
    documents: Sequence[Document]

    @property
    def key(self) -> str:
        """Twenty hex digits that change with the question and with what was retrieved for it."""
        asked = [self.question.question, [(document.id, document.text) for document in self.documents]]
        return hashlib.sha256(json.dumps(asked, ensure_ascii=True).encode()).hexdigest()[:20]


def answer_questions(
    questions: Sequence[Question],
    run: Run,
    answerer: Answerer,
    journal: KeyedJournal,
    *,
    concurrency: int = 8,
    progress: ProgressHook | None = None,
) -> dict[str, str | Exception]:
    """Have each question answered from its documents, unless the journal has the answer.

    Args:
        questions: The questions.
        run: What was retrieved for them; a question whose retriever raised is answered from nothing.
        answerer: Who answers.
        journal: Where answers are looked up and written down, by question and documents.
        concurrency: How many questions are answered at a time, each in a thread.
        progress: Called after every answer.

    Returns:
        By the id of the question, in the order given, the answer, or an error where there is none.

    Raises:
        InvalidInputError: The journal cannot be written.
        ModelSetupError: A model cannot be asked at all, as with a wrong key.
    """
    tasks = {question.id: _Task(question, _documents(run, question)) for question in questions}
    done: dict[str, str | Exception] = {}
    for name, task in tasks.items():
        row = journal.get(task.key)
        if row is not None:
            done[name] = _read(row)
    left = [task for name, task in tasks.items() if name not in done]
    start, errors = time.monotonic(), 0
    answered = as_they_come(partial(_answer, answerer), left, concurrency, "krag-eval-answer")
    with closing(answered):
        for asked, (task, row) in enumerate(answered, 1):
            if journal.get(task.key) is None:  # two questions may be the same
                journal.put(task.key, row)
            done[task.question.id] = _read(row)
            errors += row.get("error") is not None
            if progress is not None:
                progress(
                    RunProgress(
                        name="answers",
                        done=len(done),
                        total=len(tasks),
                        errors=errors,
                        asked=asked,
                        seconds=time.monotonic() - start,
                        is_over=len(done) == len(tasks),
                    )
                )
    return {name: done[name] for name in tasks}


def _documents(run: Run, question: Question) -> Sequence[Document]:
    row = run.rows.get(question.id)
    return () if row is None else row.retrieved


def _read(row: Any) -> str | Exception:
    return AnswerError(str(row["error"])) if row.get("error") is not None else str(row.get("answer") or "")


def _answer(answerer: Answerer, task: _Task) -> dict[str, Any]:
    start = time.perf_counter()
    try:
        answer = answerer(task.question.question or "", task.documents)
    except ModelSetupError:
        raise
    except Exception as error:  # noqa: BLE001 - one question that fails must not cost the others
        return {"query_id": task.question.id, "error": describe_error(error)}
    return {"query_id": task.question.id, "answer": answer, "seconds": round(time.perf_counter() - start, 6)}
