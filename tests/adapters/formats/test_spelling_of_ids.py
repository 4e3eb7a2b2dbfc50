"""Gold ids of a file that differ from retrieved ones only in their spelling."""

from __future__ import annotations

import pytest

from krag_eval import KragEvalWarning, evaluate_run, read_evalset, read_run
from tests.adapters.formats.test_bad_files import CORPUS

NAMED = "In 2 of 2 queries, a gold id without a match differs from a retrieved id only in zeros before a number"


def test_padded_qrels_are_named_with_an_example_and_keep_their_scores() -> None:
    evalset = read_evalset(CORPUS / "padded.qrels")
    run = read_run(CORPUS / "padded.run", evalset=evalset)
    with pytest.warns(KragEvalWarning) as caught:
        result = evaluate_run(evalset, run, k=2, metrics="recall")
    (warning,) = caught
    assert str(warning.message) == (
        f"{NAMED} or `.0` after it: '007' and '7'. They count as different documents. If they are the same, give "
        "id_map='strip_zeros'."
    )
    assert result["recall@2"] == 0.25
    assert evaluate_run(evalset, run, k=2, metrics="recall", id_map="strip_zeros")["recall@2"] == 1
