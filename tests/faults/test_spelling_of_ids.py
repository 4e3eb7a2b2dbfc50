"""Gold ids that differ from retrieved ones only in their spelling: named with what repairs it, and scored as given."""

from __future__ import annotations

import re
import warnings
from typing import Any

import pytest

from krag_eval import (
    InvalidInputError,
    KragEvalWarning,
    RowScorer,
    evaluate,
    evaluate_ids,
    evaluate_stream,
)
from krag_eval.matching import matchability

Rows = list[list[str]]


def warned(gold: Rows, retrieved: Rows, **settings: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", KragEvalWarning)
        evaluate_ids(gold, retrieved, k=1, **settings)
    return [str(warning.message) for warning in caught if "Not one id matches" not in str(warning.message)]


SPELLED = [
    ("doc007", "doc7", "strip_zeros"),
    ("v01-002", "v1-2", "strip_zeros"),
    ("가00", "가0", "strip_zeros"),
    ("12.0", "12", "strip_zeros"),
    ("Doc7", "dOC7", "casefold"),
    ("a.pdf", "data/a.pdf", "basename"),
    ("환불.pdf", "s3://b/환불.pdf", "basename"),
    (r"C:\docs\a.pdf", "a.pdf", "basename"),
    ("docs/a", "/mnt/docs/a/", "basename"),
    ("a", "a.pdf", "stem"),
    ("é.md", "docs/é", "stem"),
]


@pytest.mark.parametrize(("gold", "found", "name"), SPELLED)
def test_each_spelling_is_named_on_either_side_with_what_repairs_it(gold: str, found: str, name: str) -> None:
    for one, other in ((gold, found), (found, gold)):
        rows = [[one], ["same"]], [[other, "x"], ["same"]]
        (message,) = warned(*rows)
        assert f"{one!r} and {other!r}" in message
        assert message.endswith(f"give id_map={name!r}.")
        assert warned(*rows, id_map=name) == []
        assert evaluate_ids(*rows, k=2, metrics="recall", id_map=name)["recall@2"] == 1


@pytest.mark.parametrize(("gold", "found"), [(" 12", "12"), ("12\t", "12"), ("docs/A.pdf", "a")])
def test_what_no_name_repairs_is_repaired_by_a_function(gold: str, found: str) -> None:
    (message,) = warned([[gold], ["same"]], [[found], ["same"]])
    assert message.endswith("give a function as `id_map`.")
    assert (
        warned(
            [[gold], ["same"]], [[found], ["same"]], id_map=lambda one: re.sub(r"docs/|\.pdf", "", one.strip().lower())
        )
        == []
    )


@pytest.mark.parametrize(
    ("gold", "found", "name"),
    [
        ([["a.pdf", "b.md"]], [["data/a.pdf", "b.md"]], "basename"),
        ([["12.0"], ["7"]], [["12"], ["7"]], "strip_zeros"),
        ([["a"], ["b.pdf"]], [["a.pdf"], ["b.pdf"]], "stem"),
    ],
)
def test_what_users_reported(gold: Rows, found: Rows, name: str) -> None:
    (message,) = warned(gold, found)
    assert f"id_map={name!r}" in message
    assert evaluate_ids(gold, found, k=2, id_map=name)["recall@2"] == 1


def test_a_retrieved_id_that_is_gold_itself_is_not_taken_for_another_gold_id() -> None:
    (message,) = warned([["doc7", "doc007", "x1"]], [["doc007", "x01"]])
    assert "'x1' and 'x01'" in message


def test_ids_with_line_ends_are_compared_one_by_one() -> None:
    (message,) = warned([["a\nb", "same"]], [["A\nB", "same"]])
    assert "'a\\nb' and 'A\\nB'" in message


@pytest.mark.parametrize(
    ("gold", "retrieved"),
    [
        ([["a"], ["b"]], [["a"], ["c"]]),
        ([["doc10"], ["b"]], [["doc1", "doc100", "doc0010x"], ["b"]]),  # zeros at the end of a number mean something
        ([["doc7"], ["b"]], [["b"], ["doc007"]]),  # of another query
        ([["doc7", "doc007"], ["b"]], [["doc007"], ["b"]]),  # both are gold, so they are two documents
        ([["doc7"], ["b"]], [["doc007"], ["b", "doc7"]]),  # both are retrieved, so they are two documents
        ([["a", "b"]], [["a", "b"]]),
        ([["a"], []], [[], ["a"]]),
        ([["en/faq.md"], ["b"]], [["de/faq.md"], ["b"]]),  # the same name in two folders
        ([["a.md"], ["b"]], [["a.pdf"], ["b"]]),
        ([["v1.1"], ["b"]], [["v1.2", "v1"], ["b"]]),
        ([["ba.pdf"], ["b"]], [["a.pdf"], ["b"]]),
    ],
)
def test_ids_of_different_documents_are_no_reason_to_warn(gold: Rows, retrieved: Rows) -> None:
    assert warned(gold, retrieved) == []


@pytest.mark.parametrize(("n_queries", "n_spelled", "n_warnings"), [(200, 3, 1), (200, 2, 0), (100, 2, 1), (40, 1, 1)])
def test_it_takes_two_percent_of_the_queries_or_three(n_queries: int, n_spelled: int, n_warnings: int) -> None:
    gold = [[f"d{n}.md"] for n in range(n_queries)]
    found = [[f"{'docs/' * (n < n_spelled)}d{n}.md"] for n in range(n_queries)]
    assert len(warned(gold, found)) == n_warnings


def test_the_map_of_most_queries_is_named_even_where_a_few_need_another() -> None:
    (message,) = warned([["a.md"], ["b.md"], ["C.md"], ["same"]], [["x/a.md"], ["x/b.md"], ["c.md"], ["same"]])
    assert message.startswith("In 2 of 4 queries")
    assert "'basename'" in message


def test_documents_are_named_by_id_and_not_where_a_text_matched_or_ids_are_not_read() -> None:
    gold, retrieved = [[{"id": "doc007", "text": "x"}, {"id": "b"}]], [[{"id": "doc7", "text": "x"}, {"id": "b"}]]
    with pytest.warns(KragEvalWarning, match="In 1 of 1 query"):
        evaluate(gold, retrieved, k=1, match_method="id")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        evaluate(gold, retrieved, k=1, match_method=("id", "text"))
        evaluate([gold[0][:1]], [retrieved[0][:1]], k=1, match_method="text")


def test_only_so_much_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    gold, retrieved = [["x"], ["y"], ["doc007"], ["b"]], [["p"], ["q"], ["doc7"], ["b"]]
    assert len(warned(gold, retrieved)) == 1
    monkeypatch.setattr(matchability, "MOST_GOLD", 2)
    assert warned(gold, retrieved) == []
    monkeypatch.setattr(matchability, "MOST_GOLD", 3)
    assert len(warned(gold, retrieved)) == 1
    monkeypatch.setattr(matchability, "MOST_RETRIEVED", 2)
    assert warned(gold, retrieved) == []


@pytest.mark.parametrize("id_map", ["path", 7, lambda _: "", lambda _: None, lambda one: one[99]])
def test_an_id_map_that_makes_no_ids_is_refused(id_map: Any) -> None:
    with pytest.raises(InvalidInputError) as refused:
        evaluate_ids([["a"]], [["a"]], id_map=id_map)
    assert refused.value.argument == "id_map"


def test_documents_keep_their_ids_where_only_the_comparison_changes() -> None:
    retrieved = [[{"id": "x/a.pdf", "text": "t"}, {"id": "y/a.pdf", "text": "u"}]]
    result = evaluate([[{"id": "a.pdf"}]], retrieved, k=2, match_method="id", id_map="basename")
    explained = result.explain(0)
    assert [rank.document.id for rank in explained.ranks] == ["x/a.pdf", "y/a.pdf"]
    assert [rank.repeat_of for rank in explained.ranks] == [None, 1]


OF_ROWS: list[tuple[list[str], list[str]]] = [
    *[(["doc01", "x"], ["doc1", "x"]), (["doc02"], ["doc2"]), (["doc03"], ["doc3"]), (["a"], ["a"])] * 2
]


def named_strip_zeros(caught: list[Any]) -> bool:
    return [str(one.message).count("zeros before a number") for one in caught] == [1]


def test_a_stream_is_told_of_once_with_all_its_batches() -> None:
    with pytest.warns(KragEvalWarning) as caught:
        result = evaluate_stream(iter(OF_ROWS), k=2, batch_size=1, bare_ids=True)
    assert named_strip_zeros(list(caught))
    assert str(caught[0].message).startswith("In 6 of 8 queries")
    assert result["recall@2"] == 0.375


def test_rows_are_told_of_after_three() -> None:
    scorer = RowScorer(k=2, metrics="recall", match_method="id")
    with pytest.warns(KragEvalWarning) as caught:
        assert len([scorer.score(gold, found) for gold, found in OF_ROWS]) == len(OF_ROWS)
    assert named_strip_zeros(list(caught))
