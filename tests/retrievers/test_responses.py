"""Whatever stands in metadata can be written as JSON."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

from hypothesis import example, given
from hypothesis import strategies as st

from krag_eval._utils.journal.rows import seal
from krag_eval.retrievers.responses import as_json, take_later

ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.binary()
    | st.dates()
    | st.datetimes()
    | st.uuids()
    | st.decimals()
    | st.complex_numbers(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner) | st.tuples(inner, inner),
    max_leaves=8,
)


@given(ANYTHING)
@example([float("nan"), {"a": float("-inf")}])
def test_whatever_stands_in_metadata_is_written_as_json_and_read_back_the_same(value: object) -> None:
    plain = as_json(value)
    assert as_json(plain) == plain
    line = seal({"query_id": "q", "metadata": plain})
    assert line.count(b"\n") == 1
    assert json.loads(line)["metadata"] == plain


def test_metadata_that_nobody_can_write_does_not_lose_the_row() -> None:
    class Unprintable:
        def __str__(self) -> str:
            raise ValueError

    endless: list[object] = []
    endless.append(endless)
    assert as_json({"a": Unprintable(), 7: 10**5000}) == {"a": "<Unprintable>", "7": "<int>"}
    assert json.dumps(as_json(endless)).count("[") == 33


def test_a_generator_is_closed_as_soon_as_it_gave_enough_documents() -> None:
    closed = []

    async def stream() -> AsyncIterator[str]:
        try:
            for name in "abc":
                yield name
        finally:
            closed.append("stream")

    async def ask() -> tuple[list[object], list[str]]:
        return await take_later(stream(), 2), [*closed]  # when the loop ends, it closes what is still open

    assert asyncio.run(ask()) == (["a", "b"], ["stream"])
