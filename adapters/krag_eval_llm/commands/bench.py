"""`krag-eval bench`: run questions, retrieval, answers and a report in one go."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from krag_eval.toolkit import decisive_keys, format_value, load, needing
from krag_eval_cli.files import FileOptions
from krag_eval_cli.loading import load_embeddings, load_object
from krag_eval_cli.options import cut_offs_option, parse_cut_offs, parse_names, parse_parameters, parse_threshold
from krag_eval_cli.output import Bars, console, notes, print_report, print_written, stopping
from krag_eval_llm.bench import Bench, run_bench
from krag_eval_llm.bench.bench import CUT_OFFS, EVALSET_FILE
from krag_eval_llm.commands.loading import load_llm

# The sections to print if the whole report is written to a file.
_IN_SHORT = ("overview", "slices", "questions", "answers", "context", "left_out")


def bench(
    *,
    retriever: str,
    corpus: Path | None = None,
    llm: str | None = None,
    answer: str | None = None,
    evalset: Path | None = None,
    k: Annotated[str | None, cut_offs_option(CUT_OFFS)] = None,
    out: list[Path] | None = None,
    output: list[Path] | None = None,
    journals: Path | None = None,
    force: bool = False,
    name: str | None = None,
    param: list[str] | None = None,
    match: str = "id",
    threshold: str | None = None,
    tokenizer: str = "words",
    embeddings: str | None = None,
    files: FileOptions,
    **passed: Annotated[
        Any, run_bench, "samples e2e_limit eval_mode skip_e2e title language seed concurrency timeout level"
    ],
) -> None:
    """Generate questions, retrieve, answer, score and report; rerun the same command to resume.

    Parameters:
        retriever (MODULE:OBJECT): The retriever, as for run.
        corpus: The chunks to generate questions from. With --evalset, needed only if the retriever returns ids without
            texts.
        llm (MODULE:OBJECT): A LangChain chat model, a LlamaIndex LLM, or a function from a prompt to a string; or
            gguf:FILE, a model that runs on this machine, or http://HOST/v1#MODEL, a server that speaks the OpenAI
            protocol. It writes the questions, answers them unless --answer is given, and judges the retrieved
            documents.
        answer (MODULE:OBJECT): The system that answers: a function of a question and its documents, or of the question
            alone, a LangChain runnable, a LlamaIndex query engine, or another language model.
        evalset: Ask these questions instead of generated ones.
        samples: How many questions to generate.
        e2e_limit: The most questions to answer and judge.
        eval_mode: all, literal, or semantic for paraphrases and scenarios.
        skip_e2e: Score retrieval only.
        out: The report: .json (plus an HTML page of the same name), .html, .md or .csv; repeatable. Without it,
            tables are printed.
        output: The former name of --out, which goes with the next release.
        journals (DIR): Where each stage records its results; by default named after the first --out.
        name (NAME): The name of the retriever in the report.
        title: The title of the report.
        param (NAME=VALUE): A parameter of the retriever to record; repeatable.
        language: Language of the questions: auto for the language of each chunk, or a code such as ko.
        seed: Seed of the choice of chunks and of the intervals.
        concurrency: How many questions to ask at a time.
        timeout (SECONDS): Seconds per call of the retriever, the model or --answer.
        embeddings (MODULE:OBJECT): An embedding model, for the semantic similarity of answers and --match embedding.
    """
    if output:
        notes().print("--output is called --out now. Write --out: the former name goes with the next release.")
    targets = _targets([*(out or []), *(output or [])], force)
    folder = journals or (targets[0].with_suffix(".journals") if targets else None)
    if folder is not None and any(folder.glob("*.jsonl")):
        notes().print(_resuming(folder), soft_wrap=True)
    with stopping(lambda: _stopped(folder)), Bars() as bars:
        outcome = run_bench(
            None if corpus is None else files.corpus(corpus),
            load_object(retriever, "--retriever", "a retriever"),
            llm=None if llm is None else load_llm(llm),
            answer=None if answer is None else load_object(answer, "--answer", "a system that answers"),
            evalset=None if evalset is None else files.evalset(evalset),
            k=parse_cut_offs(k, CUT_OFFS),
            journals=folder,
            name=name or retriever.partition(":")[2],
            answer_name=answer,
            parameters=parse_parameters(param or []),
            progress=bars.show,
            match_method=parse_names(match) or [],
            **parse_threshold(threshold),
            tokenizer=tokenizer,
            embeddings=load_embeddings(embeddings, match, None),
            **passed,
        )
    _print(outcome, targets, folder, force)


def _targets(out: Sequence[Path], force: bool) -> list[Path]:
    """Return the files to write, checked before any work starts; an HTML page goes with each JSON report."""
    targets = list(out)
    targets += [path.with_suffix(".html") for path in out if path.suffix.lower() == ".json"]
    targets = list(dict.fromkeys(targets))
    for path in targets:
        load("krag_eval.reports", "check")(path, None, force)
    if any(path.suffix.lower() in (".html", ".htm") for path in targets):
        with needing("The HTML report", "jinja2", "report"):
            import jinja2  # noqa: F401 - is it installed?
    return targets


def _resuming(folder: Path) -> str:
    return (
        f"Resuming from {folder}: what is recorded there is not asked again. Give another folder with --journals if "
        "the retriever, the model or the system that answers has changed but kept its name."
    )


def _stopped(folder: Path | None) -> str:
    if folder is None:
        return "Stopped. The results so far are lost. To be able to resume, give --out or --journals."
    return f"Stopped. The results so far are in {folder}: rerun the same command to resume."


def _print(outcome: Bench, targets: Sequence[Path], folder: Path | None, force: bool) -> None:
    print_report(outcome.report, only=_IN_SHORT if targets else None)
    if targets:
        console().print(f"\n{_overall(outcome)}")
    print_written(outcome.write(path, force=force) for path in targets)
    if folder is not None and outcome.generation is not None:
        console().print(f"The questions are in {folder / EVALSET_FILE}", soft_wrap=True)


def _overall(outcome: Bench) -> str:
    """Return the decisive retrieval scores over all questions, in one line."""
    result = outcome.retrieval
    means = {key: result[key] for key in decisive_keys([result])}
    told = ", ".join(f"{key} {format_value(mean)}" for key, mean in means.items())
    n = len(outcome.evalset)
    return f"Retrieval, over {f'all {n} questions' if n > 1 else 'one question'}: {told}"
