# opik==2.2.122
"""The recipe of docs/platforms.md, in its platform."""

from __future__ import annotations

from importlib import import_module

from run import assert_names_field, recipe  # type: ignore[import-not-found]

rows = [{"question": "When?", "expected_output": ["d1", "d2"]}, {"question": "None?", "expected_output": []}]
found = import_module("opik").evaluate_on_dict_items(
    items=[*rows, {"question": "Who?", "answer": "me"}],
    task=lambda item: {"output": ["d7", "d1"]},
    scoring_metrics=[recipe("opik").Retrieval(name="retrieval", track=False)],
)
first, second, third = (
    one.score_results for one in sorted(found.test_results, key=lambda one: one.test_case.dataset_item_id)
)
assert {score.name: score.value for score in first} == {"recall_at_5": 0.5, "mrr_at_5": 0.5}, first
assert second == []
assert_names_field("expected_output", lambda: [(one.scoring_failed, one.reason) for one in third])
