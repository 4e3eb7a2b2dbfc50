"""The table of all formats: how each is read, written and recognised.

Which format a file is in, by its ending and by what it begins with.

Which format a file is read or written in: the one that is named, or the one that it shows.

The rows of a file in any format, checked under the keys by which they will be scored.

What is wrong with documents only under the keys by which they will be scored.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from krag_eval._utils.checks import check_count
from krag_eval._utils.errors import InvalidInputError, did_you_mean
from krag_eval._utils.files import SAVE_AS_UTF8, is_folder, looks_like
from krag_eval.datasets.evalset import EvalSet
from krag_eval.datasets.formats import beir, huggingface, llama_index, native, qrels_json, ragas, squad, trec
from krag_eval.datasets.formats.source import CONTAINERS, Source
from krag_eval.datasets.formats.writing import Writing
from krag_eval.datasets.question import RUN_HEADER, Question
from krag_eval.datasets.run import Run, RunRow
from krag_eval.documents.document import Document, as_document

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
        questions=native.questions,
        rankings=native.rankings,
        write_questions=native.write_questions(container),
        write_rankings=native.write_rankings(container),
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
        questions=qrels_json.questions,
        rankings=qrels_json.rankings,
        write_questions=qrels_json.write_questions,
        write_rankings=qrels_json.write_rankings,
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
        write_questions=squad.write_questions,
    ),
    "hf": Format(
        about="rows of Hugging Face data sets in the manner of SQuAD: question, context, answers",
        questions=huggingface.questions,
    ),
}


Kind = Literal["evalset", "run"]
_OF_RUNS = frozenset({"query_id", "retrieved", RUN_HEADER})
_OF_RAGAS = frozenset({"user_input", *ragas.REFERENCE, *ragas.RETRIEVED})


def detect(source: Source) -> tuple[str, tuple[Kind, ...]]:
    """The name of the format, and what the file holds in it: an evaluation set, a run, or both.

    Raises:
        InvalidInputError: The file cannot be opened, or is in no format that is known.
    """
    if beir.is_beir(source.path):
        return "beir", ("evalset",)
    if source.is_folder:
        raise InvalidInputError(
            f"{source.path}: cannot be read (Is a directory). "
            "A folder must be one of BEIR: with queries.jsonl, corpus.jsonl and qrels/test.tsv."
        )
    if not source.is_regular:
        return source.container or "jsonl", ()
    if source.container in (None, "tsv"):
        found = _of_lines(source)
        if found is not None:
            return found
    if source.container is None:
        hint = looks_like(source.head)
        raise InvalidInputError(
            f"{source.path}: is in no format that can be told from its name or its beginning{hint}. "
            + (SAVE_AS_UTF8 if hint else f"Name the format: {', '.join(FORMATS)}.")
        )
    return _of_document(source) if source.container == "json" else _of_names(source, source.names)


def kinds_in(source: Source, name: str) -> tuple[Kind, ...]:
    """What a file holds whose format was named, as far as it can be told.

    Raises:
        InvalidInputError: The file cannot be opened.
    """
    if FORMATS[name].rankings is None:
        return ("evalset",)
    if not source.is_regular:
        return ()
    if name in ("trec", "scores"):
        found = _of_lines(source) if name == "trec" else _of_document(source)
    else:
        found = _of_names(source, source.names)
    return found[1] if found is not None else ()


def _of_lines(source: Source) -> tuple[str, tuple[Kind, ...]] | None:
    """TREC's, which have no header and any ending, or the header of BEIR's qrels."""
    line = next((line for line in source.head.split(b"\n") if line.strip() and not line.startswith(b"#")), b"")
    if trec.is_qrels(line):
        return "trec", ("evalset",)
    if trec.is_results(line):
        return "trec", ("run",)
    return ("beir", ("evalset",)) if line.split() == [name.encode() for name in beir.HEADER] else None


def _of_document(source: Source) -> tuple[str, tuple[Kind, ...]]:
    document = source.document
    if llama_index.is_llama_index(document):
        return "llama_index", ("evalset",)
    if squad.is_squad(document):
        return "squad", ("evalset",)
    if qrels_json.is_scores(document):
        return "scores", ("evalset", "run") if qrels_json.are_whole(document) else ("run",)
    return _of_names(source, source.names)


def _of_names(source: Source, names: frozenset[str]) -> tuple[str, tuple[Kind, ...]]:
    """By the columns, or the keys of the first row."""
    if names & _OF_RAGAS:
        kinds: list[Kind] = ["evalset"] if names & set(ragas.REFERENCE) else []
        kinds += ["run"] if names & set(ragas.RETRIEVED) else []
        return "ragas", tuple(kinds)
    own = source.container or "jsonl"
    if names & set(huggingface.GOLD):
        return own, ("evalset",)
    if names & _OF_RUNS:
        return own, ("run",)
    if "_id" in names and is_folder(beir.root_of(source.path) / "qrels"):
        raise InvalidInputError(
            f"{source.path}: is one file of a BEIR folder. Give the folder, {beir.root_of(source.path)}."
        )
    return ("hf", ("evalset",)) if names >= huggingface.SQUAD_COLUMNS else (own, ())


StrPath = str | os.PathLike[str]
EVALSET, RUN = "an evaluation set", "a run"


def open_source(
    path: StrPath, format_name: str | None, *, has_columns: bool = False, max_bad_rows: int = 0
) -> tuple[Source, str]:
    """A file to read, and the format that it is in.

    Raises:
        InvalidInputError: The format is not known, the file shows none, or `max_bad_rows` is no number of lines.
    """
    most = check_count("max_bad_rows", max_bad_rows, least=0)
    if format_name is not None:
        name = check_format(format_name)
        return Source(path, FORMATS[name].container, max_bad_rows=most), name
    source = Source(path, max_bad_rows=most)
    if has_columns and source.container is not None:
        return source, source.container
    return source, detect(source)[0]


def check_format(name: str) -> str:
    """The name of a format.

    Raises:
        InvalidInputError: There is no such format.
    """
    if name in FORMATS:
        return name
    raise InvalidInputError(
        f"Unknown format {name!r:.60}.{did_you_mean(name, FORMATS)} Known formats: {', '.join(FORMATS)}."
    )


def format_to_write(path: StrPath, name: str | None) -> str:
    """The format that is named, or else the one of the ending.

    Raises:
        InvalidInputError: There is no such format, or the ending belongs to none.
    """
    if name is not None:
        return check_format(name)
    lower = os.fspath(path).lower()
    fitting = [(len(e), known) for known, its in FORMATS.items() for e in its.endings if lower.endswith(e)]
    if fitting:
        return max(fitting)[1]
    raise InvalidInputError(
        f"{path}: the ending tells no format. Use one of "
        f"{', '.join(ending for its in FORMATS.values() for ending in its.endings)}, or name the format."
    )


def no_reader(path: StrPath, name: str, what: str) -> InvalidInputError:
    """What to say where a file is to be read as what its format has not."""
    return InvalidInputError(f"{path}: is in the format {name!r}, which cannot hold {what}. Give another file.")


def no_writer(path: StrPath, name: str, what: str) -> InvalidInputError:
    """What to say where a format has no writer for it."""
    writers = {known: its.write_rankings if what == RUN else its.write_questions for known, its in FORMATS.items()}
    able = [known for known, writer in writers.items() if writer is not None]
    return InvalidInputError(f"{path}: {what} cannot be written in the format {name!r}. Use one of: {', '.join(able)}.")


def checked_questions(
    source: Source, name: str, columns: Mapping[str, str] | None, id_key: str | None, grade_key: str
) -> Iterator[tuple[str, Question]]:
    """Each question of a file with its place, its gold documents checked under the keys of the metadata.

    Raises:
        InvalidInputError: The file cannot be read, or its format holds no questions.
    """
    read = FORMATS[name].questions
    if read is None or (columns and FORMATS[name].container is None):
        raise no_reader(source.path, name, "rows with columns" if columns else EVALSET)

    def check(place: str, question: Question) -> Question:
        check_documents(place, "gold", question.gold, id_key=id_key, grade_key=grade_key, is_gold=True)
        return question

    return source.rejects.each(huggingface.questions(source, columns) if columns else read(source), check)


def checked_rankings(source: Source, name: str, id_key: str | None) -> Iterator[tuple[str, RunRow]]:
    """Each ranking of a file with its place, its documents checked under the keys of the metadata.

    Raises:
        InvalidInputError: The file cannot be read, or its format holds no rankings.
    """
    read = FORMATS[name].rankings
    if read is None:
        raise no_reader(source.path, name, RUN)

    def check(place: str, row: RunRow) -> RunRow:
        check_documents(place, "retrieved", row.retrieved, id_key=id_key)
        return row

    return source.rejects.each(read(source), check)


def check_documents(
    place: str,
    name: str,
    documents: Sequence[Document],
    *,
    id_key: str | None,
    grade_key: str = "relevance",
    is_gold: bool = False,
) -> None:
    """Refuse documents that have neither an id nor a text under these keys, by their place in the file.

    Raises:
        InvalidInputError: There is such a document, or a grade that is none.
    """
    for number, document in enumerate(documents):
        # The rest was checked when the document was read; most documents have an id or a text and no grade there.
        if (document.id is not None or document.text is not None) and not (is_gold and grade_key in document.metadata):
            continue
        try:
            as_document(document, id_key=id_key, grade_key=grade_key, is_gold=is_gold)
        except InvalidInputError as error:
            raise InvalidInputError(f"{place}: `{name}[{number}]`: {error}") from None
