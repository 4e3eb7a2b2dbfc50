"""How long a text is in letters, of which one character of a dense script is worth several."""

from __future__ import annotations

from krag_eval._utils.arrays import np
from krag_eval.documents.columns import runs
from krag_eval.matching.tokens import Words

# Characters that say as much as several letters; everything else counts as one.
_DENSE = [
    (0x2E80, 0x2FDF, 3),  # radicals
    (0x3040, 0x30FF, 2),  # Hiragana and Katakana
    (0x3400, 0x4DBF, 3),  # Chinese characters
    (0x4E00, 0x9FFF, 3),
    (0xAC00, 0xD7A3, 2),  # Hangul syllables
    (0xF900, 0xFAFF, 3),
    (0x20000, 0x3FFFF, 3),
]


def size_of(text: str) -> int:
    """Return the length of a text in letters: a Chinese character counts as three, a Korean one as two."""
    return len(text) if text.isascii() else len(letters_of(text))


def letters_of(text: str) -> Words:
    """Return the code points of a text; those of dense scripts several times, as different letters."""
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4").astype(np.uint64) * np.uint64(4)
    if text.isascii():
        return points
    weights = np.ones(len(points), dtype=np.int64)
    for first, last, weight in _DENSE:
        weights[(points >= np.uint64(4 * first)) & (points <= np.uint64(4 * last))] = weight
    letters: Words = np.repeat(points, weights) + runs(np.zeros_like(weights), weights).astype(np.uint64)
    return letters
