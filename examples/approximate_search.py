"""Measure what an approximate index of FAISS loses against exact search, without any labels.

    python examples/approximate_search.py
    python examples/approximate_search.py --k 5 --depth 50

The notes of the bundled collection are cut into sentences. Each sentence and each question becomes a vector of hashed
character n-grams, computed here: no model is downloaded. Four indexes are asked the same questions: exact search, a
graph (HNSW) with few links, product quantisation, and scalar quantisation with four bits. `compare_rankings` gives the
share of the exact first k that each of the others returned. That is the recall of the index itself; whether the exact
ranking answers the question is another matter, which the last column measures with the labels of the collection.

Needs what `pip install "krag-eval[stats]" faiss-cpu` brings.
"""

from __future__ import annotations

import argparse
import re
import sys
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from krag_eval import EvalSet, KragEvalError, Run, RunRow, compare_rankings, evaluate_run
from krag_eval_chunkers.demo_data import load_collection

DIMENSIONS, LETTERS = 256, 3
INSTALL = 'pip install "krag-eval[stats]" faiss-cpu'
Vectors = npt.NDArray[np.float32]


def embed(texts: Sequence[str]) -> Vectors:
    """Vectors of length 1: each 3-gram of characters adds 1 or -1 to the dimension that its hash says."""
    vectors = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
    for row, text in zip(vectors, texts, strict=True):
        plain = " ".join(["", *re.findall(r"[^\W_]+", text.casefold()), ""])
        for start in range(len(plain) - LETTERS + 1):
            digest = zlib.crc32(plain[start : start + LETTERS].encode())
            row[digest % DIMENSIONS] += 1 if digest >> 20 & 1 else -1
    lengths = np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    return np.asarray(vectors / lengths, dtype=np.float32)


def indexes(vectors: Vectors) -> dict[str, Any]:
    """Four indexes of the same vectors, the exact one first; all compare by inner product."""
    try:
        import faiss
    except ModuleNotFoundError as error:
        if error.name != "faiss":
            raise
        raise KragEvalError(
            f"This example needs faiss-cpu, which is not installed. Install it with: {INSTALL}"
        ) from error
    faiss.omp_set_num_threads(1)  # more threads than free cores would wait for each other
    product = faiss.METRIC_INNER_PRODUCT
    graph = faiss.IndexHNSWFlat(DIMENSIONS, 4, product)
    graph.hnsw.efConstruction, graph.hnsw.efSearch = 16, 8
    built: dict[str, Any] = {
        "exact": faiss.IndexFlatIP(DIMENSIONS),
        "HNSW, 4 links": graph,
        "product quantisation": faiss.IndexPQ(DIMENSIONS, 32, 6, product),
        "4 bits a dimension": faiss.IndexScalarQuantizer(DIMENSIONS, faiss.ScalarQuantizer.QT_4bit, product),
    }
    built["product quantisation"].pq.cp.min_points_per_centroid = 1  # there are few sentences
    for index in built.values():
        index.train(vectors)
        index.add(vectors)
    return built


def ask(index: Any, name: str, sentences: Sequence[dict[str, Any]], evalset: EvalSet, depth: int) -> Run:
    """What an index returns for each question, with its scores."""
    scores, numbers = index.search(embed(evalset.texts), depth)
    rows = []
    for query_id, of_query, found in zip(evalset.ids, scores.tolist(), numbers.tolist(), strict=True):
        pairs = [(sentences[n], score) for n, score in zip(found, of_query, strict=True) if n >= 0]
        retrieved = [{"id": s["id"], "text": s["text"], "score": score} for s, score in pairs]
        rows.append(RunRow.from_dict({"query_id": query_id, "retrieved": retrieved}))
    return Run.of(name, rows)


def main(arguments: Sequence[str] | None = None) -> int:
    """Build the indexes, ask them, and print what each loses."""
    parser = argparse.ArgumentParser(description="Compare approximate indexes of FAISS with exact search.")
    parser.add_argument("--k", type=int, default=10, help="the cut-off (10)")
    parser.add_argument("--depth", type=int, default=30, help="how deep exact search goes, so that ties are known (30)")
    options = parser.parse_args(arguments)
    documents, questions = load_collection()
    sentences = [
        {"id": f"{row['id']}#{number}", "text": text}
        for row in documents
        for number, text in enumerate(re.split(r"(?<=[.!?])\s+|(?<=[。！？])", row["text"]))
        if text
    ]
    evalset = EvalSet([row for row in questions if row["gold"]])
    try:
        built = indexes(embed([sentence["text"] for sentence in sentences]))
        runs = {name: ask(index, name, sentences, evalset, options.depth) for name, index in built.items()}
        print(f"{len(sentences)} sentences, {len(evalset)} questions, k={options.k}\n")
        for name, run in runs.items():
            settings: Any = {"match_method": "containment", "containment": "gold_in_retrieved", "metrics": "recall"}
            recall = evaluate_run(evalset, run, k=options.k, **settings)[f"recall@{options.k}"]
            found = compare_rankings(runs["exact"], run, k=options.k)
            low, high = found.interval
            print(
                f"{name:22} overlap@{options.k} {found.mean:.3f} ({low:.3f} to {high:.3f}), "
                f"{found.lost_share:4.0%} of the questions lost something; recall of the gold {recall:.3f}"
            )
        print("\nThe worst questions of the graph:")
        worst = compare_rankings(runs["exact"], runs["HNSW, 4 links"], k=options.k).worst(3)
        for query_id, overlap in worst.items():
            print(f"  {query_id}: {overlap:.1f}  {evalset[query_id].question}")
    except KragEvalError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
