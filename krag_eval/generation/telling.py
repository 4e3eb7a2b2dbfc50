"""The questions that were kept as an evaluation set, and what is said about the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from krag_eval.documents import Document
from krag_eval.evalset import EvalSet, Question
from krag_eval.generation.asking import MOST_UNANSWERED, Asker
from krag_eval.generation.keeping import REASONS, Candidate
from krag_eval.generation.making import Maker
from krag_eval.generation.prompting import NEGATIVE
from krag_eval.generation.report import TypeReport
from krag_eval.journal import KeyedJournal


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
