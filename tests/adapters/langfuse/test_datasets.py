"""Question sets to Langfuse and back: nothing changes on the way, and doing it twice changes nothing."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from langfuse import Langfuse

from examples.loopback_langfuse import LoopbackLangfuse
from krag_eval import Document, EvalSet, InvalidInputError, Question
from krag_eval_langfuse import evalset_from_langfuse_dataset, push_evalset

EVERYTHING = EvalSet(
    [
        Question(
            id="q1",
            question="환불은 언제 되나요?",
            gold_doc_ids=("d1",),
            gold_chunk_ids=("c1", "c2"),
            gold=(
                Document(id="c1", text="사흘 안에 환불됩니다.", grade=2.0, metadata={"doc_id": "d1", "pages": [1, 2]}),
                Document(text="a text without an id"),
            ),
            answer="사흘",
            type="fact",
            notes="checked by hand",
            source="faq.html",
            metadata={"lang": "ko", "tags": ["money", "time"], "nested": {"a": None}},
            further={"author": "kim", "difficulty": 3},
        ),
        Question(id="q2", question="Who won?", metadata={"lang": "en"}),
        Question(id="7", gold_doc_ids=("d2",)),
        Question(id="длинный/id with ünicode?&%", question="Когда?", gold=(Document(id="x", grade=0.0),)),
    ],
    name="everything",
)


def test_wire_a_question_set_comes_back_as_it_was(server: LoopbackLangfuse, client: Langfuse) -> None:
    assert push_evalset(client, EVERYTHING, "everything") == 4
    back = evalset_from_langfuse_dataset(client.get_dataset("everything", fetch_items_page_size=3))
    assert list(back) == list(EVERYTHING)
    assert (back.name, back.fingerprint) == ("everything", EVERYTHING.fingerprint)


def test_wire_pushing_twice_changes_nothing(server: LoopbackLangfuse, client: Langfuse) -> None:
    push_evalset(client, EVERYTHING, "my/set of questions", description="first", metadata={"owner": "kim"})
    first = {name: dict(items) for name, items in server.datasets.items()}
    push_evalset(client, EVERYTHING, "my/set of questions")
    assert server.datasets == first
    assert list(server.datasets["my/set of questions"]) == EVERYTHING.ids
    assert evalset_from_langfuse_dataset(client.get_dataset("my/set of questions")) == EVERYTHING


def test_wire_a_prefix_keeps_the_ids_of_two_datasets_apart(server: LoopbackLangfuse, client: Langfuse) -> None:
    push_evalset(client, EVERYTHING, "a", id_prefix="a/")
    assert list(server.datasets["a"]) == [f"a/{name}" for name in EVERYTHING.ids]
    assert evalset_from_langfuse_dataset(client.get_dataset("a"), id_prefix="a/") == EVERYTHING


@pytest.mark.parametrize(
    "metadata",
    [{"when": ("a", "tuple")}, {"x": float("nan")}, {"x": object()}, {1: "x"}, {"krag_eval": 1}],
    ids=["a tuple", "NaN", "an object", "a number as key", "our key"],
)
def test_what_json_cannot_say_is_refused_before_anything_is_written(
    metadata: Any, server: LoopbackLangfuse, client: Langfuse
) -> None:
    evalset = EvalSet([*EVERYTHING, Question(id="bad", metadata=metadata)])
    with pytest.raises(InvalidInputError, match="The question 'bad' cannot be written"):
        push_evalset(client, evalset, "everything")
    assert server.requests == []


def test_an_id_that_langfuse_cannot_hold_is_refused(server: LoopbackLangfuse, client: Langfuse) -> None:
    with pytest.raises(InvalidInputError, match="255"):
        push_evalset(client, EvalSet([Question(id="x" * 256)]), "everything")
    assert server.requests == []


def item(expected: Any, given: Any = "When?", metadata: Any = None, **further: Any) -> Any:
    fields = {"id": "i1", "input": given, "expected_output": expected, "metadata": metadata, "status": "ACTIVE"}
    return SimpleNamespace(**{**fields, **further})


def read(one: Any, **settings: Any) -> Question:
    return evalset_from_langfuse_dataset([one], **settings)[0]


@pytest.mark.parametrize(
    ("expected", "settings", "gold", "answer"),
    [
        pytest.param(["a"], {}, {"gold": (Document(text="a"),)}, None, id="a list of texts"),
        pytest.param(["a"], {"strings": "id"}, {"gold": (Document(id="a"),)}, None, id="a list of ids"),
        pytest.param([], {}, {}, None, id="nothing answers it"),
        pytest.param(
            {"documents": [{"id": "a", "text": "A"}], "answer": "B"},
            {},
            {"gold": (Document(id="a", text="A"),)},
            "B",
            id="documents and an answer",
        ),
        pytest.param({"gold_chunk_ids": ["a"]}, {}, {"gold_chunk_ids": ("a",)}, None, id="chunk ids"),
        pytest.param({"gold": {"a": 2}}, {}, {"gold": (Document(id="a", grade=2.0),)}, None, id="graded ids"),
        pytest.param(
            {"src": ["a"], "reply": "B"},
            {"gold": "src", "answer": "reply"},
            {"gold": (Document(text="a"),)},
            "B",
            id="named keys",
        ),
        pytest.param(
            "the answer", {"gold": lambda _: ["a"]}, {"gold": (Document(text="a"),)}, "the answer", id="a function"
        ),
    ],
)
def test_gold_and_answer_are_found_in_items_of_others(
    expected: Any, settings: Any, gold: dict[str, Any], answer: str | None
) -> None:
    assert read(item(expected), **settings) == Question(id="i1", question="When?", answer=answer, **gold)


@pytest.mark.parametrize(
    ("given", "settings", "question"),
    [
        pytest.param("When?", {}, "When?", id="a text"),
        pytest.param({"question": "When?", "context": "c"}, {}, "When?", id="under question"),
        pytest.param({"query": "When?"}, {}, "When?", id="under query"),
        pytest.param({"q": "When?"}, {"question": "q"}, "When?", id="a named key"),
        pytest.param([{"content": "When?"}], {"question": lambda m: m[0]["content"]}, "When?", id="a function"),
        pytest.param({"other": "When?"}, {}, None, id="nowhere"),
    ],
)
def test_the_question_is_found_in_items_of_others(given: Any, settings: Any, question: str | None) -> None:
    assert read(item([], given), **settings).question == question


def test_metadata_of_others_are_kept() -> None:
    assert read(item([], metadata={"lang": "en"})).metadata == {"lang": "en"}
    assert read(item([], metadata="a note")).metadata == {}


@pytest.mark.parametrize(
    "expected",
    [None, "the answer", {"answer": "B"}, {"golden": []}],
    ids=["nothing", "a text", "an answer", "an unknown key"],
)
def test_an_item_without_gold_is_named_or_left_out(expected: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"item 'i1': .*`gold=`.*skip_without_gold=True"):
        read(item(expected))
    kept = evalset_from_langfuse_dataset([item(expected), item([], id="i2")], skip_without_gold=True)
    assert kept.ids == ["i2"]


@pytest.mark.parametrize(
    ("one", "settings", "says"),
    [
        pytest.param(item([3.5]), {}, r"item 'i1': .*gold\[0\]", id="no document"),
        pytest.param(
            item([], {"q": 1}), {"question": "q"}, "item 'i1': the question must be a string, got int", id="no text"
        ),
        pytest.param(item([], "x"), {"question": "q"}, "item 'i1': there is no key 'q'", id="no key"),
        pytest.param(item([]), {"strings": "ids"}, "`strings` must be", id="an unknown kind of string"),
    ],
)
def test_what_cannot_be_read_is_said(one: Any, settings: Any, says: str) -> None:
    with pytest.raises(InvalidInputError, match=says):
        read(one, **settings)
    with pytest.raises(InvalidInputError, match=says):
        read(one, **settings, skip_without_gold=True)


@pytest.mark.parametrize("dataset", [None, "faq", {"items": []}, 7])
def test_what_is_no_dataset_is_refused(dataset: Any) -> None:
    with pytest.raises(InvalidInputError, match="must be a dataset of Langfuse"):
        evalset_from_langfuse_dataset(dataset)


def test_archived_items_are_left_out(server: LoopbackLangfuse, client: Langfuse) -> None:
    push_evalset(client, EVERYTHING, "everything")
    server.datasets["everything"]["q2"]["status"] = "ARCHIVED"
    assert evalset_from_langfuse_dataset(client.get_dataset("everything")).ids == [
        name for name in EVERYTHING.ids if name != "q2"
    ]
