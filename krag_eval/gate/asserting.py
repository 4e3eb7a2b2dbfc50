"""A requirement as an assertion, for tests."""

from __future__ import annotations

from krag_eval.checks import check_threshold
from krag_eval.errors import InvalidInputError
from krag_eval.gate.requirements import Requirement, Status, check_result
from krag_eval.results import EvaluationResult
from krag_eval.wrong_names import tell_names


@tell_names
def assert_retrieval(result: EvaluationResult, *requirements: str, confidence: float = 0.95) -> None:
    """Fail a test, readably, where a result does not meet what is required.

    Args:
        result: What `evaluate` or `evaluate_run` returned.
        *requirements: Such as `"recall@5 >= 0.8"`, or `"lower(recall@5) >= 0.75"` for the lower end of the interval
            (needs scipy, extra `stats`).
        confidence: Of the interval.

    Raises:
        AssertionError: A requirement is not met, or cannot be decided with so many queries.
        InvalidInputError: One is no requirement, or there is none.
        UnknownMetricError: The result has no such key.

    >>> from krag_eval import evaluate
    >>> assert_retrieval(evaluate([["a"]], [["a"]], k=5), "recall@5 >= 0.8", "mrr@5 > 0.5")
    """
    if not isinstance(result, EvaluationResult):
        raise InvalidInputError(f"`result` must be what `evaluate` returned, got {result!r:.60}.")
    if not requirements:
        raise InvalidInputError("There is no requirement. Give one, such as 'recall@5 >= 0.8'.")
    check_threshold(confidence, "confidence")
    checks = [check_result(result, Requirement.parse(text), confidence=confidence) for text in requirements]
    missed = [check for check in checks if check.status != Status.PASS]
    if missed:
        lines = [f"{len(missed)} of {len(checks)} requirements not met on {result.n_queries} queries:"]
        lines += [f"  {check.status}: {check.requirement} ({check.found})" for check in missed]
        raise AssertionError("\n".join([*lines, repr(result)]))
