"""ROUGE-Lsum: ROUGE-L of texts of several lines, whose order does not count."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain

from krag_eval._utils.arrays import IntArray, np
from krag_eval._utils.limits import limit
from krag_eval.documents.tokenizers import Tokenizer
from krag_eval.matching.batch import number
from krag_eval.matching.overlap import TooLongError, overlap
from krag_eval.matching.tokens import KeptTokens, NumberedTexts


def line_hits(
    references: Sequence[str], answers: Sequence[str], tokenizer: Tokenizer, kept: KeptTokens | None = None
) -> tuple[IntArray, IntArray, IntArray]:
    """Count the tokens of each reference in the union of its lines' common subsequences with the answer's lines.

    Args:
        references: The references, or gold texts.
        answers: The answers, or retrieved texts: one for each reference.
        tokenizer: What makes the tokens of each line.
        kept: The tokens of lines, if they were made before by a slow tokenizer; others are added to it.

    Returns:
        The hits, the tokens of each reference and those of each answer; shape (n_pairs,).

    Raises:
        TooLongError: Two texts of several lines have more pairs of tokens than the limit `token_pairs`.
    """
    (one_side, starts), (other_side, other_starts) = map(_lines_of, (references, answers))
    codes, lines = number(one_side, other_side)
    table = NumberedTexts(lines, tokenizer, kept)
    numbers, offsets, _ = table.everything
    lengths = np.diff(offsets)
    so_far = (np.append(0, np.cumsum(lengths[lines])) for lines in codes[:2])
    totals = [np.diff(tokens[begin]) for tokens, begin in zip(so_far, (starts, other_starts), strict=True)]
    hits = np.zeros(len(references), dtype=np.int64)
    # One line with one line is what ROUGE-L counts, and most texts are that.
    sizes, other_sizes = np.diff(starts), np.diff(other_starts)
    single = np.flatnonzero((sizes == 1) & (other_sizes == 1))
    first, second = codes.actual[starts[single]], codes.predicted[other_starts[single]]
    try:
        hits[single] = overlap(table, "rougeL", first, second, lengths, np.zeros(len(single), dtype=np.int64))
    except TooLongError as error:
        raise TooLongError(int(single[error.pair]), error.lengths) from None
    for pair in np.flatnonzero((sizes > 1) | (other_sizes > 1)).tolist():
        both = totals[0].item(pair), totals[1].item(pair)
        if math.prod(both) > limit("token_pairs"):
            raise TooLongError(pair, both)
        reference = _tokens(codes.actual[slice(*starts[pair : pair + 2])], numbers, offsets)
        answer = _tokens(codes.predicted[slice(*other_starts[pair : pair + 2])], numbers, offsets)
        hits[pair] = _union_hits(reference, answer)
    return hits, totals[0], totals[1]


def _lines_of(texts: Sequence[str]) -> tuple[list[str], IntArray]:
    """Return the lines of some texts, one text after the other, without empty ones, and where each text begins."""
    rows = [[line for line in text.split("\n") if line] for text in texts]
    return list(chain.from_iterable(rows)), np.cumsum([0, *map(len, rows)])


def _tokens(lines: IntArray, numbers: IntArray, offsets: IntArray) -> list[Line]:
    return [numbers[start:stop].tolist() for start, stop in zip(offsets[lines], offsets[lines + 1], strict=True)]


Line = Sequence[int]


def _union_hits(reference: Sequence[Line], answer: Sequence[Line]) -> int:
    """Count the tokens of the reference lines in the union of their common subsequences with the answer lines.

    For each reference line, the longest common subsequence with each answer line is marked in it; what is marked
    counts, each token at most as often as either text has it.

    Args:
        reference: The tokens of each line of the reference, as numbers.
        answer: The tokens of each line of the answer.

    Source: Lin (2004), section 3.2, with the guard against double counting of ROUGE 1.5.5, as rouge_score 0.1.2 has it.
    """
    # A token of the reference is marked once, so that only the answer can run out of it.
    left = Counter(token for line in answer for token in line)
    others = [(_places(line), len(line)) for line in dict.fromkeys(map(tuple, answer))]
    marked: dict[tuple[int, ...], list[int]] = {}  # lines that are the same are marked in the same places
    hits = 0
    for line in map(tuple, reference):
        if line not in marked:
            marked[line] = sorted(set().union(*(_common_places(line, *other) for other in others)))
        for place in marked[line]:
            token = line[place]
            if left[token] > 0:
                hits += 1
                left[token] -= 1
    return hits


def _places(line: Line) -> dict[int, int]:
    """Return for each token, its places in the line as the bits of a number."""
    places: dict[int, int] = {}
    for place, token in enumerate(line):
        places[token] = places.get(token, 0) | 1 << place
    return places


def _common_places(line: Line, places: Mapping[int, int], length: int) -> set[int]:
    """Find a longest common subsequence with another line, as places in `line`; of several, the one of rouge_score.

    The table of lengths is kept as one number per row, in which bit j is 0 where the length grows from column j to
    j + 1 (Hyyrö 2004). It is read from its last corner: along equal tokens, else to the left if only there the length
    stays, else up.

    Args:
        line: Tokens.
        places: For each token of the other line, its places there as bits.
        length: How many tokens the other line has.
    """
    flat = everything = (1 << length) - 1
    rows = [flat]
    for token in line:
        grown = flat & places.get(token, 0)
        if grown:
            flat = ((flat + grown) | (flat - grown)) & everything
        rows.append(flat)
    found: set[int] = set()
    row, column, left = len(line), length, length - flat.bit_count()
    while left:
        before = 1 << (column - 1)
        if places.get(line[row - 1], 0) & before:
            row, column, left = row - 1, column - 1, left - 1
            found.add(row)
        elif rows[row] & before and column - (rows[row - 1] & ((before << 1) - 1)).bit_count() < left:
            column -= 1
        else:
            row -= 1
    return found
