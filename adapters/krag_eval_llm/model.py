"""Ask a language model with retries, time limits, checked answers and counters."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, overload

from krag_eval import KragEvalError, Redactor
from krag_eval.toolkit import OfOneProcess, Retrying, check_count, check_number, refuse, show
from krag_eval_llm.calling import Caller, Counting, ModelCounters, Reply, TimeLimit
from krag_eval_llm.failures import Failure, ModelSetupError, NoAnswerError, classify, describe
from krag_eval_llm.json_answers import check_schema, json_objects, violations

LONGEST_BACKOFF = 60.0
_COUNTERS = {"rate_limited": "rate_limits", "timed_out": "time_outs", "unreachable": "unreachable"}
_COUNTERS |= {"bad_json": "bad_json", "refused": "refusals"}
_AGAIN = "\n\nAn earlier answer could not be used: {}. Answer again, with one JSON object that follows the schema."


class _TemporaryError(Exception):
    def __init__(self, failure: Failure, words: str) -> None:
        super().__init__(words)
        self.failure = failure
        self.retry_after = failure.wait


class LanguageModel(OfOneProcess):
    """A language model of any framework, made by `as_language_model`. Threads may share it.

    Attributes:
        name: The name of the model in reports.
    """

    def __init__(
        self,
        llm: object,
        *,
        retries: int,
        timeout: float | None,
        backoff: float,
        longest_wait: float,
        sleep: Callable[[float], None],
    ) -> None:
        self._counting = Counting()
        self._caller = Caller(llm, TimeLimit(timeout), self._counting)
        self._retries, self._timeout, self._longest_wait = retries, timeout, longest_wait
        self._redact = Redactor(llm)
        self._retrying = Retrying(
            retries,
            lambda error: isinstance(error, _TemporaryError),
            first=backoff,
            longest=LONGEST_BACKOFF,
            longest_asked=longest_wait,
            sleep=sleep,
        )
        self.name = self._redact(self._caller.name)

    def __repr__(self) -> str:
        return f"LanguageModel({self.name!r}, retries={self._retries}, timeout={self._timeout})"

    @property
    def counters(self) -> ModelCounters:
        """What happened to the prompts so far, in numbers."""
        return self._counting.counters

    @overload
    def ask(self, prompt: str, schema: None = None, *, answer_retries: int | None = None) -> str: ...
    @overload
    def ask(self, prompt: str, schema: Mapping[str, Any], *, answer_retries: int | None = None) -> dict[str, Any]: ...
    def ask(
        self, prompt: str, schema: Mapping[str, Any] | None = None, *, answer_retries: int | None = None
    ) -> str | dict[str, Any]:
        """Return the answer to a prompt: its text, or with a schema an object that follows it.

        Rate limits, timeouts, lost connections and server errors are retried after a wait; bad JSON and refusals are
        retried at once.

        Args:
            prompt: What to ask.
            schema: A JSON schema of type object. It needs the extra `llm` (jsonschema).
            answer_retries: How often to retry bad JSON and refusals; by default `retries`.

        Raises:
            InvalidInputError: The prompt is not a text, or the schema is not a JSON schema.
            NoAnswerError: No attempt gave a usable answer; another prompt may get one.
            ModelSetupError: No prompt will be answered: a wrong key, an unknown model, a bug in the program.
        """
        _check_prompt(prompt)
        if schema is not None:
            check_schema(schema)
        self._counting.add(prompts=1)
        try:
            return self._ask(prompt, schema, self._retries if answer_retries is None else answer_retries)
        except NoAnswerError:
            self._counting.add(failures=1)
            raise

    def _ask(self, prompt: str, schema: Mapping[str, Any] | None, retries: int) -> str | dict[str, Any]:
        asking = prompt
        for attempt in range(retries + 1):
            reply = self._reply(asking, schema)
            try:
                return self._read(reply, schema)
            except NoAnswerError as error:
                self._counting.add(**{_COUNTERS[error.reason]: 1})
                if attempt == retries:
                    raise
                asking = prompt + _AGAIN.format(error) if error.reason == "bad_json" else prompt
        raise AssertionError  # the loop returns or raises

    def _read(self, reply: Reply, schema: Mapping[str, Any] | None) -> str | dict[str, Any]:
        text, problem = self._redact(reply.text), ""
        refused = NoAnswerError(f"{self.name} refused: {show(text, 120)}", "refused", text)
        if reply.is_filtered:
            raise refused
        if schema is None:
            return reply.text if reply.parsed is None else str(dict(reply.parsed))
        for found in [dict(reply.parsed)] if reply.parsed is not None else json_objects(reply.text):
            wrong = next(violations(found, schema), None)
            if wrong is None:
                return found
            problem = problem or self._redact(wrong)
        if not problem and reply.sounds_refusing:
            raise refused
        problem = problem or ("it contains no JSON object" if text.strip() else "it is empty")
        if reply.is_cut_off:
            problem += " (it was cut off at the model's token limit)"
        raise NoAnswerError(f"{problem}: {show(text, 120)}" if text.strip() else problem, "bad_json", text)

    def _reply(self, prompt: str, schema: Mapping[str, Any] | None) -> Reply:
        try:
            return self._retrying.call(lambda: self._attempt(prompt, schema))
        except _TemporaryError as error:
            reason = error.failure.reason or "unreachable"
            raise NoAnswerError(
                f"{self.name} gave no answer in {self._retries + 1} attempts: {error}", reason
            ) from None

    def _attempt(self, prompt: str, schema: Mapping[str, Any] | None) -> Reply:
        try:
            return self._caller.text(prompt) if schema is None else self._caller.object(prompt, schema)
        except KragEvalError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a client raises is told in our words, without its keys
            raise self._as_our_error(error) from None

    def _as_our_error(self, error: Exception) -> Exception:
        failure, words = classify(error), describe(error, self._redact)
        if failure.reason is None:
            return ModelSetupError(
                f"{self.name} cannot be asked: {words}. Retrying does not help. Check the key, the name of the model "
                "and the code around it."
            )
        counter = _COUNTERS.get(failure.reason)
        if counter is not None:
            self._counting.add(**{counter: 1})
        if not failure.is_temporary:
            return NoAnswerError(f"{self.name} rejects this prompt: {words}", failure.reason)
        if failure.wait is not None and failure.wait > self._longest_wait:
            return NoAnswerError(
                f"{self.name} asks to wait {failure.wait:,.0f} s, longer than `longest_wait` {self._longest_wait:g} s: "
                f"{words}",
                failure.reason,
            )
        return _TemporaryError(failure, words)


def as_language_model(
    llm: object,
    *,
    retries: int = 3,
    timeout: float | None = None,
    backoff: float = 1.0,
    longest_wait: float = 120.0,
    sleep: Callable[[float], None] | None = None,
) -> LanguageModel:
    """Wrap a language model of any framework.

    Args:
        llm: A LangChain chat model, text model or chain, a LlamaIndex LLM, or a function from a prompt to a string,
            plain or async. A `LanguageModel` is returned unchanged.
        retries: How often to retry a prompt.
        timeout: The time limit of one call in seconds, or None. An awaited call is cancelled; a plain call is abandoned
            in its thread.
        backoff: Seconds before the first retry, doubled before each further one, plus random jitter. If the server says
            how long to wait (`Retry-After`), that is used instead.
        longest_wait: If the server asks to wait longer than this, the prompt is given up.
        sleep: How to wait instead of `time.sleep`, for tests.

    Raises:
        InvalidInputError: It is not a language model, or a setting is out of range.

    >>> model = as_language_model(lambda prompt: '{"capital": "Seoul"}')
    >>> schema = {"type": "object", "properties": {"capital": {"type": "string"}}, "required": ["capital"]}
    >>> model.ask("What is the capital of Korea?", schema)
    {'capital': 'Seoul'}
    >>> print(model.counters)
    1 prompts, 1 calls
    """
    if isinstance(llm, LanguageModel):
        return llm
    check_count("retries", retries, least=0)
    if timeout is not None:
        check_number("timeout", timeout, "It is in seconds.", above=0)
    check_number("backoff", backoff, "It is in seconds.", least=0)
    check_number("longest_wait", longest_wait, "It is in seconds.", least=0)
    if sleep is not None and not callable(sleep):
        refuse("sleep", "a function that takes seconds", sleep)
    return LanguageModel(
        llm, retries=retries, timeout=timeout, backoff=backoff, longest_wait=longest_wait, sleep=sleep or time.sleep
    )


def _check_prompt(prompt: object) -> None:
    if not isinstance(prompt, str) or not prompt.strip():
        refuse("prompt", "a text that is not blank", prompt)
