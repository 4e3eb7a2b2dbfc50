"""Question sets as users hold them: a dict, pairs, rows and tables without ids, and judgments by query."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from krag_eval import (
    Document,
    EvalSet,
    InvalidInputError,
    KragEvalWarning,
    Question,
    as_evalset,
    evalset_from_rows,
    evaluate_retriever,
    evaluate_run,
    run_retriever,
)
from krag_eval.retrievers.evaluate import evaluate_retrievers


class OfPolars:
    """Stands in for `polars.DataFrame`, which is not installed here."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self._rows = rows
        self.columns = list(dict.fromkeys(name for row in rows for name in row))

    def __iter__(self) -> Iterator[Any]:
        return iter(self.columns)

    def to_dicts(self) -> list[dict[str, Any]]:
        return [{name: row.get(name) for name in self.columns} for row in self._rows]


NUMBERED = r"^The questions have no `id`, so they are numbered from 0"
PAIRS = {"When?": "At nine.", "Where is it?": ["c1", {"id": "c2", "text": "Here."}], "Why?": []}
QUESTIONS = EvalSet(
    [
        Question(id="0", question="When?", gold=(Document(text="At nine."),)),
        Question(id="1", question="Where is it?", gold=(Document(id="c1", text="c1"), Document(id="c2", text="Here."))),
        Question(id="2", question="Why?"),
    ]
)


@pytest.mark.parametrize("make", [EvalSet, as_evalset, evalset_from_rows])
@pytest.mark.parametrize(
    "given",
    [
        PAIRS,
        list(PAIRS.items()),
        tuple(PAIRS.items()),
        [list(pair) for pair in PAIRS.items()],
        dict(PAIRS).items(),
    ],
    ids=["dict", "pairs", "tuple", "lists", "items"],
)
def test_questions_with_their_gold_need_no_ids(make: Callable[[Any], EvalSet], given: Any) -> None:
    assert make(given) == QUESTIONS
    if not isinstance(given, dict):
        assert make(pair for pair in given) == QUESTIONS


@pytest.mark.sample(3)
@pytest.mark.parametrize("make", [EvalSet, as_evalset, evalset_from_rows])
@pytest.mark.parametrize(
    "table",
    [
        lambda rows: rows,
        pd.DataFrame,
        pa.Table.from_pylist,
        lambda rows: pd.DataFrame(rows).convert_dtypes(),
        lambda rows: OfPolars(rows),
    ],
    ids=["dicts", "pandas", "pyarrow", "pandas with NA", "polars"],
)
def test_rows_without_ids_are_numbered_and_it_is_said_once(make: Any, table: Any) -> None:
    rows = [{"question": "When?", "gold_chunk_ids": ["c1"], "type": "fact"}, {"question": "Why?", "gold_chunk_ids": []}]
    with pytest.warns(KragEvalWarning, match=NUMBERED) as caught:
        found = make(table(rows))
    assert len(caught) == 1
    assert [(q.id, q.question, q.gold_chunk_ids, q.type) for q in found] == [
        ("0", "When?", ("c1",), "fact"),
        ("1", "Why?", (), None),
    ]


def test_the_notice_names_a_column_that_looks_like_the_id() -> None:
    rows = [{"qid": "q7", "question": "When?", "gold": "At nine."}]
    with pytest.warns(KragEvalWarning, match=NUMBERED) as caught:
        as_evalset(rows)
    suggested = str(caught[0].message).partition("read the rows with ")[2].removesuffix(".")
    assert eval(suggested).ids == ["q7"]


def test_the_index_of_a_frame_may_be_the_id() -> None:
    frame = pd.DataFrame({"id": ["q7"], "question": ["When?"], "gold": ["At nine."]}).set_index("id")
    assert as_evalset(frame)["q7"].gold == (Document(text="At nine."),)


def test_a_set_in_which_some_questions_have_an_id_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="question 1: `id` is missing"):
        EvalSet([{"id": 1, "gold": []}, {"gold": []}])


@pytest.mark.parametrize(
    ("gold", "expected"),
    [
        ("faq-3", [("faq-3", "faq-3", None)]),
        ("퇴근은언제입니까?", [(None, "퇴근은언제입니까?", None)]),
        ("Two words", [(None, "Two words", None)]),
        ({"id": "c1"}, [("c1", None, None)]),
        (Document(id="c1"), [("c1", None, None)]),
        ({"c1": 2, "c2": 0}, [("c1", None, 2.0), ("c2", None, 0.0)]),
        ([({"id": "c1"}, 2)], [("c1", None, 2.0)]),
        (({"id": "c1"}, 2), [("c1", None, 2.0)]),
        ({"c1"}, [("c1", "c1", None)]),
    ],
)
def test_gold_may_be_one_document_or_several(gold: Any, expected: list[tuple[Any, ...]]) -> None:
    (question,) = EvalSet([("When?", gold)])
    assert [(document.id, document.text, document.grade) for document in question.gold] == expected


def test_judgments_by_query_are_questions_with_the_ids_of_the_queries() -> None:
    judged = EvalSet({"q1": {"d1": 2, "d2": -1}, "when is it": {"d1": 1}, "q3": {}})
    assert (judged.ids, judged.texts) == (["q1", "when is it", "q3"], ["", "when is it", ""])
    assert [document.grade for document in judged["q1"].gold] == [2.0, -1.0]


def ask(question: str) -> list[dict[str, str]]:
    return [{"id": "c9"}, {"id": "c1"}]


@pytest.mark.sample(3)
@pytest.mark.parametrize("gold", ["c1", ["c1"], {"id": "c1"}, {"c1": 1}])
def test_every_front_takes_them(gold: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        given = {"When is it?": gold}
        assert evaluate_retriever(given, ask, metrics="mrr@2", progress=False)["mrr@2"] == 0.5
        run = run_retriever(given, ask, k=2, progress=False)
        assert evaluate_run(given, run, metrics="mrr@2")["mrr@2"] == 0.5
        scores = evaluate_retrievers(given, {"one": ask}, k=2, metrics="mrr", progress=False)
        assert scores.means.loc["one", "mrr@2"] == 0.5


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"When?": None}, r"the gold of 'When\?' is None\. Give a document or a list of them"),
        (["When?"], r"question 0: a str is not a question\. Give a Question, a mapping, or \(question, gold\)"),
        ([("q1", "When?", "c1")], "question 0: a tuple is not a question"),
        ([(1, "c1")], "question 0: a tuple is not a question"),
        ({"bm25": ask}, r"got a dict\. Were two arguments swapped\?"),
        (5, r"must be an EvalSet, a list of questions, \{question: gold\} or a table, got an int"),
        ({"When?": 5}, "`gold` must be"),
    ],
)
def test_what_is_no_question_set_is_refused(given: Any, error: str) -> None:
    with pytest.raises(InvalidInputError, match=error):
        as_evalset(given)
