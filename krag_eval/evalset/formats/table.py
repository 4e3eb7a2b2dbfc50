"""The table of all formats: how each is read, written and recognised."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from krag_eval.evalset.evalset import EvalSet
from krag_eval.evalset.formats import beir, hf, llama_index, own, ragas, scores, squad, squad_writing, trec
from krag_eval.evalset.formats.source import CONTAINERS, Source
from krag_eval.evalset.formats.writing import Writing
from krag_eval.evalset.question import Question
from krag_eval.evalset.run import Run, RunRow

Questions = Callable[[Source], Iterator[tuple[str, Question]]]
Rankings = Callable[[Source], Iterator[tuple[str, RunRow]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """How a format is read and written; what is None it does not have.

    Attributes:
        about: What it is, in one line.
        endings: The endings of names by which a file to be written gets this format.
        container: How its rows are stored; None where the name or the content of a file says so.
        questions: Reads an evaluation set, each question with its place.
        rankings: Reads a run, each ranking with its place.
        write_questions: Writes an evaluation set.
        write_rankings: Writes a run.
        questions_in_order: Reads an evaluation set in bounded memory, where `questions` does not.
        rankings_in_order: Reads a run in bounded memory, where `rankings` does not.
    """

    about: str
    endings: tuple[str, ...] = ()
    container: str | None = None
    questions: Questions | None = None
    rankings: Rankings | None = None
    write_questions: Callable[[EvalSet, Writing], None] | None = None
    write_rankings: Callable[[Run, Writing], None] | None = None
    questions_in_order: Questions | None = None
    rankings_in_order: Rankings | None = None


def _own(container: str, about: str) -> Format:
    return Format(
        about=about,
        endings=tuple(ending for ending in CONTAINERS[container] if not ending.endswith(".gz")),
        container=container,
        questions=own.questions,
        rankings=own.rankings,
        write_questions=own.write_questions(container),
        write_rankings=own.write_rankings(container),
    )


FORMATS: Mapping[str, Format] = {
    "jsonl": _own(
        "jsonl", "one JSON object a line: everything is kept; also packed as .jsonl.gz, and journals of runs"
    ),
    "json": _own("json", "a JSON list of the same objects"),
    "csv": _own("csv", "a table with one question or ranking a row; lists in cells as JSON, or as a; b; c"),
    "tsv": _own("tsv", "the same between tabs"),
    "parquet": _own("parquet", "Apache Parquet with checksums; needs the extra `arrow`"),
    "trec": Format(
        about="qrels and result files of TREC",
        endings=(".qrels", ".trec", ".run"),
        questions=trec.questions,
        rankings=trec.rankings,
        write_questions=trec.write_questions,
        write_rankings=trec.write_rankings,
        questions_in_order=trec.questions_in_order,
        rankings_in_order=trec.rankings_in_order,
    ),
    "scores": Format(
        about="JSON of pytrec_eval and ranx: {query: {document: grade or score}}",
        endings=(".scores.json",),
        container="json",
        questions=scores.questions,
        rankings=scores.rankings,
        write_questions=scores.write_questions,
        write_rankings=scores.write_rankings,
    ),
    "beir": Format(
        about="a folder with corpus.jsonl, queries.jsonl and qrels/test.tsv, or one of its splits",
        questions=beir.questions,
        write_questions=beir.write_questions,
    ),
    "llama_index": Format(
        about="the JSON of LlamaIndex' EmbeddingQAFinetuneDataset: queries, corpus, relevant_docs",
        endings=(".llama_index.json",),
        container="json",
        questions=llama_index.questions,
        write_questions=llama_index.write_questions,
    ),
    "ragas": Format(
        about="rows of ragas in JSONL or a JSON list: user_input, reference_contexts, retrieved_contexts and ids",
        endings=(".ragas.jsonl", ".ragas.json"),
        questions=ragas.questions,
        rankings=ragas.rankings,
        write_questions=ragas.write_questions,
        write_rankings=ragas.write_rankings,
    ),
    "squad": Format(
        about="JSON like SQuAD 1 and 2: KorQuAD, XQuAD, DRCD, CMRC 2018",
        endings=(".squad.json",),
        container="json",
        questions=squad.questions,
        write_questions=squad_writing.write_questions,
    ),
    "hf": Format(
        about="rows of Hugging Face data sets in the manner of SQuAD: question, context, answers",
        questions=hf.questions,
    ),
}
