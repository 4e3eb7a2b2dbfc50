"""Asks a language model, unless the journal has its answer, and writes every answer down."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from krag_eval.generation.prompting import NEGATIVE
from krag_eval.journal import KeyedJournal
from krag_eval.language_model import LanguageModel, NoAnswerError
from krag_eval.language_model.daemon_threads import as_they_come

# So many prompts in a row without a word from the model: it is out of reach, and asking on would use up the chunks.
MOST_UNANSWERED = 5

_TEXT = {"type": "string"}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "title": "question_with_evidence",
    "description": "A question about a passage, its answer, and the sentences that give it.",
    "properties": {"question": _TEXT, "answer": _TEXT, "evidence": _TEXT},
    "required": ["question", "answer", "evidence"],
}
NEGATIVE_SCHEMA: dict[str, Any] = {
    "type": "object",
    "title": "question_without_answer",
    "description": "A question that a passage does not answer, and what its answer would say.",
    "properties": {"question": _TEXT, "answer": _TEXT},
    "required": ["question"],
}


@dataclass(frozen=True, slots=True)
class Request:
    """A prompt to be answered.

    Attributes:
        slot: The number of the question that it is for.
        key: Names its row in the journal: type, attempt and chunk.
        kind: The type of question.
        chunk_id: The chunk.
        attempt: The number of the attempt with this chunk, from 1.
        prompt: The text.
    """

    slot: int
    key: str
    kind: str
    chunk_id: str
    attempt: int
    prompt: str


class Asker:
    """Asks a language model, some prompts at a time.

    Args:
        model: The model.
        journal: Where answers are looked up and written down.
        concurrency: How many prompts are asked at a time.

    Attributes:
        is_out_of_reach: Whether the model was given up, because it did not answer several prompts in a row.
        last_error: What it said last instead of an answer, or None.
    """

    def __init__(self, model: LanguageModel, journal: KeyedJournal, concurrency: int) -> None:
        self._model, self._journal, self._concurrency = model, journal, concurrency
        self._unanswered: list[tuple[str, dict[str, Any]]] = []
        self.is_out_of_reach = False
        self.last_error: str | None = None

    def ask_all(self, requests: Sequence[Request]) -> Iterator[tuple[Request, Mapping[str, Any]]]:
        """Each request with its row, as they come; fewer where the model is out of reach.

        A row has `"answer"`, an object, or `"reason"`, a key of `keeping.REASONS`.

        Raises:
            ModelSetupError: No prompt will be answered.
            InvalidInputError: A row cannot be written down.
        """
        new = []
        for request in requests:
            row = self._journal.get(request.key)
            if row is None:
                new.append(request)
            else:
                yield request, row
        # One by one nothing needs a thread, and Ctrl-C reaches the model itself.
        asked = (
            ((request, self._answer(request)) for request in new)
            if self._concurrency == 1
            else as_they_come(self._answer, new, self._concurrency, "krag-eval-generate")
        )
        with closing(asked):
            for request, row in asked:
                yield request, self._record(request, row)
                if self.is_out_of_reach:
                    return

    def finish(self) -> None:
        """Write down what is held back, unless the model is out of reach: then it will be asked again."""
        if not self.is_out_of_reach:
            self._write_unanswered()

    def _answer(self, request: Request) -> dict[str, Any]:
        schema = NEGATIVE_SCHEMA if request.kind == NEGATIVE else SCHEMA
        about = {"chunk_id": request.chunk_id, "type": request.kind, "attempt": request.attempt}
        try:
            return {**about, "answer": self._model.ask(request.prompt, schema, answer_retries=0)}
        except NoAnswerError as error:
            row = {**about, "answer": None, "reason": error.reason, "text": error.answer}
            # `error` marks what an operator may want to have asked again; bad JSON and refusals are answers.
            return row if error.reason in ("bad_json", "refused") else {**row, "error": str(error)}

    def _record(self, request: Request, row: dict[str, Any]) -> Mapping[str, Any]:
        error = row.get("error")
        if error is not None and row["reason"] != "rejected":
            self.last_error = str(error)
            self._unanswered.append((request.key, row))
            self.is_out_of_reach = len(self._unanswered) >= MOST_UNANSWERED
        else:
            self._write_unanswered()
            self._journal.put(request.key, row)
        return row

    def _write_unanswered(self) -> None:
        held, self._unanswered = self._unanswered, []
        for key, row in held:
            self._journal.put(key, row)
