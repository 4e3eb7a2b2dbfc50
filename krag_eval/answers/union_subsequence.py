"""What the lines of an answer cover of the lines of a reference together, as rouge_score's ROUGE-Lsum counts it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

Line = Sequence[int]


def union_hits(reference: Sequence[Line], answer: Sequence[Line]) -> int:
    """How many tokens of the reference lines stand in the union of their common subsequences with the answer lines.

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
            marked[line] = sorted(set().union(*(common_places(line, *other) for other in others)))
        for place in marked[line]:
            token = line[place]
            if left[token] > 0:
                hits += 1
                left[token] -= 1
    return hits


def _places(line: Line) -> dict[int, int]:
    """For each token, its places in the line as the bits of a number."""
    places: dict[int, int] = {}
    for place, token in enumerate(line):
        places[token] = places.get(token, 0) | 1 << place
    return places


def common_places(line: Line, places: Mapping[int, int], length: int) -> set[int]:
    """The places in `line` of a longest common subsequence with another line; of several, the one rouge_score takes.

    The table of lengths is kept as one number a row, in which bit j is 0 where the length grows from column j to
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
