"""One row at a time, as evaluation platforms ask: the numbers of `evaluate`, to the last bit."""

from __future__ import annotations

import threading
import uuid
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krag_eval import (
    Document,
    InvalidInputError,
    KragEvalWarning,
    RowScorer,
    UnknownMetricError,
    evaluate,
    evaluate_ids,
    read_field,
    score_row,
)
from tests.support.marks import nothing_may_match

KS = (1, 2, 3, None)
IDS = st.lists(st.sampled_from("abcdef"), max_size=5)
DOCUMENTS = st.lists(
    st.fixed_dictionaries(
        {"id": st.sampled_from("abcd"), "text": st.sampled_from(["two days", "Two days to Jeju", "closed", ""])},
        optional={"metadata": st.fixed_dictionaries({"relevance": st.sampled_from([0, 1, 3])})},
    ),
    max_size=4,
)


@pytest.mark.sample(3)
@nothing_may_match
@pytest.mark.parametrize("method", ["id", "text", "containment", "rougeL", ["id", "text"]], ids=str)
@given(DOCUMENTS, DOCUMENTS)
def test_a_row_scores_as_evaluate_scores_it(method: Any, gold: list[Any], retrieved: list[Any]) -> None:
    settings: dict[str, Any] = {"k": KS, "match_method": method}
    try:
        expected = evaluate([gold], [retrieved], **settings)
    except InvalidInputError:
        with pytest.raises(InvalidInputError):
            score_row(gold, retrieved, **settings)
        return
    scorer = RowScorer(**settings)
    for _ in range(2):
        assert scorer.score_query(gold, retrieved) == expected.per_query[0]
    assert scorer.score(gold, retrieved) == score_row(gold, retrieved, **settings) == expected.per_query[0].values
    assert scorer.signature == expected.signature
    safe = score_row(gold, retrieved, names="safe", **settings)
    of_safe = expected.to_dict(names="safe")
    assert safe == {key: of_safe[key] for key in safe}
    assert len(safe) == sum(value is not None for value in expected.per_query[0].values.values())


@nothing_may_match
@pytest.mark.filterwarnings("ignore:Not one id matches")
@given(IDS, IDS)
def test_bare_ids_are_ids_beside_each_other_and_beside_documents(gold: list[str], retrieved: list[str]) -> None:
    expected = evaluate_ids([gold], [retrieved], KS).per_query[0].values
    scorer = RowScorer(KS, match_method="id")
    as_documents = [Document(id=id_) for id_ in retrieved]
    assert scorer.score(gold, retrieved) == expected
    assert scorer.score(gold, as_documents) == expected
    assert scorer.score([{"id": id_} for id_ in gold], retrieved) == expected
    of_key = [{"id": "chunk", "metadata": {"doc": id_}} for id_ in retrieved]
    assert score_row(gold, of_key, KS, match_method="id", id_key="doc") == expected


@pytest.mark.parametrize("retrieved", [["a", "b"], [{"id": "a"}, "b"]], ids=["bare", "mixed"])
def test_gold_ids_may_have_grades(retrieved: list[Any]) -> None:
    expected = evaluate_ids([{"a": 1, "b": 3, "c": 0}], [["a", "b"]], 2).per_query[0].values
    grades: list[Any] = [{"a": 1, "b": 3, "c": 0}, [("a", 1), ("b", 3), ("c", 0)]]
    for gold in grades:
        assert score_row(gold, retrieved, 2, match_method="id") == expected


def test_ids_may_be_integers_and_uuids_and_strings_are_texts_elsewhere() -> None:
    key = uuid.UUID(int=7)
    assert score_row([1, key], ["1", str(key)], 2, metrics="recall", match_method="id") == {"recall@2": 1.0}
    assert score_row(["Two  days"], ["two days"], 1, metrics="recall") == {"recall@1": 1.0}
    assert score_row(["d 1"], ["D 1"], 1, metrics="recall", match_method="id") == {"recall@1": 0.0}


def test_what_is_undefined_is_none_or_left_out() -> None:
    assert score_row([], ["a"], 1, metrics=["recall", "mrr"]) == {"recall@1": None, "mrr@1": None}
    assert score_row([], ["a"], 1, metrics=["recall", "mrr"], names="safe") == {}
    assert score_row(["a"], [], 1, metrics="recall") == {"recall@1": 0.0}


def test_a_retriever_that_raised_counts_as_nothing_retrieved() -> None:
    row = RowScorer(1, metrics="recall", match_method="id").score_query(["a"], TimeoutError("slow"))
    assert (dict(row.values), row.n_retrieved, row.error) == ({"recall@1": 0.0}, 0, "TimeoutError: slow")


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("gold", "retrieved", "settings", "said"),
    [
        (None, ["a"], {}, r"`actual` is None, not the list .* \[\] if no document is relevant"),
        (["a"], None, {}, r"`predicted` is None, not the list .* \[\] if nothing was retrieved"),
        ("a", ["a"], {}, "`actual` is a str, not the list"),
        ({"id": "a"}, ["a"], {"match_method": "id"}, "`actual` is a dict, not the list"),
        ({"a": 1}, ["a"], {}, "`actual` is a dict, not the list"),
        (["a"], ["b", 3.5], {}, r"`predicted\[1\]` \(rank 2\): a float"),
        (["a", ""], ["b"], {"match_method": "id"}, r"`actual\[1\]` \(rank 2\): '' is no id"),
        ({"a": "x"}, ["a"], {"match_method": "id"}, r"`actual\[0\]` \(rank 1\): `grade` must be"),
        ([["a"]], [["a"]], {}, r"`actual\[0\]` \(rank 1\): a list is not a document"),
        (["a"], [{"text": "x"}], {"match_method": "id"}, "No retrieved document has an id"),
        ([{"id": "a"}], ["x"], {"match_method": ["id", "text"]}, "have only ids"),
        (["a"], ["a"], {"names": "sql"}, "`names`"),
        (["a"], ["a"], {"matchmethod": "id"}, "match_method"),
    ],
)
def test_what_cannot_be_scored_is_refused_and_named(gold: Any, retrieved: Any, settings: Any, said: str) -> None:
    with pytest.raises((InvalidInputError, TypeError), match=said):
        score_row(gold, retrieved, **settings)


def test_unknown_metrics_are_refused_when_the_scorer_is_made() -> None:
    with pytest.raises(UnknownMetricError, match="recal"):
        RowScorer(metrics="recal")


def test_after_five_rows_without_a_match_a_warning_says_so_once(recwarn: pytest.WarningsRecorder) -> None:
    scorer = RowScorer(1)
    for _ in range(4):
        scorer.score(["a"], ["b"])
    assert not recwarn
    with pytest.warns(KragEvalWarning, match="Not one text matches"):
        scorer.score(["a"], ["b"])
    recwarn.clear()
    for _ in range(10):
        scorer.score(["a"], ["b"])
    assert not recwarn


def test_threads_share_a_scorer() -> None:
    scorer, found = RowScorer(3, match_method="id"), {}

    def work(first: int) -> None:
        for i in range(first, first + 50):
            found[i] = scorer.score([i], [i + 1, i])

    threads = [threading.Thread(target=work, args=(first,)) for first in range(0, 200, 50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 200
    assert {tuple(values.values()) for values in found.values()} == {tuple(scorer.score([1], [2, 1]).values())}


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"answer": 1, "documents": 2}, "The row has no field 'gold': it has 'answer', 'documents'."),
        (SimpleNamespace(answer=1, _store={}), "The row has no field 'gold': it has 'answer'."),
        (SimpleNamespace(_store={}, keys=lambda: ["answer"]), "The row has no field 'gold': it has 'answer'."),
        ({}, "The row has no field 'gold': it is empty."),
        ({"gold": None}, "The field 'gold' of the row is None."),
        (None, "There is no row to read 'gold' from: it is None."),
    ],
)
def test_a_missing_field_is_named_with_those_there_are_and_the_version_that_works(row: object, said: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        read_field(row, "gold", works_with="mlflow 3.17.2")
    assert str(caught.value).startswith(said)
    assert "works with mlflow 3.17.2" in str(caught.value)


def test_a_field_is_a_value_of_a_mapping_or_an_attribute() -> None:
    assert read_field({"gold": []}, "gold") == read_field(SimpleNamespace(gold=[]), "gold") == []
