"""The judge asked: schemas of its answers, a cache, and failures that stay failures."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from krag_eval.context_judge.records import ChunkVerdict, StatementVerdict
from krag_eval.errors import InvalidInputError
from krag_eval.language_model import LanguageModel, NoAnswerError
from krag_eval.language_model.json_schema import violations
from krag_eval.prompts import delimited, fill

_SENTENCE = {"type": "string"}
_CHUNK = {
    "type": "object",
    "title": "chunk_verdict",
    "properties": {"reason": _SENTENCE, "useful": {"type": "boolean"}},
    "required": ["reason", "useful"],
}
_STATEMENTS = {
    "type": "object",
    "title": "statements",
    "properties": {"statements": {"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1}},
    "required": ["statements"],
}


def _attribution(n_statements: int) -> dict[str, Any]:
    verdict = {
        "type": "object",
        "properties": {
            "number": {"type": "integer", "minimum": 1, "maximum": n_statements},
            "reason": _SENTENCE,
            "attributed": {"type": "boolean"},
        },
        "required": ["number", "reason", "attributed"],
    }
    verdicts = {"type": "array", "items": verdict, "minItems": n_statements, "maxItems": n_statements}
    return {
        "type": "object",
        "title": "attribution",
        "properties": {"verdicts": verdicts},
        "required": ["verdicts"],
    }


# So many prompts in a row without a word from the model, each tried several times: it is out of reach.
MOST_UNANSWERED = 5


class Judge:
    """A model that gives verdicts, each prompt asked once. Threads may share it.

    Where several prompts in a row get no answer, the model is out of reach: no further one is asked.

    Args:
        model: The model.
        prompts: The prompts by name.
        known: Verdicts that were given before, by key.
        tell: Called with every new verdict, as its key and itself, in the thread that asked.
    """

    def __init__(
        self,
        model: LanguageModel,
        prompts: Mapping[str, str],
        known: Mapping[str, Any],
        tell: Callable[[tuple[str, dict[str, Any]]], None],
    ) -> None:
        self._model = model
        self._prompts = prompts
        self._known = dict(known)
        self._tell = tell
        self._lock = threading.Lock()
        self._asking: dict[str, threading.Lock] = {}
        self._stopped = threading.Event()
        self._unanswered = 0

    def stop(self) -> None:
        """Ask nothing more: whoever still wants a verdict gets a failure."""
        self._stopped.set()

    def chunk(self, question: str, reference: str, text: str) -> ChunkVerdict:
        """Whether a chunk was useful for arriving at the reference."""
        values = {"question": question, "reference": reference, "passage": text}
        try:
            verdict = self._ask("chunk", values, _CHUNK)
        except NoAnswerError as error:
            return ChunkVerdict(None, None, str(error))
        return ChunkVerdict(verdict["useful"], verdict["reason"], None)

    def statements(self, question: str, reference: str) -> list[str]:
        """The statements that a reference makes, repeats merged.

        Raises:
            NoAnswerError: The model gave none.
        """
        found = self._ask("statements", {"question": question, "reference": reference}, _STATEMENTS)
        return list(dict.fromkeys(found["statements"]))

    def attribution(self, question: str, statements: Sequence[str], texts: Sequence[str]) -> list[StatementVerdict]:
        """Which statements can be attributed to the chunks.

        Raises:
            NoAnswerError: The model did not give a verdict on each of them.
        """
        values = {
            "question": question,
            "statements": "\n".join(f"{number}. {text}" for number, text in enumerate(statements, 1)),
            "passages": "\n\n".join(delimited(text, "PASSAGE") for text in texts),
        }
        numbers = list(range(1, len(statements) + 1))
        found = self._ask(
            "attribution",
            values,
            _attribution(len(statements)),
            lambda answer: sorted(verdict["number"] for verdict in answer["verdicts"]) == numbers,
        )
        by_number = {verdict["number"]: verdict for verdict in found["verdicts"]}
        return [
            StatementVerdict(text, by_number[number]["attributed"], by_number[number]["reason"])
            for number, text in zip(numbers, statements, strict=True)
        ]

    def _ask(
        self,
        name: str,
        values: Mapping[str, str],
        schema: Mapping[str, Any],
        is_whole: Callable[[dict[str, Any]], bool] = bool,
    ) -> dict[str, Any]:
        told = {key: text if key == "passages" else delimited(text, key.upper()) for key, text in values.items()}
        prompt = fill(self._prompts[name], told)
        key = hashlib.sha256(f"{self._model.name}\0{prompt}".encode("utf-8", "surrogatepass")).hexdigest()
        with self._lock:
            asking = self._asking.setdefault(key, threading.Lock())
        with asking:  # who asks the same at the same time waits for the answer
            with self._lock:
                known = self._known.get(key)
            if known is not None:
                return _checked(known, key, schema)
            if self._stopped.is_set():
                raise NoAnswerError("the run was stopped")
            if self._unanswered >= MOST_UNANSWERED:
                raise NoAnswerError(f"not asked, for the model did not answer {MOST_UNANSWERED} prompts in a row")
            answer = self._answer(prompt, schema)
            if not is_whole(answer):
                raise NoAnswerError(f"{self._model.name} gave no verdict on some of the statements", "bad_json")
            with self._lock:
                self._known[key] = answer
            self._tell((key, answer))
            return answer

    def _answer(self, prompt: str, schema: Mapping[str, Any]) -> dict[str, Any]:
        try:
            answer = self._model.ask(prompt, schema)
        except NoAnswerError as error:
            self._count(is_heard=error.is_of_the_model)
            raise
        self._count(is_heard=True)
        return answer

    def _count(self, *, is_heard: bool) -> None:
        with self._lock:
            if self._unanswered < MOST_UNANSWERED:  # once it is given up, it stays so
                self._unanswered = 0 if is_heard else self._unanswered + 1


def _checked(known: object, key: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """What a cache gave, if it is what the judge was asked for."""
    wrong = next(violations(known, schema), None)
    if wrong is not None or not isinstance(known, dict):
        raise InvalidInputError(
            f"`cache` has something else for {key} than a verdict: {wrong}. It must give back the dict that was put "
            "there. Remove the entry, or use another cache."
        )
    return known
