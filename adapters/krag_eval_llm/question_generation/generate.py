"""Have a language model write an evaluation set."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from krag_eval import Document, EvalSet, InvalidInputError, Question, RunProgress
from krag_eval.toolkit import (
    DOC_KEY,
    NEAR,
    Argument,
    IdKey,
    JournalKind,
    KeyedJournal,
    check_count,
    check_number,
    fields_of,
    refuse,
    reporter,
    warn,
)
from krag_eval_llm.failures import ModelSetupError
from krag_eval_llm.model import LanguageModel, as_language_model
from krag_eval_llm.question_generation.candidates import MOST_UNANSWERED, RETRY, RULES, Asker, Generator, load_prompts
from krag_eval_llm.question_generation.checks import NEGATIVE, REASONS, Candidate, CandidateFilter
from krag_eval_llm.question_generation.chunks import NOT_READ, in_order, read_chunks, split_evenly
from krag_eval_llm.question_generation.languages import check_language
from krag_eval_llm.question_generation.report import GeneratedEvalSet, GenerationReport, TypeReport

TYPES = ("literal", "paraphrase", "scenario", "negative")
GENERATION_JOURNAL = JournalKind("krag_eval_generation", "generation")
# A model that writes nothing usable is given up after so many prompts per question, plus some more.
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
    progress: bool | Callable[[RunProgress], object] | None = True,
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
    doc_key: IdKey = DOC_KEY,
    id_key: IdKey | None = None,
) -> GeneratedEvalSet:
    """Have a language model write questions about chunks, with answers and evidence, and keep those that pass.

    A question is kept only if it has the form of a question in the requested language, its answer is not empty, its
    evidence is in the chunk (after normalization), it is not a near-duplicate, and it does not quote the chunk, unless
    its type is literal. A negative question has no gold; it is kept if the answer that the model guessed is neither in
    the chunk nor, from three words on, in another one. More cannot be checked: the corpus may answer it in other words.

    Args:
        chunks: LangChain documents, LlamaIndex nodes, rows with an id and a text, strings, or what `read_corpus` gives.
        llm: A LangChain chat model, a LlamaIndex LLM, a function `prompt -> str`, or a `LanguageModel`.
        n: How many questions to generate, split evenly among the types; the first types get the remainder.
        types: `"literal"`, `"paraphrase"`, `"scenario"`, `"negative"`, or a name for which `prompts` has a prompt.
        language: `"auto"` for that of each chunk, a code such as `"ko"`, or a name. Checked by its script.
        seed: The seed of the order of the chunks; one of each document comes before a second one of any.
        journal: A file to which every answer of the model is written as it comes. The same call resumes from it and
            repeats no prompt.
        prompts: A folder with files such as `literal.txt`, or a mapping from names to texts, instead of the bundled
            ones.
        progress: True shows a line on a terminal; a function is called with a `RunProgress`.
        concurrency: How many prompts to send at a time. The questions do not depend on it, if the model's answers do
            not.
        attempts: How often to ask about one chunk for one question before taking another chunk.
        retries: How often to retry a call after a rate limit, a timeout or a lost connection.
        timeout: The time limit of one call in seconds, or None.
        min_words: Chunks of fewer words are skipped.
        near_duplicates: The ROUGE-L F-measure from which two questions are near-duplicates.
        most_quoted: The share from which a question quotes its chunk; see `checks.quotes_chunk`.
        most_prompts: The number of prompts after which to stop, to limit costs; by default ten per question and twenty
            more.
        resume: Resume from an existing journal; otherwise it is refused.
        retry_errors: Retry prompts that got no answer in an earlier session.
        doc_key: The metadata key of the document id of a chunk.
        id_key: Read the ids of chunks only from this metadata key.

    Returns:
        The questions as `.evalset`, and how they were generated as `.report`, which can be printed.

    Warns:
        KragEvalWarning: Fewer questions than requested could be generated.

    Raises:
        InvalidInputError: An argument is invalid, or the journal belongs to another generation.
        ModelSetupError: The model cannot be asked at all, as with a wrong key.
    """
    kinds = _check_types(types)
    settings: dict[str, Any] = {
        "n": check_count("n", n),
        "types": kinds,
        "language": check_language(language),
        "seed": check_count("seed", seed, least=0),
        "attempts": check_count("attempts", attempts),
        "min_words": check_count("min_words", min_words),
        "near_duplicates": check_number("near_duplicates", near_duplicates, above=0, most=1),
        "most_quoted": check_number("most_quoted", most_quoted, above=0, most=1),
        "most_prompts": _PROMPTS_A_QUESTION * n + _PROMPTS_MORE
        if most_prompts is None
        else check_count("most_prompts", most_prompts),
    }
    check_count("concurrency", concurrency)
    texts = load_prompts(prompts, kinds)
    model = as_language_model(llm, retries=retries, timeout=timeout)
    corpus = read_chunks(chunks, min_words=min_words, doc_key=doc_key, id_key=id_key)
    settings |= {"chunks": corpus.fingerprint, "prompts": texts.version, "model": model.name}
    before = model.counters
    generator = Generator(
        split_evenly(n, kinds),
        in_order(corpus.usable, seed),
        texts,
        language=language,
        attempts=attempts,
        most_prompts=settings["most_prompts"],
        tell=_teller(progress, n, model),
    )
    checks = CandidateFilter(corpus.all, near=near_duplicates, most_quoted=most_quoted)
    with KeyedJournal(journal, GENERATION_JOURNAL, settings, resume=resume, retry_errors=retry_errors) as rows:
        asker = Asker(model, rows, concurrency)
        try:
            made = generator.generate(asker, checks)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(str(ModelSetupError("Stopped. ", *_where(rows)))) from None
        except ModelSetupError as error:
            if not len(rows):
                raise
            raise ModelSetupError(*error.args, " ", *_where(rows)) from None
    report = GenerationReport(
        types=type_reports(split_evenly(n, kinds), made, generator),
        model=model.name,
        prompts=texts.version,
        language=language,
        seed=seed,
        n_chunks=len(corpus.all) + sum(corpus.skipped.get(reason, 0) for reason in NOT_READ),
        skipped_chunks=corpus.skipped,
        n_named_chunks=corpus.n_named,
        n_found=rows.n_found,
        counters=model.counters - before,
        stopped=None if len(made) == n else why_fewer(generator, asker, rows),
    )
    if report.stopped is not None:
        warn(f"Only {len(made):,} of {n:,} questions could be made. {report.stopped}")
    return GeneratedEvalSet(evalset_of(made, f"{model.name}, prompts {texts.version}", doc_key), report)


def _teller(
    progress: bool | Callable[[RunProgress], object] | None, total: int, model: LanguageModel
) -> Callable[..., None]:
    before, report = model.counters.prompts, reporter(progress, "questions", total)

    def tell(done: int, dropped: int, *, is_over: bool = False) -> None:
        report(done, dropped, model.counters.prompts - before, is_over=is_over)

    return tell


def _where(rows: KeyedJournal) -> tuple[str | Argument, ...]:
    """Say how many answers are recorded, and how to resume."""
    if rows.path is None:
        lost = f"{len(rows):,} answers of the model are lost. To be able to resume, give "
        return lost, Argument("journal"), " a path."
    return (f"{len(rows):,} answers of the model are in {rows.path}. Rerun it to resume.",)


def _check_types(given: object) -> list[str]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        refuse("types", f"a list of names, such as {list(TYPES[:2])}", given)
    types = list(given)
    for one in types:
        if not isinstance(one, str) or one in ("", RULES, RETRY):
            raise InvalidInputError(f"`types` has {one!r:.60}. It must hold names of types, such as {TYPES[0]!r}.")
    if not types or len(set(types)) < len(types):
        raise InvalidInputError(f"`types` is {types!r:.100}. Give at least one, and each once.")
    return types


def evalset_of(made: Sequence[Candidate], source: str, doc_key: IdKey) -> EvalSet:
    """Return the questions as a set, numbered by type."""
    numbers = Counter[str]()
    questions = []
    for candidate in made:
        numbers[candidate.kind] += 1
        questions.append(_question(candidate, f"{candidate.kind}-{numbers[candidate.kind]}", source, doc_key))
    return EvalSet(questions, name="generated")


def together(made: EvalSet, others: EvalSet | None) -> EvalSet:
    """Return generated questions with those of another set; the metadata of each have its `origin`.

    That is `generated`, and for the others what they have there already, or else `given`.

    Raises:
        InvalidInputError: Both have a question with the same id.
    """
    if others is None:
        return made
    kept = [replace(one, metadata={"origin": "given", **one.metadata}) for one in others]
    return EvalSet(
        [*kept, *(replace(one, metadata={**one.metadata, "origin": "generated"}) for one in made)], name="both"
    )


def _question(candidate: Candidate, question_id: str, source: str, doc_key: IdKey) -> Question:
    chunk, span = candidate.chunk, candidate.evidence
    metadata: dict[str, Any] = {"generated": True, "chunk_id": chunk.id}
    if candidate.overlap is not None:
        metadata["overlap"] = round(candidate.overlap, 4)
    if span is not None:
        metadata |= {"evidence": span.text, "evidence_start": span.start, "evidence_end": span.end}
    about = Question(id=question_id, question=candidate.question, type=candidate.kind, source=source, metadata=metadata)
    if candidate.kind == NEGATIVE:
        return about
    gold = Document(
        id=chunk.id, text=chunk.text, metadata={} if chunk.doc_id is None else fields_of(chunk.doc_id, doc_key)
    )
    return replace(
        about,
        answer=candidate.answer,
        gold=(gold,),
        gold_chunk_ids=(chunk.id,),
        gold_doc_ids=() if chunk.doc_id is None else (chunk.doc_id,),
    )


def type_reports(wanted: Sequence[str], made: Sequence[Candidate], generator: Generator) -> dict[str, TypeReport]:
    """Return the results of each type, in the requested order."""
    reports = {}
    for kind, n_wanted in Counter(wanted).items():
        of_kind = [candidate for candidate in made if candidate.kind == kind]
        shares = [candidate.overlap for candidate in of_kind if candidate.overlap is not None]
        reports[kind] = TypeReport(
            wanted=n_wanted,
            made=len(of_kind),
            asked=generator.asked[kind],
            dropped=dict(generator.dropped[kind].most_common()),
            overlap=sum(shares) / len(shares) if shares else None,
        )
    return reports


def why_fewer(generator: Generator, asker: Asker, rows: KeyedJournal) -> str:
    """Say why there are fewer questions than wanted, and what to do."""
    how = "with the same journal to resume" if rows.path is not None else "with a journal, so that nothing is lost"
    if asker.is_out_of_reach:
        return (
            f"The model gave no answer to {MOST_UNANSWERED} prompts in a row (the last time: {asker.last_error}). "
            f"Rerun {how}."
        )
    if generator.is_over_budget:
        return (
            f"`most_prompts` was reached after {generator.asked.total():,} prompts{_dropped(generator)}. Use another "
            "model or other prompts, or raise it."
        )
    return (
        f"There are no further chunks to ask about{_dropped(generator)}. Give more chunks, or ask for fewer questions."
    )


def _dropped(generator: Generator) -> str:
    """Return why answers were dropped, the most frequent reason first."""
    reasons = sum(generator.dropped.values(), Counter[str]())
    told = ", ".join(f"{count:,} {REASONS[reason][0]}" for reason, count in reasons.most_common())
    return f"; dropped: {told}" if told else ""
