"""Langfuse's own spans: retrievers, tools and functions under `@observe`, scored live and afterwards alike."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from langchain_core.documents import Document
from langfuse import Langfuse, observe
from llama_index.core.schema import NodeWithScore, TextNode

from examples.loopback_langfuse import LoopbackLangfuse
from krag_eval import KragEvalWarning, evaluate
from krag_eval_langfuse import LangfuseScoreHandler, score_traces
from krag_eval_otel import RetrievalSpanProcessor

QUESTION = "When is it open?"
GOLD = {QUESTION: [{"id": "hours"}, {"id": "sundays"}]}
FOUND = ["fees", "hours"]
DOCUMENTS = [Document(id=name, page_content=f"About {name}.", metadata={"n": 1}) for name in FOUND]
NODES = [NodeWithScore(node=TextNode(id_=name, text=f"About {name}."), score=0.5) for name in FOUND]
ROWS = [{"id": name, "text": f"About {name}."} for name in FOUND]
EXPECTED = evaluate([GOLD[QUESTION]], [ROWS], k=2, match_method="id")


@dataclass
class App:
    """An application under a client, its live scoring, and the server."""

    client: Langfuse
    server: LoopbackLangfuse
    scoring: RetrievalSpanProcessor

    def observed(self, found: Any, kind: str | None = None, name: str = "search") -> Callable[..., Any]:
        """Return a function that finds this, recorded by Langfuse."""

        def search(*_: Any, **__: Any) -> Any:
            return found

        made: Callable[..., Any] = observe(search, name=name, as_type=kind) if kind else observe(search, name=name)  # type: ignore[call-overload]
        return made

    def ask(self, *searches: Callable[..., Any], question: str = QUESTION, result: object = None) -> None:
        """Answer a question, with these searches."""

        def answer(_: str) -> Any:
            for search in searches:
                search(question)
            return result

        public_key = self.client._resources.public_key if self.client._resources else None
        observe(answer)(question, langfuse_public_key=public_key)  # type: ignore[call-arg]
        self.client.flush()
        assert self.scoring.force_flush()

    def offline(self, **settings: Any) -> Any:
        return score_traces(GOLD, self.client, k=2, match_method="id", delivery="sync", **settings)


@pytest.fixture
def make_app(server: LoopbackLangfuse, client: Langfuse) -> Iterator[Callable[..., App]]:
    made: list[RetrievalSpanProcessor] = []

    def make(**settings: Any) -> App:
        sink = LangfuseScoreHandler(client)
        scoring = RetrievalSpanProcessor(GOLD, k=2, match_method="id", sinks=[sink], **settings)
        client._resources.tracer_provider.add_span_processor(scoring)  # type: ignore[union-attr]
        made.append(scoring)
        return App(client, server, scoring)

    yield make
    for scoring in made:
        scoring.shutdown()


def sent(server: LoopbackLangfuse, prefix: str = "krag.recall") -> list[tuple[str, float]]:
    """The observations by name that got a recall, with its value."""
    names = {span.id: span.name for span in server.spans}
    rows = [(names[one["observationId"]], one["value"]) for one in server.scores if one["name"].startswith(prefix)]
    return sorted(rows)


@pytest.mark.parametrize("kind", ["retriever", "tool", None])
@pytest.mark.parametrize(
    "found",
    [
        pytest.param(DOCUMENTS, id="documents"),
        pytest.param(NODES, id="nodes"),
        pytest.param({"answer": "At nine.", "context": DOCUMENTS}, id="a state"),
        pytest.param(
            [{"page_content": one.page_content, "metadata": {}, "id": one.id} for one in DOCUMENTS], id="rows"
        ),
    ],
)
def test_documents_of_a_framework_are_a_retrieval_whatever_returned_them(
    found: Any, kind: str | None, make_app: Callable[..., App]
) -> None:
    if kind == "retriever" and isinstance(found, dict):
        found = {"documents": found["context"]}
    app = make_app()
    app.ask(app.observed(found, kind), result=found)  # the span around it returns them again
    assert dict(app.scoring.result()) == dict(EXPECTED)
    assert (app.scoring.counters.seen, app.scoring.counters.scored) == (1, 1)
    assert sent(app.server) == [("search", 0.5)]
    live = {(one["name"], one["value"]) for one in app.server.scores if "session" not in one["name"]}
    app.server.scores.clear()
    offline = app.offline()
    assert dict(offline.result) == dict(EXPECTED)
    assert (offline.observations, offline.scored) == (1, 1)
    assert sent(app.server) == [("search", 0.5)]
    assert {(one["name"], one["value"]) for one in app.server.scores} <= live


def test_a_retriever_may_return_rows_and_is_asked_its_first_text(make_app: Callable[..., App]) -> None:
    class Store:
        """Has a method, whose input Langfuse records without the object."""

        @observe(as_type="retriever")
        def search(self, limit: int, query: str, *, kind: str = "faq") -> Any:
            return ROWS[:limit]

    app = make_app()
    app.ask(lambda question: Store().search(2, query=question))
    assert dict(app.scoring.result()) == dict(EXPECTED)
    assert dict(app.offline().result) == dict(EXPECTED)


def test_the_id_of_the_question_may_stand_in_the_metadata(make_app: Callable[..., App]) -> None:
    app = make_app()

    def search(_: str) -> None:
        with app.client.start_as_current_observation(as_type="retriever", name="search", input="?") as span:
            span.update(output=DOCUMENTS, metadata={"krag_query_id": QUESTION})

    app.ask(search, question="something else")
    assert dict(app.scoring.result()) == dict(EXPECTED)
    assert dict(app.offline().result) == dict(EXPECTED)


def test_a_search_in_other_words_has_the_gold_of_the_question(make_app: Callable[..., App]) -> None:
    app = make_app()
    search = app.observed(DOCUMENTS, "tool")
    app.ask(lambda _: search("opening hours"))
    assert dict(app.scoring.result()) == dict(EXPECTED)


def test_two_searches_are_two_retrievals_and_what_was_given_is_none(make_app: Callable[..., App]) -> None:
    app = make_app()
    rerank = app.observed(DOCUMENTS[1:], name="rerank")
    app.ask(app.observed(DOCUMENTS), app.observed(DOCUMENTS[:1], "tool", "other"), lambda _: rerank(DOCUMENTS))
    assert sent(app.server) == [("other", 0.0), ("search", 0.5)]
    app.server.scores.clear()
    assert app.offline().observations == 2
    assert sent(app.server) == [("other", 0.0), ("search", 0.5)]


@pytest.mark.parametrize("found", [ROWS, {"results": ROWS}, json.dumps(ROWS), "About hours."], ids=repr)
def test_what_a_tool_returned_is_read_as_it_is_told(found: Any, make_app: Callable[..., App]) -> None:
    def extract(output: Any) -> Any:
        return output["results"] if isinstance(output, dict) else ROWS if output == "About hours." else output

    app = make_app(from_tools={"search": extract})
    app.ask(app.observed(found, "tool"))
    assert dict(app.scoring.result()) == dict(EXPECTED)
    assert dict(app.offline(from_tools={"search": extract}).result) == dict(EXPECTED)


@pytest.mark.filterwarnings("ignore:Nothing was retrieved for 1 query:krag_eval.KragEvalWarning")
def test_a_tool_that_was_told_of_and_raised_has_retrieved_nothing(make_app: Callable[..., App]) -> None:
    app = make_app(from_tools={"search": list})

    @observe(name="search", as_type="tool")
    def search(_: str) -> None:
        raise TimeoutError("too slow")

    def survive(question: str) -> None:
        with pytest.raises(TimeoutError):
            search(question)

    app.ask(survive)
    offline = app.offline(from_tools={"search": list})
    for result in (app.scoring.result(), offline.result):
        assert (result["recall@2"], result.n_queries) == (0.0, 1)


def test_tools_that_cannot_be_read_are_counted_and_named(make_app: Callable[..., App]) -> None:
    app = make_app()
    app.ask(app.observed("text", "tool"), app.observed(ROWS, "tool"), app.observed(7, "tool", "add"))
    assert app.scoring.problems == {"tools_unread": 1}
    with pytest.warns(KragEvalWarning, match=r"returned no documents that can be read: 'search' \(2\), 'add'"):
        found = app.offline()
    assert (found.observations, found.tools) == (0, {"search": 2, "add": 1})


def test_a_function_of_from_tools_that_raises_is_counted(make_app: Callable[..., App]) -> None:
    app = make_app(from_tools={"search": lambda output: output["no such key"]})
    app.ask(app.observed({"results": ROWS}, "tool"))
    assert app.scoring.problems == {"tools_unread": 1}
    with pytest.warns(KragEvalWarning, match="None of 1 observations was scored: 0 have no gold, 1 cannot be read"):
        found = app.offline(from_tools={"search": lambda output: output["no such key"]})
    assert (found.observations, found.unreadable) == (1, 1)
