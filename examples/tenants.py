"""Catch a search that shows one customer's documents to another: a metadata filter that one path forgets.

    python -m examples.tenants

Two business customers of an invented shop, Linden Cafe and Hotel Seaview, share a vector store. Each search filters by
tenant, but if it finds nothing similar, it falls back to a search without the filter. A gate with `never = ["leak@5"]`
finds that, and passes once the fallback filters too. The Markdown is what a pull request shows.

Needs LangChain: pip install "krag-eval[langchain]"
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable, Sequence

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore

from krag_eval import EvalSet, Policy, Question, Run, RunRow, check_gate, evaluate_run
from krag_eval_chunkers.demo_data import load_rules_collection

K = 5
POLICY = {"gate": {"never": [f"leak@{K}"], "require": [f"observed(recall@{K}) >= 0.9"]}}
# Documents less similar than this say nothing about the question.
LEAST_SIMILAR = 0.45


class HashedEmbeddings(Embeddings):
    """Counts groups of three letters, each at the place that its checksum says; put your own embedding here."""

    size = 1024

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of one text."""
        vector = [0.0] * self.size
        for word in text.lower().split():
            for start in range(len(word)):
                vector[zlib.crc32(f" {word} "[start : start + 3].encode()) % self.size] += 1
        return vector

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector for each text."""
        return [self.embed_query(text) for text in texts]


def fill_store() -> InMemoryVectorStore:
    """Put the bundled documents into a vector store."""
    store = InMemoryVectorStore(HashedEmbeddings())
    store.add_documents(
        [Document(row["text"], id=row["id"], metadata=row["metadata"]) for row in load_rules_collection()[0]]
    )
    return store


def make_search(store: InMemoryVectorStore, *, fallback_filters: bool) -> Callable[[Question], list[Document]]:
    """Return the search of the application: filtered, with a fallback where nothing similar is found."""

    def search(question: Question) -> list[Document]:
        text = question.question or ""

        def may_be_seen(document: Document) -> bool:
            return document.metadata["tenant"] in (question.asker, "public")

        found = store.similarity_search_with_score(text, k=K, filter=may_be_seen)
        if found and found[0][1] >= LEAST_SIMILAR:
            return [document for document, _ in found]
        return store.similarity_search(text, k=K, filter=may_be_seen if fallback_filters else None)

    return search


def run_of(name: str, questions: EvalSet, search: Callable[[Question], Sequence[Document]]) -> Run:
    """Ask the application every question, each as its asker."""
    return Run.of(
        name, [RunRow.from_dict({"query_id": question.id, "retrieved": [*search(question)]}) for question in questions]
    )


def main() -> int:
    store = fill_store()
    questions = EvalSet(load_rules_collection()[1], name="tenants").where(lambda question: question.type != "version")
    broken = run_of("fallback without filter", questions, make_search(store, fallback_filters=False))
    fixed = run_of("fallback with filter", questions, make_search(store, fallback_filters=True))

    report = check_gate(questions, broken, Policy.from_dict(POLICY))
    print(report.to_markdown())
    leaks = evaluate_run(questions, broken, k=K).leaks()
    print("Who saw whose documents:")
    for asker, counts in leaks.matrix("asker", "tenant", questions).items():
        print(f"  {asker}: {', '.join(f'{count} of {tenant}' for tenant, count in counts.items() if count)}")
    after = check_gate(questions, fixed, Policy.from_dict(POLICY))
    print(f"\nOnce the fallback filters too: {after.status.value}\n")
    print(after.to_markdown())
    return 0


if __name__ == "__main__":
    sys.exit(main())
