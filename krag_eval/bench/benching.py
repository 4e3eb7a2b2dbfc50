"""`run_bench`: questions, retrieval, answers and their scores, one stage after the other."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

from krag_eval.answers import AnswerResult, evaluate_answers
from krag_eval.bench.checking import check_before, why_no_intervals
from krag_eval.bench.choosing import of_mode, spread
from krag_eval.bench.records import EVAL_MODES, Bench
from krag_eval.bench.sections import bench_sections
from krag_eval.bench.stages import Stages
from krag_eval.bench.texts import with_texts
from krag_eval.checks import check_count, check_ranks, one_of
from krag_eval.context_judge import ContextResult
from krag_eval.errors import InvalidInputError
from krag_eval.evalset import EvalSet, as_evalset
from krag_eval.generation import GenerationReport
from krag_eval.language_model import as_language_model
from krag_eval.progress import ProgressHook, hook_for
from krag_eval.report import build_report
from krag_eval.settings import ScoringSettings
from krag_eval.wrong_names import tell_names

CUT_OFFS = (1, 3, 5, 10, 20)


@tell_names
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
    progress: bool | ProgressHook | None = True,
    **settings: Unpack[ScoringSettings],
) -> Bench:
    """Make questions from chunks, retrieve, answer, score both, and report.

    Every stage writes down what it finds out: the same call with the same `journals` goes on where it was stopped, and
    asks nothing twice but what failed.

    Args:
        corpus: The chunks that the retriever searches, as a list of documents. Questions are made from them where no
            `evalset` is given, and answers where the retriever returns ids without texts.
        retriever: As for `run_retriever`.
        llm: A LangChain chat model, a LlamaIndex LLM, or a function `prompt -> str`. It writes the questions, answers
            them where there is no `answer`, and judges what was retrieved.
        answer: The system that answers: a function of a question and its documents, or of the question alone, a
            LangChain runnable, or a LlamaIndex query engine; or another language model than `llm`.
        evalset: Questions to ask in place of generated ones.
        samples: How many questions to generate.
        eval_mode: `"all"`, `"literal"`, or `"semantic"` for paraphrases and scenarios.
        e2e_limit: How many questions are answered and judged at most, spread over the types.
        skip_e2e: Score retrieval alone.
        k: The cut-offs; as many documents are kept as the largest asks for.
        journals: A folder for the journals of the stages, and `evalset.jsonl` with the questions that were generated;
            None keeps none.
        name: What the retriever is called; its own name by default.
        answer_name: What the system that answers is called; its own name by default. Two chains of LangChain have the
            same: name them, so that the journal of one is refused for the other.
        parameters: What to record of it: chunk size, overlap, model.
        language: Of the questions, as for `generate_evalset`.
        seed: Of the choice of chunks, and of intervals.
        concurrency: How many questions are asked at a time, at every stage.
        timeout: Seconds for one call of the retriever, of the model or of the system that answers.
        level: `"chunk"` or `"document"`, as for `evaluate_run`.
        title: Of the report; by default it names the retriever and the questions.
        progress: True shows a line a stage on a terminal; a function is called with a `RunProgress`.
        **settings: The scoring settings that `evaluate_run` takes; `embeddings` are for the semantic similarity of
            answers too.

    Raises:
        InvalidInputError: Something given cannot be used, or a journal belongs to another bench.
        ModelSetupError: The model cannot be asked at all, as with a wrong key.
        MissingDependencyError: A package is not installed.
        RunStoppedError: The retriever failed on every question.

    Warns:
        KragEvalWarning: Fewer questions could be made than asked for, or the retriever failed on some.
    """
    check_before(answer, level, **settings)
    one_of("eval_mode", eval_mode, list(EVAL_MODES))
    limit, cut_offs = check_count("e2e_limit", e2e_limit), check_ranks(k, "a bench")
    model = None if llm is None else as_language_model(llm, timeout=timeout)
    stages = Stages(
        None if journals is None else Path(journals),
        check_count("concurrency", concurrency),
        timeout,
        hook_for(progress),
    )
    generation: GenerationReport | None = None
    if evalset is not None:
        questions = of_mode(as_evalset(evalset), eval_mode)
    elif model is not None:
        if corpus is None:
            raise InvalidInputError("There are no chunks to make questions from. Give `corpus`, or an `evalset`.")
        made = stages.generate(corpus, model, samples=samples, mode=eval_mode, language=language, seed=seed)
        questions, generation = made.evalset, made.report
    else:
        raise InvalidInputError(
            "There are no questions, and no language model to write them. Give a model as `llm`, or questions as "
            "`evalset`."
        )
    if not len(questions):
        why = "The set is empty." if generation is None else str(generation.stopped)
        raise InvalidInputError(f"There is not one question, so there is nothing to score. {why}")
    run = stages.retrieve(retriever, questions, k=max(cut_offs), name=name, parameters=parameters)
    report = build_report({run.name: run}, questions, k=cut_offs, level=level, seed=seed, title=title, **settings)
    asked = EvalSet(spread(questions, limit), name=questions.name)
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
        report=replace(report, further=bench_sections(questions, asked, generation, scores, context, left_out)),
    )


def _left_out(
    skipped: bool, no_answers: bool, no_similarity: bool, no_context: bool, no_intervals: str | None
) -> tuple[str, ...]:
    """What is not in the report, and why."""
    if skipped:
        return ("No question was answered and nothing was judged by a model, as was asked for.",)
    no_model = "there is no language model (`llm`)"
    return tuple(
        text
        for text, holds in (
            (f"No question was answered: {no_model} and no system that answers (`answer`).", no_answers),
            ("Answers have no semantic similarity: there is no embedding model (`embeddings`).", no_similarity),
            (f"Context precision and context recall were left out: {no_model}.", no_context),
            (f"Means have no intervals. {no_intervals}", no_intervals is not None),
        )
        if holds
    )
