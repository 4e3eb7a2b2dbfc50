"""`krag-eval generate`: let a language model write questions about the chunks of a corpus."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from krag_eval import InvalidInputError, write_evalset
from krag_eval.cli.files import FileOptions
from krag_eval.cli.loading import load_object
from krag_eval.cli.options import (
    DocKey,
    Force,
    IdKey,
    JsonOut,
)
from krag_eval.cli.output import console, notes, put_json
from krag_eval.llm.question_generation import generate_evalset
from krag_eval.llm.question_generation.generate import TYPES


def generate(
    corpus: Annotated[Path, typer.Argument(metavar="CORPUS", help="The chunks, in any format that validate reads.")],
    llm: Annotated[
        str,
        typer.Option(
            metavar="MODULE:OBJECT",
            help="A LangChain chat model, a LlamaIndex LLM, a function from a prompt to a string, or a class or "
            "function that makes one. Modules in the current directory can be named.",
        ),
    ],
    out: Annotated[Path, typer.Option(help="The questions. The ending selects the format; .jsonl keeps everything.")],
    n: Annotated[int, typer.Option("-n", "--samples", help="How many questions to make.")] = 30,
    types: Annotated[
        list[str] | None,
        typer.Option("--type", help="literal, paraphrase, scenario or negative; repeatable. All four by default."),
    ] = None,
    language: Annotated[str, typer.Option(help="auto for that of each chunk, a code such as ko, or a name.")] = "auto",
    seed: Annotated[int, typer.Option(help="Seed of the order in which chunks are used.")] = 0,
    journal: Annotated[
        Path | None,
        typer.Option(help="Record every answer of the model here, so that an interrupted run can be resumed."),
    ] = None,
    prompts: Annotated[
        Path | None, typer.Option(metavar="DIR", help="A folder with prompts that replace the bundled ones.")
    ] = None,
    concurrency: Annotated[int, typer.Option(help="How many prompts to send at a time.")] = 1,
    retries: Annotated[int, typer.Option(help="How often to retry a failed call.")] = 3,
    timeout: Annotated[float | None, typer.Option(help="Seconds per call.")] = None,
    min_words: Annotated[int, typer.Option(help="Skip chunks with fewer words.")] = 4,
    most_prompts: Annotated[
        int | None, typer.Option(help="Stop after this many prompts; by default about ten per question.")
    ] = None,
    retry_errors: Annotated[
        bool, typer.Option("--retry-errors", help="Send prompts again that got no answer in an earlier session.")
    ] = False,
    doc_key: DocKey = "doc_id",
    id_key: IdKey = None,
    json_out: JsonOut = None,
    force: Force = False,
    *,
    files: FileOptions,
) -> None:
    """Have a language model write questions with answers and evidence, and keep those that hold."""
    if out.exists() and not force:
        raise InvalidInputError(f"{out}: already exists. Choose another name, or overwrite it with --force.")
    try:
        made = generate_evalset(
            files.corpus(corpus),
            load_object(llm, "--llm", "a language model"),
            n=n,
            types=types or TYPES,
            language=language,
            seed=seed,
            journal=journal,
            prompts=prompts,
            concurrency=concurrency,
            retries=retries,
            timeout=timeout,
            min_words=min_words,
            most_prompts=most_prompts,
            retry_errors=retry_errors,
            doc_key=doc_key,
            id_key=id_key,
        )
    except KeyboardInterrupt as interruption:
        notes().print(str(interruption) or "Stopped.", markup=False)
        raise typer.Exit(130) from None
    if not len(made):
        raise InvalidInputError(f"{out}: not written, because no question could be generated. {made.report.stopped}")
    write_evalset(made.evalset, out)
    if not put_json(json_out, lambda: made.report.to_dict() | {"evalset": str(out)}):
        console().print(str(made), markup=False, soft_wrap=True)
        console().print(f"The questions are in {out}", markup=False, soft_wrap=True)
