"""Ids in any form of Unicode, in files."""

from __future__ import annotations

from pathlib import Path

import pytest

from krag_eval import (
    evaluate_run,
    read_evalset,
    read_run,
)
from tests.documents.test_unicode_ids import _FORMS


@pytest.mark.parametrize(("gold", "found"), _FORMS)
@pytest.mark.parametrize("ending", ["jsonl", "csv", "trec"])
def test_files_questions_documents_and_explanations(tmp_path: Path, gold: str, found: str, ending: str) -> None:
    evalset, run = tmp_path / f"set.{ending}", tmp_path / f"run.{ending}"
    if ending == "jsonl":
        evalset.write_text(f'{{"id": "{gold}", "question": "q", "gold_chunk_ids": ["{gold}"]}}\n', encoding="utf-8")
        run.write_text(f'{{"query_id": "{found}", "retrieved": [{{"id": "{found}"}}]}}\n', encoding="utf-8")
    elif ending == "csv":
        evalset.write_text(f"id,question,gold_chunk_ids\n{gold},q,{gold}\n", encoding="utf-8")
        run.write_text(f"query_id,retrieved\n{found},{found}\n", encoding="utf-8")
    else:
        evalset.write_text(f"{gold} 0 {gold} 1\n", encoding="utf-8")
        run.write_text(f"{found} Q0 {found} 1 0.5 tag\n", encoding="utf-8")
    questions = read_evalset(evalset) if ending != "trec" else read_evalset(evalset, format="trec")
    result = evaluate_run(questions, read_run(run), k=1)
    assert result["recall@1"] == 1
    assert "found at rank 1" in str(result.explain(0))
    assert questions[found] == questions[gold]
