"""Run a language model from a GGUF file on this machine, without a key and a network."""

from __future__ import annotations

import functools
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from krag_eval._utils.errors import InvalidInputError, needing

CONTEXT_TOKENS = 8192
ANSWER_TOKENS = 1024


class EngineError(RuntimeError):
    """The engine answered with an error.

    Args:
        message: Its own words.
        status_code: The HTTP status that it gives the error.
    """

    def __init__(self, message: str, status_code: int) -> None:
        super().__init__(message)
        self.status_code = status_code


class LocalModel:
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

    def invoke(self, prompt: str, schema: Mapping[str, Any] | None = None) -> SimpleNamespace:
        """Return the answer to a prompt, as a message of LangChain has it; with a JSON schema, it follows that.

        Raises:
            EngineError: The engine turned the prompt away, as where it is too long.
        """
        request: dict[str, Any] = {"messages": [{"role": "user", "content": prompt}], "temperature": 0}
        request["max_tokens"] = ANSWER_TOKENS
        if schema is not None:
            request["response_format"] = {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}
        answer = self._server.handle_chat_completions(request)
        if "error" in answer:
            raise EngineError(str(answer["error"].get("message")), int(answer["error"].get("code", 500)))
        choice, usage = answer["choices"][0], answer["usage"]
        return SimpleNamespace(
            content=choice["message"]["content"] or "",
            response_metadata={"finish_reason": choice["finish_reason"]},
            usage_metadata={"input_tokens": usage["prompt_tokens"], "output_tokens": usage["completion_tokens"]},
        )

    def with_structured_output(self, schema: Mapping[str, Any]) -> SimpleNamespace:
        """Return what asks for JSON: its `invoke` takes a prompt."""
        return SimpleNamespace(invoke=functools.partial(self.invoke, schema=schema))
