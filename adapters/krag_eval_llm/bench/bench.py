"""Run a bench: questions, retrieval, answers and their scores, one stage after the other, each with its journal."""

from __future__ import annotations

import os
from collections import Counter, UserDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Unpack

from krag_eval import (
    Document,
    EvalSet,
    InvalidInputError,
    MissingDependencyError,
    Question,
    Run,
    RunProgress,
    RunStoppedError,
    as_document,
    as_evalset,
    evaluate,
    run_retriever,
    write_evalset,
)
from krag_eval.toolkit import (
    LEVELS,
    Argument,
    JournalKind,
    KeyedJournal,
    RetrieverChangedError,
    ScoringSettings,
    TextSettings,
    check_count,
    check_embeddings,
    check_ranks,
    load,
    make_settings,
    need_installed,
    one_of,
    qualified_name,
    warn,
)
from krag_eval_answers import AnswerResult, evaluate_answers
from krag_eval_llm.bench.answering import (
    ANSWERS_JOURNAL,
    Answerer,
    answer_questions,
    as_answerer,
    is_model,
    model_answerer,
)
from krag_eval_llm.bench.report import EVAL_MODES, Bench, bench_sections, given_answers
from krag_eval_llm.context_judge.judge import judge_contexts
from krag_eval_llm.context_judge.result import ContextResult
from krag_eval_llm.json_answers import check_schema
from krag_eval_llm.model import LanguageModel, as_language_model
from krag_eval_llm.question_generation import GeneratedEvalSet, GenerationReport, generate_evalset

CUT_OFFS = (1, 3, 5, 10, 20)


def run_bench(
    corpus: object,
    retriever: object,
    *,
    llm: object = None,
    answer: object = None,
    evalset: object = None,
    samples: int = 30,
    eval_mode: str = "all",
    e2e_limit: int = 20,
    skip_e2e: bool = False,
    k: int | str | Sequence[int | str | None] | None = CUT_OFFS,
    journals: str | os.PathLike[str] | None = None,
    name: str | None = None,
    answer_name: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    language: str = "auto",
    seed: int = 0,
    concurrency: int = 8,
    timeout: float | None = None,
    level: str = "chunk",
    title: str | None = None,
    progress: bool | Callable[[RunProgress], object] | None = True,
    **settings: Unpack[TextSettings],
) -> Bench:
    """Generate questions from chunks, retrieve, answer, score both, and report.

    Every stage records its results: the same call with the same `journals` resumes where it was stopped and repeats
    only what failed.

    Args:
        corpus: The chunks that the retriever searches, as a list of documents. Questions are generated from them if no
            `evalset` is given, and they provide the texts if the retriever returns only ids.
        retriever: As for `run_retriever`.
        llm: A LangChain chat model, a LlamaIndex LLM, or a function `prompt -> str`. It writes the questions, answers
            them if there is no `answer`, and judges the retrieved context.
        answer: The system that answers: a function of a question and its documents, or of the question alone, a
            LangChain runnable, or a LlamaIndex query engine; or another language model than `llm`.
        evalset: Questions to use instead of generated ones.
        samples: How many questions to generate.
        eval_mode: `"all"`, `"literal"`, or `"semantic"` for paraphrases and scenarios.
        e2e_limit: The maximum number of questions to answer and judge, spread over the types.
        skip_e2e: Score retrieval only.
        k: The cut-offs; the largest decides how many documents are kept.
        journals: A folder for the journals of the stages, and `evalset.jsonl` with the questions that were generated;
            None keeps none.
        name: The name of the retriever; its own name by default.
        answer_name: The name of the answering system; its own name by default. Two chains of LangChain have the
            same: name them, so that the journal of one is refused for the other.
        parameters: What to record of it: chunk size, overlap, model.
        language: Of the questions, as for `generate_evalset`.
        seed: Of the choice of chunks, and of intervals.
        concurrency: How many questions to process at a time, in every stage.
        timeout: The time limit in seconds of one call of the retriever, the model or the answering system.
        level: `"chunk"` or `"document"`, as for `evaluate_run`.
        title: The title of the report; by default the retriever and the questions.
        progress: True shows one line per stage on a terminal; a function is called with a `RunProgress`.
        **settings: The scoring settings that `evaluate_run` takes; `embeddings` are also used for the semantic
            similarity of answers.

    Raises:
        InvalidInputError: An argument is invalid, or a journal belongs to another bench.
        ModelSetupError: The model cannot be asked at all, as with a wrong key.
        MissingDependencyError: A package is not installed.
        RunStoppedError: The retriever failed on every question.

    Warns:
        KragEvalWarning: Fewer questions than requested could be generated, or the retriever failed on some.
    """
    check_before(answer, level, **settings)
    if llm is not None:
        check_schema({})  # reports a missing package before any work starts
    one_of("eval_mode", eval_mode, list(EVAL_MODES))
    check_count("samples", samples)
    limit, cut_offs = check_count("e2e_limit", e2e_limit), check_ranks(k, "a bench")
    model = None if llm is None else as_language_model(llm, timeout=timeout)
    stages = Stages(
        None if journals is None else Path(journals),
        check_count("concurrency", concurrency),
        timeout,
        progress,
    )
    generation: GenerationReport | None = None
    if evalset is not None:
        questions = of_mode(as_evalset(evalset), eval_mode)
    elif model is not None:
        if corpus is None:
            raise InvalidInputError(
                "There are no chunks to generate questions from. Give ",
                Argument("corpus"),
                ", or an ",
                Argument("evalset"),
                ".",
            )
        made = stages.generate(corpus, model, samples=samples, mode=eval_mode, language=language, seed=seed)
        questions, generation = made.evalset, made.report
    else:
        raise InvalidInputError(
            "There are no questions, and no language model to write them. Give a model as ",
            Argument("llm"),
            ", or questions as ",
            Argument("evalset"),
            ".",
        )
    if not len(questions):
        why = "The set is empty." if generation is None else str(generation.stopped)
        raise InvalidInputError(f"There is no question to score. {why}")
    run = stages.retrieve(questions, retriever, k=max(cut_offs), name=name, parameters=parameters)
    report = load("krag_eval.reports", "build")(
        questions, {run.name: run}, k=cut_offs, level=level, seed=seed, title=title, **settings
    )
    asked = EvalSet(choose_evenly(questions, limit), name=questions.name)
    embeddings = settings.get("embeddings")
    answers: dict[str, str | Exception] | None = None
    scores: AnswerResult | None = None
    context: ContextResult | None = None
    no_intervals = None if skip_e2e else why_no_intervals()
    if not skip_e2e and (answer is not None or model is not None):
        shown = with_texts(run, corpus, is_read_by_model=model is not None)
        answers = stages.answer(asked, shown, answer, model, answer_name)
        if answers is not None:
            scores = evaluate_answers(asked, answers, embeddings=embeddings, intervals=no_intervals is None)
        if model is not None:
            context = stages.judge(asked, shown, model, k=max(cut_offs), intervals=no_intervals is None)
    left_out = _left_out(
        skip_e2e, answers is None, scores is not None and embeddings is None, context is None, no_intervals
    )
    return Bench(
        evalset=questions,
        generation=generation,
        run=run,
        retrieval=report.systems[0].result,
        answers=answers,
        answer_scores=scores,
        context=context,
        left_out=left_out,
        report=replace(
            report,
            systems=(replace(report.systems[0], answers=given_answers(questions, asked, answers, scores, context)),),
            further=bench_sections(questions, asked, generation, scores, context, left_out),
        ),
    )


def _left_out(
    skipped: bool, no_answers: bool, no_similarity: bool, no_context: bool, no_intervals: str | None
) -> tuple[str, ...]:
    """Say what is not in the report, and why."""
    if skipped:
        return ("No question was answered and nothing was judged by a model, as requested.",)
    no_model = "there is no language model"
    return tuple(
        text
        for text, holds in (
            (f"No question was answered: {no_model} and no answering system.", no_answers),
            ("Answers have no semantic similarity: there is no embedding model.", no_similarity),
            (f"Context precision and context recall were left out: {no_model}.", no_context),
            (f"Means have no intervals. {no_intervals}", no_intervals is not None),
        )
        if holds
    )


EVALSET_FILE = "evalset.jsonl"
"""The generated questions, in the folder of the journals."""


@dataclass(frozen=True, slots=True)
class Stages:
    """The stages of a bench, and how they run.

    Attributes:
        journals: The folder of the journals; None keeps none.
        concurrency: How many questions to process at a time.
        timeout: The time limit of one call in seconds, or None.
        progress: As for `run_bench`.
    """

    journals: Path | None
    concurrency: int
    timeout: float | None
    progress: bool | Callable[[RunProgress], object] | None

    def generate(
        self, corpus: object, model: LanguageModel, *, samples: int, mode: str, language: str, seed: int
    ) -> GeneratedEvalSet:
        """Have the model write questions of a mode, and write them as a set next to their journal."""
        made = generate_evalset(
            corpus,
            model,
            n=samples,
            types=EVAL_MODES[mode],
            language=language,
            seed=seed,
            journal=self._journal("questions.jsonl"),
            progress=self.progress,
            concurrency=self.concurrency,
            retry_errors=True,
        )
        if self.journals is not None and len(made):
            write_evalset(made.evalset, self.journals / EVALSET_FILE)
        return made

    def retrieve(
        self, questions: EvalSet, retriever: Any, *, k: int, name: str | None, parameters: Mapping[str, Any] | None
    ) -> Run:
        """Ask the retriever.

        Warns:
            KragEvalWarning: It failed on some questions, which count as empty results.

        Raises:
            RunStoppedError: It failed on all of them, or on most of many.
        """
        try:
            run: Run = run_retriever(
                questions,
                retriever,
                k=k,
                name=name,
                parameters=parameters,
                concurrency=self.concurrency,
                timeout=self.timeout,
                journal=self._journal("run.jsonl"),
                progress=self.progress,
            )
        except RetrieverChangedError as error:
            raise InvalidInputError(
                f"{error.args[0]} Remove this file to ask every question again, or give another folder of journals."
            ) from None
        if run.errors:
            told = f"on {len(run.errors)} of {len(questions)} questions; the first: {next(iter(run.errors.values()))}"
            if len(run.errors) == len(questions):
                raise RunStoppedError(
                    f"The retriever failed {told}. Nothing can be scored. Fix the retriever and rerun."
                )
            warn(f"The retriever failed {told}. They count as empty results; a rerun asks them again.")
        return run

    def answer(
        self, questions: EvalSet, run: Run, answer: object, model: LanguageModel | None, name: str | None
    ) -> dict[str, str | Exception] | None:
        """Have the questions answered by the given system or by the model; None if there is neither."""
        answerer: Answerer
        if answer is not None:
            answerer, by = as_answerer(answer, self.timeout), name or _name_of(answer)
        elif model is not None:
            answerer, by = model_answerer(model), model.name
        else:
            return None
        path = self._journal("answers.jsonl")
        with KeyedJournal(path, ANSWERS_JOURNAL, {"answered_by": by}, retry_errors=True) as rows:
            return answer_questions(
                list(questions), run, answerer, rows, concurrency=self.concurrency, progress=self.progress
            )

    def judge(self, questions: EvalSet, run: Run, model: LanguageModel, *, k: int, intervals: bool) -> ContextResult:
        """Have the model judge the retrieved context of these questions."""
        rows_asked = {question.id: run.rows[question.id] for question in questions if question.id in run.rows}
        with KeyedJournal(self._journal("verdicts.jsonl"), VERDICTS_JOURNAL, {"model": model.name}) as rows:
            return judge_contexts(
                questions,
                replace(run, rows=rows_asked),
                model,
                k=k,
                cache=_Verdicts(rows),
                concurrency=self.concurrency,
                intervals=intervals,
                progress=self.progress,
            )

    def _journal(self, name: str) -> Path | None:
        return None if self.journals is None else self.journals / name


def _name_of(answer: object) -> str:
    return as_language_model(answer).name if is_model(answer) else qualified_name(answer)


def check_before(answer: object, level: str, **settings: Unpack[ScoringSettings]) -> None:
    """Check whether the last stages can use the arguments, by scoring a document against itself.

    A mistake found at the end would already have cost money. An embedding model is asked for one vector if matching
    needs it.

    Raises:
        InvalidInputError: An argument is invalid.
        MissingDependencyError: A package is not installed.
    """
    if answer is not None:
        as_answerer(answer)
    one_of("level", level, LEVELS)
    make_settings(**settings)
    if settings.get("embeddings") is not None:
        check_embeddings(settings["embeddings"])
    document = Document(id="d", text="text", metadata={str(settings.get("id_key")): "d"})
    evaluate([[document]], [[document]], k=1, **settings)


def why_no_intervals() -> str | None:
    """Say what is missing for intervals; None if nothing is."""
    try:
        need_installed("The interval of a mean", "scipy", "stats")
    except MissingDependencyError as error:
        return str(error)
    return None


def of_mode(evalset: EvalSet, mode: str) -> EvalSet:
    """Return the questions of a mode; `"all"` includes other types, and questions without a type.

    Raises:
        InvalidInputError: There is no such mode, or no question of it.
    """
    if one_of("eval_mode", mode, list(EVAL_MODES)) == "all":
        return evalset
    chosen = evalset.where(lambda question: question.type in EVAL_MODES[mode])
    if not len(chosen):
        types = sorted({question.type or "none" for question in evalset})
        raise InvalidInputError(
            f"No question fits the mode {mode!r}, which uses the types {', '.join(EVAL_MODES[mode])}; the set has "
            f"{', '.join(types)}. Use eval_mode='all', or give questions of these types."
        )
    return chosen


def choose_evenly(questions: Sequence[Question], most: int) -> list[Question]:
    """Choose at most `most` questions, as evenly over the types as possible, in the order of the set.

    >>> questions = [Question(id=str(n), type="ab"[n > 3]) for n in range(6)]
    >>> [question.id for question in choose_evenly(questions, 4)]
    ['0', '1', '4', '5']
    """
    turns: Counter[str | None] = Counter()
    places = []
    for place, question in enumerate(questions):
        turns[question.type] += 1
        places.append((turns[question.type], list(turns).index(question.type), place))
    return [questions[place] for place in sorted(place for _, _, place in sorted(places)[:most])]


_CURE = (
    "Have the retriever return texts, give the corpus with their ids, or skip answers with ",
    Argument("skip_e2e", True),
    ".",
)


def with_texts(run: Run, corpus: object, *, is_read_by_model: bool) -> Run:
    """Fill in missing texts of a run from the corpus.

    Args:
        run: What was retrieved.
        corpus: The chunks, or None.
        is_read_by_model: Whether a language model answers or judges from the texts.

    Raises:
        InvalidInputError: A model would have nothing to read.

    Warns:
        KragEvalWarning: Some documents still have no text.
    """
    if not any(_lack_text(run)):
        return run
    chunks = map(as_document, corpus) if isinstance(corpus, Iterable) else ()
    texts = {chunk.id: chunk.text for chunk in chunks if chunk.id is not None}
    rows = dict(run.rows)
    for key, row in run.rows.items():
        found = (one if one.text else replace(one, text=texts.get(one.id or "")) for one in row.retrieved)
        rows[key] = replace(row, retrieved=tuple(found))
    filled = replace(run, rows=rows)
    lacks = _lack_text(filled)
    if is_read_by_model and all(lacks):
        raise InvalidInputError("No retrieved document has a text for the model to read. ", *_CURE)
    if any(lacks):
        warn(f"{sum(lacks):,} of {len(lacks):,} retrieved documents have no text to answer from. ", *_CURE)
    return filled


def _lack_text(run: Run) -> list[bool]:
    """Return for each retrieved document whether it has no text."""
    return [not document.text for row in run.rows.values() for document in row.retrieved]


VERDICTS_JOURNAL = JournalKind("krag_eval_verdicts", "set of verdicts")


class _Verdicts(UserDict[str, Any]):
    """The cache of `judge_contexts`, kept in a journal; recorded verdicts stay."""

    def __init__(self, journal: KeyedJournal) -> None:
        super().__init__()
        self._journal = journal
        self.data = {key: row["verdict"] for key in journal if (row := journal.get(key)) is not None}

    def __setitem__(self, key: str, verdict: Any) -> None:
        if key in self.data:
            return
        self._journal.put(key, {"verdict": verdict})
        super().__setitem__(key, verdict)
