# deepeval==4.3.1
"""The recipe of docs/platforms.md, in its platform."""

from __future__ import annotations

from importlib import import_module

from run import assert_names_field, recipe  # type: ignore[import-not-found]

metric = recipe("deepeval").Recall()
texts = {"context": ["Two days.", "Closed."], "retrieval_context": ["Two days."]}
case = import_module("deepeval.test_case").LLMTestCase(input="When?", actual_output="Soon.", **texts)
result = import_module("deepeval").evaluate([case], [metric])
scores = [(one.name, one.score, one.success) for test in result.test_results for one in test.metrics_data]
assert scores == [("recall@5", 0.5, True)], scores
import_module("deepeval").assert_test(case, [metric], run_async=False)
for lacking in texts:
    row = {name: text for name, text in texts.items() if name != lacking}
    bad = import_module("deepeval.test_case").LLMTestCase(input="When?", actual_output="Soon.", **row)
    assert_names_field(lacking, import_module("deepeval").evaluate, [bad], [metric])
