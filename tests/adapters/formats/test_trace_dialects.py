"""Documents and questions in spans, as frameworks write them; and JSON that was made to break the reading."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krag_eval import EvalSet
from krag_eval_formats import read_traces
from krag_eval_formats.dialects import documents_in, question_in, unwrapped
from tests.support.trace_cases import request, root, span, write

SET = EvalSet([{"id": "Q1", "question": "When?", "gold_chunk_ids": ["a"]}])
LANGCHAIN = {"id": "a", "metadata": {"n": 1}, "page_content": "A", "type": "Document"}
SERIALIZED = {
    "lc": 1,
    "type": "constructor",
    "id": ["langchain", "schema", "document", "Document"],
    "kwargs": LANGCHAIN,
}
NODE: dict[str, Any] = {"id_": "a", "embedding": None, "metadata": {}, "text": "A", "class_name": "TextNode"}
NEW_NODE = {"id_": "a", "metadata": {}, "text_resource": {"text": "A"}, "class_name": "TextNode"}
HAYSTACK = {"id": "a", "content": "A", "blob": None, "n": 1, "score": 0.5, "embedding": None, "sparse_embedding": None}


@pytest.mark.parametrize("row", [LANGCHAIN, SERIALIZED, NODE, NEW_NODE, {"node": NODE, "score": 0.5}, HAYSTACK])
@pytest.mark.parametrize(
    "wrap",
    [
        lambda row: [row],
        lambda row: {"answer": "At nine.", "context": [row]},
        lambda row: {"update": {"messages": [{"type": "tool", "content": "A", "artifact": [row]}]}},
    ],
    ids=["a list", "a state", "a command"],
)
@pytest.mark.parametrize("kind", ["TOOL", "CHAIN"])
def test_a_span_that_returned_documents_is_a_search(row: dict[str, Any], wrap: Any, kind: str, tmp_path: Path) -> None:
    attributes = {"openinference.span.kind": kind, "input.value": "in words", "output.value": json.dumps(wrap(row))}
    path = write(tmp_path / "traces.jsonl", request(root("When?"), span(2, 1, attributes=attributes)))
    (search,) = read_traces(path, evalset=SET).rows["Q1"].searches
    assert [(one.id, one.text) for one in search.retrieved] == [("a", "A")]
    assert search.query == "in words"


@pytest.mark.parametrize(
    "value",
    [[{"id": "a", "text": "A"}], {"documents": ["A"]}, [{"metadata": {}}], {"id_": 3}, "page_content", None, [[]]],
    ids=repr,
)
def test_other_values_are_not_surely_documents(value: object) -> None:
    assert documents_in(value) == []


@pytest.mark.parametrize(
    ("value", "question"),
    [
        ({"args": ["q"], "kwargs": {}}, "q"),
        ({"args": [3, "q"], "kwargs": {"kind": "faq"}}, "q"),
        ({"args": [], "kwargs": {"limit": 2, "query": "q", "kind": "faq"}}, "q"),
        ({"args": [], "kwargs": {"searchTerm": "q"}}, "q"),
        ({"retriever": {"query": "q"}, "builder": {"question": "q"}}, "q"),
        ({"retriever": {"query": "q"}, "builder": {"question": "other"}}, None),
        ({"one": "a", "two": "b"}, None),
        ({"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "x"}]}, "q"),
    ],
)
def test_the_question_is_found_in_what_was_given(value: object, question: str | None) -> None:
    assert question_in(value) == question


@pytest.mark.parametrize(
    ("returned", "value"),
    [
        ({"content": [{"type": "text", "text": "[1]"}], "isError": False}, [1]),
        ({"content": [], "structuredContent": {"result": [1]}}, {"result": [1]}),
        ([{"type": "text", "text": "1"}, {"type": "text", "text": "two"}], [1, "two"]),
        ([{"type": "image", "data": "..."}], [{"type": "image", "data": "..."}]),
        ([{"id": "a"}], [{"id": "a"}]),
        ("text", "text"),
        ([], []),
    ],
)
def test_what_an_mcp_tool_returned_is_unwrapped(returned: object, value: object) -> None:
    assert unwrapped(returned) == value


def nested(name: str, depth: int) -> Any:
    value: Any = "q"
    for _ in range(depth):
        value = {name: value} if name != "kwargs" else {"args": [], "kwargs": value}
    return value


@pytest.mark.parametrize("name", ["node", "kwargs", "other", "query", "documents", "content"])
def test_deep_nesting_does_no_harm(name: str) -> None:
    value = nested(name, 5_000)
    question_in(value)
    assert documents_in(value) == []
    unwrapped(value)


_KEYS = st.sampled_from(["page_content", "id_", "node", "lc", "kwargs", "args", "content", "text", "query", "metadata"])
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=4),
    max_leaves=12,
)


@given(_JSON)
def test_any_json_can_be_read(value: Any) -> None:
    rows = documents_in(value)
    assert all(isinstance(row, dict) for row in rows)
    assert question_in(value) is None or isinstance(question_in(value), str)
    unwrapped(value)
