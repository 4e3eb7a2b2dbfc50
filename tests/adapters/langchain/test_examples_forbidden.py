"""The examples on forbidden documents: the gate catches the forgotten filter and the outdated versions."""

from __future__ import annotations

import pytest

from examples import tenants, versions
from krag_eval import EvalSet
from krag_eval_chunkers.demo_data import load_rules_collection


def test_the_gate_catches_the_path_that_forgets_the_filter(capsys: pytest.CaptureFixture[str]) -> None:
    assert tenants.main() == 0
    printed, said = capsys.readouterr()
    assert said == ""
    first, after = printed.split("Once the fallback filters too: pass")
    assert first.startswith("### Retrieval gate: FAIL, leaked: `t2: linden-discount ")
    assert "leak@5 = 0.6667: 6 of 9 questions got a forbidden document within rank 5" in first
    assert "\n  linden: 10 of seaview\n  seaview: 9 of linden\n" in first
    assert "### Retrieval gate: PASS" in after
    assert "0 of 9 questions got a forbidden document within rank 5: under 28 % with 95 % confidence" in after


def test_only_questions_without_anything_similar_take_the_broken_path() -> None:
    store, questions = tenants.fill_store(), EvalSet(load_rules_collection()[1])
    broken, fixed = (tenants.make_search(store, fallback_filters=one) for one in (False, True))
    asked = [questions[name] for name in ("t1", "x1")]
    for question in asked:
        seen = {document.metadata["tenant"] for document in fixed(question)}
        assert seen <= {question.asker, "public"}
    assert [document.id for document in broken(asked[0])] == [document.id for document in fixed(asked[0])]
    assert broken(asked[1])[0].id == "seaview-contact"


def test_outdated_versions_are_counted_beside_the_current_one_and_instead_of_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert versions.main() == 0
    printed, said = capsys.readouterr()
    assert said == ""
    assert printed.startswith("6 groups of documents that look like versions of each other\n")
    assert "Within rank 1, 6 questions got an outdated version instead of the current one." in printed
    assert "Within rank 1, 0 questions got an outdated version beside the current one." in printed
    assert "Within rank 2, 0 questions got an outdated version instead of the current one." in printed
    assert "Within rank 2, 7 questions got an outdated version beside the current one." in printed
    assert "### Retrieval gate: FAIL, leaked: `v1: delivery-2024 " in printed
    assert "With only the newest version of each in the store: pass" in printed
