"""Find outdated price lists and terms among the retrieved documents, beside the current version and instead of it.

    python -m examples.versions

A vector store holds the delivery prices, terms and contracts of several years. Which documents are versions of each
other is found in the corpus; a person confirms it once. Outdated versions are then forbidden for every question whose
gold is the current one. Keeping only the newest version in the store makes the gate pass.

Needs LangChain: pip install "krag-eval[langchain]"
"""

from __future__ import annotations

import sys

from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore

from examples.tenants import fill_store, run_of
from krag_eval import EvalSet, EvaluationResult, Policy, Question, check_gate, evaluate_run
from krag_eval_chunkers.demo_data import load_rules_collection
from krag_eval_labels import find_versions

K = 2
POLICY = Policy.from_dict({"gate": {"never": [f"leak@{K}"]}})


def search(store: InMemoryVectorStore, question: Question) -> list[Document]:
    """Search what the asker may see; put your own search here."""
    seen = (question.asker, "public")
    return store.similarity_search(question.question or "", k=K, filter=lambda one: one.metadata["tenant"] in seen)


def outdated(result: EvaluationResult, k: int) -> tuple[int, int]:
    """Count the questions that got an outdated version beside the current one, and those that got it instead."""
    leaking = {leak.index for leak in result.leaks()}
    found = [row.values[f"recall@{k}"] for row in result.per_query if row.index in leaking]
    return sum(map(bool, found)), found.count(0)


def main() -> int:
    corpus, rows = load_rules_collection()
    asked = [
        {name: row[name] for name in ("id", "question", "gold", "asker")} for row in rows if row["type"] == "version"
    ]
    versions = find_versions(corpus, within=["tenant"])
    print(versions)

    questions = EvalSet(asked, name="versions").forbidding(supersedes=versions.supersedes)
    store = fill_store()
    run = run_of("all versions", questions, lambda question: search(store, question))
    for k in range(1, K + 1):
        beside, instead = outdated(evaluate_run(questions, run, k=k), k)
        print(f"\nWithin rank {k}, {instead} questions got an outdated version instead of the current one.")
        print(f"Within rank {k}, {beside} questions got an outdated version beside the current one.")
    print(f"\n{check_gate(questions, run, POLICY).to_markdown()}")

    store.delete([old for older in versions.supersedes.values() for old in older])
    run = run_of("newest versions", questions, lambda question: search(store, question))
    report = check_gate(questions, run, POLICY)
    print(f"With only the newest version of each in the store: {report.status.value}\n\n{report.to_markdown()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
