"""`check_gate`: a run against a policy, and what came of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from krag_eval.checks import check_kind
from krag_eval.comparison import ComparisonRow, compare
from krag_eval.errors import InvalidInputError
from krag_eval.evalset import EvalSet, Run
from krag_eval.evalset.run import check_run
from krag_eval.gate.policy import Demands, Policy
from krag_eval.gate.requirements import Check, Status, check_result
from krag_eval.numerals import format_value
from krag_eval.results import EvaluationResult
from krag_eval.run_evaluation import evaluate_run
from krag_eval.wrong_names import TellsAttributes, tell_names


@dataclass(frozen=True, slots=True)
class GateReport(TellsAttributes):
    """What a gate found.

    Attributes:
        run: The name of the run.
        baseline: The name of the baseline, or None.
        signature: The settings behind every number.
        n_queries: How many questions there are.
        checks: One a requirement, in the order of the policy.
        inconclusive: What the policy makes of checks that cannot be decided.
    """

    run: str
    baseline: str | None
    signature: str
    n_queries: int
    checks: tuple[Check, ...]
    inconclusive: str

    @property
    def status(self) -> Status:
        """`fail` where any check failed, else `inconclusive` where any is and the policy reports that, else `pass`."""
        found = {check.status for check in self.checks}
        if Status.FAIL in found or (Status.INCONCLUSIVE in found and self.inconclusive == "fail"):
            return Status.FAIL
        if Status.INCONCLUSIVE in found and self.inconclusive == "report":
            return Status.INCONCLUSIVE
        return Status.PASS

    @property
    def exit_code(self) -> int:
        """0 pass, 1 fail, 3 inconclusive."""
        return {Status.PASS: 0, Status.FAIL: 1, Status.INCONCLUSIVE: 3}[self.status]

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        return {
            "status": str(self.status),
            "exit_code": self.exit_code,
            "run": self.run,
            "baseline": self.baseline,
            "n_queries": self.n_queries,
            "inconclusive": self.inconclusive,
            "checks": [check.to_dict() for check in self.checks],
            "signature": self.signature,
        }

    def to_markdown(self) -> str:
        """A summary fit for a comment on a pull request."""
        against = f", compared with `{_cell(self.baseline)}`" if self.baseline else ""
        lines = [
            f"### Retrieval gate: {str(self.status).upper()}",
            "",
            f"`{_cell(self.run)}` on {self.n_queries} questions{against}.",
            "",
            "| | requirement | slice | found |",
            "|---|---|---|---|",
        ]
        marks = {Status.PASS: "✅ pass", Status.FAIL: "❌ fail", Status.INCONCLUSIVE: "❔ inconclusive"}
        for check in sorted(self.checks, key=lambda check: list(marks)[::-1].index(check.status)):
            cells = (
                marks[check.status],
                f"`{_cell(check.requirement)}`",
                _cell(check.where or "all"),
                _cell(check.found),
            )
            lines.append(f"| {' | '.join(cells)} |")
        return "\n".join([*lines, "", f"<sub>`{_cell(self.signature)}`</sub>", ""])


@tell_names
def check_gate(evalset: EvalSet, run: Run, policy: Policy, *, baseline: Run | None = None) -> GateReport:
    """Check a run against a policy.

    Args:
        evalset: The evaluation set.
        run: What the retriever returned.
        policy: What has to hold.
        baseline: What it is compared with, where the policy forbids drops.

    Raises:
        InvalidInputError: A baseline is missing, a slice has no question, or something cannot be scored.
        UnknownMetricError: The policy names a metric that does not exist.
    """
    check_run(run)
    check_kind(
        "policy", policy, Policy, "Read a file with `read_policy(path)`; for one result call `assert_retrieval`."
    )
    if policy.needs_baseline and baseline is None:
        raise InvalidInputError("The policy forbids drops, and there is no baseline. Give one, or leave out `no_drop`.")
    parts: list[tuple[str | None, Demands, EvalSet]] = [(None, policy.demands, evalset)]
    for (name, value), demands in policy.slices.items():
        part = EvalSet([question for question in evalset if str(question.value(name)) == value], name=evalset.name)
        if not part:
            raise InvalidInputError(
                f"The policy has a slice {name}={value}, and no question of the set has that. Correct the policy."
            )
        parts.append((f"{name}={value}", demands, part))
    checks: list[Check] = []
    signature = ""
    for where, demands, part in parts:
        if not demands.require and not demands.no_drop:
            continue
        result = _evaluate(part, run, demands, policy)
        signature = signature or result.signature
        figures = _figures(part, run, result)
        checks += [
            check_result(result, requirement, where=where, confidence=policy.confidence, figures=figures)
            for requirement in demands.require
        ]
        if demands.no_drop and baseline is not None:
            checks += _check_drops(result, _evaluate(part, baseline, demands, policy), demands, policy, where)
    return GateReport(
        run.name,
        None if baseline is None else baseline.name,
        signature,
        len(evalset),
        tuple(checks),
        policy.inconclusive,
    )


def _figures(part: EvalSet, run: Run, result: EvaluationResult) -> dict[str, float | None]:
    """Numbers beside the metrics that a policy may bound."""
    own = replace(run, rows={query_id: run.rows[query_id] for query_id in part.ids if query_id in run.rows})
    latency = own.latency
    return {
        "error_rate": len(result.errors) / len(part),
        "missing_rate": len(own.missing(part)) / len(part),
        "latency_p50": latency.p50 if latency else None,
        "latency_p95": latency.p95 if latency else None,
        "latency_p99": latency.p99 if latency else None,
        "no_answer_empty_share": result.no_answer.empty_share,
    }


FIGURES = ("error_rate", "missing_rate", "latency_p50", "latency_p95", "latency_p99", "no_answer_empty_share")


def _evaluate(part: EvalSet, run: Run, demands: Demands, policy: Policy) -> EvaluationResult:
    """The result with just the metrics and cut-offs that are asked for."""
    keys = [requirement.key for requirement in demands.require if requirement.key not in FIGURES]
    names, cut_offs = _metrics_and_cut_offs([*keys, *demands.no_drop])
    own = replace(run, rows={query_id: run.rows[query_id] for query_id in part.ids if query_id in run.rows})
    scoring: Any = dict(policy.scoring)
    return evaluate_run(part, own, cut_offs or [None], metrics=names or None, **scoring)


def _metrics_and_cut_offs(keys: Sequence[str]) -> tuple[list[str], list[int | str | None]]:
    names: dict[str, None] = {}
    cut_offs: dict[int | str | None, None] = {}
    for key in keys:
        name, _, at = key.removeprefix("macro_").removeprefix("micro_").partition("@")
        names[name] = None
        cut_offs[int(at) if at.isdecimal() else at or None] = None
    return list(names), list(cut_offs)


def _check_drops(
    result: EvaluationResult, before: EvaluationResult, demands: Demands, policy: Policy, where: str | None
) -> list[Check]:
    # Holm's correction is for the tests that are asked for: the other keys are left out before.
    pair = {name: _only(given, demands.no_drop) for name, given in (("baseline", before), ("run", result))}
    comparison = compare(pair, confidence=policy.confidence, seed=policy.seed)
    return [_check_drop(comparison["run", key], size, where) for key, size in demands.no_drop.items()]


def _only(result: EvaluationResult, keys: Iterable[str]) -> EvaluationResult:
    """The result with just these keys in the values of its queries."""
    if result.detail is None:  # `evaluate_run` always keeps them
        return result
    for key in keys:
        if key not in result.detail.values:
            raise InvalidInputError(
                f"`no_drop` names {key!r}, which no query has. They have: {', '.join(result.detail.values)}."
            )
    return replace(result, detail=replace(result.detail, values={key: result.detail.values[key] for key in keys}))


def _check_drop(row: ComparisonRow, size: float, where: str | None) -> Check:
    """Pass where the mean dropped by no more than is allowed; of a larger drop the test says if it can be chance."""
    requirement = f"{row.key}: no significant drop larger than {size:g}"
    if row.difference is None or row.low is None or row.high is None or row.p_holm is None:
        return Check(requirement, where, Status.INCONCLUSIVE, f"{row.key} is undefined: no query has a value in both")
    change = -row.difference if row.lower_is_better else row.difference
    found = (
        f"{format_value(row.baseline_mean)} → {format_value(row.mean)}, "
        f"difference {row.difference:+.4f} ({row.low:+.4f} to {row.high:+.4f}), p = {row.p_holm:.4f}"
    )
    if change >= -size - 1e-12:  # a drop of just as much may be off in the last bit
        return Check(requirement, where, Status.PASS, found)
    return Check(requirement, where, Status.FAIL if row.is_significant else Status.INCONCLUSIVE, found)


def _cell(text: object) -> str:
    """Text in a cell of a Markdown table: on one line, without what would end the cell or the code."""
    return " ".join(str(text).split()).replace("|", "\\|").replace("`", "'").replace("<", "&lt;")
