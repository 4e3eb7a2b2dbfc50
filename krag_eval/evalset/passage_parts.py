"""Which chunks hold a passage together."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from krag_eval.evalset.shared_text import common_letters, least_common, size_of

# An end of a passage is looked for among the ends of the chunks; shorter ones stand in any text.
_SHORTEST_END, _LONGEST_END, _KEY = 8, 200, 4

Parts = tuple[int, ...]


def cover(form: str, chunks: Mapping[int, str], *, first: int) -> Parts:
    """Again and again the chunk that holds most of what is missing of a passage, while it adds enough.

    Args:
        form: The passage, normalised.
        chunks: The normalised texts of chunks that share with it.
        first: Of chunks that add as much, this one is taken, else the one with the smallest number.

    Returns:
        The chunks, in the order of the passage.
    """
    common = {chunk: np.flatnonzero(common_letters(form, text)) for chunk, text in chunks.items()}
    missing = np.ones(size_of(form), dtype=np.bool_)
    # What a chunk adds only shrinks, so that one whose number still holds when it comes up is the best.
    waiting = [(-len(places), chunk != first, chunk) for chunk, places in common.items()]
    heapq.heapify(waiting)
    parts = []
    while waiting:
        number, is_other, chunk = heapq.heappop(waiting)
        adds = int(missing[common[chunk]].sum())
        if adds < least_common(len(missing), size_of(chunks[chunk])):
            continue
        if adds < -number:
            heapq.heappush(waiting, (-adds, is_other, chunk))
            continue
        parts.append(chunk)
        missing[common[chunk]] = False
    return tuple(sorted(parts, key=lambda chunk: int(common[chunk][0])))


class Ends:
    """The first and the last characters of chunks.

    Args:
        forms: The normalised texts of the chunks.
        groups: The group of each; an end is looked for in one group.
    """

    def __init__(self, forms: Sequence[str], groups: Sequence[int]) -> None:
        self._forms = forms
        self._first: dict[tuple[int, str], list[int]] = defaultdict(list)
        self._last: dict[tuple[int, str], list[int]] = defaultdict(list)
        for place, (form, group) in enumerate(zip(forms, groups, strict=True)):
            self._first[group, form[:_KEY]].append(place)
            self._last[group, form[-_KEY:]].append(place)

    def complete(self, form: str, group: int, parts: Parts) -> Iterator[Parts]:
        """The parts of a passage with the chunk that ends as it begins, that begins as it ends, and with both."""
        before, after = self._before(form, group), self._after(form, group)
        for more in ((before, ()), ((), after), (before, after)):
            whole = tuple(dict.fromkeys((*more[0], *parts, *more[1])))
            if whole and whole != parts:
                yield whole

    def _after(self, form: str, group: int) -> Parts:
        """The chunk whose beginning is the longest end of the passage."""
        for start in range(max(1, len(form) - _LONGEST_END), len(form) - _KEY + 1):
            end = form[start:]
            for place in self._first.get((group, end[:_KEY]), ()):
                if self._forms[place].startswith(end) and size_of(end) >= _SHORTEST_END:
                    return (place,)
        return ()

    def _before(self, form: str, group: int) -> Parts:
        """The chunk whose end is the longest beginning of the passage."""
        for stop in range(min(len(form) - 1, _LONGEST_END), _KEY - 1, -1):
            beginning = form[:stop]
            for place in self._last.get((group, beginning[-_KEY:]), ()):
                if self._forms[place].endswith(beginning) and size_of(beginning) >= _SHORTEST_END:
                    return (place,)
        return ()


def joined(texts: Iterable[str]) -> tuple[str, str]:
    """Chunks as one text: cut between words, or cut in the middle of one."""
    some = list(texts)
    return "\n".join(some), "".join(some)
