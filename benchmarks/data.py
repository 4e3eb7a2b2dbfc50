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

    def fresh(self) -> Collection:
        """The same texts as new strings, one for each different text, as a document store hands them out.

        Nothing may profit from a hash that an earlier round computed.
        """
        new = {text: text.encode().decode() for side in (self.gold, self.retrieved) for row in side for text in row}
        gold, retrieved = ([[new[text] for text in row] for row in side] for side in (self.gold, self.retrieved))
        return Collection(gold, retrieved)

    @property
    def documents(self) -> tuple[list[list[Document]], list[list[Document]]]:
        """Both sides as document objects around fresh texts."""
        texts = self.fresh()
        gold, retrieved = (
            [[Document(text, {"source": "s"}) for text in row] for row in side]
            for side in (texts.gold, texts.retrieved)
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


def passages(n_queries: int, n_gold: int, n_retrieved: int, *, n_characters: int = 900) -> Collection:
    """Chunks as retrieved documents; gold passages are cut from chunks, one in two from a chunk that was retrieved.

    Both have about `n_characters`, and their case and white space differ.
    """
    rng = random.Random(20261122)
    words = _words(rng, "latin")
    weights = list(accumulate(1 / (rank + 2.7) for rank in range(len(words))))
    chunks = []
    for _ in range(2_400):
        chunk = " ".join(rng.choices(words, cum_weights=weights, k=n_characters // 4))
        chunks.append(chunk[: rng.randint(n_characters, n_characters * 4 // 3)].capitalize())
    gold, retrieved = [], []
    for _ in range(n_queries):
        sources = rng.sample(range(len(chunks)), n_gold)
        row = rng.sample(range(len(chunks)), n_retrieved)
        for place, source in enumerate(sources):
            if rng.random() < 0.5:
                row[place] = source
        rng.shuffle(row)
        gold.append([_cut(rng, chunks[source], n_characters) for source in sources])
        retrieved.append([chunks[source] for source in row])
    return Collection(gold, retrieved)


def long_runs(n_queries: int, n_gold: int, n_retrieved: int, *, n_characters: int = 900) -> Collection:
    """Texts of one letter with another one somewhere: by their parts nobody can tell them apart."""
    rng = random.Random(20261123)

    def write(length: int) -> str:
        place = rng.randrange(length)
        return "a" * place + "b" + "a" * (length - place - 1)

    corpus = [write(rng.randint(n_characters, n_characters * 4 // 3)) for _ in range(2_400)]
    gold = [[write(rng.randint(n_characters * 2 // 3, n_characters)) for _ in range(n_gold)] for _ in range(n_queries)]
    return Collection(gold, [rng.sample(corpus, n_retrieved) for _ in range(n_queries)])


def parts_of_one(n_parts: int, n_characters: int) -> Collection:
    """One query: sentences as gold documents, every second cut from the one long text that was retrieved."""
    rng = random.Random(20261125)
    words = _words(rng, "latin")
    weights = list(accumulate(1 / (rank + 2.7) for rank in range(len(words))))
    whole = " ".join(rng.choices(words, cum_weights=weights, k=n_characters // 5))
    parts = []
    for number in range(n_parts):
        start, length = rng.randrange(len(whole) - 150), rng.randint(30, 150)
        part = whole[start : start + length].split()
        parts.append(" ".join(part if number % 2 else rng.sample(part, len(part))))
    return Collection([parts], [[whole]])


def ids(n_queries: int, n_gold: int, n_retrieved: int) -> Collection:
    """Gold and retrieved ids out of 100,000, each a string of its own; about half of the gold ids are retrieved."""
    rng = random.Random(20261124)
    gold, retrieved = [], []
    for _ in range(n_queries):
        numbers = rng.sample(range(100_000), n_gold + n_retrieved)
        wanted, row = numbers[:n_gold], numbers[n_gold:]
        for number in wanted[:n_retrieved]:
            if rng.random() < 0.5:
                row[rng.randrange(n_retrieved)] = number
        gold.append([f"doc-{number}" for number in wanted])
        retrieved.append([f"doc-{number}" for number in row])
    return Collection(gold, retrieved)


def _cut(rng: random.Random, chunk: str, n_characters: int) -> str:
    length = rng.randint(n_characters * 9 // 10, n_characters)
    start = rng.randint(0, len(chunk) - length)
    return "  " + chunk[start : start + length].upper().replace(" ", "\n", 3)


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
