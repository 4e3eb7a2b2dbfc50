"""Read the chunks that questions are asked about, and order them."""

from __future__ import annotations

import hashlib
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from krag_eval import TOKENIZERS, InvalidInputError, as_document, normalize
from krag_eval.toolkit import IdKey, errors_at, id_at, refuse

# Why a document does not count as a chunk at all.
NOT_READ = ("no text", "the same chunk again")


@dataclass(frozen=True, slots=True)
class Chunk:
    """A chunk of a corpus.

    Attributes:
        id: Its id.
        text: Its text.
        doc_id: The id of its document, or None.
    """

    id: str
    text: str
    doc_id: str | None = None


@dataclass(frozen=True, slots=True)
class Chunks:
    """The chunks of a corpus.

    Attributes:
        all: Every chunk with a text.
        usable: Those that questions may be asked about.
        skipped: How many were skipped, by reason.
        n_named: How many had no id and got one from their text.
    """

    all: tuple[Chunk, ...]
    usable: tuple[Chunk, ...]
    skipped: Mapping[str, int]
    n_named: int

    @property
    def fingerprint(self) -> str:
        """Sixteen hex digits that change with any id, text or document id, and with their order."""
        digest = hashlib.sha256()
        for chunk in self.all:
            digest.update(repr((chunk.id, chunk.text, chunk.doc_id)).encode("utf-8", "surrogatepass"))
        return digest.hexdigest()[:16]


def read_chunks(given: object, *, min_words: int, doc_key: IdKey, id_key: IdKey | None) -> Chunks:
    """Read and check the chunks.

    Skipped, and counted, are chunks without a text, chunks of fewer than `min_words` words (by the tokenizer `words`),
    and chunks with the same text as another chunk: which of them a retriever finds is chance. A chunk without an id
    gets `text-` and twelve hex digits of its text's SHA-256.

    Raises:
        InvalidInputError: One is not a document, an id has two texts, or no chunk is usable.
    """
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        refuse("chunks", "a list of documents, texts or rows", given, "Read a file with `read_corpus(path)`.")
    skipped, n_named, found = Counter[str](), 0, dict[str, Chunk]()
    for place, one in enumerate(given):
        with errors_at(f"chunk {place}"):
            document = as_document(one, id_key=id_key)
        if document.text is None or not document.text.strip():
            skipped[NOT_READ[0]] += 1
            continue
        chunk_id = document.id
        if chunk_id is None:
            n_named += 1
            chunk_id = "text-" + hashlib.sha256(document.text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
        chunk = Chunk(chunk_id, document.text, id_at(document.metadata, doc_key))
        if chunk_id in found:
            if found[chunk_id].text != chunk.text:
                raise InvalidInputError(
                    f"chunk {place}: the id {chunk_id!r:.60} has two different texts. Give each text its own id."
                )
            skipped[NOT_READ[1]] += 1
            continue
        found[chunk_id] = chunk
    chunks = tuple(found.values())
    forms = [normalize(chunk.text) for chunk in chunks]
    times, words, usable = Counter(forms), TOKENIZERS["words"], []
    for chunk, form in zip(chunks, forms, strict=True):
        if len(words.tokenize(chunk.text)) < min_words:
            skipped[f"fewer than {min_words} words"] += 1
        elif times[form] > 1:
            skipped["text that other chunks have too"] += 1
        else:
            usable.append(chunk)
    if not usable:
        why = ", ".join(f"{count:,} with {reason}" for reason, count in skipped.items()) or "there are none"
        raise InvalidInputError(
            f"`chunks` has no usable chunk: {why}. Give chunks of at least `min_words` = {min_words} words."
        )
    return Chunks(chunks, tuple(usable), dict(skipped), n_named)


def in_order(chunks: Sequence[Chunk], seed: int) -> list[Chunk]:
    """Shuffle the chunks, one of each document before a second one of any."""
    chance = random.Random(f"krag_eval_llm.question_generation:{seed}")
    by_document: dict[str | None, list[Chunk]] = defaultdict(list)
    for chunk in chunks:
        by_document[chunk.doc_id].append(chunk)
    # Each chunk without a document id is a document of its own.
    groups = [[chunk] for chunk in by_document.pop(None, [])] + list(by_document.values())
    for group in groups:
        chance.shuffle(group)
    chance.shuffle(groups)
    ranked = [(turn, place, chunk) for place, group in enumerate(groups) for turn, chunk in enumerate(group)]
    return [chunk for _, _, chunk in sorted(ranked, key=lambda entry: entry[:2])]


def split_evenly(n: int, types: Sequence[str]) -> list[str]:
    """Return the type of each of `n` questions, in turn: the first types get the remainder.

    >>> split_evenly(5, ["literal", "negative"])
    ['literal', 'negative', 'literal', 'negative', 'literal']
    """
    return [types[number % len(types)] for number in range(n)]
