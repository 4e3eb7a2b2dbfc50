"""The example with FAISS: what each index loses is found again with plain sets."""

from __future__ import annotations

import re
import sys

import numpy as np
import pytest

from examples.approximate_search import embed, indexes, main
from krag_eval import compare_rankings


@pytest.mark.full  # faiss-cpu is in requirements/dev.in alone
def test_the_example_measures_what_each_index_loses(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("faiss", reason="faiss-cpu is not installed: pip install faiss-cpu")
    assert main([]) == 0
    printed = capsys.readouterr().out
    overlaps = {name.strip(): float(value) for name, value in re.findall(r"^(\w.*?) +overlap@10 (\S+)", printed, re.M)}
    assert overlaps["exact"] == 1
    assert 0.3 < overlaps["HNSW, 4 links"] < 0.95
    assert overlaps["product quantisation"] < overlaps["4 bits a dimension"] < 1


@pytest.mark.full
def test_the_overlap_is_that_of_plain_sets() -> None:
    pytest.importorskip("faiss", reason="faiss-cpu is not installed: pip install faiss-cpu")
    texts = [f"the note {n} says {n * n % 97} of {n % 13}" for n in range(300)]
    built = indexes(embed(texts))
    asked = embed(["what does note 17 say", "81 of 4", "note 250"])
    (_, exact), *others = (index.search(asked, 10) for index in built.values())
    for scores, found in others:
        overlap = [len({*a.tolist()} & {*b.tolist()}) / 10 for a, b in zip(exact, found, strict=True)]
        first, second = ([[f"n{n}" for n in row] for row in one.tolist()] for one in (exact, found))
        measured = compare_rankings(first, second, k=10)
        assert [*measured.overlaps.values()] == overlap
        assert measured.mean == pytest.approx(float(np.mean(overlap)))
        assert scores.shape == (3, 10)


def test_without_faiss_the_cure_is_said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    assert main([]) == 2
    assert 'pip install "krag-eval[stats]" faiss-cpu' in capsys.readouterr().err
