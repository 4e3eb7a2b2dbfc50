"""Listening and leaving: handlers of the whole process that come and go, and do not disturb each other."""

from __future__ import annotations

from typing import Any

import pytest
from llama_index.core.instrumentation import get_dispatcher  # type: ignore[attr-defined]
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.retrievers import (
    BaseRetriever,
)
from llama_index.core.schema import NodeWithScore, QueryBundle

from krag_eval import InvalidInputError
from krag_eval_llama_index import retrieval_scoring
from tests.adapters.llama_index.world import (
    Ask,
    RefusedError,
    Scripted,
    sync_and_async,
)


def test_two_that_listen_at_the_same_time_are_independent() -> None:
    first, second = (
        retrieval_scoring({"q": [{"id": "a"}]}, match_method="id"),
        retrieval_scoring({"q": [{"id": "b"}, {"id": "a"}]}, match_method="id"),
    )
    retriever = Scripted({"q": ["a"]})
    with first:
        retriever.retrieve("q")
        with second:
            retriever.retrieve("q")
        retriever.retrieve("q")
    retriever.retrieve("q")
    assert (first.counters.seen, first.result()["recall@5"]) == (3, 1.0)
    assert (second.counters.seen, second.result()["recall@5"]) == (1, 0.5)


def test_one_that_leaves_first_takes_no_other_with_it() -> None:
    a, b = (retrieval_scoring({"q": [{"id": "a"}]}, match_method="id") for _ in range(2))
    a.__enter__()
    b.__enter__()
    a.__exit__(None, None, None)
    Scripted({"q": ["a"]}).retrieve("q")
    b.__exit__(None, None, None)
    assert (a.counters.seen, b.counters.seen) == (0, 1)


def test_it_stops_listening_when_the_block_raises() -> None:
    scoring = retrieval_scoring({"q": [{"id": "a"}]}, match_method="id")
    with pytest.raises(RefusedError), scoring:
        Scripted({"q": RefusedError("in the application")}).retrieve("q")
    Scripted({"q": ["a"]}).retrieve("q")
    assert scoring.counters.seen == 1


def test_it_can_be_entered_again_but_not_twice_at_once() -> None:
    retriever = Scripted({"q": ["a"]})
    scoring = retrieval_scoring({"q": [{"id": "a"}]}, match_method="id")
    for _ in range(2):
        with scoring as entered:
            assert entered is scoring
            retriever.retrieve("q")
            with pytest.raises(InvalidInputError, match="listens already"):
                scoring.__enter__()
            retriever.retrieve("q")
    assert scoring.counters.seen == 4


@sync_and_async
def test_a_retrieval_that_is_running_when_the_block_ends_is_dropped(ask: Ask) -> None:
    scoring = retrieval_scoring({"q": [{"id": "a"}]}, match_method="id")

    class Leaving(BaseRetriever):
        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            scoring.__exit__(None, None, None)
            return Scripted({"q": ["a"]}).retrieve(query_bundle)

    def whole_application() -> None:
        scoring.__enter__()
        ask(Leaving(), "q")
        with scoring:
            ask(Scripted({"q": ["a"]}), "q")

    whole_application()
    assert scoring.counters.seen == 1


def test_a_retrieval_that_was_running_when_the_block_began_is_left_alone() -> None:
    scoring = retrieval_scoring({"q": [{"id": "a"}]}, match_method="id")

    class Entering(BaseRetriever):
        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            scoring.__enter__()
            return Scripted({"q": ["a"]}).retrieve(query_bundle)

    Entering().retrieve("q")
    scoring.__exit__(None, None, None)
    assert (scoring.counters.seen, scoring.counters.errors) == (1, 0)


def test_other_handlers_stay_where_they_are() -> None:
    class Other(BaseEventHandler):
        def handle(self, event: object, **kwargs: Any) -> None:
            pass

    dispatcher, others = get_dispatcher(), [Other(), Other()]
    before = list(dispatcher.event_handlers)
    dispatcher.add_event_handler(others[0])
    with retrieval_scoring({"q": []}):
        dispatcher.add_event_handler(others[1])
    after = dispatcher.event_handlers[len(before) :]
    dispatcher.event_handlers = before
    assert [id(handler) for handler in after] == [id(handler) for handler in others]
