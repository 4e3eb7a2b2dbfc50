"""`krag-eval generate`: let a language model write questions about the chunks of a corpus."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from krag_eval import InvalidInputError, write_evalset
from krag_eval.toolkit import FileOptions, check_free, console, put_json, stopping
from krag_eval_llm.commands.loading import load_llm
from krag_eval_llm.question_generation import generate_evalset
from krag_eval_llm.question_generation.generate import TYPES


def generate(
    corpus: Path,
    *,
    llm: str,
    out: Path,
    types: list[str] | None = None,
    journal: Path | None = None,
    prompts: Path | None = None,
    json_out: Path | None = None,
    force: bool = False,
    files: FileOptions,
    **passed: Annotated[
        Any,
        generate_evalset,
        "n language seed concurrency retries timeout min_words most_prompts retry_errors doc_key id_key",
    ],
) -> None:
    """Have a language model write questions with answers and evidence, and keep those that pass the checks.

    Parameters:
        corpus (CORPUS): The chunks, in any format that validate reads.
        llm (MODULE:OBJECT): A LangChain chat model, a LlamaIndex LLM, a function from a prompt to a string, or a class
            or function that makes one; or gguf:FILE, a model that runs on this machine, or http://HOST/v1#MODEL, a
            server that speaks the OpenAI protocol. Modules in the current directory can be named.
        out: The questions. The ending selects the format; .jsonl keeps everything.
        n (-n --samples): How many questions to make.
        types (--type): literal, paraphrase, scenario or negative; repeatable. All four by default.
        language: auto for the language of each chunk, a code such as ko, or a name.
        seed: Seed of the order in which chunks are used.
        journal: Record every answer of the model here, so that an interrupted run can be resumed.
        prompts (DIR): A folder with prompts that replace the bundled ones.
        concurrency: How many prompts to send at a time.
        retries: How often to retry a failed call.
        timeout: Seconds per call.
        min_words: Skip chunks with fewer words.
        most_prompts: Stop after this many prompts; by default about ten per question.
        retry_errors: Resend prompts that got no answer in an earlier session.
    """
    check_free(out, force)
    with stopping():
        made = generate_evalset(
            files.corpus(corpus),
            load_llm(llm),
            types=types or TYPES,
            journal=journal,
            prompts=prompts,
            **passed,
        )
    if not len(made):
        raise InvalidInputError(f"{out}: not written, because no question could be generated. {made.report.stopped}")
    write_evalset(made.evalset, out)
    if not put_json(json_out, lambda: made.report.to_dict() | {"evalset": str(out)}):
        console().print(str(made), soft_wrap=True)
        console().print(f"The questions are in {out}", soft_wrap=True)
