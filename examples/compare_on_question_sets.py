"""Compare three retrievers on question sets in SQuAD format: two set-ups of BM25, and one that is broken on purpose.

    python examples/compare_on_question_sets.py path/to/KorQuAD_v1.0_dev.json path/to/xquad.ru.json --markdown tables.md

The gold document of a question is its paragraph. The broken retriever answers every tenth question with the documents
of another one, and never finds the paragraph of a question whose answer has a digit in it: the comparison has to name
that slice, and what became of its gold documents.

Needs bm25s and scipy: pip install "krag-eval[demo,stats]"
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from krag_eval import (
    TOKENIZERS,
    Document,
    EvalSet,
    KragEvalError,
    Run,
    RunRow,
    compare,
    diagnose,
    evaluate_run,
    read_evalset,
)
from krag_eval.analysis.comparison.result import Comparison

K, DEPTH = 10, 30
Tokenize = Callable[[str], list[str]]

words: Tokenize = TOKENIZERS["words"].tokenize


def bigrams(text: str) -> list[str]:
    """Pairs of neighbouring characters, which see through endings and particles."""
    return [one + other for one, other in itertools.pairwise(TOKENIZERS["characters"].tokenize(text))]


def read(path: Path, n_questions: int) -> tuple[EvalSet, list[Document]]:
    """Some questions with the kind of their answer as their type, and every paragraph of the file."""
    whole = read_evalset(path, format="squad")
    paragraphs = {document.id: document for question in whole for document in question.gold}
    step = max(len(whole) // n_questions, 1) if n_questions else 1
    return EvalSet([replace(q, type=kind_of(q.answer or "")) for q in whole[::step]], name=path.stem), [
        *paragraphs.values()
    ]


def kind_of(answer: str) -> str:
    if any(character.isdigit() for character in answer):
        return "number"
    return "long" if len(answer) > 12 else "short"


def bm25(name: str, tokenize: Tokenize, paragraphs: Sequence[Document], evalset: EvalSet) -> Run:
    """The first thirty paragraphs of each question: what lies below the cut-off is told from what is lost."""
    import bm25s

    corpus = [tokenize(document.text or "") for document in paragraphs]
    vocabulary = {token: n for n, token in enumerate(dict.fromkeys(itertools.chain.from_iterable(corpus)))}
    index = bm25s.BM25(dtype="float64")
    index.index(([[vocabulary[token] for token in row] for row in corpus], vocabulary), show_progress=False)
    rows = []
    for question in evalset:
        known = [vocabulary[token] for token in tokenize(question.question or "") if token in vocabulary]
        scores = index.get_scores(known).tolist() if known else [0.0] * len(paragraphs)
        best = sorted(range(len(paragraphs)), key=lambda n: -scores[n])[:DEPTH]
        rows.append(RunRow(query_id=question.id, retrieved=tuple(Document(id=paragraphs[n].id) for n in best)))
    return Run.of(name, rows)


def broken(run: Run, evalset: EvalSet) -> Run:
    """Another question's documents for every tenth one, and no gold paragraph where the answer is a number."""
    rows = []
    for place, question in enumerate(evalset):
        row = run.rows[evalset.ids[place - 7] if place % 10 == 0 else question.id]
        gold = {document.id for document in question.gold}
        kept = tuple(d for d in row.retrieved if question.type != "number" or d.id not in gold)
        rows.append(RunRow(query_id=question.id, retrieved=kept))
    return Run.of("broken", rows)


def compare_on(path: Path, n_questions: int) -> tuple[Comparison, str]:
    """The comparison, and the whole page about it as text."""
    evalset, paragraphs = read(path, n_questions)
    plain = bm25("words", words, paragraphs, evalset)
    runs = {"words": plain, "bigrams": bm25("bigrams", bigrams, paragraphs, evalset), "broken": broken(plain, evalset)}
    # Questions about one article stand or fall together.
    comparison = compare(evalset, runs, baseline="words", k=K, cluster="gold")
    causes = [f"{name}: {diagnose(evaluate_run(evalset, run, k=K, metrics='recall'))}" for name, run in runs.items()]
    title = f"{path.name}: {len(evalset)} questions, {len(paragraphs)} paragraphs"
    return comparison, "\n\n".join([title, str(comparison), *causes])


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare on each file, and print or write what came of it."""
    parser = argparse.ArgumentParser(description="Compare retrievers on question sets in SQuAD format.")
    parser.add_argument("paths", nargs="+", type=Path, help="question sets in SQuAD format")
    parser.add_argument("--questions", type=int, default=300, help="about how many of each; 0 takes all")
    parser.add_argument("--markdown", type=Path, help="write what is printed to this file as well")
    options = parser.parse_args(arguments)
    try:
        pages = [compare_on(path, options.questions)[1] for path in options.paths]
    except KragEvalError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 2
    print("\n\n\n".join(pages))
    if options.markdown:
        blocks = (f"## {title}\n\n```text\n{rest}\n```\n" for title, _, rest in (p.partition("\n\n") for p in pages))
        options.markdown.write_text("\n".join(blocks), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
