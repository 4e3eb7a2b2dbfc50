"""Match texts of which one contains the other, after normalizing.

A text that contains another contains all of its shingles. A shingle is eight neighboring bytes. One in eight is chosen
by its hash, so the same ones in every text, and each text has a table of the bits that its chosen shingles set. A few
shingles of the shorter text are looked up in the table of the longer one; if a bit is missing, the longer text cannot
contain the shorter one (Broder 1997 compares sets of shingles likewise). Only the pairs that are left are searched.

If many texts are searched in the same long one, its shingles are counted once. Each short text can only be where its
rarest shingle is: in most cases nowhere or at one place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from krag_eval._utils.arrays import BoolArray, IntArray, np
from krag_eval.documents.text import utf8
from krag_eval.matching.batch import Batch, Found
from krag_eval.matching.tokens import Words, mix

# With fewer pairs for each different text it is quicker to look than to prepare.
_PAIRS_A_TEXT = 4
_SIZE = 8  # bytes of a shingle
_CHOSEN_BITS = 3
_LOOKED_UP = 4
# Bits of a text's table for each chosen shingle, and at least.
_BITS_A_SHINGLE, _FEWEST_BITS = 8, 512
_BYTES_AT_ONCE = 1 << 18
_TOGETHER_FROM, _LONG = 64, 1 << 16  # so many texts are searched together in one of so many characters
_PAIRS_AT_ONCE = 1 << 17
_GOLDEN_RATIO = 0x9E3779B97F4A7C15


def match_containment(batch: Batch) -> Found:
    """Return the pairs of which one text contains the other, in the direction that the settings allow."""
    direction = batch.settings.containment
    forms = batch.normal_forms
    codes = batch.texts
    length = np.array([*map(len, forms), 0], dtype=np.int64)
    n_pairs = int((batch.actual.sizes * batch.predicted.sizes).sum())
    shingles = _Shingles(forms) if n_pairs > _PAIRS_A_TEXT * len(forms) else None
    found: list[Found] = []
    waiting: list[tuple[IntArray, ...]] = []
    for pairs in batch.pair_blocks():
        gold, retrieved = codes.actual[pairs.actual], codes.predicted[pairs.predicted]
        possible = (length[gold] > 0) & (length[retrieved] > 0)
        if direction == "gold_in_retrieved":
            possible &= length[gold] <= length[retrieved]
        elif direction == "retrieved_in_gold":
            possible &= length[gold] >= length[retrieved]
        candidates = np.flatnonzero(possible)
        gold, retrieved = gold[candidates], retrieved[candidates]
        swap = length[gold] > length[retrieved]
        short, long = np.where(swap, retrieved, gold), np.where(swap, gold, retrieved)
        if shingles is not None:
            likely = np.flatnonzero(shingles.may_contain(long, short))
            candidates, short, long = candidates[likely], short[likely], long[likely]
        waiting.append((pairs.actual[candidates], pairs.predicted[candidates], long, short))
        if sum(len(columns[0]) for columns in waiting) >= _PAIRS_AT_ONCE:
            found.append(_search(forms, length, waiting))
            waiting = []
    if waiting:
        found.append(_search(forms, length, waiting))
    return Found.joined(found)


def _search(forms: Sequence[str], length: IntArray, waiting: list[tuple[IntArray, ...]]) -> Found:
    """Keep the pairs of which one text contains the other."""
    from krag_eval.matching.spans import first_places  # only long texts need it

    actual, predicted, long, short = (np.concatenate(column) for column in zip(*waiting, strict=True))
    left = np.ones(len(long), dtype=bool)
    holds = np.zeros(len(long), dtype=bool)
    is_frequent = np.bincount(long, minlength=len(length)) >= _TOGETHER_FROM
    for text in np.flatnonzero(is_frequent & (length >= _LONG)).tolist():
        group = np.flatnonzero(long == text)
        parts = [forms[part] for part in short[group].tolist()]
        holds[group] = first_places(utf8(forms[text]), parts) >= 0
        left[group] = False
    texts = zip(short[left].tolist(), long[left].tolist(), strict=True)
    holds[left] = np.fromiter((forms[s] in forms[t] for s, t in texts), bool, int(left.sum()))
    return Found(actual, predicted, np.ones(len(actual))).only(holds)


class _Shingles:
    """The shingles of numbered texts.

    Args:
        texts: The texts; their places are their numbers.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._looked_up = np.zeros((len(texts), _LOOKED_UP), dtype=np.uint64)
        self._has_any = np.zeros(len(texts), dtype=bool)
        self._mask = np.zeros(len(texts), dtype=np.uint64)
        self._offset = np.zeros(len(texts), dtype=np.uint64)
        tables: list[np.ndarray[tuple[int], np.dtype[np.uint8]]] = []
        n_bits = 0
        for start, stop, encoded in _chunks(texts):
            text, hashes = _chosen(encoded)
            counts = np.bincount(text, minlength=stop - start)
            first = np.cumsum(counts) - counts
            some = np.flatnonzero(counts)
            self._has_any[start + some] = True
            for nth in range(_LOOKED_UP):
                self._looked_up[start + some, nth] = hashes[first[some] + counts[some] * nth // _LOOKED_UP]
            bits = 1 << np.ceil(np.log2(np.maximum(counts * _BITS_A_SHINGLE, _FEWEST_BITS))).astype(np.int64)
            offset = np.cumsum(bits) - bits
            table = np.zeros(int(bits.sum()), dtype=np.uint8)
            table[offset[text] + (hashes.astype(np.int64) & (bits[text] - 1))] = 1
            tables.append(np.packbits(table))
            self._mask[start:stop] = bits - 1
            self._offset[start:stop] = n_bits + offset
            n_bits += len(table)
        self._table = np.concatenate([np.zeros(0, dtype=np.uint8), *tables])

    def may_contain(self, long: IntArray, short: IntArray) -> BoolArray:
        """Return whether the texts `long[i]` may contain the texts `short[i]`, for each i; a no is certain."""
        possible = np.ones(len(long), dtype=bool)
        left = np.flatnonzero(self._has_any[short])
        for nth in range(_LOOKED_UP):
            container = long[left]
            bit = self._offset[container] + (self._looked_up[short[left], nth] & self._mask[container])
            byte = self._table[(bit >> np.uint64(3)).astype(np.int64)]
            present = (byte >> (np.uint8(7) - (bit & np.uint64(7)).astype(np.uint8))) & 1
            possible[left[present == 0]] = False
            left = left[present != 0]
        return possible


def _chunks(texts: Sequence[str]) -> Iterator[tuple[int, int, list[bytes]]]:
    """Yield the texts in UTF-8, some megabytes at a time."""
    encoded: list[bytes] = []
    start = size = 0
    for number, text in enumerate(texts, 1):
        encoded.append(utf8(text))
        size += len(encoded[-1])
        if size >= _BYTES_AT_ONCE or number == len(texts):
            yield start, number, encoded
            encoded, start, size = [], number, 0


def _chosen(encoded: list[bytes]) -> tuple[IntArray, Words]:
    """Return the chosen shingles of some texts: the text of each, and its hash."""
    buffer = b"".join([*encoded, b"\0" * _SIZE])
    everywhere = np.ndarray(len(buffer) - _SIZE + 1, dtype="<u8", buffer=buffer, strides=(1,))
    hashes = everywhere * _GOLDEN_RATIO
    place = np.flatnonzero(hashes < np.uint64(1 << (64 - _CHOSEN_BITS)))
    ends = np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded)))
    text = np.searchsorted(ends, place, side="right")
    inside = np.flatnonzero((text < len(ends)) & (place + _SIZE <= ends[np.minimum(text, len(ends) - 1)]))
    return text[inside], mix(hashes[place[inside]])
