"""What is said of rows whose fields have other names, of other files, and of arguments that changed places."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from krag_eval import EvalSet, InvalidInputError, KragEvalWarning, read_evalset, run_retriever
from krag_eval_labels import validate


def refused(path: Path, content: str) -> str:
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InvalidInputError) as error:
        read_evalset(path)
    return str(error.value)


def test_a_file_without_gold_is_refused_with_its_columns(tmp_path: Path) -> None:
    said = refused(tmp_path / "faq.csv", "question,Remark\nWhen?,refunds\n")
    assert said.endswith(
        " The columns are: question, Remark. Say with `columns` which one is gold_chunk_ids, gold_doc_ids or "
        "gold_texts."
    )
    named = read_evalset(tmp_path / "faq.csv", columns={"gold_doc_ids": "Remark"})
    assert named["0"].gold_doc_ids == ("refunds",)


def test_a_row_that_has_nothing_else_is_refused_without_a_guess(tmp_path: Path) -> None:
    said = refused(tmp_path / "faq.jsonl", '{"id": 1, "question": "When?"}')
    assert said.endswith("[] for a question that has no answer.")


def test_a_corpus_and_a_journal_of_a_run_are_named_where_questions_are_expected(tmp_path: Path) -> None:
    corpus = refused(tmp_path / "corpus.jsonl", '{"id": "d1", "text": "Refunds take three days."}')
    assert " This looks like a corpus: " in corpus
    one = EvalSet([{"id": 1, "question": "?", "gold": []}])
    run_retriever(one, lambda question: [], k=5, journal=tmp_path / "run.jsonl", progress=False)
    with pytest.raises(InvalidInputError, match=r"run\.jsonl:1: .* This looks like a run: the evaluation set comes"):
        read_evalset(tmp_path / "run.jsonl")


def test_a_question_under_another_name_is_told_before_a_retriever_is_asked() -> None:
    asked: list[Any] = []
    with pytest.raises(
        InvalidInputError, match=r"has no text\. .* The columns are: query\. .*columns=\{'question': 'query'\}"
    ):
        run_retriever(EvalSet([{"id": 1, "query": "When?", "gold": []}]), asked.append, k=5, progress=False)
    assert asked == []


@pytest.mark.parametrize("ending", ["jsonl", "json", "yaml"])
def test_rows_without_an_id_are_numbered_in_every_format(tmp_path: Path, ending: str) -> None:
    row = json.dumps({"question": "When?", "gold_doc_ids": ["refunds.md"]})
    path = tmp_path / f"faq.{ending}"
    path.write_text(row if ending == "jsonl" else f"[{row}]")
    with pytest.warns(KragEvalWarning, match="has no column of ids, so its rows are numbered from 0"):
        assert read_evalset(path).ids == ["0"]
    with pytest.warns(KragEvalWarning, match="numbered"):
        assert validate(path).ok


class Retriever:
    """As a model of pydantic is: callable by name, and iterable over its fields."""

    def invoke(self, question: str) -> list[str]:
        return []

    def __iter__(self) -> Any:
        return iter([("tags", None)])


def test_a_retriever_in_the_place_of_the_questions_is_named() -> None:
    with pytest.raises(InvalidInputError, match=r"got a Retriever\. Were two arguments swapped\?"):
        validate(Retriever())


@pytest.mark.parametrize("path", ["faq.csv", Path("faq.csv")])
def test_a_path_in_the_place_of_questions_is_answered_with_the_reader(path: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"Read a file with `read_evalset\(path\)`\.$"):
        EvalSet(path)
