"""Every regular expression of the package takes steps in proportion to the text; no clock is asked."""

from __future__ import annotations

import ast
import functools
import importlib
import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from krag_eval._utils import credentials
from tests.support.regex_steps import Counter, alphabet, has_loop, longest_least

pytestmark = pytest.mark.full  # growth on long inputs

ROOT = Path(__file__).parents[2]
SOURCES = [
    str(path.relative_to(ROOT))
    for room in ("krag_eval", "adapters")
    for path in sorted((ROOT / room).rglob("*.py"))
    if "re." in path.read_text(encoding="utf-8")
]
_ASKED = {"match", "fullmatch", "search", "sub", "split", "findall", "finditer"}


def held(value: object) -> Iterator[re.Pattern[str]]:
    if isinstance(value, re.Pattern):
        yield value if isinstance(value.pattern, str) else re.compile(value.pattern.decode("latin-1"))
    elif isinstance(value, (tuple, list)):
        for one in value:
            yield from held(one)


@functools.cache
def patterns(name: str) -> dict[str, tuple[re.Pattern[str], bool]]:
    """Each pattern of a module with whether it is only asked at the beginning of a text."""
    found: dict[str, tuple[re.Pattern[str], bool]] = {}
    source = (ROOT / name).read_text(encoding="utf-8")
    module = name.removesuffix(".py").replace("/", ".").removeprefix("adapters.")
    for variable, value in vars(importlib.import_module(module.removesuffix(".__init__"))).items():
        asked = set(re.findall(rf"\b{re.escape(variable)}\.(\w+)\(", source)) & _ASKED
        for number, pattern in enumerate(held(value)):
            found[f"{variable}[{number}]"] = pattern, bool(asked) and asked <= {"match", "fullmatch"}
    for call in ast.walk(ast.parse(source)):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in _ASKED:
            is_re = isinstance(call.func.value, ast.Name) and call.func.value.id == "re"
            if is_re and call.args and isinstance(call.args[0], ast.Constant):
                at_start = call.func.attr in ("match", "fullmatch")
                found[f"line {call.lineno}"] = re.compile(str(call.args[0].value)), at_start
    if name == "krag_eval/_utils/credentials.py":
        forms = held((credentials.key_form(), *(forms for _, forms in credentials.shapes())))
        found |= {f"form {number}": (pattern, False) for number, pattern in enumerate(forms)}
    return found


def growth(pattern: re.Pattern[str], is_anchored: bool) -> tuple[float, str]:
    """The most by which the steps grow where a text does, and on what: 2 for linear, 4 for quadratic."""
    if not has_loop(pattern):
        return 1.0, ""
    counter, letters = Counter(pattern, is_anchored=is_anchored), alphabet(pattern)
    # A multiple of six, so that what comes in twos and threes leaves the same remainder at every size.
    literal, few = "".join(letters[:2]), 6 + 6 * -(-longest_least(pattern) // 6)
    pumps = ["".join(pair) for n in (1, 2) for pair in itertools.product(letters, repeat=n)]
    worst = (0.0, "")
    for pump in dict.fromkeys([*pumps, "".join(letters)]):
        for start, end in (("", "\0"), (literal, "")):
            small, middle, large = (counter.steps(start + pump * size + end) for size in (few, 2 * few, 4 * few))
            worst = max(worst, ((large - middle) / max(middle - small, 1), f"{start!r}, {pump!r} many times, {end!r}"))
    return worst


def test_the_counter_tells_linear_from_quadratic_and_worse() -> None:
    assert growth(re.compile("[ab]+c"), True)[0] < 2.5
    assert 3.5 < growth(re.compile("[ab]+c"), False)[0] < 4.5
    assert growth(re.compile("a*a*b"), True)[0] > 3.5
    assert growth(re.compile("a*a*a*b"), True)[0] > 6


def test_all_patterns_are_looked_at() -> None:
    assert sum(len(patterns(name)) for name in SOURCES) > 40


@pytest.mark.parametrize("name", SOURCES)
def test_twice_the_text_takes_no_more_than_twice_the_steps(name: str) -> None:
    for place, (pattern, is_anchored) in patterns(name).items():
        factor, text = growth(pattern, is_anchored)
        assert factor < 3, f"{place}: {pattern.pattern} on {text}"
