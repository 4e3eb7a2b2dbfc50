"""Made-up questions and documents of the sizes that the benchmarks ask for, the same ones at every run."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate


@dataclass
class Document:
    """A document as LangChain has it: attributes, and an id in the metadata."""

    page_content: str
    metadata: dict[str, str]
    id: str | None = None


@dataclass
class Collection:
    """Gold and retrieved documents of each query, as texts."""

    gold: list[list[str]]
    retrieved: list[list[str]]

    @property
    def documents(self) -> tuple[list[list[Document]], list[list[Document]]]:
        """Both sides as document objects; each different text is one fresh string, as in a document store."""
        # Encoding and decoding makes a new string: nothing may profit from a hash that an earlier round computed.
        fresh = {text: text.encode().decode() for side in (self.gold, self.retrieved) for row in side for text in row}
        gold, retrieved = (
            [[Document(fresh[text], {"source": "s"}) for text in row] for row in side]
            for side in (self.gold, self.retrieved)
        )
        return gold, retrieved

    @property
    def n_unique(self) -> int:
        """How many different texts there are."""
        return len({text for side in (self.gold, self.retrieved) for row in side for text in row})

    def first(self, n_queries: int) -> Collection:
        """The first queries of it."""
        return Collection(self.gold[:n_queries], self.retrieved[:n_queries])


def collection(
    n_queries: int,
    n_gold: int,
    n_retrieved: int,
    *,
    n_corpus: int = 2_400,
    n_tokens: int = 150,
    alphabet: str = "latin",
) -> Collection:
    """Queries over a corpus whose gold documents are edited copies of corpus documents.

    Words are drawn by Zipf's law from 20,000; lengths vary by a third. Of a gold document 5 to 60 % of the words are
    exchanged, and the document it was made from is among the retrieved ones in half of the cases.
    """
    rng = random.Random(20261121)
    words = _words(rng, alphabet)
    weights = list(accumulate(1 / (rank + 2.7) for rank in range(len(words))))

    def write(length: int) -> list[str]:
        return rng.choices(words, cum_weights=weights, k=length)

    corpus = [write(rng.randint(n_tokens * 2 // 3, n_tokens * 4 // 3)) for _ in range(n_corpus)]
    joined = [" ".join(document) for document in corpus]
    gold, retrieved = [], []
    for _ in range(n_queries):
        sources = rng.sample(range(n_corpus), n_gold)
        gold.append([" ".join(_edit(rng, corpus[source], write)) for source in sources])
        row = rng.sample(range(n_corpus), min(n_retrieved, n_corpus))
        for place, source in enumerate(sources[:n_retrieved]):
            if rng.random() < 0.5:
                row[place] = source
        rng.shuffle(row)
        retrieved.append([joined[source] for source in row])
    return Collection(gold, retrieved)


def _edit(rng: random.Random, document: list[str], write: Callable[[int], list[str]]) -> list[str]:
    share = rng.uniform(0.05, 0.6)
    fresh = iter(write(len(document)))
    return [next(fresh) if rng.random() < share else word for word in document]


def _words(rng: random.Random, alphabet: str) -> list[str]:
    if alphabet == "korean":
        syllables = [chr(code) for code in range(0xAC00, 0xD7A4, 7)]
        endings = ["은", "는", "이", "가", "을", "를", "에서", "으로", "하다", "했다", ""]
        return ["".join(rng.choices(syllables, k=rng.randint(1, 3))) + rng.choice(endings) for _ in range(20_000)]
    vowels, consonants = "aeiou", "bcdfghjklmnprstvwz"
    return [
        "".join(rng.choice(consonants) + rng.choice(vowels) for _ in range(rng.choice([1, 2, 2, 3, 3, 4])))
        for _ in range(20_000)
    ]
