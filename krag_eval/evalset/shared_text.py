"""Which passages share text with which chunks, and which characters: quick for any number of both.

A shingle is 24 neighbouring characters of a normalised text. Two texts with a common stretch of that length have a
shingle in common, so that looking shingles up finds all such pairs without comparing every passage with every chunk.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence

import numpy as np

from krag_eval.columns import BoolArray, IntArray
from krag_eval.matching.runs import runs
from krag_eval.matching.spans import Words, mix

SHINGLE = 24
# A chunk holds a part of a passage if they have this share of the shorter one in common, and a shingle at least.
_LEAST_SHARE = 0.1
_CHARACTERS_AT_ONCE = 1 << 18
# A shingle that would pair more passages and chunks than this stands in headers or footers, and tells nothing.
_MOST_PAIRS = 1 << 14
# Within one chunk a shingle may stand so many times, and edits may move it so far.
_MOST_REPEATS, _EDITS = 8, 64


def least_common(passage: IntArray | int, chunk: IntArray | int) -> IntArray:
    """From how many common characters on a chunk of a length holds a part of a passage of a length."""
    shorter = np.minimum(passage, chunk)
    needed: IntArray = np.minimum(shorter, np.maximum(SHINGLE, shorter * _LEAST_SHARE)).astype(np.int64)
    return needed


def find_sharing(
    passages: Sequence[str], chunks: Sequence[str], passage_groups: IntArray, chunk_groups: IntArray
) -> list[IntArray]:
    """For each passage, the chunks that may have enough characters in common with it.

    Args:
        passages: Normalised texts; for one that is shorter than a shingle nothing is found.
        chunks: Normalised texts.
        passage_groups: A number for each passage; it is looked for only in chunks with the same number.
        chunk_groups: A number for each chunk.

    Returns:
        The places of the chunks, ascending. None is missing that has `least_common` characters in common with a
        passage, each in a stretch of 24 or more, unless these stretches stand nearly everywhere.
    """
    if not passages:
        return []
    hashes, owners = _shingles(passages, passage_groups)
    order = np.argsort(hashes)
    hashes, owners = hashes[order], owners[order]
    sizes = [np.fromiter(map(len, texts), np.int64, len(texts)) for texts in (passages, chunks)]
    found = [np.empty((2, 0), dtype=np.int64)]
    for start, stop in _blocks(chunks):
        looked_up, places = _shingles(chunks[start:stop], chunk_groups[start:stop])
        different, which, repeats = np.unique(looked_up, return_inverse=True, return_counts=True)
        first = np.searchsorted(hashes, different, side="left")
        count = np.searchsorted(hashes, different, side="right") - first
        count[count * repeats > _MOST_PAIRS] = 0
        passage, chunk = owners[runs(first[which], count[which])], np.repeat(places, count[which])
        pairs, n_common = np.unique(passage * (stop - start) + chunk, return_counts=True)
        passage, chunk = pairs // (stop - start), pairs % (stop - start) + start
        # A stretch has 23 shingles less than characters; where edits break it up, a half of the rest may be missing.
        enough = 2 * n_common >= least_common(sizes[0][passage], sizes[1][chunk]) - SHINGLE
        found.append(np.stack([passage[enough], chunk[enough]]))
    passage, chunk = np.concatenate(found, axis=1)
    order = np.argsort(passage, kind="stable")
    return np.split(chunk[order], np.searchsorted(passage[order], np.arange(1, len(passages))))


def common_characters(passage: str, chunk: str) -> BoolArray:
    """Which characters of a passage stand in a chunk at about the same distance, in stretches of 24 or more.

    Where one text was cut in two ways, what a passage and a chunk have in common is one stretch, give or take small
    edits. Phrases that both have elsewhere are not counted.
    """
    hashes = _hashes_of_one(passage)
    order, ordered = _sorted_hashes_of_one(chunk)
    first = np.searchsorted(ordered, hashes, side="left")
    count = np.searchsorted(ordered, hashes, side="right") - first
    count[count > _MOST_REPEATS] = 0
    place = np.repeat(np.arange(len(hashes)), count)
    distance = order[runs(first, count)] - place
    if len(distance):
        distances, n_places = np.unique(distance, return_counts=True)
        place = place[np.abs(distance - distances[np.argmax(n_places)]) <= _EDITS]
    edges = np.zeros(len(passage) + 1, dtype=np.int64)
    place = np.unique(place)
    edges[place] += 1
    edges[place + SHINGLE] -= 1
    common: BoolArray = np.cumsum(edges[:-1]) > 0
    return common


def _blocks(texts: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Bounds of parts of the texts, each with some hundred thousand characters."""
    start = size = 0
    for stop, text in enumerate(texts, 1):
        size += len(text)
        if size >= _CHARACTERS_AT_ONCE or stop == len(texts):
            yield start, stop
            start, size = stop, 0


def _shingles(texts: Sequence[str], groups: IntArray) -> tuple[Words, IntArray]:
    """The hash of each shingle, mixed with the group of its text, and the place of its text."""
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    counts = np.maximum(lengths - SHINGLE + 1, 0)
    hashes = _hashes("".join(texts))[runs(np.cumsum(lengths) - lengths, counts)]
    owners = np.repeat(np.arange(len(texts)), counts)
    return mix(hashes ^ mix(groups.astype(np.uint64))[owners]), owners


def _hashes(text: str) -> Words:
    """A hash of the shingle that begins at each character."""
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4").astype(np.uint64)
    n_shingles = max(len(points) - SHINGLE + 1, 0)
    hashes, size = points, 1
    while 2 * size <= SHINGLE:  # of two neighbouring stretches, a hash of both
        hashes, size = mix(hashes[:-size]) + hashes[size:], 2 * size
    last = SHINGLE - size
    return mix(hashes[:n_shingles]) + hashes[last : last + n_shingles]


# A passage is compared with one chunk after the other, a chunk with passages that stand near each other.
_hashes_of_one = functools.lru_cache(maxsize=16)(_hashes)


@functools.lru_cache(maxsize=1024)
def _sorted_hashes_of_one(text: str) -> tuple[IntArray, Words]:
    hashes = _hashes(text)
    order = np.argsort(hashes)
    return order, hashes[order]
