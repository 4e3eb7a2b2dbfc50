"""Sessions from exported traces: what is read, and what is left out and counted instead of being scored wrongly."""

from __future__ import annotations

import base64
import json
import re
import warnings
from pathlib import Path
from typing import Any

import pytest

from krag_eval import EvalSet, InvalidInputError, KragEvalWarning, Run, evaluate_run
from krag_eval_formats import read_traces
from krag_eval_formats.otlp import TraceSpan
from krag_eval_formats.traces import TraceSession
from tests.support.trace_cases import TRACE, request, reranker, retriever, root, span, write

OTHER = "1" * 32
SET = EvalSet(
    [
        {"id": "Q1", "question": "When?", "gold_chunk_ids": ["a", "b"]},
        {"id": "Q2", "question": "Who?", "gold_chunk_ids": ["c"]},
        {"id": "Q3", "question": "Twice?", "gold_chunk_ids": ["c"]},
        {"id": "Q4", "question": "Twice?", "gold_chunk_ids": ["d"]},
    ]
)


def read(tmp_path: Path, *spans: Any, **settings: Any) -> Run:
    return read_traces(
        write(tmp_path / "traces.jsonl", request(*spans)), evalset=settings.pop("evalset", SET), **settings
    )


def counts(run: Run) -> dict[str, int]:
    found: dict[str, int] = run.recorded["traces"]
    return found


def refused(tmp_path: Path, *spans: Any, **settings: Any) -> dict[str, int]:
    """What is counted where these spans stand beside a trace that can be scored."""
    sound = [root("Who?", 900, trace=OTHER), retriever(901, 900, "c", trace=OTHER)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run = read(tmp_path, *spans, *sound, **settings)
    assert bool(caught) == ("without_retrieval" not in counts(run))
    assert list(run.rows) == ["Q2"]
    return counts(run)


def found(search: Any) -> list[str]:
    return [document.id for document in search.retrieved]


def test_a_trace_is_a_session_of_searches_in_the_order_of_time(tmp_path: Path) -> None:
    run = read(tmp_path, retriever(5, 4, "b", query="then", start=5), span(4, 1), root(), retriever(3, 1, "x", "a"))
    row = run.rows["Q1"]
    assert [(s.query, found(s), s.latency_s, s.tool) for s in row.searches] == [
        ("q", ["x", "a"], 0.5, "Retriever"),
        ("then", ["b"], 0.5, "Retriever"),
    ]
    assert row.is_session
    assert row.further == {"trace_id": TRACE, "span_id": "0000000000000001"}
    assert [s.further["span_id"] for s in row.searches] == ["0000000000000003", "0000000000000005"]
    result = evaluate_run(SET.where(lambda one: one.id == "Q1"), run, 1)
    assert result["session_recall@1"] == 0.5


def test_one_search_is_one_ranking(tmp_path: Path) -> None:
    row = read(tmp_path, root(), retriever(2, 1, "b", "x")).rows["Q1"]
    assert [d.id for d in row.ranking] == ["b", "x"]
    assert (row.seconds, row.ranking[0].text) == (0.5, "text of b")


def test_a_search_that_found_nothing_is_one_and_one_that_raised_as_well(tmp_path: Path) -> None:
    failed = span(
        3,
        1,
        attributes={"openinference.span.kind": "RETRIEVER"},
        status={"code": 2, "message": "no index\nTraceback (most recent call last): x"},
    )
    empty, raised = read(tmp_path, root(), retriever(2, 1), failed).rows["Q1"].searches
    assert (empty.retrieved, empty.error, raised.retrieved, raised.error) == ((), None, (), "no index")
    alone = read(tmp_path, root(), failed)
    assert alone.errors == {"Q1": "no index"}


def test_retrievers_in_retrievers_and_rerankers_are_stages(tmp_path: Path) -> None:
    spans = [
        root(),
        retriever(2, 1, "a", "x", "y", name="Fusion.retrieve", start=2, end=9),
        span(3, 2, start=2.5, attributes={"openinference.span.kind": "RETRIEVER"}, name="Fusion._retrieve"),
        retriever(4, 3, "x", "y", name="Dense.retrieve", start=3),
        retriever(5, 3, "a", "b", name="Dense.retrieve", start=4),
        reranker(6, 1, ["a", "x", "y"], ["a"], start=10, end=11),
    ]
    (search,) = read(tmp_path, *spans).rows["Q1"].searches
    assert [(s.name, s.inputs, [d.id for d in s.retrieved]) for s in search.stages] == [
        ("Dense", (), ["x", "y"]),
        ("Dense #2", (), ["a", "b"]),
        ("Fusion", ("Dense", "Dense #2"), ["a", "x", "y"]),
        ("Reranker", ("Fusion",), ["a"]),
    ]
    assert (found(search), search.latency_s, search.further["span_id"]) == (["a"], 9.0, "0000000000000006")


def test_a_reranker_belongs_to_the_searches_that_found_its_documents(tmp_path: Path) -> None:
    spans = [
        root(),
        retriever(2, 1, "a", "x", name="One"),
        retriever(3, 1, "b", "x", name="Two"),
        retriever(4, 1, "c", name="Three"),
        reranker(5, 1, ["b", "a"], ["b"]),
        reranker(6, 1, ["b"], ["b"]),
        retriever(7, 1, "c", "b", name="Four"),
        reranker(8, 1, ["b", "c"], ["c"]),
    ]
    searches = read(tmp_path, *spans).rows["Q1"].searches
    assert [found(s) for s in searches] == [["c"], ["b"], ["c"]]
    assert [s.name for s in searches[2].stages] == ["Four", "Reranker"]  # what others found before is not its source
    assert [(s.name, s.inputs) for s in searches[1].stages] == [
        ("One", ()),
        ("Two", ()),
        ("Reranker", ("One", "Two")),
        ("Reranker #2", ("Reranker",)),
    ]
    (alone,) = read(tmp_path, root(), reranker(5, 1, ["b", "a"], ["b"])).rows["Q1"].searches
    assert [(s.name, [d.id for d in s.retrieved]) for s in alone.stages] == [
        ("Reranker input", ["b", "a"]),
        ("Reranker", ["b"]),
    ]


LANGCHAIN = {
    "openinference.span.kind": "RETRIEVER",
    "output.value": json.dumps(
        {
            "documents": [
                {"id": "u1", "metadata": {"id": "a"}, "page_content": "A", "type": "Document"},
                {"id": "b", "metadata": {}, "page_content": "B"},
            ]
        }
    ),
    "retrieval.documents.0.document.content": "A",
    "retrieval.documents.0.document.metadata": '{"id": "a"}',
    "retrieval.documents.1.document.content": "B",
}
GENAI = {
    "gen_ai.operation.name": "retrieval",
    "gen_ai.retrieval.query.text": "q",
    "gen_ai.retrieval.documents": '[{"id": "a", "score": 0.9}, {"document": {"id": "b", "content": "B"}}]',
}


@pytest.mark.parametrize(
    "attributes",
    [
        LANGCHAIN,
        {name: value for name, value in LANGCHAIN.items() if not name.startswith("retrieval")},
        GENAI,
        GENAI | {"gen_ai.retrieval.documents": [{"id": "a", "score": 0.9}, {"id": "b"}]},
        {
            "openinference.span.kind": "retriever",
            "retrieval.documents.0.document.metadata.id": "a",
            "retrieval.documents.0.document.content": "A",
            "retrieval.documents.1.document.id": "b",
        },
    ],
)
def test_ids_are_found_wherever_a_framework_puts_them(attributes: dict[str, Any], tmp_path: Path) -> None:
    row = read(tmp_path, root(), span(2, 1, attributes=attributes)).rows["Q1"]
    assert [d.id for d in row.retrieved] == ["a", "b"]


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("attributes", "question"),
    [
        ({"krag_query_id": "Q1"}, None),
        ({"metadata": '{"krag_query_id": "Q1", "x": 1}'}, "Who?"),
        ({"metadata.krag_query_id": "Q1"}, None),
        ({"tag.tags": ["beta", "krag_query_id=Q1"]}, None),
        ({}, "When?"),
        ({}, '{"messages": [{"type": "human", "content": "Who?"}, {"content": "When?"}, {"type": "ai"}]}'),
        ({}, '{"messages": [{"type": "human", "content": [{"type": "text", "text": "When?"}]}]}'),
        ({}, '{"query_bundle": {"query_str": "When?"}}'),
        ({}, '{"chat_history": [], "input": "When?"}'),
        ({"gen_ai.input.messages": '[{"role": "user", "parts": [{"type": "text", "content": "When?"}]}]'}, None),
    ],
)  # fmt: skip
def test_the_question_is_named_or_found_by_its_text(
    attributes: dict[str, Any], question: str | None, tmp_path: Path
) -> None:
    web = span(1, start=0, end=100, name="POST /chat")
    run = read(
        tmp_path,
        web,
        {**root(question, 2, attributes=attributes), "parentSpanId": "0" * 15 + "1"},
        retriever(3, 2, "a"),
    )
    assert list(run.rows) == ["Q1"]


def test_without_questions_a_text_is_its_own_id(tmp_path: Path) -> None:
    assert list(read(tmp_path, root("Whence?"), retriever(2, 1, "a"), evalset=None).rows) == ["Whence?"]


def test_ids_of_protobufs_json_and_names_of_protobuf_and_pages_of_phoenix_are_read(tmp_path: Path) -> None:
    def snake(row: Any) -> Any:
        if isinstance(row, dict):
            return {re.sub("[A-Z]", lambda c: f"_{c[0].lower()}", name): snake(value) for name, value in row.items()}
        return [snake(one) for one in row] if isinstance(row, list) else row

    def packed(row: dict[str, Any]) -> dict[str, Any]:
        names = [name for name in ("traceId", "spanId", "parentSpanId") if name in row]
        return row | {name: base64.b64encode(bytes.fromhex(row[name])).decode() for name in names}

    spans = [root(), retriever(2, 1, "a", "b")]
    expected = read(tmp_path, *spans)
    assert read(tmp_path, *map(packed, spans)) == expected
    for shown in (snake(request(*spans)), {"data": snake(spans), "next_cursor": None}):
        path = tmp_path / "traces.json"
        path.write_text(json.dumps(shown, indent=1), encoding="utf-8")
        assert read_traces(path, evalset=SET) == expected


def test_a_trace_in_two_files_is_one_and_a_span_that_stands_twice_is_read_once(tmp_path: Path) -> None:
    early, late = retriever(2, 1, "a"), retriever(3, 1, "b")
    first = write(tmp_path / "first.jsonl", request(early), request({**late, "attributes": late["attributes"][:2]}))
    second = write(tmp_path / "second.jsonl", request(late, root()))
    with pytest.warns(KragEvalWarning, match=r"first.jsonl: 1 span: found several times, read once"):
        run = read_traces([first, second], evalset=SET)
    assert [found(s) for s in run.rows["Q1"].searches] == [["a"], ["b"]]
    assert counts(run) == {"traces": 1, "scored": 1, "repeated_spans": 1}
    assert run.name == "first"


def cut(output: str, attributes: dict[str, Any]) -> dict[str, Any]:
    return span(2, 1, attributes={"openinference.span.kind": "RETRIEVER", **attributes, "output.value": output})


CUT = "x" * 12
WITHOUT_THE_FIRST = retriever(2, 1, "a", "b")
WITHOUT_THE_FIRST["attributes"] = [one for one in WITHOUT_THE_FIRST["attributes"] if ".0." not in one["key"]]
TWO_IDS = [
    root(attributes={"krag_query_id": "Q1"}),
    retriever(2, 1, "a", attributes={"krag_query_id": "Q2"}),
]
NO_DOCUMENTS = span(2, 1, attributes={"openinference.span.kind": "RETRIEVER", "output.value": "text"})


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("problem", "spans"),
    [
        ("without_retrieval", [root(), span(2, 1)]),
        ("without_documents", [root(), NO_DOCUMENTS]),
        ("without_documents", [root(), retriever(3, 1, "a"), NO_DOCUMENTS]),
        ("truncated", [root(), {**retriever(2, 1, "a"), "droppedAttributesCount": 2}]),
        ("truncated", [root(), WITHOUT_THE_FIRST]),
        ("truncated", [root(), cut('{"documents": [{"id": "u1", "meta', LANGCHAIN)]),
        ("truncated", [root(), cut('{"documents": [{"id', {})]),
        ("truncated", [root(), span(2, 1, attributes=GENAI | {"gen_ai.retrieval.documents": '[{"id": "a"}, {"i'})]),
        ("incomplete", [root(), retriever(2, 1, "a", start=2, end=9), retriever(4, 77, "b", start=3, end=4)]),
        ("cycle", [root(), retriever(2, 3, "a"), span(3, 4), span(4, 2)]),
        ("cycle", [retriever(2, 2, "a")]),
        ("several_questions", TWO_IDS),
        ("too_many_retrievals", [root(), *(retriever(n, 1, "a") for n in range(2, 1003))]),
        ("no_gold", [root("Whence?"), retriever(2, 1, "a")]),
        ("no_gold", [root(None), span(2, 1, attributes={name: GENAI[name] for name in GENAI if "query" not in name})]),
        ("no_gold", [root("Twice?"), retriever(2, 1, "a")]),
    ],
)  # fmt: skip
def test_what_cannot_be_scored_is_left_out_and_counted(problem: str, spans: list[Any], tmp_path: Path) -> None:
    found = refused(tmp_path, *spans)
    assert found.pop("missing_parents", 0) == (problem == "incomplete")
    assert found == {"traces": 2, "scored": 1, problem: 1}


def test_if_no_trace_can_be_scored_that_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"no trace can be scored. 1 trace left out: no retriever span"):
        read(tmp_path, root())
    with pytest.raises(InvalidInputError, match="`path` is empty"):
        read_traces([])


def test_a_search_whose_parent_is_missing_counts_and_its_root_is_the_beginning(tmp_path: Path) -> None:
    with pytest.warns(KragEvalWarning, match="2 spans: the parent is in no file"):
        run = read(tmp_path, retriever(2, 9, "a", query="When?"), retriever(3, 9, "b"))
    assert counts(run) == {"traces": 1, "missing_parents": 2, "scored": 1}
    assert len(run.rows["Q1"].searches) == 2


def test_where_clocks_disagree_the_latency_is_unknown(tmp_path: Path) -> None:
    with pytest.warns(KragEvalWarning, match="so the latency is unknown"):
        run = read(
            tmp_path,
            root(start=3),
            retriever(2, 1, "a", start=2),  # before its parent
            retriever(4, 1, "b", start=8, end=5),
            retriever(5, 1, "c", start=9),
        )
    assert [s.latency_s for s in run.rows["Q1"].searches] == [None, None, 0.5]
    assert counts(run)["clocks"] == 2


def test_a_text_that_is_cut_off_is_not_matched_by_text(tmp_path: Path) -> None:
    attributes = {
        "openinference.span.kind": "RETRIEVER",
        "output.value": '["<NodeWithS',
        "retrieval.documents.0.document.id": "a",
        "retrieval.documents.0.document.content": CUT,
        "retrieval.documents.1.document.id": "b",
        "retrieval.documents.1.document.content": "short",
    }
    with pytest.warns(KragEvalWarning, match="1 span: the text of the document is cut off"):
        row = read(tmp_path, root(), span(2, 1, attributes=attributes)).rows["Q1"]
    assert [(d.id, d.text) for d in row.retrieved] == [("a", None), ("b", "short")]


@pytest.mark.parametrize(("repeated", "kept"), [("first", "a"), ("last", "b")])
def test_two_traces_of_one_question_are_refused_unless_told(repeated: str, kept: str, tmp_path: Path) -> None:
    late = [root(number=5, trace=OTHER, start=50), retriever(6, 5, "b", trace=OTHER, start=51)]
    spans = [*late, root(), retriever(2, 1, "a")]
    with pytest.raises(
        InvalidInputError, match=r"'Q1' has several traces, .* with repeated='last' or repeated='first'"
    ):
        read(tmp_path, *spans)
    run = read(tmp_path, *spans, repeated=repeated)
    assert [d.id for d in run.rows["Q1"].retrieved] == [kept]
    assert counts(run) == {"traces": 2, "scored": 1, "repeated_questions": 1}


def test_a_damaged_line_is_named_and_may_be_skipped(tmp_path: Path) -> None:
    sound = json.dumps(request(root(), retriever(2, 1, "a")))
    for bad in ("{", '{"a": 1}', '{"resourceSpans": 7}', json.dumps(request({"spanId": "1"})), "[]"):
        path = tmp_path / "traces.jsonl"
        path.write_text(f"{sound}\n{bad}\n", encoding="utf-8")
        with pytest.raises(InvalidInputError, match=r"traces.jsonl:2: "):
            read_traces(path, evalset=SET)
        with pytest.warns(KragEvalWarning, match="skipped"):
            run = read_traces(path, evalset=SET, max_bad_rows=1)
        assert (run.n_rejected, list(run.rows)) == (1, ["Q1"])


@pytest.mark.full
@pytest.mark.parametrize("shape", ["deep", "wide", "nested retrievers", "rerankers"])
def test_huge_traces_end(shape: str, tmp_path: Path) -> None:
    deep = [span(n, n - 1) for n in range(2, 10_000)]
    made = {
        "deep": [*deep, retriever(10_000, 9_999, "a")],
        "wide": [*(span(n, 1) for n in range(2, 10_000)), retriever(10_000, 1, "a")],
        "nested retrievers": [retriever(n, n - 1, "a", start=0) for n in range(2, 1_001)],
        "rerankers": [retriever(2, 1, "a"), *(reranker(n, 1, ["a"], ["a"]) for n in range(3, 1_001))],
    }[shape]
    (search,) = read(tmp_path, root(start=0), *made).rows["Q1"].searches
    assert found(search) == ["a"]


def test_a_session_is_read_from_spans_of_a_program() -> None:
    made = TraceSession.of(
        [TraceSpan(trace_id="t", span_id="s", attributes=GENAI | {"input.value": "When?"}, start_ns=1, end_ns=2)]
    )
    assert (made.question, made.problem, made.searches[0].query, found(made.searches[0])) == (
        "When?",
        None,
        "q",
        ["a", "b"],
    )
    with pytest.raises(InvalidInputError, match="There is no span"):
        TraceSession.of([])
