"""Check a run against the requirements of a policy, in CI or in a test."""

from __future__ import annotations

import math
import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from functools import partial
from typing import Any

from krag_eval._utils.checks import as_number, check_kind, check_path, check_threshold, describe_type, one_of
from krag_eval._utils.errors import InvalidInputError, did_you_mean, show, with_name
from krag_eval._utils.files.io import read_whole
from krag_eval._utils.formatting import format_value, one_line
from krag_eval.analysis.comparison import ComparisonRow, compare
from krag_eval.datasets import EvalSet, Run, as_evalset
from krag_eval.datasets.run import check_run
from krag_eval.documents.tokenizers import as_tokenizer
from krag_eval.evaluation.intervals import intervals_of
from krag_eval.evaluation.results import EvaluationResult
from krag_eval.evaluation.runs import evaluate_run
from krag_eval.matching.settings import ScoringSettings, make_settings
from krag_eval.metrics.alpha_ndcg import refuse_own_ideal
from krag_eval.metrics.names import DefaultCutOffs, as_key
from krag_eval.statistics.checks import check_seed, check_share


class Status(StrEnum):
    """What a check comes to."""

    PASS = "pass"
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True)
class Check:
    """One requirement with what was found.

    Attributes:
        requirement: As it was written.
        where: The slice it is about, such as `type=literal`; None for all queries.
        status: What it comes to.
        found: What was found, in words.
    """

    requirement: str
    where: str | None
    status: Status
    found: str

    def to_dict(self) -> dict[str, str | None]:
        """Return the check as one flat dict."""
        return asdict(self) | {"status": str(self.status)}


# A key or an end of its interval, a sign, a number.
_REQUIREMENT = re.compile(
    r"(?:(lower|upper)\((.+)\)|([^<>]*[^<>\s]))\s*(>=|<=|>|<)\s*([-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?)"
)


@dataclass(frozen=True, slots=True)
class Requirement:
    """A bound on a number.

    Attributes:
        text: As it was written.
        key: The number: a key of a result, or one of the figures of a run, such as `error_rate`.
        end: `"lower"` or `"upper"` where it is about that end of the interval, else None.
        sign: `">="`, `"<="`, `">"` or `"<"`.
        bound: What it is compared with.
    """

    text: str
    key: str
    end: str | None
    sign: str
    bound: float

    @classmethod
    def parse(cls, text: object) -> Requirement:
        """Read `recall@5 >= 0.8`, or `lower(recall@5) >= 0.8` for the lower end of the interval.

        Raises:
            InvalidInputError: It is no such requirement.
        """
        found = _REQUIREMENT.fullmatch(text.strip()) if isinstance(text, str) else None
        if found is None:
            raise InvalidInputError(
                f"{show(text, 80)} is not a requirement. Write a key, a sign and a number, such as 'recall@5 >= 0.8', "
                "or 'lower(recall@5) >= 0.8' for the lower end of its interval."
            )
        end, inner, plain, sign, number = found.groups()
        try:
            bound = float(number)
        except ValueError:
            bound = math.inf
        if not math.isfinite(bound):
            raise InvalidInputError(f"In {text!r:.80}, {show(number)} is no number. Write one such as 0.8.")
        return cls(str(text).strip(), as_key((inner or plain).strip()), end, sign, bound)

    def holds(self, value: float) -> bool:
        """Return whether a value meets the bound."""
        return {
            ">=": value >= self.bound,
            "<=": value <= self.bound,
            ">": value > self.bound,
            "<": value < self.bound,
        }[self.sign]


@dataclass(frozen=True, slots=True, kw_only=True)
class Demands:
    """What has to hold for all queries, or for those of a slice.

    Attributes:
        require: Bounds on numbers.
        no_drop: For keys such as `ndcg@10`, the largest drop against the baseline that does not matter.
    """

    require: tuple[Requirement, ...] = ()
    no_drop: Mapping[str, float] = field(default_factory=dict)


INCONCLUSIVE = ("report", "fail", "pass")
_GATE_KEYS = ("require", "no_drop", "inconclusive", "confidence", "seed")
_SCORING_KEYS = ("level", "doc_key", "proxy")


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """A gate's policy.

    Attributes:
        demands: For all queries.
        slices: For slices, by field and value: `("type", "literal")`.
        inconclusive: What becomes of checks that the queries cannot decide: `"report"` (exit code 3), `"fail"` or
            `"pass"`.
        confidence: Of intervals and tests.
        seed: Of the random numbers.
        scoring: How runs are scored: the settings of `evaluate_run`.
    """

    demands: Demands = field(default_factory=Demands)
    slices: Mapping[tuple[str, str], Demands] = field(default_factory=dict)
    inconclusive: str = "report"
    confidence: float = 0.95
    seed: int = 0
    scoring: Mapping[str, Any] = field(default_factory=dict)

    @property
    def needs_baseline(self) -> bool:
        """Whether anything is compared with a baseline."""
        return any(demands.no_drop for demands in (self.demands, *self.slices.values()))

    @classmethod
    def from_dict(cls, tables: Mapping[str, Any]) -> Policy:
        """Read the tables `gate`, `slices.FIELD.VALUE` and `scoring`.

        Raises:
            InvalidInputError: A key is unknown, or a value has the wrong type.
        """
        _check_keys(tables, ("gate", "slices", "scoring"), "the policy")
        gate = _table(tables.get("gate", {}), "gate")
        _check_keys(gate, _GATE_KEYS, "[gate]")
        policy = cls(
            demands=_demands(gate, "[gate]"),
            slices=_slices(_table(tables.get("slices", {}), "slices")),
            inconclusive=one_of("inconclusive", gate.get("inconclusive", "report"), INCONCLUSIVE),
            confidence=check_share("confidence", gate.get("confidence", 0.95)),
            seed=check_seed(gate.get("seed", 0)),
            scoring=_scoring(_table(tables.get("scoring", {}), "scoring")),
        )
        if not any((d.require or d.no_drop) for d in (policy.demands, *policy.slices.values())):
            raise InvalidInputError(
                'The policy has no requirement. Write, for example: [gate] require = ["recall@5 >= 0.8"]'
            )
        return policy


def read_policy(path: str | os.PathLike[str]) -> Policy:
    """Read a policy from a TOML file.

    Raises:
        InvalidInputError: The file cannot be read, or is no policy; the message begins with the path.
    """
    check_path(path)
    try:
        tables = tomllib.loads(read_whole(path).decode("utf-8"))
    except InvalidInputError:
        raise
    except RecursionError:
        raise InvalidInputError(f"{path}: not valid TOML: nested too deep to be read. Correct the file.") from None
    except ValueError as error:  # of TOML, of UTF-8, of an integer with thousands of digits
        raise InvalidInputError(f"{path}: not valid TOML: {error}. Correct the file.") from None
    try:
        return Policy.from_dict(tables)
    except InvalidInputError as error:
        raise InvalidInputError(f"{path}: {error}") from None


def _demands(table: Mapping[str, Any], place: str) -> Demands:
    require = table.get("require", [])
    if not isinstance(require, list):
        raise InvalidInputError(f"{place}: `require` is {describe_type(require)}. It must be a list of requirements.")
    return Demands(
        require=tuple(Requirement.parse(text) for text in require),
        no_drop={
            as_key(key): _drop(key, size) for key, size in _table(table.get("no_drop", {}), f"{place} no_drop").items()
        },
    )


def _drop(key: str, size: object) -> float:
    number = as_number(size)
    if number is None or not 0 <= number <= 1:
        raise InvalidInputError(f"`no_drop` of {key!r} must be a number from 0 to 1, got {show(size, 40)}.")
    return number


def _slices(table: Mapping[str, Any]) -> dict[tuple[str, str], Demands]:
    slices = {}
    for name, values in table.items():
        for value, demands in _table(values, f"slices.{name}").items():
            place = f"[slices.{name}.{value}]"
            _check_keys(_table(demands, place), ("require", "no_drop"), place)
            slices[name, value] = _demands(demands, place)
    return slices


def _scoring(table: Mapping[str, Any]) -> Mapping[str, Any]:
    _check_keys(table, (*ScoringSettings.__annotations__, *_SCORING_KEYS), "[scoring]")
    make_settings(**{name: value for name, value in table.items() if name not in _SCORING_KEYS})
    as_tokenizer(table.get("tokenizer", "words"))
    if not isinstance(table.get("doc_key", ""), str):
        raise InvalidInputError(f"`doc_key` must be a metadata key, got {show(table['doc_key'])}. Give a string.")
    return table


def _table(given: object, name: str) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise InvalidInputError(f"`{name}` is {describe_type(given)}. It must be a table.")
    return given


def _check_keys(table: Mapping[str, Any], known: tuple[str, ...], place: str) -> None:
    for key in table:
        if key not in known:
            raise InvalidInputError(
                f"{place} has no {key!r}.{did_you_mean(key, known)} Its keys are: {', '.join(known)}."
            )


@dataclass(frozen=True, slots=True)
class GateReport:
    """What a gate found.

    Attributes:
        run: The name of the run.
        baseline: The name of the baseline, or None.
        signature: The settings behind every number.
        n_queries: How many questions there are.
        checks: One per requirement, in the order of the policy.
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
        """Return everything, ready for JSON."""
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

    def sorted_checks(self) -> list[Check]:
        """Return the checks, those that failed first, then the undecided ones."""
        order = [Status.FAIL, Status.INCONCLUSIVE, Status.PASS]
        return sorted(self.checks, key=lambda check: order.index(check.status))

    def to_markdown(self) -> str:
        """Return a Markdown summary for a comment on a pull request."""
        against = f", compared with {_code(self.baseline)}" if self.baseline else ""
        lines = [
            f"### Retrieval gate: {str(self.status).upper()}",
            "",
            f"{_code(self.run)} on {self.n_queries} questions{against}.",
            "",
            "| | requirement | slice | found |",
            "|---|---|---|---|",
        ]
        marks = {Status.PASS: "✅ pass", Status.FAIL: "❌ fail", Status.INCONCLUSIVE: "❔ inconclusive"}
        for check in self.sorted_checks():
            where = "all" if check.where is None else _code(check.where)
            lines.append(f"| {marks[check.status]} | {_code(check.requirement)} | {where} | {check.found} |")
        return "\n".join([*lines, "", f"<sub>{_code(self.signature)}</sub>", ""])


def _code(text: str) -> str:
    """Return text as code for a cell of a Markdown table: on one line, without what would end the cell or the code."""
    return "`" + one_line(text).replace("|", "\\|").replace("`", "'") + "`"


FIGURES = ("error_rate", "missing_rate", "latency_p50", "latency_p95", "latency_p99", "no_answer_empty_share")


def check_gate(evalset: object, run: Run, policy: Policy, *, baseline: Run | None = None) -> GateReport:
    """Check a run against a policy.

    Args:
        evalset: The evaluation set, or what one can be made of.
        run: What the retriever returned.
        policy: What has to hold.
        baseline: What it is compared with, where the policy forbids drops.

    Raises:
        InvalidInputError: A baseline is missing, a slice has no question, or something cannot be scored.
        UnknownMetricError: The policy names a metric that does not exist.
    """
    check_run(run)
    questions = as_evalset(evalset)
    check_kind(
        "policy", policy, Policy, "Read a file with `read_policy(path)`; for one result call `assert_retrieval`."
    )
    if policy.needs_baseline and baseline is None:
        raise InvalidInputError("The policy forbids drops, and there is no baseline. Give one, or leave out `no_drop`.")
    parts: list[tuple[str | None, Demands, EvalSet]] = [(None, policy.demands, questions)]
    for (name, value), demands in policy.slices.items():
        part = EvalSet([question for question in questions if str(question.value(name)) == value], name=questions.name)
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
        result = _evaluate(part, run, demands, policy, where)
        signature = signature or result.signature
        figures = _figures(part, _rows_of(run, part), result)
        checks += [
            check_result(result, requirement, where=where, confidence=policy.confidence, figures=figures)
            for requirement in demands.require
        ]
        if demands.no_drop and baseline is not None:
            checks += _check_drops(result, _evaluate(part, baseline, demands, policy, where), demands, policy, where)
    return GateReport(
        run.name,
        None if baseline is None else baseline.name,
        signature,
        len(questions),
        tuple(checks),
        policy.inconclusive,
    )


def _evaluate(part: EvalSet, run: Run, demands: Demands, policy: Policy, where: str | None) -> EvaluationResult:
    """Score with just the metrics and cut-offs that the policy asks for; warnings name the slice."""
    keys = [requirement.key for requirement in demands.require if requirement.key not in FIGURES]
    names = [key.removeprefix("macro_").removeprefix("micro_") for key in (*keys, *demands.no_drop)]
    scoring: Any = dict(policy.scoring)
    call = partial(evaluate_run, part, _rows_of(run, part), DefaultCutOffs([None]), metrics=names or None, **scoring)
    return call() if where is None else with_name(where, call)


def _rows_of(run: Run, part: EvalSet) -> Run:
    return replace(run, rows={query_id: run.rows[query_id] for query_id in part.ids if query_id in run.rows})


def _figures(part: EvalSet, run: Run, result: EvaluationResult) -> dict[str, float | None]:
    """Return the numbers other than metrics that a policy may bound."""
    latency = run.latency
    return {
        "error_rate": len(result.errors) / len(part),
        "missing_rate": len(run.missing(part)) / len(part),
        "latency_p50": latency.p50 if latency else None,
        "latency_p95": latency.p95 if latency else None,
        "latency_p99": latency.p99 if latency else None,
        "no_answer_empty_share": result.no_answer.empty_share,
    }


def _check_drops(
    result: EvaluationResult, before: EvaluationResult, demands: Demands, policy: Policy, where: str | None
) -> list[Check]:
    # Holm's correction is for the tests that are asked for: the other keys are left out before.
    pair = {name: _only(given, demands.no_drop) for name, given in (("baseline", before), ("run", result))}
    comparison = compare(pair, confidence=policy.confidence, seed=policy.seed)
    return [_check_drop(comparison["run", key], size, where) for key, size in demands.no_drop.items()]


def _only(result: EvaluationResult, keys: Iterable[str]) -> EvaluationResult:
    """Return the result with only these keys in the values of its queries."""
    if result.detail is None:  # `evaluate_run` always keeps them
        return result
    for key in keys:
        if key not in result.detail.values:
            raise InvalidInputError(
                f"`no_drop` names {key!r}, which no query has. They have: {', '.join(result.detail.values)}."
            )
    return replace(result, detail=replace(result.detail, values={key: result.detail.values[key] for key in keys}))


def _check_drop(row: ComparisonRow, size: float, where: str | None) -> Check:
    """Pass if the mean dropped no more than allowed; for a larger drop the test decides whether it may be chance."""
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


def check_result(
    result: EvaluationResult,
    requirement: Requirement,
    *,
    where: str | None = None,
    confidence: float = 0.95,
    figures: Mapping[str, float | None] | None = None,
) -> Check:
    """Check one requirement.

    A bound on an end of the interval is missed for certain only where the whole interval lies on the wrong side;
    where the bound lies within it, the queries do not suffice to tell.

    Args:
        result: What was evaluated.
        requirement: What it has to meet.
        where: The slice that the result is of, for the record.
        confidence: Of the interval.
        figures: Numbers beside the metrics, by name.

    Raises:
        UnknownMetricError: The result has no such key.
        MissingDependencyError: An interval is asked for, and scipy is not installed.
    """
    key = requirement.key
    refuse_own_ideal(key, result.signature)
    value = figures[key] if figures is not None and key in figures else result[key]
    if value is None:
        return Check(requirement.text, where, Status.INCONCLUSIVE, f"{key} is undefined: no query has a value")
    found = f"{key} = {format_value(value)}"
    if requirement.end is None:
        return Check(requirement.text, where, Status.PASS if requirement.holds(value) else Status.FAIL, found)
    if figures is not None and key in figures:
        raise InvalidInputError(f"{key!r} has no interval. Write {key} {requirement.sign} {requirement.bound:g}.")
    interval = intervals_of(result, confidence)[key.removeprefix("macro_")]
    low, high = interval or (value, value)
    found += f", interval {format_value(low)} to {format_value(high)}"
    own, other = (low, high) if requirement.end == "lower" else (high, low)
    undecided = Status.INCONCLUSIVE if requirement.holds(other) else Status.FAIL
    return Check(requirement.text, where, Status.PASS if requirement.holds(own) else undecided, found)


def assert_retrieval(result: EvaluationResult, *requirements: str, confidence: float = 0.95) -> None:
    """Fail a test with a readable message if a result does not meet the requirements.

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
        raise InvalidInputError(f"`result` must be what `evaluate` returned, got {show(result)}.")
    if not requirements:
        raise InvalidInputError("There is no requirement. Give at least one, such as 'recall@5 >= 0.8'.")
    check_threshold(confidence, "confidence")
    checks = [check_result(result, Requirement.parse(text), confidence=confidence) for text in requirements]
    missed = [check for check in checks if check.status != Status.PASS]
    if missed:
        lines = [f"{len(missed)} of {len(checks)} requirements not met on {result.n_queries} queries:"]
        lines += [f"  {check.status}: {check.requirement} ({check.found})" for check in missed]
        raise AssertionError("\n".join([*lines, repr(result)]))
