"""Call a language model of any framework with one prompt, within a time limit, and count what happens."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import dataclasses
import functools
import inspect
import json
import re
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any, TypeVar

from krag_eval import InvalidInputError
from krag_eval.toolkit import DaemonThreads, describe_type, start_thread, this_process, wrong_parameters
from krag_eval_llm.failures import ModelSetupError, classify

T = TypeVar("T")

_MODEL_NAMES = ("model_name", "model", "model_id", "deployment_name", "repo_id")
_AS_JSON = "\n\nAnswer with one JSON object and nothing else: no code fence, no remarks. It follows this JSON schema:\n"
_UNSUPPORTED = (NotImplementedError, TypeError, ValueError, AttributeError, ImportError)


class Caller:
    """A language model, ready to be called.

    Args:
        llm: One of the models in the table of `krag_eval_llm`.
        limit: The time limit of a call.
        counting: Counts the calls.

    Attributes:
        name: The name in reports: that of the model behind it, if known.

    Raises:
        InvalidInputError: It is not a language model.
    """

    def __init__(self, llm: Any, limit: TimeLimit, counting: Counting) -> None:
        self._llm, self._limit, self._counting = llm, limit, counting
        self._function = _function_of(llm)
        self.name = _name_of(llm)
        self._is_structured = callable(getattr(llm, "with_structured_output", None))
        self._has_worked = False
        self._structured: dict[str, Callable[[str], Any]] = {}

    def text(self, prompt: str) -> Reply:
        """Return the answer to a prompt."""
        return self._call(self._function, prompt)

    def object(self, prompt: str, schema: Mapping[str, Any]) -> Reply:
        """Return the answer to a prompt that asks for a JSON object.

        If the framework supports structured output, it is used. If that does not work, the schema is put into the
        prompt, now and from then on.
        """
        written = json.dumps(schema, ensure_ascii=False)
        asking = f"{prompt}{_AS_JSON}{written}"
        if not self._is_structured:
            return self.text(asking)
        try:
            if written not in self._structured:
                self._structured[written] = _structured(self._llm, schema)
        except _UNSUPPORTED:
            self._is_structured = False
            return self.text(asking)
        try:
            reply = self._call(self._structured[written], prompt)
        except Exception as error:
            if self._has_worked or not (isinstance(error, _UNSUPPORTED) or classify(error).reason == "rejected"):
                raise
            reply = self.text(asking)  # if that fails too, it was not the schema
            self._is_structured = False
            return reply
        self._has_worked = True
        return reply

    def _call(self, function: Callable[[str], Any], prompt: str) -> Reply:
        self._counting.add(calls=1)
        try:
            reply = read_reply(self._limit.call(function, prompt))
        except Exception as error:
            raised = _raised_reply(error)
            if raised is None:
                raise
            reply = raised
        self._counting.add(input_tokens=reply.input_tokens, output_tokens=reply.output_tokens)
        return reply


def _structured(llm: Any, schema: Mapping[str, Any]) -> Callable[[str], Any]:
    method = llm.with_structured_output
    named = {"title": "answer", "description": "The answer.", **schema}
    parameters = inspect.signature(method).parameters
    takes_raw = "include_raw" in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    made = method(named, include_raw=True) if takes_raw else method(named)
    function: Callable[[str], Any] = made.invoke
    return function


def _function_of(llm: Any) -> Callable[[str], Any]:
    if isinstance(llm, type):
        raise InvalidInputError(f"The language model is the class {llm.__name__}. It must be an object. Create one.")
    for method in ("invoke", "complete"):
        function = getattr(llm, method, None)
        if callable(function):
            return function  # type: ignore[no-any-return]
    if isinstance(llm, str) or not callable(llm):
        raise InvalidInputError(
            f"The language model is {describe_type(llm)}, which cannot be asked. It must be a LangChain chat model, a "
            "LlamaIndex LLM, or a function that takes a prompt and returns a string."
        )
    if inspect.iscoroutinefunction(getattr(llm, "__call__", None)):  # noqa: B004 - an object may have an async one
        return llm.__call__  # type: ignore[no-any-return]
    if (parameters := wrong_parameters(llm)) is not None:
        raise InvalidInputError(
            f"The language model takes ({parameters}) and cannot be called with a prompt alone. "
            "Wrap it, for example as `lambda prompt: ask(prompt, temperature=0)`."
        )
    return llm  # type: ignore[no-any-return]


def _name_of(llm: Any) -> str:
    while isinstance(llm, functools.partial):
        llm = llm.func
    for holder in (getattr(llm, "metadata", None), llm):  # LlamaIndex keeps the name in its metadata
        for name in _MODEL_NAMES:
            value = getattr(holder, name, None)
            if isinstance(value, str) and value and value != "unknown":
                return value
    own = getattr(llm, "__name__", None)
    return own if isinstance(own, str) and own != "<lambda>" else type(llm).__name__


# How refusals begin: regular expressions, one a line. Only answers without JSON are checked.
_BEGINNINGS = (resources.files("krag_eval_llm") / "refusals.txt").read_text(encoding="utf-8").splitlines()
_REFUSALS = re.compile(rf"\A\W*(?:{'|'.join(_BEGINNINGS)})", re.IGNORECASE)
_FILTERED = {"content_filter", "refusal", "safety", "prohibited_content", "blocklist", "recitation"}
_CUT_OFF = {"length", "max_tokens", "max_output_tokens"}


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer of a model.

    Attributes:
        text: Its text.
        parsed: The object that its framework read, or None.
        is_filtered: Whether the model or a filter marks it as a refusal.
        is_cut_off: Whether the model reached its token limit.
        input_tokens: The model's count, or None.
        output_tokens: The model's count, or None.
    """

    text: str
    parsed: Mapping[str, Any] | None = None
    is_filtered: bool = False
    is_cut_off: bool = False
    input_tokens: int | None = None
    output_tokens: int | None = None

    @property
    def sounds_refusing(self) -> bool:
        """Whether the text begins like a refusal."""
        return _REFUSALS.match(self.text) is not None


def read_reply(given: object) -> Reply:
    """Read what a model returned: a string, a message with `content`, a completion with `text`, or a mapping.

    Raises:
        ModelSetupError: It has no text.
    """
    if isinstance(given, Mapping):
        if "raw" in given and "parsed" in given:  # LangChain's structured output
            return _with_parsed(_read_message(given["raw"]), given["parsed"])
        return Reply("", parsed=given)
    return _read_message(given)


def _with_parsed(reply: Reply, parsed: object) -> Reply:
    dump = getattr(parsed, "model_dump", None)
    found = dump() if callable(dump) else parsed
    if isinstance(found, Mapping):
        return dataclasses.replace(reply, parsed=found, is_filtered=False)
    return reply


def _read_message(message: Any) -> Reply:
    if isinstance(message, str):
        return Reply(str(message))
    content = getattr(message, "content", None)
    if content is None:
        content = getattr(message, "text", None)
    if not isinstance(content, (str, list)):
        raise ModelSetupError(
            f"The language model returned {describe_type(message)}, which has no text. It must return a string, or a "
            "message with `content` or `text`."
        )
    blocks = [content] if isinstance(content, str) else content
    extra = _mapping(getattr(message, "additional_kwargs", None))
    about = {**extra, **_mapping(getattr(message, "response_metadata", None))}
    reasons = {str(about.get(name, "")).lower() for name in ("finish_reason", "stop_reason")}
    usage = _mapping(getattr(message, "usage_metadata", None))
    return Reply(
        "".join(_texts(blocks)),
        is_filtered=bool(extra.get("refusal"))
        or bool(reasons & _FILTERED)
        or any(_mapping(one).get("type") == "refusal" for one in blocks),
        is_cut_off=bool(reasons & _CUT_OFF),
        input_tokens=_count(usage.get("input_tokens", extra.get("prompt_tokens"))),
        output_tokens=_count(usage.get("output_tokens", extra.get("completion_tokens"))),
    )


def _raised_reply(error: Exception) -> Reply | None:
    """Return the answer that an error holds: OpenAI's client raises answers that were cut off or filtered."""
    completion = getattr(error, "completion", None)
    if not (choices := getattr(completion, "choices", None)):
        return None
    message, usage = getattr(choices[0], "message", None), getattr(completion, "usage", None)
    reason = str(getattr(choices[0], "finish_reason", ""))
    return Reply(
        getattr(message, "content", None) or "",
        is_filtered=reason in _FILTERED,
        is_cut_off=reason in _CUT_OFF,
        input_tokens=_count(getattr(usage, "prompt_tokens", None)),
        output_tokens=_count(getattr(usage, "completion_tokens", None)),
    )


def _texts(blocks: list[Any]) -> Iterator[str]:
    for block in blocks:
        text = block if isinstance(block, str) else _mapping(block).get("text")
        if isinstance(text, str):
            yield text


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


MOST_HANGING = 20


class TimeLimit:
    """Makes calls with a time limit.

    A plain call cannot be stopped: it is abandoned in its thread, which does not keep the process alive. An awaited
    call is cancelled.

    Args:
        seconds: The limit of one call, or None.
        of: What is called, for messages.
    """

    def __init__(self, seconds: float | None, of: str = "the language model") -> None:
        self._seconds, self._of = seconds, of
        self._hanging: set[concurrent.futures.Future[Any]] = set()

    def call(self, function: Callable[[Any], Any], argument: object) -> Any:
        """Call a function and return its result, awaited if necessary.

        Raises:
            TimeoutError: It took too long.
            ModelSetupError: Too many earlier calls still hang.
        """
        if inspect.iscoroutinefunction(function):
            return self._await(function(argument))
        if self._seconds is None:
            answer = function(argument)
        else:
            answer = self._call_in_thread(function, argument, self._seconds)
        return self._await(answer) if inspect.isawaitable(answer) else answer

    def _call_in_thread(self, function: Callable[[Any], Any], argument: object, seconds: float) -> Any:
        self._hanging = {call for call in self._hanging if not call.done()}
        if len(self._hanging) >= MOST_HANGING:
            raise ModelSetupError(
                f"{MOST_HANGING} calls of {self._of} exceeded the timeout of {seconds:g} s and still hang. "
                "Set a time limit in its own client, or check that it answers at all."
            )
        thread = DaemonThreads(1, "krag-eval-ask")
        future = thread.submit(contextvars.copy_context().run, function, argument)
        try:
            return _result_within(seconds, future)
        finally:
            thread.close()
            if not future.done():
                self._hanging.add(future)

    def _await(self, awaitable: Awaitable[Any]) -> Any:
        future = asyncio.run_coroutine_threadsafe(_awaited(awaitable), _loop())
        try:
            return _result_within(self._seconds, future)
        except BaseException:
            future.cancel()
            raise


async def _awaited(awaitable: Awaitable[T]) -> T:
    return await awaitable


def _result_within(seconds: float | None, future: concurrent.futures.Future[T]) -> T:
    try:
        return future.result(seconds)
    except concurrent.futures.TimeoutError:
        if seconds is None or future.done():  # the call's own
            raise
        raise TimeoutError(f"no answer within {seconds:g} s") from None


@functools.cache
def _loop() -> asyncio.AbstractEventLoop:
    """One loop for all awaiting: the clients of asynchronous models belong to the loop that they first ran on."""
    loop = asyncio.new_event_loop()
    thread = start_thread(loop.run_forever, "krag-eval-models")

    def wind_up() -> None:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(1)
        if not loop.is_running():
            loop.close()

    this_process.at_exit("stop", wind_up)
    return loop


this_process.at_fork(in_child=_loop.cache_clear)  # the thread of the loop is gone there


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCounters:
    """What happened to the prompts of a language model so far.

    Attributes:
        prompts: How many prompts were asked.
        calls: How often the model was called for them, retries included.
        rate_limits: Calls that hit a rate limit (HTTP 429).
        time_outs: Calls that timed out.
        unreachable: Calls that failed otherwise: no connection, a server error (5xx), an unknown error.
        bad_json: Answers without a JSON object that follows the schema.
        refusals: Answers in which the model refused.
        failures: Prompts that were given up after all attempts.
        input_tokens: Tokens of the prompts, as reported by the model; None if it never reports them.
        output_tokens: Tokens of the answers, likewise.
    """

    prompts: int = 0
    calls: int = 0
    rate_limits: int = 0
    time_outs: int = 0
    unreachable: int = 0
    bad_json: int = 0
    refusals: int = 0
    failures: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None

    def __sub__(self, earlier: ModelCounters) -> ModelCounters:
        """Return what happened since `earlier`."""
        mine, theirs = dataclasses.asdict(self), dataclasses.asdict(earlier)
        since: dict[str, Any] = {k: v if v is None else v - (theirs[k] or 0) for k, v in mine.items()}
        return ModelCounters(**since)

    def to_dict(self) -> dict[str, int | None]:
        """Return the counters by name, for JSON."""
        return dataclasses.asdict(self)

    def __str__(self) -> str:
        """Return the counters that are not zero, in words.

        >>> print(ModelCounters(prompts=30, calls=33, rate_limits=2, bad_json=1, input_tokens=9000, output_tokens=500))
        30 prompts, 33 calls, 2 rate limits, 1 bad json, 9,000 input tokens, 500 output tokens
        """
        told = {k: v for k, v in self.to_dict().items() if v}
        return ", ".join(f"{value:,} {name.replace('_', ' ')}" for name, value in told.items()) or "not called"


class Counting:
    """Counters that threads share."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counters = ModelCounters()

    @property
    def counters(self) -> ModelCounters:
        """What was counted so far."""
        return self._counters

    def add(self, **counts: int | None) -> None:
        """Add to counters by name; None adds nothing."""
        with self._lock:
            new = {k: (getattr(self._counters, k) or 0) + v for k, v in counts.items() if v is not None}
            self._counters = dataclasses.replace(self._counters, **new)
