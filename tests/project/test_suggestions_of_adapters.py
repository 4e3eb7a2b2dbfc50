"""What messages of the adapters suggest works when it is copied out of the message and used."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import langfuse
import pytest
from langfuse import Langfuse
from langfuse._client.resource_manager import LangfuseResourceManager
from llama_index.core.schema import NodeWithScore, TextNode

import krag_eval
import krag_eval_formats
import krag_eval_langchain
import krag_eval_langfuse
import krag_eval_llama_index
from examples.loopback_langfuse import LoopbackLangfuse
from krag_eval_otel import send_traces
from tests.adapters.llama_index.world import index
from tests.support import trace_cases
from tests.support.command_line import Runner
from tests.support.suggestion_cases import evaluated
from tests.support.suggestions import FOLDERS, Case, check_case, suggestions_of, uncovered

pytestmark = pytest.mark.full  # the frameworks take seconds to import

chain: Any = krag_eval_langchain  # a type checker would stop most of these mistakes
llama: Any = krag_eval_llama_index
fuse: Any = krag_eval_langfuse
ITEM: Any = SimpleNamespace(id="i1", input="When?", expected_output={"passages": ["Nine."]}, metadata=None)
WITHOUT: Any = SimpleNamespace(id="i2", input="Who?", expected_output="Ada.", metadata=None)
BY_DOCUMENT: Any = {"gold_doc_ids": ["d1"]}
SETS: dict[str, Any] = {"k": 1, "match_method": "text"}
WORLD: dict[str, Any] = {}  # the client, as long as its server runs
LISTS: dict[str, Any] = {"query": "q", "expected_ids": ["a"], "retrieved_ids": ["a"]}
BY_ID: list[Any] = [{"id": "q1", "question": "Card?", "gold": [{"id": "en/card", "text": "Card."}]}]
AT_DOCUMENTS: list[Any] = [{"id": "q1", "question": "Card?", "gold_doc_ids": ["card"]}]
NODE = NodeWithScore(node=TextNode(id_="en/card", text="Card."), score=1.0)


@pytest.fixture(scope="module", autouse=True)
def client() -> Iterator[None]:
    """A real client of a server on loopback."""
    with LoopbackLangfuse() as server, pytest.MonkeyPatch.context() as patch:
        for name in ("PUBLIC_KEY", "SECRET_KEY", "HOST", "BASE_URL"):
            patch.delenv(f"LANGFUSE_{name}", raising=False)
        patch.setattr(LangfuseResourceManager, "_instances", {})  # `get_client` gives the only client of a process
        made = Langfuse(public_key="pk-lf-suggestions", secret_key="sk-lf-test", base_url=server.url, timeout=1)
        made.create_dataset(name="faq")
        WORLD["client"] = made
        yield
        made.shutdown()


def handler(**more: Any) -> Any:
    return fuse.LangfuseScoreHandler(WORLD["client"], **{"session_id": "s", **more})


def score(where: dict[str, Any], **more: Any) -> Any:
    """Evaluate one query, and send its scores to where they are said to belong."""
    sink = fuse.LangfuseScoreHandler(WORLD["client"], **where)
    krag_eval.evaluate([["a"]], [["a"]], k=1, metrics="mrr", callbacks=[sink], raise_errors=True, **more)
    return sink


def read(item: Any, **more: Any) -> Any:
    return fuse.evalset_from_langfuse_dataset([item], **more)


def scored(output: Any, expected: Any, **more: Any) -> Any:
    """The evaluations of one item of an experiment."""
    evaluators = fuse.as_langfuse_evaluators(k=1, metrics="mrr", **more)
    return [one(input="When?", output=output, expected_output=expected, metadata=None) for one in evaluators]


ASKED = krag_eval.EvalSet([{"id": "q1", "question": "When?", "gold_chunk_ids": ["a"]}])


def traced() -> Path:
    """A file with the trace of one search for that question."""
    search = trace_cases.retriever(2, 1, "a", query="When?")
    return trace_cases.write(Path("traces.jsonl"), trace_cases.request(trace_cases.root("When?"), search))


def graded(output: Any, expected: Any, **more: Any) -> Any:
    return chain.as_langsmith_evaluator(k=1, metrics="mrr", **more)({}, output, expected)


CASES = [
    Case(
        lambda **more: chain.as_langsmith_summary_evaluator(k=1, **more),
        "pass `metrics`",
        {"metrics": "mrr"},
        value="recall",
    ),
    Case(lambda **more: graded({"found": ["a"]}, {"gold": ["a"]}, **more), "`retrieved=`", value="found"),
    Case(lambda **more: graded({"output": ["a"]}, {"right": ["a"]}, **more), "`gold=`", value="right"),
    Case(lambda **more: read(ITEM, **more), "`gold=`", value="passages", holds=len),
    Case(
        lambda **more: fuse.evalset_from_langfuse_dataset(
            [SimpleNamespace(**{**vars(ITEM), "expected_output": []}), WITHOUT], **more
        ),
        "skip_without_gold=True",
        holds=len,
    ),
    Case(
        lambda **more: read(SimpleNamespace(**{**vars(ITEM), "expected_output": "Nine."}), **more),
        "`gold=`",
        then=lambda text: read(
            SimpleNamespace(**{**vars(ITEM), "expected_output": "Nine."}), **{text.strip("`="): lambda answer: [answer]}
        ),
        holds=len,
    ),
    Case(lambda **more: read(ITEM, **more), "`gold=`", {"gold": "chunks"}, value="passages", holds=len),
    Case(
        lambda **more: read(SimpleNamespace(**{**vars(ITEM), "expected_output": {"gold": "Nine."}}), **more),
        "`gold=`",
        then=lambda text: read(
            SimpleNamespace(**{**vars(ITEM), "expected_output": {"gold": "Nine.", "all": ["Nine."]}}),
            **{text.strip("`="): "all"},
        ),
        holds=len,
    ),
    Case(
        lambda **more: read(
            SimpleNamespace(**{**vars(ITEM), "input": {"asked": "When?"}, "expected_output": ["Nine."]}), **more
        ),
        "`question=`",
        {"question": "ask"},
        value="asked",
        holds=len,
    ),
    Case(
        lambda: fuse.evalset_from_langfuse_dataset("faq"),
        r"`client\.get_dataset\(name\)`",
        then=lambda text: fuse.evalset_from_langfuse_dataset(evaluated(client=WORLD["client"], name="faq")(text)),
    ),
    Case(lambda **more: scored(["a"], {"right": ["a"]}, **more), "`gold=`", value="right"),
    Case(lambda **more: scored([{"id": "c1", "doc_id": "d1"}], BY_DOCUMENT, **more), "level='document'"),
    Case(
        lambda: send_traces(ASKED, krag_eval.Run.of("x", [krag_eval.RunRow(query_id="q1")]), sinks=[]),
        "with `read_traces`",
        then=lambda text: send_traces(
            ASKED, getattr(krag_eval_formats, text.split("`")[1])(traced(), evalset=ASKED), sinks=[]
        ),
        holds=lambda scorer: scorer.counters.scored == 1,
    ),
    Case(lambda **more: scored({"found": ["a"]}, ["a"], **more), "`retrieved=`", value="found"),
    Case(lambda **more: scored({"documents": "a", "found": ["a"]}, ["a"], **more), "`retrieved=`", value="found"),
    Case(lambda **more: score(more), "Pass `trace_ids`", value=["1" * 32]),
    Case(lambda **more: score(more), "`session_id`", value="s"),
    Case(
        lambda: score({"trace_ids": {"q1": "1" * 32}}),
        "as `query_ids`",
        then=lambda text: score({"trace_ids": {"q1": "1" * 32}}, **{text.split("`")[1]: ["q1"]}),
        holds=lambda sink: sink.counters.no_target == 0,
    ),
    Case(
        lambda **more: handler(**more),
        r"datetime\.now\(timezone\.utc\)",
        {"timestamp": datetime.fromisoformat("2026-01-01T00:00:00")},
        then=lambda text: handler(timestamp=evaluated(datetime=datetime, timezone=timezone)(text)),
    ),
    Case(
        lambda **more: fuse.LangfuseScoreHandler("client", session_id="s"),
        r"`langfuse\.get_client\(\)`",
        then=lambda text: fuse.LangfuseScoreHandler(evaluated(langfuse=langfuse)(text), session_id="s"),
    ),
    Case(lambda **more: handler(**more), 'delivery="outbox"', {"outbox": "new.outbox"}),
    Case(lambda **more: handler(**more), 'outbox="langfuse.outbox"', {"delivery": "outbox"}),
    *(
        Case(
            lambda **more: handler(**more),
            f"'{name}'",
            {"delivery": "fast"},
            then=lambda text: handler(delivery=text.strip("'")),
        )
        for name in ("queue", "sync")
    ),
    Case(
        lambda: llama.KragRetrievalMetric("recall", k=(1, 3)),
        "Use `krag_metrics`",
        then=lambda text: getattr(llama, text.split("`")[1])("recall", k=(1, 3)),
        holds=len,
    ),
    Case(
        lambda: llama.krag_metrics("recall@1", id_key="source"),
        r"`evaluate_retriever\(\.\.\., level='document'\)`",
        then=lambda text: evaluated(
            evaluate_retriever=llama.evaluate_retriever, nodes=index().as_retriever(), gold=AT_DOCUMENTS
        )(text.replace("...", "gold, nodes, k=1")),
    ),
    Case(
        lambda **more: llama.krag_metrics("recall@1", match_method="text")[0].compute(**LISTS, **more),
        r"`expected_texts=\[\.\.\.\]`",
        then=lambda text: llama.krag_metrics("recall@1", match_method="text")[0].compute(
            **LISTS, retrieved_texts=["a"], **{text.strip("`").partition("=")[0]: ["a"]}
        ),
    ),
    Case(
        lambda: llama.evaluate_retriever(BY_ID, "index"),
        r"`index\.as_retriever\(similarity_top_k=10\)`",
        then=lambda text: evaluated(index=index())(text).retrieve("card"),
    ),
    Case(
        lambda: llama.evaluate_retriever(BY_ID, "index"),
        "use `krag_eval.evaluate_retriever`",
        then=lambda text: getattr(krag_eval, text.split(".")[-1].strip("`"))(
            BY_ID, lambda question: ["Card."], k=1, match_method="text"
        ),
    ),
    Case(
        lambda: llama.score_responses([["en/card"]], {"q1": SimpleNamespace(source_nodes=[NODE])}, k=1),
        "as `gold`",
        then=lambda text: llama.score_responses(
            responses={"q1": SimpleNamespace(source_nodes=[NODE])},
            k=1,
            match_method="id",
            **{
                text.split("`")[1]: krag_eval.as_evalset([{"id": "q1", "question": "?", "gold_chunk_ids": ["en/card"]}])
            },
        ),
    ),
]
# What needs servers that fail, engines or other versions; each is done by the test that is named.
ALLOWED = {
    "its tracing is disabled (tracing_enabled=False": "says why, not what to write",
    "krag-eval langfuse-resend": "tests/adapters/langfuse/test_resend.py runs the command",
    "the queue of the Langfuse client is full": "the delivery is tried beside it",
    "None of {} items has an expected output": "`gold=` is tried beside it",
    "There is no key {} with documents": "`gold=` is tried beside it",
    "that the chain is called with": "tests/adapters/langfuse/test_live_langchain.py passes one",
    "there is no such file. Pass the path that a run was given": "tests/adapters/langfuse/test_resend.py passes it",
    "of retrievers": "tests/adapters/langchain/test_steps.py reads what such a tool returns",
    "For example from_tools=": "tests/adapters/langchain/test_steps.py passes such a function",
    "This scoring is already listening": "tests/adapters/llama_index/test_live.py enters several",
    "Langfuse(timeout=30) gives it more time": "tests/adapters/langfuse makes clients with timeouts",
    "`diagnosis` is of another result": "tests/adapters/langfuse/test_data_types.py passes one of the result too",
    "Pass a `langsmith.Client()` or leave it out": "tests/adapters/langchain/test_feedback.py does both",
    "These tools returned no documents that can be read": "tests/adapters/langfuse reads them with from_tools",
    "ray.data.read_parquet": "tests/adapters/ray reads a dataset",
    "Spark DataFrame": "tests/adapters/spark reads one",
    "or name the columns to keep": "tests/adapters/spark/test_classic.py names them",
    "The columns of this `groupBy` cannot be read": "tests/adapters/spark/test_engines.py passes `by=`",
    "allow repeats with `allow_repeated_ids=True`": "tests/adapters/ray and tests/adapters/spark allow them",
}
SAID: dict[int, str] = {}


def said_of(place: int, command: Runner) -> str:
    if place not in SAID:
        SAID[place] = CASES[place].message(command)
    return SAID[place]


@pytest.mark.parametrize("place", range(len(CASES)), ids=[case.taken for case in CASES])
def test_what_is_copied_out_of_a_message_works(place: int, command: Runner) -> None:
    check_case(CASES[place], said_of(place, command), command)


def test_every_suggestion_is_copied_by_a_case(command: Runner) -> None:
    said = [(case, said_of(place, command)) for place, case in enumerate(CASES)]
    suggested = [one for one in suggestions_of("adapters") if not one.place.startswith(FOLDERS)]
    lacking = uncovered(suggested, said, ALLOWED)
    assert not lacking, "No case copies\n" + "\n".join(lacking)
