"""What a handler cannot use is told when it is made."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.documents import Document

from krag_eval import (
    InvalidInputError,
    KragEvalWarning,
)
from krag_eval_langchain import RetrievalScoringHandler
from tests.adapters.langchain.shop import GOLD, Recorder, Returning


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        pytest.param({}, "There is neither `gold` to score against nor a sink", id="neither gold nor sinks"),
        pytest.param({"gold": {}}, "`gold` has no query", id="empty gold"),
        pytest.param({"gold": "evalset.jsonl"}, "`gold` is a str.*read_evalset", id="a path"),
        pytest.param({"gold": 7}, "`gold` is an int", id="a number"),
        pytest.param({"gold": {"q": "a text"}}, "The gold of the query 'q' is a str", id="a bare document"),
        pytest.param({"gold": {"q": [{"title": "?"}]}}, "`gold`:.*neither an id nor a text", id="no document"),
        pytest.param({"gold": {"q": ["text"]}, "match_method": ["id"], "id_key": ""}, "`id_key`", id="an empty key"),
        pytest.param({"gold": {"q": [{"id": "a"}]}}, "`gold`: No gold document has a text", id="ids for texts"),
        pytest.param({"gold": [("q", ["a"]), ("q", ["b"])]}, "'q' appears twice in `gold`", id="twice"),
        pytest.param({"gold": GOLD, "match_method": "rouge"}, "`match_method` must be one of", id="a method"),
        pytest.param({"gold": GOLD, "match_method": "id", "k": 0}, "`k` must be an integer", id="k"),
        pytest.param({"gold": GOLD, "match_method": "id", "max_pending": 0}, "`max_pending`", id="max_pending"),
        pytest.param({"gold": GOLD, "match_method": "id", "window": 0}, "`window`", id="window"),
        pytest.param({"gold": GOLD, "match_method": "id", "treshold": 1}, "has no argument 'treshold'", id="typo"),
        pytest.param({"gold": GOLD, "match_method": "id", "level": "page"}, "`level` must be one of", id="level"),
        pytest.param(
            {"gold": GOLD, "match_method": "id", "bands": {"recall@5": (0.5, None)}}, "belong together", id="1"
        ),
        pytest.param(
            {"gold": GOLD, "match_method": "id", "bands": {"recal@5": (0, 1)}, "on_alert": print},
            "Did you mean 'recall@5'",
            id="a band of nothing",
        ),
        pytest.param({"gold": GOLD, "match_method": "id", "sinks": [Recorder]}, "`sinks` holds", id="a class"),
        pytest.param({"gold": GOLD, "match_method": "id", "sinks": [print]}, "`sinks` holds", id="a function"),
    ],
)
def test_what_cannot_be_used_is_told_when_the_handler_is_made(arguments: Any, says: str) -> None:
    with pytest.raises(InvalidInputError, match=says):
        RetrievalScoringHandler(**arguments)


def test_a_text_with_different_gold_documents_is_told_once_and_found_by_its_id_alone() -> None:
    rows = [
        {"id": "q1", "question": "How long?", "gold": [{"id": "a1"}]},
        {"id": "q2", "question": "How long?", "gold": [{"id": "a2"}]},
        {"id": "q3", "question": "How much?", "gold": [{"id": "a3"}]},
        {"id": "q4", "question": "How much?", "gold": [{"id": "a3"}]},
    ]
    with pytest.warns(KragEvalWarning, match=r"the text 'How long\?', with different gold.*pass the id") as told:
        handler = RetrievalScoringHandler(rows, k=1)
    assert len(told) == 1
    retriever = Returning(answer=[Document(page_content="", metadata={"id": "a2"})])
    retriever.invoke("How long?", {"callbacks": [handler]})
    retriever.invoke("How long?", {"callbacks": [handler], "metadata": {"krag_query_id": "q2"}})
    retriever.invoke("How much?", {"callbacks": [handler]})
    handler.flush(10)
    assert (handler.scored, handler.no_gold) == (2, 1)
    assert handler.result()["recall@1"] == 0.5
