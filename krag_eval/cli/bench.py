"""`krag-eval bench`: questions from chunks, retrieval, answers, and one report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from krag_eval import read_corpus, read_evalset
from krag_eval._utils.errors import needing
from krag_eval.cli.options import (
    Level,
    Match,
    Threshold,
    Tokenizer,
    load_embeddings,
    load_object,
    load_retriever,
    parse_cut_offs,
    parse_names,
    parse_threshold,
)
from krag_eval.cli.output import Bars, console, notes, print_report
from krag_eval.cli.run import parse_parameters
from krag_eval.llm.bench import Bench, run_bench
from krag_eval.llm.bench.bench import EVALSET_FILE
from krag_eval.report import check_target
from krag_eval.report.build import decisive_keys
from krag_eval.retrievers.asking import CallSettings

_OBJECT = "MODULE:OBJECT"
# What is printed where the whole report goes to a file.
_IN_SHORT = ("slices", "questions", "answers", "context", "left_out")


def bench(
    retriever: Annotated[str, typer.Option(metavar=_OBJECT, help="The retriever, as for run.")],
    corpus: Annotated[
        Path | None,
        typer.Option(
            help="The chunks that questions are made from; with --evalset needed only where the retriever returns ids "
            "without texts."
        ),
    ] = None,
    llm: Annotated[
        str | None,
        typer.Option(
            metavar=_OBJECT,
            help="A LangChain chat model, a LlamaIndex LLM, or a function from a prompt to a string. It writes the "
            "questions, answers them where there is no --answer, and judges what was retrieved.",
        ),
    ] = None,
    answer: Annotated[
        str | None,
        typer.Option(
            metavar=_OBJECT,
            help="The system that answers: a function of a question and its documents, or of the question alone, a "
            "LangChain runnable, a LlamaIndex query engine, or another language model.",
        ),
    ] = None,
    evalset: Annotated[Path | None, typer.Option(help="Questions to ask in place of generated ones.")] = None,
    samples: Annotated[int, typer.Option(help="How many questions to generate.")] = 30,
    e2e_limit: Annotated[int, typer.Option(help="How many questions are answered and judged at most.")] = 20,
    eval_mode: Annotated[str, typer.Option(help="all, literal, or semantic for paraphrases and scenarios.")] = "all",
    skip_e2e: Annotated[bool, typer.Option("--skip-e2e", help="Score retrieval alone.")] = False,
    k: Annotated[str, typer.Option("--k", "-k", help="Cut-offs, with commas.")] = "1,3,5,10,20",
    output: Annotated[
        list[Path] | None,
        typer.Option(
            help="The report: .json (with a page of the same name beside it), .html, .md or .csv; repeatable. Without "
            "it tables are printed."
        ),
    ] = None,
    journals: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Where every stage writes what it finds out; by default named after the first --output."
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace reports that are there.")] = False,
    name: Annotated[str | None, typer.Option(help="What the retriever is called in the report.")] = None,
    title: Annotated[str | None, typer.Option(help="The title of the report.")] = None,
    param: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="Something to record of the retriever; repeatable.")
    ] = None,
    language: Annotated[
        str, typer.Option(help="Of the questions: auto for that of each chunk, or such as ko.")
    ] = "auto",
    seed: Annotated[int, typer.Option(help="Of the choice of chunks, and of intervals.")] = 0,
    concurrency: Annotated[
        int, typer.Option(help="How many questions are asked at a time.")
    ] = CallSettings.concurrency,
    timeout: Annotated[
        float | None, typer.Option(help="Seconds for one call of the retriever, the model or --answer.")
    ] = None,
    match: Match = "id",
    threshold: Threshold = None,
    tokenizer: Tokenizer = "words",
    embeddings: Annotated[
        str | None,
        typer.Option(
            metavar=_OBJECT, help="An embedding model, for the semantic similarity of answers and --match embedding."
        ),
    ] = None,
    level: Level = "chunk",
) -> None:
    """Make questions from chunks, retrieve, answer, score both, and report; stopped, it goes on where it was."""
    targets = _targets(output or [], force)
    folder = journals or (targets[0].with_suffix(".journals") if targets else None)
    if folder is not None and any(folder.glob("*.jsonl")):
        notes().print(_going_on(folder), markup=False, soft_wrap=True)
    try:
        with Bars() as bars:
            outcome = run_bench(
                None if corpus is None else read_corpus(corpus),
                load_retriever(retriever),
                llm=None if llm is None else load_object(llm, "--llm", "a language model"),
                answer=None if answer is None else load_object(answer, "--answer", "a system that answers"),
                evalset=None if evalset is None else read_evalset(evalset),
                samples=samples,
                eval_mode=eval_mode,
                e2e_limit=e2e_limit,
                skip_e2e=skip_e2e,
                k=parse_cut_offs(k),
                journals=folder,
                name=name or retriever.partition(":")[2],
                answer_name=answer,
                parameters=parse_parameters(param or []),
                language=language,
                seed=seed,
                concurrency=concurrency,
                timeout=timeout,
                level=level,
                title=title,
                progress=bars.show,
                match_method=parse_names(match) or [],
                threshold=parse_threshold(threshold),
                tokenizer=tokenizer,
                embeddings=load_embeddings(embeddings, match, None),
            )
    except KeyboardInterrupt:
        notes().print(_stopped(folder), markup=False, soft_wrap=True)
        raise typer.Exit(130) from None
    _tell(outcome, targets, folder, force)


def _targets(output: Sequence[Path], force: bool) -> list[Path]:
    """The files to write, checked before anything is asked; beside a report in JSON stands one to look at."""
    targets = list(output)
    targets += [path.with_suffix(".html") for path in output if path.suffix.lower() == ".json"]
    targets = list(dict.fromkeys(targets))
    for path in targets:
        check_target(path, None, force)
    if any(path.suffix.lower() in (".html", ".htm") for path in targets):
        with needing("The HTML report", "jinja2", "report"):
            import jinja2  # noqa: F401 - only whether it is there
    return targets


def _going_on(folder: Path) -> str:
    return (
        f"Going on with what is in {folder}: what stands there is not asked again. Give another folder with --journals "
        "if the retriever, the model or the system that answers has changed under its name."
    )


def _stopped(folder: Path | None) -> str:
    if folder is None:
        return "Stopped. What was asked is lost: to be able to go on, give --output or --journals."
    return f"Stopped. What was asked is in {folder}: run the same again to go on."


def _tell(outcome: Bench, targets: Sequence[Path], folder: Path | None, force: bool) -> None:
    print_report(outcome.report, only=_IN_SHORT if targets else None)
    if targets:
        console().print(f"\n{_overall(outcome)}", markup=False)
    for path in targets:
        written = outcome.write(path, force=force)
        console().print(f"Wrote {written} ({written.stat().st_size:,} bytes)", markup=False, soft_wrap=True)
    if folder is not None and outcome.generation is not None:
        console().print(f"The questions are in {folder / EVALSET_FILE}", markup=False, soft_wrap=True)


def _overall(outcome: Bench) -> str:
    """The scores of retrieval that decide, over all questions."""
    result = outcome.retrieval
    means = {key: result[key] for key in decisive_keys([result])}
    told = ", ".join(f"{key} {'-' if mean is None else format(mean, '.4f')}" for key, mean in means.items())
    n = len(outcome.evalset)
    return f"Retrieval, over {f'all {n} questions' if n > 1 else 'one question'}: {told}"
