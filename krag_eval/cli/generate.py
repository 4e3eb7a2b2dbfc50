"""`krag-eval generate`: a language model writes questions about the chunks of a corpus."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from krag_eval import InvalidInputError, read_corpus, write_evalset
from krag_eval.cli.options import DocKey, IdKey, load_object
from krag_eval.cli.output import console, notes, put_json
from krag_eval.llm.question_generation import GeneratedEvalSet, generate_evalset
from krag_eval.llm.question_generation.generate import TYPES


def generate(
    corpus: Annotated[Path, typer.Argument(metavar="CORPUS", help="The chunks, in any format that validate reads.")],
    llm: Annotated[
        str,
        typer.Option(
            metavar="MODULE:OBJECT",
            help="A LangChain chat model, a LlamaIndex LLM, a function from a prompt to a string, or a class or "
            "function that makes one; modules of the current directory are found.",
        ),
    ],
    out: Annotated[Path, typer.Option(help="The questions; the ending says the format, .jsonl keeps everything.")],
    n: Annotated[int, typer.Option("-n", "--samples", help="How many questions to make.")] = 30,
    types: Annotated[
        list[str] | None,
        typer.Option("--type", help="literal, paraphrase, scenario or negative; repeatable. All four by default."),
    ] = None,
    language: Annotated[str, typer.Option(help="auto for that of each chunk, a code such as ko, or a name.")] = "auto",
    seed: Annotated[int, typer.Option(help="Of the order in which chunks are taken.")] = 0,
    journal: Annotated[
        Path | None,
        typer.Option(help="Where every answer of the model is written; a run that was stopped goes on with it."),
    ] = None,
    prompts: Annotated[
        Path | None, typer.Option(metavar="DIR", help="A folder with prompts in place of the bundled ones.")
    ] = None,
    concurrency: Annotated[int, typer.Option(help="How many prompts are asked at a time.")] = 1,
    retries: Annotated[int, typer.Option(help="How often a call that fails is tried again.")] = 3,
    timeout: Annotated[float | None, typer.Option(help="Seconds for one call.")] = None,
    min_words: Annotated[int, typer.Option(help="Chunks of fewer words are not asked about.")] = 4,
    most_prompts: Annotated[
        int | None, typer.Option(help="Stop after so many prompts; some ten for each question by default.")
    ] = None,
    retry_errors: Annotated[
        bool, typer.Option("--retry-errors", help="Ask prompts again that got no answer in an earlier session.")
    ] = False,
    doc_key: DocKey = "doc_id",
    id_key: IdKey = None,
    json_out: Annotated[
        Path | None, typer.Option("--json", help="Write the report as JSON; `-` prints it instead of the text.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace OUT if it is there.")] = False,
) -> None:
    """Have a language model write questions with answers and evidence, and keep those that hold."""
    if out.exists() and not force:
        raise InvalidInputError(f"{out}: exists already. Give another path, or replace it with --force.")
    try:
        made = generate_evalset(
            read_corpus(corpus),
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
        raise InvalidInputError(f"{out}: is not written, for no question could be made. {made.report.stopped}")
    write_evalset(made.evalset, out)
    _tell(made, out, json_out)


def _tell(made: GeneratedEvalSet, out: Path, json_out: Path | None) -> None:
    if put_json(json_out, lambda: made.report.to_dict() | {"evalset": str(out)}):
        return
    console().print(str(made), markup=False, soft_wrap=True)
    console().print(f"The questions are in {out}", markup=False, soft_wrap=True)
