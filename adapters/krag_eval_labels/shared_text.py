"""Find which passages share text with which chunks, and how much of it, quickly for any number of both.

A shingle is a stretch of 24 letters, or as many characters as say about the same: 8 Chinese ones, 12 Korean ones. Two
texts with such a stretch in common have a shingle in common, so looking up shingles finds all such pairs without
comparing every passage with every chunk.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence

import numpy as np

from krag_eval.toolkit import BoolArray, IntArray, Words, letters_of, mix, runs, size_of

SHINGLE = 24
# A chunk holds a part of a passage if they have this share of the shorter one in common, and a shingle at least.
_LEAST_SHARE = 0.1
_CHARACTERS_AT_ONCE = 1 << 18
# A shingle that would pair more passages and chunks than this is from headers or footers, and means nothing.
_MOST_PAIRS = 1 << 14
# How often one chunk may repeat a shingle, and how far edits may move it.
_MOST_REPEATS, _EDITS = 8, 64


def least_common(passage: IntArray | int, chunk: IntArray | int) -> IntArray:
    """Return how many letters a passage and a chunk of these sizes must share to count as overlapping."""
    shorter = np.minimum(passage, chunk)
    needed: IntArray = np.minimum(shorter, np.maximum(SHINGLE, shorter * _LEAST_SHARE)).astype(np.int64)
    return needed


def find_sharing(
    passages: Sequence[str], chunks: Sequence[str], passage_groups: IntArray, chunk_groups: IntArray
) -> list[IntArray]:
    """Return for each passage the chunks that probably have `least_common` letters in common with it.

    Args:
        passages: Normalised texts; for one that is shorter than a shingle nothing is found.
        chunks: Normalised texts.
        passage_groups: A number for each passage; only chunks with the same number are searched.
        chunk_groups: A number for each chunk.

    Returns:
        The places of the chunks, ascending. One is missing only if less than half of the shingles that it would take
        are common, because edits break them up, or if they occur nearly everywhere.
    """
    if not passages:
        return []
    hashes, owners, sizes = _shingles(passages, passage_groups)
    order = np.argsort(hashes)
    hashes, owners = hashes[order], owners[order]
    found = [np.empty((2, 0), dtype=np.int64)]
    for start, stop in _blocks(chunks):
        looked_up, places, chunk_sizes = _shingles(chunks[start:stop], chunk_groups[start:stop])
        different, which, repeats = np.unique(looked_up, return_inverse=True, return_counts=True)
        first = np.searchsorted(hashes, different, side="left")
        count = np.searchsorted(hashes, different, side="right") - first
        count[count * repeats > _MOST_PAIRS] = 0
        passage, chunk = owners[runs(first[which], count[which])], np.repeat(places, count[which])
        pairs, n_common = np.unique(passage * (stop - start) + chunk, return_counts=True)
        passage, chunk = pairs // (stop - start), pairs % (stop - start)
        # A stretch has a shingle's length less shingles than letters.
        enough = 2 * n_common >= least_common(sizes[passage], chunk_sizes[chunk]) - SHINGLE
        found.append(np.stack([passage[enough], start + chunk[enough]]))
    passage, chunk = np.concatenate(found, axis=1)
    order = np.argsort(passage, kind="stable")
    return np.split(chunk[order], np.searchsorted(passage[order], np.arange(1, len(passages))))


def common_letters(passage: str, chunk: str) -> BoolArray:
    """Return which letters of a passage a chunk has in stretches of a shingle or more, at about the same distance.

    Where one text was cut in two ways, what a passage and a chunk have in common is one stretch, give or take small
    edits. Phrases that both have elsewhere are not counted.

    Returns:
        Shape (size_of(passage),).
    """
    hashes, size = _hashes_of_one(passage)
    order, ordered = _sorted_hashes_of_one(chunk)
    first = np.searchsorted(ordered, hashes, side="left")
    count = np.searchsorted(ordered, hashes, side="right") - first
    count[count > _MOST_REPEATS] = 0
    place = np.repeat(np.arange(len(hashes)), count)
    distance = order[runs(first, count)] - place
    if len(distance):
        distances, n_places = np.unique(distance, return_counts=True)
        place = place[np.abs(distance - distances[np.argmax(n_places)]) <= _EDITS]
    edges = np.zeros(size + 1, dtype=np.int64)
    place = np.unique(place)
    edges[place] += 1
    edges[place + SHINGLE] -= 1
    common: BoolArray = np.cumsum(edges[:-1]) > 0
    return common


def _blocks(texts: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the bounds of parts of the texts, each with some hundred thousand characters."""
    start = size = 0
    for stop, text in enumerate(texts, 1):
        size += len(text)
        if size >= _CHARACTERS_AT_ONCE or stop == len(texts):
            yield start, stop
            start, size = stop, 0


def _shingles(texts: Sequence[str], groups: IntArray) -> tuple[Words, IntArray, IntArray]:
    """Return the hash of each shingle mixed with the group of its text, the place of its text, and the texts' sizes."""
    sizes = np.fromiter(map(size_of, texts), np.int64, len(texts))
    counts = np.maximum(sizes - SHINGLE + 1, 0)
    hashes = _hashes(letters_of("".join(texts)))[runs(np.cumsum(sizes) - sizes, counts)]
    owners = np.repeat(np.arange(len(texts)), counts)
    return mix(hashes ^ mix(groups.astype(np.uint64))[owners]), owners, sizes


def _hashes(letters: Words) -> Words:
    """Return a hash of the shingle that begins at each letter."""
    n_shingles = max(len(letters) - SHINGLE + 1, 0)
    hashes, size = letters, 1
    while 2 * size <= SHINGLE:  # of two neighbouring stretches, a hash of both
        hashes, size = mix(hashes[:-size]) + hashes[size:], 2 * size
    last = SHINGLE - size
    return mix(hashes[:n_shingles]) + hashes[last : last + n_shingles]


# A passage is compared with one chunk after the other, a chunk with passages that are near each other.
@functools.lru_cache(maxsize=16)
def _hashes_of_one(text: str) -> tuple[Words, int]:
    letters = letters_of(text)
    return _hashes(letters), len(letters)


@functools.lru_cache(maxsize=1024)
def _sorted_hashes_of_one(text: str) -> tuple[IntArray, Words]:
    hashes, _ = _hashes_of_one(text)
    order = np.argsort(hashes)
    return order, hashes[order]
