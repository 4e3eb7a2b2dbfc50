"""The call that has a language model write an evaluation set.

The questions that were kept as an evaluation set, and what is said about the others.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from krag_eval._utils.checks import check_count, check_threshold, describe_type
from krag_eval._utils.errors import InvalidInputError, warn
from krag_eval._utils.journal.keyed import KeyedJournal
from krag_eval._utils.journal.rows import JournalKind
from krag_eval._utils.progress import ProgressHook, RunProgress, hook_for
from krag_eval.datasets import EvalSet, Question
from krag_eval.datasets.question import DOC_KEY
from krag_eval.documents.document import Document
from krag_eval.llm.calling import ModelSetupError
from krag_eval.llm.model import LanguageModel, as_language_model
from krag_eval.llm.question_generation.candidates import (
    MOST_UNANSWERED,
    NEGATIVE,
    REASONS,
    RETRY,
    RULES,
    Asker,
    Candidate,
    Keeper,
    Maker,
    load_prompts,
)
from krag_eval.llm.question_generation.evidence import NOT_READ, check_language, in_order, read_chunks, split_evenly
from krag_eval.llm.question_generation.report import GeneratedEvalSet, GenerationReport, TypeReport
from krag_eval.matching.near_duplicates import NEAR

TYPES = ("literal", "paraphrase", "scenario", "negative")
GENERATION_JOURNAL = JournalKind("krag_eval_generation", "generation")
# So many prompts for each question, and some more, before a model that writes nothing usable is given up.
_PROMPTS_A_QUESTION, _PROMPTS_MORE = 10, 20


def generate_evalset(
    chunks: object,
    llm: object,
    *,
    n: int = 30,
    types: Sequence[str] = TYPES,
    language: str = "auto",
    seed: int = 0,
    journal: str | os.PathLike[str] | None = None,
    prompts: str | os.PathLike[str] | Mapping[str, str] | None = None,
    progress: bool | ProgressHook | None = True,
    concurrency: int = 1,
    attempts: int = 2,
    retries: int = 3,
    timeout: float | None = None,
    min_words: int = 4,
    near_duplicates: float = NEAR,
    most_quoted: float = 0.5,
    most_prompts: int | None = None,
    resume: bool = True,
    retry_errors: bool = False,
    doc_key: str = DOC_KEY,
    id_key: str | None = None,
) -> GeneratedEvalSet:
    """Have a language model write questions about chunks, with answers and evidence, and keep those that hold.

    A question is kept only if it has the form of a question in the language that was asked for, its answer is not
    empty, its evidence stands in the chunk (after normalising), no other question is nearly the same, and it does not
    quote the chunk, unless a literal one was asked for. A negative question has no gold; it is kept if the answer that
    the model guessed stands neither in the chunk nor, from three words on, in another one. More cannot be checked: the
    corpus may answer it in other words.

    Args:
        chunks: LangChain documents, LlamaIndex nodes, rows with an id and a text, strings, or what `read_corpus` gives.
        llm: A LangChain chat model, a LlamaIndex LLM, a function `prompt -> str`, or a `LanguageModel`.
        n: How many questions to make, split evenly among the types; the first types get what is left over.
        types: `"literal"`, `"paraphrase"`, `"scenario"`, `"negative"`, or a name for which `prompts` has a prompt.
        language: `"auto"` for that of each chunk, a code such as `"ko"`, or a name. Checked by its script.
        seed: Of the order in which chunks are taken; one of each document comes before a second one of any.
        journal: A file to which every answer of the model is written as it comes. The same call goes on with it and
            asks nothing twice.
        prompts: A folder with files such as `literal.txt`, or a mapping from names to texts, in place of the bundled
            ones.
        progress: True shows a line on a terminal; a function is called with a `RunProgress`.
        concurrency: How many prompts are asked at a time. The questions do not depend on it, if the model's answers
            do not.
        attempts: How often one chunk is asked about for one question before another chunk is taken.
        retries: How often a call is tried again that a rate limit, a time-out or a lost connection ended.
        timeout: Seconds for one call, or None.
        min_words: Chunks of fewer words are not asked about.
        near_duplicates: The F-measure of ROUGE-L from which two questions are nearly the same.
        most_quoted: The share from which a question quotes its chunk; see `evidence.quotes_chunk`.
        most_prompts: After how many prompts to stop, for the costs; by default ten for each question and twenty more.
        resume: Go on with a journal that is there; otherwise it is refused.
        retry_errors: Ask prompts again that got no answer in an earlier session.
        doc_key: The key of the metadata under which a chunk has the id of its document.
        id_key: Read the ids of chunks from the metadata under this key alone.

    Returns:
        The questions as `.evalset`, and how they were made as `.report`, which can be printed.

    Warns:
        KragEvalWarning: Fewer questions could be made than asked for.

    Raises:
        InvalidInputError: Something given cannot be used, or the journal belongs to another generation.
        ModelSetupError: The model cannot be asked at all, as with a wrong key.
    """
    kinds = _check_types(types)
    settings: dict[str, Any] = {
        "n": check_count("n", n),
        "types": kinds,
        "language": check_language(language),
        "seed": _check_seed(seed),
        "attempts": check_count("attempts", attempts),
        "min_words": check_count("min_words", min_words),
        "near_duplicates": _check_share("near_duplicates", near_duplicates),
        "most_quoted": _check_share("most_quoted", most_quoted),
        "most_prompts": _PROMPTS_A_QUESTION * n + _PROMPTS_MORE
        if most_prompts is None
        else check_count("most_prompts", most_prompts),
    }
    check_count("concurrency", concurrency)
    hook = hook_for(progress)
    texts = load_prompts(prompts, kinds)
    model = as_language_model(llm, retries=retries, timeout=timeout)
    corpus = read_chunks(chunks, min_words=min_words, doc_key=doc_key, id_key=id_key)
    settings |= {"chunks": corpus.fingerprint, "prompts": texts.version, "model": model.name}
    before = model.counters
    maker = Maker(
        split_evenly(n, kinds),
        in_order(corpus.usable, seed),
        texts,
        language=language,
        attempts=attempts,
        most_prompts=settings["most_prompts"],
        tell=_teller(hook, n, model),
    )
    keeper = Keeper(corpus.all, near=near_duplicates, most_quoted=most_quoted)
    with KeyedJournal(journal, GENERATION_JOURNAL, settings, resume=resume, retry_errors=retry_errors) as rows:
        asker = Asker(model, rows, concurrency)
        try:
            made = maker.make(asker, keeper)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(f"Stopped. {_where(rows)}") from None
        except ModelSetupError as error:
            if not len(rows):
                raise
            raise ModelSetupError(f"{error} {_where(rows)}") from None
    report = GenerationReport(
        types=type_reports(split_evenly(n, kinds), made, maker),
        model=model.name,
        prompts=texts.version,
        language=language,
        seed=seed,
        n_chunks=len(corpus.all) + sum(corpus.skipped.get(reason, 0) for reason in NOT_READ),
        skipped_chunks=corpus.skipped,
        n_named_chunks=corpus.n_named,
        n_found=rows.n_found,
        counters=model.counters - before,
        stopped=None if len(made) == n else why_fewer(maker, asker, rows),
    )
    if report.stopped is not None:
        warn(f"Only {len(made):,} of {n:,} questions could be made. {report.stopped}")
    return GeneratedEvalSet(evalset_of(made, f"{model.name}, prompts {texts.version}", doc_key), report)


def _teller(hook: ProgressHook | None, total: int, model: LanguageModel) -> Callable[..., None]:
    before, started = model.counters.prompts, time.monotonic()

    def tell(done: int, dropped: int, *, is_over: bool = False) -> None:
        if hook is not None:
            hook(
                RunProgress(
                    name="questions",
                    done=done,
                    total=total,
                    errors=dropped,
                    asked=model.counters.prompts - before,
                    seconds=time.monotonic() - started,
                    is_over=is_over,
                )
            )

    return tell


def _where(rows: KeyedJournal) -> str:
    """How far it came, and how to go on."""
    if rows.path is None:
        return f"{len(rows):,} answers of the model are lost: give `journal` a path to be able to go on."
    return f"{len(rows):,} answers of the model are in {rows.path}: run the same again to go on."


def _check_types(given: object) -> list[str]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InvalidInputError(
            f"`types` is {describe_type(given)}. It must be a list of names, such as {list(TYPES[:2])}."
        )
    types = list(given)
    for one in types:
        if not isinstance(one, str) or one in ("", RULES, RETRY):
            raise InvalidInputError(f"`types` has {one!r:.60}. It must hold names of types, such as {TYPES[0]!r}.")
    if not types or len(set(types)) < len(types):
        raise InvalidInputError(f"`types` is {types!r:.100}. Give at least one, and each once.")
    return types


def _check_share(name: str, value: object) -> float:
    share = check_threshold(value, name)
    if share == 0:
        raise InvalidInputError(f"`{name}` is 0, at which no question would be kept. Give a number above 0, up to 1.")
    return share


def _check_seed(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidInputError(f"`seed` must be an integer, got {value!r:.60}.")
    return value


def evalset_of(made: Sequence[Candidate], source: str, doc_key: str) -> EvalSet:
    """The questions, numbered by type in the order of their places."""
    numbers = Counter[str]()
    questions = []
    for candidate in made:
        numbers[candidate.kind] += 1
        questions.append(_question(candidate, f"{candidate.kind}-{numbers[candidate.kind]}", source, doc_key))
    return EvalSet(questions, name="generated")


def _question(candidate: Candidate, question_id: str, source: str, doc_key: str) -> Question:
    chunk, span = candidate.chunk, candidate.evidence
    metadata: dict[str, Any] = {"generated": True, "chunk_id": chunk.id}
    if candidate.overlap is not None:
        metadata["overlap"] = round(candidate.overlap, 4)
    if span is not None:
        metadata |= {"evidence": span.text, "evidence_start": span.start, "evidence_end": span.end}
    about = Question(id=question_id, question=candidate.question, type=candidate.kind, source=source, metadata=metadata)
    if candidate.kind == NEGATIVE:
        return about
    gold = Document(id=chunk.id, text=chunk.text, metadata={} if chunk.doc_id is None else {doc_key: chunk.doc_id})
    return replace(
        about,
        answer=candidate.answer,
        gold=(gold,),
        gold_chunk_ids=(chunk.id,),
        gold_doc_ids=() if chunk.doc_id is None else (chunk.doc_id,),
    )


def type_reports(wanted: Sequence[str], made: Sequence[Candidate], maker: Maker) -> dict[str, TypeReport]:
    """What came of each type, in the order in which they were asked for."""
    reports = {}
    for kind, n_wanted in Counter(wanted).items():
        of_kind = [candidate for candidate in made if candidate.kind == kind]
        shares = [candidate.overlap for candidate in of_kind if candidate.overlap is not None]
        reports[kind] = TypeReport(
            wanted=n_wanted,
            made=len(of_kind),
            asked=maker.asked[kind],
            dropped=dict(maker.dropped[kind].most_common()),
            overlap=sum(shares) / len(shares) if shares else None,
        )
    return reports


def why_fewer(maker: Maker, asker: Asker, rows: KeyedJournal) -> str:
    """Why there are fewer questions than wanted, and what to do, in two sentences."""
    go_on = "with the same journal, to go on" if rows.path is not None else "with `journal`, so that nothing is lost"
    if asker.is_out_of_reach:
        return (
            f"The model gave no answer to {MOST_UNANSWERED} prompts in a row (the last time: {asker.last_error}). Run "
            f"again {go_on}."
        )
    if maker.is_over_budget:
        return (
            f"`most_prompts` was reached after {maker.asked.total():,} prompts{_dropped(maker)}. Use another model or "
            "other prompts, or raise it."
        )
    return f"There are no further chunks to ask about{_dropped(maker)}. Give more chunks, or ask for fewer questions."


def _dropped(maker: Maker) -> str:
    """What the model's answers were dropped for, the most frequent reason first."""
    reasons = sum(maker.dropped.values(), Counter[str]())
    told = ", ".join(f"{count:,} {REASONS[reason][0]}" for reason, count in reasons.most_common())
    return f"; dropped: {told}" if told else ""
