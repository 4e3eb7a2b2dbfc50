"""How many steps a backtracking engine takes for a pattern on a text: counted, so that no clock is asked.

It walks the tree that Python's own parser makes, without the engine's short cuts: an upper bound of the real thing.
"""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable, Iterator
from re import _constants as codes  # the parser has no public name
from re import _parser as parser
from typing import Any

Rest = Callable[[int], int | None]
_OF_ONE_CHARACTER = {codes.LITERAL, codes.NOT_LITERAL, codes.ANY, codes.IN}
_CATEGORIES = {
    codes.CATEGORY_DIGIT: r"\d",
    codes.CATEGORY_NOT_DIGIT: r"\D",
    codes.CATEGORY_SPACE: r"\s",
    codes.CATEGORY_NOT_SPACE: r"\S",
    codes.CATEGORY_WORD: r"\w",
    codes.CATEGORY_NOT_WORD: r"\W",
}


class Counter:
    """A pattern that counts its steps.

    Args:
        pattern: The pattern.
        is_anchored: It is asked with `match` or `fullmatch`: only at the beginning.
    """

    def __init__(self, pattern: re.Pattern[str], *, is_anchored: bool) -> None:
        self.tree = parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG)
        self.flags = pattern.flags
        self.is_anchored = is_anchored
        self.n_steps = 0
        self._known: dict[tuple[int, str], bool] = {}  # what fits, by the node and the character

    def steps(self, text: str) -> int:
        """The steps that it takes to find everything in a text."""
        self.n_steps, self.text, self.groups = 0, text, dict[int, tuple[int, int]]()
        before = sys.getrecursionlimit()
        sys.setrecursionlimit(100_000)
        try:
            start = 0
            while start <= len(text):
                end = self._all(self.tree.data, lambda at: at, 0, start)
                if self.is_anchored:
                    break
                start = end if end is not None and end > start else start + 1
        finally:
            sys.setrecursionlimit(before)
        return self.n_steps

    def _all(self, nodes: list[Any], rest: Rest, done: int, at: int) -> int | None:
        text, known = self.text, self._known
        for number in range(done, len(nodes)):
            kind, given = node = nodes[number]
            if kind not in _OF_ONE_CHARACTER:
                return self._one(node, at, functools.partial(self._all, nodes, rest, number + 1))
            self.n_steps += 1
            if at == len(text):
                return None
            asked = id(node), text[at]
            if asked not in known:
                known[asked] = self._fits(kind, given, text[at])
            if not known[asked]:
                return None
            at += 1
        return rest(at)

    def _one(self, node: Any, at: int, rest: Rest) -> int | None:
        self.n_steps += 1
        kind, given = node
        if kind is codes.BRANCH:
            return next((end for way in given[1] if (end := self._all(way.data, rest, 0, at)) is not None), None)
        if kind is codes.SUBPATTERN:
            return self._group(given, at, rest)
        if kind in (codes.MAX_REPEAT, codes.MIN_REPEAT):
            return self._repeat(kind is codes.MAX_REPEAT, given, 0, at, rest)
        if kind is codes.POSSESSIVE_REPEAT:
            end = self._repeat(True, given, 0, at, lambda here: here)
            return None if end is None else rest(end)
        if kind is codes.ATOMIC_GROUP:
            end = self._all(given.data, lambda here: here, 0, at)
            return None if end is None else rest(end)
        if kind in (codes.ASSERT, codes.ASSERT_NOT):
            return rest(at) if self._looks(given, at) is (kind is codes.ASSERT) else None
        if kind is codes.GROUPREF:
            start, stop = self.groups.get(given, (0, -1))
            held = self.text[start:stop]
            self.n_steps += len(held)
            return rest(at + len(held)) if stop >= 0 and self.text.startswith(held, at) else None
        assert kind is codes.AT, f"the counter does not know {kind}"
        return rest(at) if self._is_at(given, at) else None

    def _fits(self, kind: Any, given: Any, character: str) -> bool:
        if kind is codes.ANY:
            return bool(self.flags & re.DOTALL) or character != "\n"
        if kind in (codes.LITERAL, codes.NOT_LITERAL):
            same = character in self._forms(chr(given))
            return same is (kind is codes.LITERAL)
        wanted = any(self._is_in(one, character) for one in given)
        return wanted is not (given[0][0] is codes.NEGATE)

    def _is_in(self, member: Any, character: str) -> bool:
        kind, given = member
        if kind is codes.RANGE:
            return any(given[0] <= ord(form) <= given[1] for form in self._forms(character))
        if kind is codes.LITERAL:
            return character in self._forms(chr(given))
        return kind is codes.CATEGORY and re.match(_CATEGORIES[given], character) is not None

    def _forms(self, character: str) -> set[str]:
        return {character, *(form for form in (character.lower(), character.upper()) if self.flags & re.IGNORECASE)}

    def _group(self, given: Any, at: int, rest: Rest) -> int | None:
        number, _, _, inner = given

        def leave(here: int) -> int | None:
            if number is not None:
                self.groups[number] = at, here
            return rest(here)

        return self._all(inner.data, leave, 0, at)

    def _repeat(self, is_greedy: bool, given: Any, done: int, at: int, rest: Rest) -> int | None:
        least, most, inner = given
        more = (
            (lambda: self._all(inner.data, functools.partial(self._again, is_greedy, given, done, at, rest), 0, at))
            if done < most
            else (lambda: None)
        )
        ways: list[Callable[[], int | None]] = [more, *([lambda: rest(at)] if done >= least else [])]
        return next((end for way in (ways if is_greedy else ways[::-1]) if (end := way()) is not None), None)

    def _again(self, is_greedy: bool, given: Any, done: int, before: int, rest: Rest, at: int) -> int | None:
        self.n_steps += 1
        return None if at == before and done >= given[0] else self._repeat(is_greedy, given, done + 1, at, rest)

    def _looks(self, given: Any, at: int) -> bool:
        direction, inner = given
        if direction < 0:
            at -= inner.getwidth()[0]
        return at >= 0 and self._all(inner.data, lambda here: here, 0, at) is not None

    def _is_at(self, where: Any, at: int) -> bool:
        if where in (codes.AT_BEGINNING, codes.AT_BEGINNING_STRING):
            return at == 0
        if where in (codes.AT_END, codes.AT_END_STRING):
            return at == len(self.text)
        sides = [
            0 <= place < len(self.text) and re.match(r"\w", self.text[place]) is not None for place in (at - 1, at)
        ]
        return (sides[0] is not sides[1]) is (where is codes.AT_BOUNDARY)


def has_loop(pattern: re.Pattern[str]) -> bool:
    """Whether anything in it may repeat without a bound; without that the steps at each place are bounded."""
    return any(kind in _REPEATS and given[1] > 1_000 for kind, given in _nodes(parser.parse(pattern.pattern)))


def longest_least(pattern: re.Pattern[str]) -> int:
    """The most that anything in it must repeat; on shorter texts its steps say nothing."""
    return max((given[0] for kind, given in _nodes(parser.parse(pattern.pattern)) if kind in _REPEATS), default=0)


def alphabet(pattern: re.Pattern[str], most: int = 5) -> list[str]:
    """Characters that mean something to a pattern: its own, and one of each kind."""
    own = [chr(given) for kind, given in _nodes(parser.parse(pattern.pattern)) if kind in _LITERALS]
    return list(dict.fromkeys([*dict.fromkeys(own[: most - 3] + own[-1:]), *"a1 \n"]))[:most]


_REPEATS = (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT)
_LITERALS = (codes.LITERAL, codes.NOT_LITERAL)


def _nodes(tree: Any) -> Iterator[tuple[Any, Any]]:
    for node in tree:
        if isinstance(node, tuple) and len(node) == 2 and isinstance(node[0], type(codes.LITERAL)):
            yield node
        if isinstance(node, (tuple, list, parser.SubPattern)):
            yield from _nodes(node)
