"""Ask a language model without a framework: one in a GGUF file, or one behind an address of the OpenAI protocol."""

from __future__ import annotations

import functools
import json
import os
import secrets
import urllib.error
import urllib.request
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from krag_eval import InvalidInputError
from krag_eval.toolkit import needing

CONTEXT_TOKENS = 8192
ANSWER_TOKENS = 1024
_SECONDS = 600
_USAGE = (("input", "prompt"), ("output", "completion"))


class EngineError(RuntimeError):
    """The engine or the server answered with an error.

    Args:
        message: Its own words.
        status_code: The HTTP status that it gives the error.
        headers: The headers of its answer, which may say when to ask again.
    """

    def __init__(self, message: str, status_code: int, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status_code, self.headers = status_code, headers


class _ChatModel(ABC):
    """What speaks the OpenAI protocol, with the methods of LangChain's models that are used here."""

    @abstractmethod
    def _complete(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the answer to a request."""

    def invoke(self, prompt: str, schema: Mapping[str, Any] | None = None) -> SimpleNamespace:
        """Return the answer to a prompt, as a message of LangChain has it; with a JSON schema, it follows that.

        Raises:
            EngineError: The engine turned the prompt away, as where it is too long.
            OSError: The server cannot be reached.
        """
        request: dict[str, Any] = {"messages": [{"role": "user", "content": prompt}], "temperature": 0}
        request["max_tokens"] = ANSWER_TOKENS
        if schema is not None:
            request["response_format"] = {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}
        answer = self._complete(request)
        choice, usage = answer["choices"][0], answer.get("usage") or {}
        return SimpleNamespace(
            content=choice["message"].get("content") or "",
            additional_kwargs={"refusal": choice["message"].get("refusal")},
            response_metadata={"finish_reason": choice.get("finish_reason")},
            usage_metadata={f"{ours}_tokens": usage.get(f"{its}_tokens") for ours, its in _USAGE},
        )

    def with_structured_output(self, schema: Mapping[str, Any]) -> SimpleNamespace:
        """Return what asks for JSON: its `invoke` takes a prompt."""
        return SimpleNamespace(invoke=functools.partial(self.invoke, schema=schema))


class LocalModel(_ChatModel):
    """A language model in a GGUF file, run by llama.cpp (xllamacpp); it answers the same prompt the same way.

    It takes prompt and answer together up to 8,192 tokens, or what the model allows, and ends an answer after 1,024.

    Args:
        path: The file.

    Attributes:
        model: The name of the file, which is the name of the model in reports.

    Raises:
        MissingDependencyError: The extra `local-llm` is not installed.
        InvalidInputError: The file is missing, or is no model that the engine can load.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        with needing("`gguf:`", "xllamacpp", "local-llm"):
            import xllamacpp
        file = Path(path)
        try:
            with file.open("rb") as opened:
                magic = opened.read(4)
        except OSError as error:
            raise InvalidInputError(
                f"{file}: cannot be read ({error.strerror}). Name a model file: gguf:path/to/model.gguf"
            ) from None
        if magic != b"GGUF":
            raise InvalidInputError(
                f"{file}: is not a GGUF file, which begins with the letters GGUF. Download the model in this format."
            )
        settings = xllamacpp.CommonParams()
        settings.model.path = str(file)
        settings.n_ctx, settings.n_parallel, settings.verbosity = CONTEXT_TOKENS, 1, -1
        # Half of the cores: threads wait for one another, so one that shares its core slows all of them down tenfold.
        settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = max(1, (os.cpu_count() or 1) // 2)
        settings.api_keys = [secrets.token_hex()]  # the engine also listens on loopback, where nobody is to ask it
        try:
            self._server = xllamacpp.Server(settings)
        except RuntimeError:
            raise InvalidInputError(
                f"{file}: llama.cpp cannot load this model. The file may be incomplete: compare its size with the "
                "original. If the model is newer than the installed xllamacpp, upgrade xllamacpp."
            ) from None
        self.model = file.name

    def _complete(self, request: dict[str, Any]) -> dict[str, Any]:
        answer: dict[str, Any] = self._server.handle_chat_completions(request)
        if "error" in answer:
            raise EngineError(str(answer["error"].get("message")), int(answer["error"].get("code", 500)))
        return answer


class ServedModel(_ChatModel):
    """A language model behind an address that speaks the OpenAI protocol, such as one of vLLM or Ollama.

    It sends the key in the variable `OPENAI_API_KEY`, if there is one.

    Args:
        address: The address up to `/v1`, and the name of the model: `http://127.0.0.1:8000/v1#qwen3-4b`.

    Attributes:
        model: The name of the model.

    Raises:
        InvalidInputError: The name is missing.
    """

    def __init__(self, address: str) -> None:
        self._address, _, self.model = address.partition("#")
        if not self.model:
            raise InvalidInputError(f"{address}: which model? Write its name behind the address: {self._address}#MODEL")

    def _complete(self, request: dict[str, Any]) -> dict[str, Any]:
        headers = {"Content-Type": "application/json"}
        if key := os.environ.get("OPENAI_API_KEY"):
            headers["Authorization"] = f"Bearer {key}"
        data = json.dumps({"model": self.model, **request}).encode()
        asked = urllib.request.Request(f"{self._address.rstrip('/')}/chat/completions", data, headers)
        try:
            with urllib.request.urlopen(asked, timeout=_SECONDS) as answer:
                return json.load(answer)  # type: ignore[no-any-return]
        except urllib.error.HTTPError as error:
            with error:
                said = error.read(400).decode(errors="replace")
            raise EngineError(said or str(error), error.code, dict(error.headers)) from None
