"""Chunkers cut documents into chunks whose places are known: by their own offsets, or by their texts in order."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from krag_eval import TOKENIZERS, InvalidInputError
from krag_eval_chunkers.cutting import cut, parameters_of

TEXT = "One two three.\n\nFour five.\nSix seven eight nine."


def places(chunker: object, text: str = TEXT) -> list[tuple[int, int]]:
    chunks = cut({"d": text}, chunker, "mine")
    return [(chunk.metadata["start"], chunk.metadata["end"]) for chunk in chunks]


def refusal(chunker: object, text: str = TEXT) -> str:
    with pytest.raises(InvalidInputError) as caught:
        cut({"first": " ", "doc-1": text}, chunker, "mine")
    return str(caught.value)


@dataclass
class Piece:
    """A chunk as chonkie returns it."""

    text: str
    start_index: int
    end_index: int


@dataclass
class Page:
    """A chunk as LangChain and Haystack return it."""

    page_content: str
    metadata: dict[str, Any] = field(default_factory=dict)


FORMS: dict[str, Callable[[int, int], Any]] = {
    "strings": lambda start, end: TEXT[start:end],
    "places": lambda start, end: (start, end),
    "places of numpy": lambda start, end: (np.int64(start), np.int64(end)),
    "objects": lambda start, end: Piece(TEXT[start:end], start, end),
    "start alone": lambda start, end: Page(TEXT[start:end], {"start_index": start}),
    "not found by LangChain": lambda start, end: Page(TEXT[start:end], {"start_index": -1}),
    "rows": lambda start, end: {"text": TEXT[start:end], "start": start, "end": end},
    "rows with metadata": lambda start, end: {"text": TEXT[start:end], "metadata": {"split_idx_start": start}},
}


@pytest.mark.parametrize("form", FORMS)
def test_a_function_returns_strings_places_or_objects(form: str) -> None:
    cuts = [(0, 14), (8, 26), (16, 26), (27, 48)]
    assert places(lambda _: [FORMS[form](*place) for place in cuts]) == cuts
    assert places(lambda _: iter([FORMS[form](*place) for place in cuts])) == cuts


def test_chunks_have_ids_and_places() -> None:
    chunks = cut({"a": "x y", "b": "z"}, str.split, "words")
    assert [(chunk.id, chunk.text) for chunk in chunks] == [("a#0", "x"), ("a#1", "y"), ("b#0", "z")]
    assert chunks[1].metadata == {"doc_id": "a", "start": 2, "end": 3}


def test_a_text_that_repeats_follows_the_chunk_before() -> None:
    text = "no no no no no no"
    assert places(lambda _: ["no no", "no no", "no no"], text) == [(0, 5), (6, 11), (12, 17)]
    assert places(lambda _: ["a b", "b a", "a b"], "a b a b") == [(0, 3), (2, 5), (4, 7)]


def test_a_chunk_may_begin_where_the_one_before_does() -> None:
    text = "CHAPTER I\n\nOnce. CHAPTER I\n\nOnce more."
    assert places(lambda _: ["CHAPTER I", "CHAPTER I\n\nOnce.", "CHAPTER I\n\nOnce more."], text) == [
        (0, 9), (0, 16), (17, 38)
    ]  # fmt: skip


def test_white_space_that_a_splitter_changed_is_found_again() -> None:
    assert places(lambda _: ["One two three. Four five.", "Six  seven", "eight nine."]) == [(0, 26), (27, 36), (37, 48)]


def test_own_offsets_may_come_in_any_order_and_with_more_text_than_the_place() -> None:
    with_heading = {"text": "From the preface: Four five.", "start": 16, "end": 26}
    chunks = cut({"d": TEXT}, lambda _: [(27, 30), with_heading, (0, 3)], "mine")
    assert [chunk.text for chunk in chunks] == ["Six", "From the preface: Four five.", "One"]


def test_wrong_offsets_give_way_to_the_text() -> None:
    assert places(lambda _: [Piece("Four", 3, 7)]) == [(16, 20)]


def test_blank_chunks_are_left_out() -> None:
    assert places(lambda _: ["One", "  ", "", "two", (14, 16)]) == [(0, 3), (4, 7)]


@pytest.mark.parametrize("size", ["words:3", "words:1:0", "chars:10", "chars:10:4"])
def test_sizes_are_written_as_a_string(size: str) -> None:
    unit, number, *overlap = size.split(":")
    found = places(size)
    assert found[0][0] == 0
    assert found[-1][1] == len(TEXT)
    for start, end in found:
        tokens = TOKENIZERS["words"].tokenize(TEXT[start:end]) if unit == "words" else TEXT[start:end]
        assert len(tokens) <= int(number)
    if overlap:
        steps = [after - before for (before, _), (after, _) in itertools.pairwise(found)]
        assert unit == "words" or set(steps) == {int(number) - int(overlap[0])}


WRITTEN = st.text(st.sampled_from("ab .-我们\n"), max_size=40)


@given(WRITTEN, st.sampled_from(["words", "chars"]), st.integers(1, 7), st.integers(0, 6))
def test_sizes_leave_no_word_out_and_none_too_many(text: str, unit: str, size: int, overlap: int) -> None:
    overlap = min(overlap, size - 1)
    tokenize = TOKENIZERS["words"].tokenize if unit == "words" else list
    found = places(f"{unit}:{size}:{overlap}", text) if text.strip() else []
    inside = {at for start, end in found for at in range(start, end)}
    assert all(character.isspace() for at, character in enumerate(text) if at not in inside)
    pieces = max((len(tokenize(piece)) for piece in text.split()), default=0) if unit == "words" else 1
    assert all(len(tokenize(text[start:end])) <= max(size, pieces) for start, end in found)
    for (_, end), (start, _) in itertools.pairwise(found):
        assert len(tokenize(text[start:end])) <= overlap


def test_scripts_without_spaces_are_cut_between_characters() -> None:
    text = "战争与和平是一部小说"
    assert places("words:4", text) == [(0, 4), (4, 8), (8, 10)]


def test_parameters_name_the_class_and_its_arguments() -> None:
    class Splitter:
        def __init__(self, chunk_size: int, overlap: float = 0.5, hook: object = print) -> None:
            self.chunk_size, self._overlap, self.hook = chunk_size, overlap, hook

        def __call__(self, text: str, by: str = "") -> list[str]:
            return [text]

    name = f"{__name__}.{Splitter.__qualname__}"
    assert parameters_of(Splitter(5)) == {"chunker": name, "chunk_size": 5, "overlap": 0.5}
    assert parameters_of(functools.partial(Splitter(5), by="line")) == {
        "chunker": name, "chunk_size": 5, "overlap": 0.5, "by": "line"
    }  # fmt: skip
    assert parameters_of(places) == {"chunker": f"{__name__}.places"}
    assert parameters_of("chars:8") == {"chunker": "chars", "chunk_size": 8, "chunk_overlap": 0}


def failing(text: str) -> list[str]:
    raise ValueError(f"cannot cut {len(text)} characters")


@pytest.mark.parametrize(
    ("chunker", "said"),
    [
        (lambda _: [], "The chunker 'mine', document 'doc-1': it returned no chunk."),
        (lambda text: [] if text == " " else None, "document 'doc-1': it raised TypeError"),
        (failing, "document 'first': it raised ValueError: cannot cut 1 characters."),
        (lambda text: ["One", "ten"], "document 'first', chunk 0: its text 'One' is not there."),
        (
            lambda text: ["Four", "One"] * (text != " "),
            "document 'doc-1', chunk 1: its text 'One' is in the document, but not after the chunk before, at 16.",
        ),
        (lambda text: [(40, 99)], "chunk 0: its offsets 40 and 99 are not in the text, which has 1 characters."),
        (lambda text: [(-3, 1)], "its offsets -3 and 1 are not in the text"),
        (lambda text: [(1, 0)], "its offsets 1 and 0 are not in the text"),
        (lambda text: [7], "document 'first', chunk 0 is an int without a text."),
        (str, "The chunker 'mine' is the class str."),
        (7, "The chunker 'mine' is an int."),
        ("words", "The chunker 'words' is not known."),
        ("word:10", "Did you mean 'words'?"),
        ("words:10:10", "with an overlap below the size"),
        ("chars:0", "The chunker 'chars:0' is not known."),
    ],
)
def test_a_chunker_that_cannot_be_used_is_named_with_document_and_chunk(chunker: object, said: str) -> None:
    assert said in refusal(chunker)


def real_chunkers() -> dict[str, Any]:
    """Return real splitters by name; each by the arguments that its documentation shows."""
    langchain = pytest.importorskip("langchain_text_splitters", reason="need langchain-text-splitters (make setup)")
    chonkie = pytest.importorskip("chonkie", reason="need chonkie (make setup)")
    semchunk = pytest.importorskip("semchunk", reason="need semchunk (make setup)")
    from llama_index.core.node_parser import SentenceSplitter, SentenceWindowNodeParser, TokenTextSplitter

    sizes = {"chunk_size": 400, "chunk_overlap": 50}
    return {
        "langchain": langchain.RecursiveCharacterTextSplitter(**sizes),
        "langchain with offsets": langchain.RecursiveCharacterTextSplitter(**sizes, add_start_index=True),
        "langchain paragraphs": langchain.CharacterTextSplitter(**sizes),
        "langchain words": langchain.RecursiveCharacterTextSplitter(
            chunk_size=80, chunk_overlap=0, length_function=count_words
        ),
        "llama-index sentences": SentenceSplitter(
            chunk_size=100, chunk_overlap=10, tokenizer=str.split, chunking_tokenizer_fn=lines
        ),
        "llama-index tokens": TokenTextSplitter(chunk_size=100, chunk_overlap=10, tokenizer=str.split),
        "llama-index windows": SentenceWindowNodeParser(sentence_splitter=lines),
        "chonkie tokens": chonkie.TokenChunker(**sizes),
        "chonkie sentences": chonkie.SentenceChunker(chunk_size=400),
        "chonkie recursive": chonkie.RecursiveChunker(chunk_size=400),
        "semchunk": semchunk.chunkerify(count_words, 100),
        "semchunk with overlap": functools.partial(semchunk.chunkerify(count_words, 100), overlap=0.2),
    }


def lines(text: str) -> list[str]:
    """Return what stands for sentences: those of nltk, the default, need its data."""
    return text.splitlines(keepends=True)


def count_words(text: str) -> int:
    return len(text.split())


@pytest.mark.full
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("book", ["war_and_peace_en/war-and-peace.txt", "war_and_peace_ru/war_and_peace.novel.txt"])
def test_every_chunk_of_real_splitters_lies_where_its_text_is(shared_data: Path, book: str) -> None:
    text = (shared_data / book).read_text(encoding="utf-8-sig")[5_000:105_000]
    for name, chunker in real_chunkers().items():
        chunks = cut({"book": text}, chunker, name)
        covered = np.zeros(len(text), dtype=bool)
        for chunk in chunks:
            start, end = chunk.metadata["start"], chunk.metadata["end"]
            assert (chunk.text or "").split() == text[start:end].split(), name
            covered[start:end] = True
        left = [text[at] for at in np.flatnonzero(~covered) if not text[at].isspace()]
        most = 20 if name == "llama-index windows" else 0  # it takes the first of lines that repeat in the line before
        assert len(left) <= most, (name, left)


@pytest.mark.full
def test_parameters_of_real_splitters_hold_size_and_overlap() -> None:
    known = {name: parameters_of(chunker) for name, chunker in real_chunkers().items()}
    for name, size, overlap in [
        ("langchain", 400, 50),
        ("llama-index tokens", 100, 10),
        ("chonkie tokens", 400, 50),
    ]:
        assert (known[name]["chunk_size"], known[name]["chunk_overlap"]) == (size, overlap)
    assert known["semchunk with overlap"] == {"chunker": "semchunk.semchunk.Chunker", "chunk_size": 100, "overlap": 0.2}
    assert known["langchain"]["chunker"].endswith("RecursiveCharacterTextSplitter")
