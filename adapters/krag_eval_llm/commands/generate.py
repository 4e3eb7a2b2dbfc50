"""`krag-eval generate`: write questions about the chunks of a corpus, with a language model or from its metadata."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from krag_eval import EvalSet, InvalidInputError, read_evalset, write_evalset
from krag_eval.toolkit import Source, number_of
from krag_eval_cli.files import FileOptions, check_free
from krag_eval_cli.options import parse_names
from krag_eval_cli.output import console, put_json, stopping
from krag_eval_llm.commands.loading import load_llm
from krag_eval_llm.question_generation import generate_evalset, generate_forbidden
from krag_eval_llm.question_generation.generate import TYPES, together


def generate(
    corpus: Path,
    *,
    llm: str | None = None,
    out: Path,
    beside: Path | None = None,
    forbidden: bool = False,
    versions: str | None = None,
    supersedes: Path | None = None,
    tenant: str | None = None,
    shared: str | None = None,
    n: int | None = None,
    types: list[str] | None = None,
    journal: Path | None = None,
    prompts: Path | None = None,
    json_out: Path | None = None,
    force: bool = False,
    files: FileOptions,
    **passed: Annotated[
        Any,
        generate_evalset,
        "language seed concurrency retries timeout min_words most_prompts retry_errors doc_key id_key",
    ],
) -> None:
    """Have a language model write questions with answers and evidence, and keep those that pass the checks.

    With --forbidden, questions for which documents are forbidden are made from the metadata, without a model.

    Parameters:
        corpus (CORPUS): The chunks, in any format that validate reads.
        llm (MODULE:OBJECT): A LangChain chat model, a LlamaIndex LLM, a function from a prompt to a string, or a class
            or function that makes one; or gguf:FILE, a model that runs on this machine, or http://HOST/v1#MODEL, a
            server that speaks the OpenAI protocol. Modules in the current directory can be named.
        out: The questions. The ending selects the format; .jsonl keeps everything.
        beside (EVALSET): Put the questions beside those of this set, such as set.jsonl of a log; each keeps its origin
            in the metadata, for --by origin.
        forbidden: Make questions for which outdated documents, or those of another tenant, must not be retrieved.
        versions (KEY,KEY): The metadata keys that versions of a document share, and of the version: title,version.
        supersedes (FILE): A JSON object from ids to the ids that they replaced, as doctor --versions writes it.
        tenant (KEY): The metadata key of the tenant.
        shared (VALUE,...): Values of --tenant that everybody may see.
        n (-n --samples): How many questions to make, 30 by default; with --forbidden how many documents to ask about,
            by default all.
        types (--type): literal, paraphrase, scenario or negative; repeatable. All four by default.
        language: auto for the language of each chunk, a code such as ko, or a name.
        seed: Seed of the order in which chunks are used.
        journal: Record every answer of the model here, so that an interrupted run can be resumed.
        prompts (DIR): A folder with prompts that replace the bundled ones.
        concurrency: How many prompts to send at a time.
        retries: How often to retry a failed call.
        timeout (SECONDS): Seconds per call.
        min_words: Skip chunks with fewer words.
        most_prompts: Stop after this many prompts; by default about ten per question.
        retry_errors: Resend prompts that got no answer in an earlier session.
    """
    check_free(out, force)
    own = {"versions": versions, "supersedes": supersedes, "tenant": tenant, "shared": shared}
    other = {"llm": llm, "type": types, "journal": journal, "prompts": prompts}
    for name, value in (other if forbidden else own).items():
        if value is not None:
            cure = "It makes no use of it: leave it out" if forbidden else "Add it"
            raise InvalidInputError(
                f"`--{name}` does not go {'with' if forbidden else 'without'} `--forbidden`. {cure}."
            )
    if n is not None:
        passed["n"] = n
    others = None if beside is None else read_evalset(beside)
    chunks = files.corpus(corpus)
    if forbidden:
        _from_metadata(
            chunks, own, others, out, json_out, {n: passed[n] for n in ("n", "seed", "id_key") if n in passed}
        )
        return
    if llm is None:
        raise InvalidInputError("There is no model. Name one with `--llm`, or use `--forbidden`, which needs none.")
    with stopping():
        made = generate_evalset(
            chunks,
            load_llm(llm),
            types=types or TYPES,
            journal=journal,
            prompts=prompts,
            **passed,
        )
    if not len(made):
        raise InvalidInputError(f"{out}: not written, because no question could be generated. {made.report.stopped}")
    write_evalset(together(made.evalset, others), out)
    if not put_json(json_out, lambda: made.report.to_dict() | {"evalset": str(out)}):
        console().print(str(made), soft_wrap=True)
        console().print(f"The questions are in {out}", soft_wrap=True)


def _from_metadata(
    chunks: list[Any],
    given: Mapping[str, Any],
    others: EvalSet | None,
    out: Path,
    json_out: Path | None,
    passed: Mapping[str, Any],
) -> None:
    versions, supersedes, shared = (given[name] for name in ("versions", "supersedes", "shared"))
    mapping: Any = None if supersedes is None else Source(supersedes).document
    questions = generate_forbidden(
        chunks,
        versions=None if versions is None else tuple(parse_names(versions) or ()),  # type: ignore[arg-type] # checked
        supersedes=mapping,
        tenant=given["tenant"],
        shared=parse_names(shared) or (),
        **passed,
    )
    write_evalset(together(questions, others), out)
    types = Counter(str(question.type) for question in questions)
    if not put_json(json_out, lambda: {"questions": len(questions), "types": types, "evalset": str(out)}):
        counted = ", ".join(f"{count} {name}" for name, count in types.items())
        console().print(
            f"{number_of(len(questions), 'question')}: {counted}\nThe questions are in {out}", soft_wrap=True
        )
