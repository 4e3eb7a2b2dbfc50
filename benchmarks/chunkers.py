"""How often do rankings of chunkings by chunk and by span name different winners? The table of benchmarks/guides.md.

    python benchmarks/chunkers.py ../shared/data

Each pair of chunkings is compared twice on the same runs: as it is usually done, by recall and nDCG of the first 5
chunks, where a chunk is gold if it holds half of a span or more; and by span recall in 400 tokens.
"""

from __future__ import annotations

import csv
import importlib
import itertools
import json
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from krag_eval import Document, KragEvalWarning, evaluate_run
from krag_eval_chunkers import compare_chunkers
from krag_eval_chunkers.demo_data import load_collection

K, BUDGET = 5, 400
SIZES = ["words:50", "words:100", "words:200", "words:200:40", "words:400"]


def splitters() -> dict[str, Any]:
    """Chunkings of about the same sizes by four libraries, beside the built-in ones."""
    chonkie, semchunk = map(importlib.import_module, ("chonkie", "semchunk"))
    from langchain_text_splitters import RecursiveCharacterTextSplitter
    from llama_index.core.node_parser import TokenTextSplitter

    def count(text: str) -> int:
        return len(text.split())

    return {
        **{size: size for size in SIZES},
        "langchain 600": RecursiveCharacterTextSplitter(chunk_size=600, chunk_overlap=0),
        "langchain 1200:200": RecursiveCharacterTextSplitter(chunk_size=1200, chunk_overlap=200),
        "llama-index 200:20": TokenTextSplitter(chunk_size=200, chunk_overlap=20, tokenizer=str.split),
        "chonkie sentences 600": chonkie.SentenceChunker(chunk_size=600),
        "semchunk 100": semchunk.chunkerify(count, 100),
    }


def collections(data: Path) -> Iterator[tuple[str, list[Document], list[dict[str, Any]]]]:
    """Yield the collections that are there: name, documents, and questions with spans."""
    documents, questions = load_collection()
    texts = {one["id"]: one["text"] for one in documents}
    yield "customer service (4 languages)", [Document(**one) for one in documents], with_spans(questions, texts)
    folder = data / "chunking_evaluation"
    if folder.is_dir():
        texts = {path.stem: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.md"))}
        with (folder / "questions.csv").open(encoding="utf-8", newline="") as file:
            rows: list[dict[str, Any]] = [
                {
                    "id": str(number),
                    "question": row["question"],
                    "gold": [
                        {"doc_id": row["corpus_id"], "start": one["start_index"], "end": one["end_index"]}
                        for one in json.loads(row["references"])
                    ],
                }
                for number, row in enumerate(csv.DictReader(file))
                if row["corpus_id"] in texts
            ]
        for name, text in texts.items():
            own = [row for row in rows if row["gold"][0]["doc_id"] == name]
            yield f"chunking_evaluation: {name}", [Document(id=name, text=text)], own
    for language, path in (
        ("en", "war_and_peace_en/war-and-peace.txt"),
        ("ru", "war_and_peace_ru/war_and_peace.novel.txt"),
    ):
        if (data / path).is_file():
            text = (data / path).read_text(encoding="utf-8-sig")
            marked = Path(__file__).parents[1] / "examples" / "long_book_passages" / f"war_and_peace_{language}.jsonl"
            given = [json.loads(line) for line in marked.read_text(encoding="utf-8").splitlines()]
            for row in given:
                row["gold"] = [{"id": "novel", "text": one["text"]} for one in row["gold"]]
            yield f"War and Peace ({language})", [Document(id="novel", text=text)], with_spans(given, {"novel": text})


def with_spans(questions: list[dict[str, Any]], texts: dict[str, str]) -> list[dict[str, Any]]:
    """Return the questions whose gold passages stand in their documents, with the places of these."""
    import re

    found = []
    for question in questions:
        gold = []
        for passage in question["gold"]:
            words = re.compile(r"\s+".join(map(re.escape, passage["text"].split())))
            if place := words.search(texts[passage["id"]]):
                gold.append({"doc_id": passage["id"], "start": place.start(), "end": place.end()})
        if gold and len(gold) == len(question["gold"]):
            found.append({"id": question["id"], "question": question["question"], "gold": gold})
    return found


def main(data: Path) -> None:
    """Print one row per collection and retriever."""
    warnings.simplefilter("ignore", KragEvalWarning)
    print(
        "| collection | retriever | questions | best by recall@5 | best by nDCG@5 | best by span recall in 400 tokens |"
    )
    print("|---|---|---:|---|---|---|")
    differ = {"recall": [0, 0, 0], "ndcg": [0, 0, 0]}  # pairs that differ, pairs, best ones that differ
    n = 0
    for name, documents, questions in collections(data):
        for retriever in ("bm25", "bm25-characters"):
            compared = compare_chunkers(
                questions, documents, splitters(), retriever, [BUDGET], baseline="words:200", progress=None
            )
            by_span = {one: r[f"span_recall@{BUDGET}tok"] or 0.0 for one, r in compared.results.items()}
            best = {"span": max(by_span, key=by_span.__getitem__)}
            n += 1
            for metric, counts in differ.items():
                by_chunk = {}
                for one, run in compared.runs.items():
                    result = evaluate_run(compared.evalset, run, K, match_method="span", metrics=metric)
                    by_chunk[one] = result[f"{metric}@{K}"] or 0.0
                best[metric] = max(by_chunk, key=by_chunk.__getitem__)
                for one, other in itertools.combinations(by_span, 2):
                    ours, theirs = by_span[one] - by_span[other], by_chunk[one] - by_chunk[other]
                    counts[0] += ours * theirs < 0
                    counts[1] += ours != 0 and theirs != 0
                counts[2] += best[metric] != best["span"]
            print(
                f"| {name} | {retriever} | {len(questions)} | {best['recall']} | {best['ndcg']} | {best['span']} |",
                flush=True,
            )
    for metric, (n_differ, n_pairs, n_best) in differ.items():
        print(f"{metric}@{K}: {n_differ} of {n_pairs} pairs ({n_differ / n_pairs:.0%}), {n_best} of {n} best chunkings")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
