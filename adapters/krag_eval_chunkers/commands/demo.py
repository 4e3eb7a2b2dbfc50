"""`krag-eval demo`: score four real retrievers on the bundled collection, by id, containment and ROUGE-L."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from krag_eval import EvaluationResult, evaluate
from krag_eval.toolkit import check_count, format_value
from krag_eval_chunkers.demo_data import load_collection
from krag_eval_chunkers.local import build_retrievers, chunk
from krag_eval_cli.output import console, print_table

LANGUAGES = ("ko", "en", "ru", "zh")
WAYS: Mapping[str, dict[str, Any]] = {
    "by id: a chunk of the right note": {"match_method": "id", "id_key": "doc_id"},
    "by containment: a chunk with the whole gold passage": {
        "match_method": "containment",
        "containment": "gold_in_retrieved",
    },
    "by ROUGE-L: a chunk with half of the gold passage or more": {
        "match_method": "rougeL",
        "rouge_measure": "recall",
        "threshold": 0.5,
    },
}


def demo(
    *,
    k: int = 5,
) -> None:
    """Score four real retrievers on the bundled collection, in Korean, English, Russian and Chinese.

    Parameters:
        k (--k -k): The cut-off of the tables.
    """
    check_count("k", k)
    started = time.perf_counter()
    documents, questions = load_collection()
    out = console()
    chunks = chunk(documents)
    unanswerable = sum(not question["gold"] for question in questions)
    out.print(
        f"{len(documents)} customer-service notes, cut into {len(chunks)} chunks of two sentences, and "
        f"{len(questions)} questions in Korean, English, Russian and Chinese, {unanswerable} of them without an "
        "answer. Everything runs on this machine.\n"
    )
    for question in questions:  # the gold passages name their note as the chunks do
        for passage in question["gold"]:
            passage["metadata"] = {"doc_id": passage["id"]}
    texts = [question["question"] for question in questions]
    runs = {name: retrieve(texts, k) for name, retrieve in build_retrievers(chunks).items()}
    first: EvaluationResult | None = None
    for way, settings in WAYS.items():
        results = {
            name: evaluate(
                [question["gold"] for question in questions],
                run,
                k,
                metrics=["recall", "mrr", "ndcg"],
                queries=texts,
                query_ids=[question["id"] for question in questions],
                **settings,
            )
            for name, run in runs.items()
        }
        rows = [[name, *_row(result, questions, k)] for name, result in results.items()]
        columns = ["retriever", *(f"R@{k} {language}" for language in LANGUAGES), f"R@{k}", f"MRR@{k}", f"nDCG@{k}"]
        print_table(way, columns, rows)
        signature = next(iter(results.values())).signature
        out.print(signature, style="dim", soft_wrap=True)
        out.print()
        first = first or results["bm25 words"]
    if first is not None:
        _print_undefined(first)
        _print_a_miss(first, k)
    out.print(f"Done in {time.perf_counter() - started:.1f} s.", style="dim")


def _row(result: EvaluationResult, questions: Sequence[Mapping[str, Any]], k: int) -> list[str]:
    by_language: dict[str, list[float]] = {language: [] for language in LANGUAGES}
    for question, query in zip(questions, result.per_query, strict=True):
        if (value := query.values[f"recall@{k}"]) is not None:
            by_language[question["metadata"]["language"]].append(value)
    means = [*map(fmean, by_language.values()), *(result[f"{name}@{k}"] for name in ("recall", "mrr", "ndcg"))]
    return [format_value(mean, 2) for mean in means]


def _print_undefined(result: EvaluationResult) -> None:
    empty = result.no_answer
    if empty.empty_share is not None:
        console().print(
            f"{empty.n_queries} questions have no answer: they are left out of every mean above. bm25 words returned "
            f"nothing for {empty.empty_share:.0%} of them, {empty.mean_retrieved:.1f} chunks on average.\n",
            markup=False,
        )


def _print_a_miss(result: EvaluationResult, k: int) -> None:
    """Show one English question that word search got wrong."""
    for row in result.per_query:
        if row.values[f"recall@{k}"] == 0 and (row.id or "").startswith("en"):
            console().print("What bm25 words did with one question that it failed (result.explain):", style="bold")
            console().print(str(result.explain(row.index)) + "\n", soft_wrap=True)
            return
