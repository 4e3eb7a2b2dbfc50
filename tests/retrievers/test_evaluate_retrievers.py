"""`evaluate_retrievers`: several retrievers in two tables, for question sets of krag's notebooks and others."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from krag_eval import InvalidInputError, KragEvalWarning, MissingDependencyError, evaluate
from krag_eval.retrievers.evaluate import evaluate_retrievers
from tests.support.marks import nothing_may_match

CORPUS = [
    Document("환불은 영업일 기준 사흘 안에 들어옵니다.", metadata={"doc_id": "refund"}),
    Document("Parcels to the islands take two more days.", metadata={"doc_id": "parcels"}),
    Document("We ship on weekdays.", metadata={"doc_id": "shipping"}),
]
# As `pandas.read_csv` gives krag's files back: each list is the text of one.
NOTEBOOK = pd.DataFrame(
    {
        "question": ["환불은 언제 되나요?", "How long to Jeju?"],
        "context": [str([CORPUS[0].page_content]), str([text.page_content for text in CORPUS[1:]])],
        "source": ["['faq.pdf']", '["faq.pdf", "terms.pdf"]'],
        "doc_id": ["['refund']", "['parcels', 'shipping']"],
        "answer": ["사흘 안에요.", "Two more days."],
        "difficulty": [1, 2],
    }
)


class Fixed(BaseRetriever):
    """Returns these documents of the corpus."""

    places: list[int]
    k: int = 4

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return [CORPUS[place] for place in self.places][: self.k]


def test_a_notebook_of_krag_gives_a_mean_table_and_one_row_a_question() -> None:
    scores = evaluate_retrievers(NOTEBOOK, {"korean": Fixed(places=[0, 1]), "islands": Fixed(places=[2, 1])}, k=2)
    assert scores.means.index.tolist() == ["korean", "islands"]
    assert scores.means.index.name == "retriever"
    assert scores.means["recall@2"].to_dict() == {"korean": (1 + 1 / 2) / 2, "islands": (0 + 1) / 2}
    assert scores.means["micro_recall@2"].to_dict() == {"korean": 2 / 3, "islands": 2 / 3}
    assert scores.means["mrr@2"].to_dict() == {"korean": (1 + 1 / 2) / 2, "islands": 1 / 2}
    columns = ["id", "question", "retriever", "recall@2", "n_gold", "n_retrieved"]
    rows = scores.per_query[columns].values.tolist()
    assert rows == [
        ["0", "환불은 언제 되나요?", "korean", 1.0, 1, 2],
        ["1", "How long to Jeju?", "korean", 0.5, 2, 2],
        ["0", "환불은 언제 되나요?", "islands", 0.0, 1, 2],
        ["1", "How long to Jeju?", "islands", 1.0, 2, 2],
    ]
    assert scores.per_query["error"].isna().all()
    assert (scores.per_query["seconds"] >= 0).all()


def test_the_tables_hold_the_numbers_of_evaluate() -> None:
    gold = [[CORPUS[0]], CORPUS[1:]]
    retrieved = [[CORPUS[2], CORPUS[1]]] * 2
    settings: dict[str, Any] = {"match_method": "rougeL", "threshold": 0.3, "tokenizer": "characters"}
    wanted = evaluate(gold, retrieved, k=(1, 2), **settings)
    scores = evaluate_retrievers(NOTEBOOK, {"islands": Fixed(places=[2, 1])}, k=(1, 2), **settings)
    assert {key: scores.means.loc["islands", key] for key in wanted} == wanted.to_dict()
    assert scores.results["islands"].signature.startswith("match:rougeL>=0.3|")
    for key in wanted.tally.means:
        assert scores.per_query[key].tolist() == [row.values[key] for row in wanted.per_query]


def test_the_two_tables_unpack() -> None:
    means, per_query = evaluate_retrievers(NOTEBOOK, {"korean": Fixed(places=[0])}, k=1)
    assert (len(means), len(per_query)) == (1, 2)


def test_an_ensemble_is_one_more_retriever_and_none_is_changed() -> None:
    from langchain_classic.retrievers import EnsembleRetriever

    first, second = Fixed(places=[0], k=1), Fixed(places=[2, 1, 0], k=3)
    both = EnsembleRetriever(retrievers=[first, second], weights=[0.5, 0.5])
    before = [retriever.model_dump() for retriever in (first, second, both)]
    means, _ = evaluate_retrievers(NOTEBOOK, {"first": first, "second": second, "Ensemble": both}, k=3)
    assert means["hit_rate@3"].to_dict() == {"first": 0.5, "second": 1.0, "Ensemble": 1.0}
    assert [retriever.model_dump() for retriever in (first, second, both)] == before


def test_any_other_question_set_is_matched_by_id() -> None:
    rows = [
        {"id": "q1", "question": "When?", "gold_chunk_ids": ["c1", "c2"]},
        {"id": "q2", "question": "Why?", "gold": []},
    ]
    for evalset in (rows, pd.DataFrame(rows)):
        scores = evaluate_retrievers(evalset, {"search": lambda question: [{"id": "c2"}, {"id": "c9"}]}, k=2)
        assert scores.means.loc["search", "recall@2"] == 0.5
        values = scores.per_query.set_index("id")["recall@2"]
        assert values["q1"] == 0.5
        assert math.isnan(values["q2"])  # nothing answers it: it has no value, and is in no mean


def test_chunks_are_scored_by_their_documents() -> None:
    rows = [{"id": "q1", "question": "When?", "gold_doc_ids": ["refund", "parcels"]}]
    scores = evaluate_retrievers(rows, {"korean": Fixed(places=[0, 2])}, k=2, level="document")
    assert scores.means.loc["korean", "recall@2"] == 0.5


def test_what_fails_is_a_row_with_its_error_counts_as_nothing_and_is_told() -> None:
    def fail_in_english(question: str) -> list[Document]:
        if question.isascii():
            raise ConnectionError("refused")
        return CORPUS

    with pytest.warns(
        KragEvalWarning, match=r"nothing retrieved: 1 of 2 of search\. The first error: ConnectionError: re"
    ):
        scores = evaluate_retrievers(NOTEBOOK, {"search": fail_in_english}, k=3, retries=0)
    assert scores.means.loc["search", "recall@3"] == 0.5
    assert scores.per_query["error"].isna().tolist() == [True, False]
    assert scores.per_query["error"][1] == "ConnectionError: refused"
    assert scores.runs["search"].errors == {"1": "ConnectionError: refused"}


def test_runs_are_written_to_a_folder_and_gone_on_with(tmp_path: Path) -> None:
    calls: list[str] = []

    def search(question: str) -> list[Document]:
        calls.append(question)
        return CORPUS

    for _ in range(2):
        evaluate_retrievers(NOTEBOOK, {"search": search, "korean": Fixed(places=[0])}, k=3, journal=tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["korean.jsonl", "search.jsonl"]
    assert len(calls) == 2


def contexts(cells: Sequence[object]) -> list[list[str | None]]:
    """What the cells of the column `context` are read as."""
    frame = pd.DataFrame({"question": [f"question {n}" for n in range(len(cells))], "context": list(cells)})
    scores = evaluate_retrievers(frame, {"nothing": lambda question: ["x"]}, k=1)
    batch = scores.results["nothing"].detail
    assert batch is not None
    offsets, texts = batch.batch.actual.offsets, batch.batch.actual.texts
    return [texts[offsets[n] : offsets[n + 1]] for n in range(len(cells))]


@nothing_may_match
def test_cells_are_lists_or_written_as_python_or_json_writes_them() -> None:
    cells = [
        ["a", "b"],
        ("a",),
        np.array(["a", "b"]),
        "['a', \"it's b\"]",
        '["a", "caf\\u00e9"]',
        "('a',)",
        " [ 'a',\n 'b' ] ",
        "[]",
        None,
        float("nan"),
        "a plain text",
        '[\'he said "a" "b"\']',
    ]
    assert contexts(cells) == [
        *(["a", "b"], ["a"], ["a", "b"], ["a", "it's b"], ["a", "café"], ["a"], ["a", "b"], [], [], []),
        *(["a plain text"], ['he said "a" "b"']),
    ]


UNREADABLE = {
    "code": "[__import__('os').system('touch evaluated')]",
    "a call": "[open('evaluated', 'w')]",
    "a comprehension": "[x for x in 'ab']",
    "not ended": "['a', ",
    "an array of numpy as text": "['a' 'b']",
    "an array of numpy over two lines": "['a'\n 'b']",
    "too deep": "[" * 100_000,
    "no list": "('a')",
}


@pytest.mark.parametrize("cell", UNREADABLE.values(), ids=UNREADABLE)
def test_nothing_in_a_cell_is_evaluated(cell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInputError, match=r"^row 1: `context` is not a list: "):
        contexts(["['a']", cell])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"doc_id": ["['a']", "['b']"]}, "row 1: `doc_id` has 1 values and `context` has 2. Each passage needs one."),
        ({"context": ["[1]", "['b', 'c']"]}, "row 0: `context` must be a list of texts, got"),
        ({"id": ["a", "a"]}, "the id 'a' appears twice"),
        ({"question": ["why?", 3]}, "row 1: `question` must be a string, or left out, got"),
        ({"question": ["why?", None]}, "The question '1' has no text."),
    ],
)
def test_a_notebook_that_cannot_be_read_is_refused_by_row_and_column(change: dict[str, Any], message: str) -> None:
    frame = NOTEBOOK.assign(**{name: pd.Series(values, dtype=object) for name, values in change.items()})
    with pytest.raises(InvalidInputError) as refused:
        evaluate_retrievers(frame, {"korean": Fixed(places=[0])}, k=1)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"k": None}, "`k` must be an integer of at least 1, or several, got None"),
        ({"k": (1, None)}, "`k` must be an integer of at least 1, or several, got (1, None)"),
        ({"k": 0}, "`k` must be an integer of at least 1, got 0."),
        ({"retrievers": [Fixed(places=[0])]}, "`retrievers` must be a mapping from names to retrievers, got"),
        ({"retrievers": {}}, "There is no retriever."),
        ({"evalset": NOTEBOOK.drop(columns="question")}, "The frame has no column 'question'."),
        ({"level": "page"}, "`level` must be one of 'chunk', 'document', got 'page'."),
        ({"metrics": ["ndgc"]}, "Unknown metric 'ndgc'. Did you mean 'ndcg'?"),
        ({"match_methods": "id"}, "has no argument 'match_methods'. Did you mean 'match_method'?"),
    ],
)
def test_arguments_that_cannot_be_used_are_refused(arguments: dict[str, Any], message: str) -> None:
    asked: list[str] = []

    def search(question: str) -> list[Document]:
        asked.append(question)
        return CORPUS

    given: dict[str, Any] = {"evalset": NOTEBOOK, "retrievers": {"search": search}, "k": 1} | arguments
    with pytest.raises(InvalidInputError) as refused:
        evaluate_retrievers(**given)
    assert message in str(refused.value)
    assert asked == []


def test_without_pandas_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingDependencyError, match=r"`evaluate_retrievers` needs the package 'pandas'"):
        evaluate_retrievers([], {}, k=1)
