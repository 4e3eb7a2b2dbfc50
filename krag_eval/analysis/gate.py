"""Check a run against the requirements of a policy, in CI or in a test."""

from __future__ import annotations

import math
import operator
import os
import re
import tomllib
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from typing import Any, ClassVar

import numpy as np

from krag_eval._utils.arrays import BoolArray, FloatArray, IntArray
from krag_eval._utils.checks import check_count, check_kind, check_number, check_path, one_of
from krag_eval._utils.errors import InvalidInputError, did_you_mean, errors_at, refuse, show, with_name
from krag_eval._utils.files.io import read_whole
from krag_eval._utils.formatting import aligned, format_value, number_of, one_line
from krag_eval._utils.limits import limit, shown, to_allow
from krag_eval._utils.objects import Printed, ShortRepr, cached_property
from krag_eval._utils.plugins import load
from krag_eval._utils.serialization import plain_fields
from krag_eval.datasets import EvalSet, Run
from krag_eval.datasets.argument_order import gold_first
from krag_eval.datasets.evalset import as_evalset
from krag_eval.datasets.run import check_run
from krag_eval.documents.document import DOC_KEY
from krag_eval.documents.tokenizers import as_tokenizer
from krag_eval.evaluation.intervals import Clusters, labels_of, proven_means, warn_of_shared_gold
from krag_eval.evaluation.leaks import NOTHING_FORBIDDEN
from krag_eval.evaluation.results import EvaluationResult
from krag_eval.evaluation.runs import evaluate_run
from krag_eval.matching.settings import ScoringSettings, make_settings
from krag_eval.metrics import LEAK_METRICS
from krag_eval.metrics.alpha_ndcg import refuse_own_ideal
from krag_eval.metrics.names import DefaultCutOffs, as_key, at_level, is_lower_better, is_share
from krag_eval.statistics.bounded_mean import REFERENCES, BoundedMean, ProvenMean
from krag_eval.statistics.checks import check_confidence, need_scipy
from krag_eval.statistics.significance import holm


class Status(StrEnum):
    """What a check comes to."""

    PASS = "pass"
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True, repr=False)
class Check(ShortRepr):
    """One requirement with what was found.

    Attributes:
        requirement: As it was written.
        where: The slice it is about, such as `type=literal`; None for all queries.
        status: What it comes to.
        measured: What was measured, in words.
        allowed: What it has to be, in words.
        note: What else has to be said, in words.
        questions: If it is inconclusive, about how many questions would decide it; None where that is unknown.
        p_pass: How often such numbers would be measured at most if the requirement were just missed: it passes at
            (1 - confidence) / 2 or less. None for a plain bound.
        p_fail: The same if the requirement were just met, corrected for all requirements and nights: it fails at
            (1 - confidence) / 2 or less. None for a plain bound.
        procedure: How it was decided: `"exact"`, `"shape-free"`, `"from sums"`, or `"plain"` without statistics.
        leaks: Of a requirement on forbidden documents, what was retrieved and must not be: the first of them.
        is_empty: Whether nothing was checked, because no question forbids anything; then the gate does not pass.
    """

    requirement: str
    where: str | None
    status: Status
    measured: str
    allowed: str = ""
    note: str = ""
    questions: int | None = None
    p_pass: float | None = None
    p_fail: float | None = None
    procedure: str = "plain"
    leaks: tuple[str, ...] = ()
    is_empty: bool = False

    @property
    def found(self) -> str:
        """What was measured, and what else has to be said."""
        return f"{self.measured}; {self.note}" if self.note else self.measured

    @property
    def reference(self) -> str | None:
        """Where the procedure comes from."""
        return REFERENCES.get(self.procedure)

    def to_dict(self) -> dict[str, Any]:
        """Return the check as one flat dict; `leaks` are in it if there are some."""
        names = ("requirement", "where", "status", "found", "questions", "p_pass", "p_fail", "procedure", "reference")
        return plain_fields(self, *names, *["leaks"] * bool(self.leaks))


_SIGNS = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}
# A key, an end of its interval or its observed value, a sign, a number.
_REQUIREMENT = re.compile(
    r"(?:(lower|upper|observed)\((.+)\)|([^<>]*[^<>\s]))\s*(>=|<=|>|<)\s*([-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?)"
)


_MOST_NAMED = 10


@dataclass(frozen=True, slots=True)
class Requirement:
    """A bound on a number.

    Attributes:
        text: As it was written.
        key: The number: a key of a result, or one of the figures of a run, such as `error_rate`.
        end: What has to meet the bound: the end `"lower"` or `"upper"` of the interval, `"observed"` for the value
            itself, without statistics, or None for the whole interval.
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
        """Read `recall@5 >= 0.8`, or `observed(recall@5) >= 0.8` for a plain bound without statistics.

        Raises:
            InvalidInputError: It is no such requirement.
        """
        found = _REQUIREMENT.fullmatch(text.strip()) if isinstance(text, str) else None
        if found is None:
            raise InvalidInputError(
                f"{show(text, 80)} is not a requirement. Write a key, a sign and a number, such as 'recall@5 >= 0.8', "
                "or 'observed(recall@5) >= 0.8' for a plain bound without statistics."
            )
        end, inner, plain, sign, number = found.groups()
        try:
            bound = float(number)
        except ValueError:
            bound = math.inf
        if not math.isfinite(bound):
            raise InvalidInputError(f"In {text!r:.80}, {show(number)} is no number. Write one such as 0.8.")
        return cls(str(text).strip(), as_key((inner or plain).strip()), end, sign, bound)

    @property
    def strict_end(self) -> str:
        """The end of the interval that decides whether the whole interval meets the bound."""
        return "lower" if self.sign.startswith(">") else "upper"

    def holds(self, value: float) -> bool:
        """Return whether a value meets the bound."""
        return bool(_SIGNS[self.sign](value, self.bound))

    def missed_by(self, result: EvaluationResult, among: Container[int] | None = None) -> tuple[list[int], str]:
        """Return the places of the queries whose own value misses the bound, the furthest first, and who they are.

        Args:
            result: What has to meet the bound.
            among: The places that count; all by default.

        Returns:
            The places, and the ids of these queries, or their places where they have none; of many, the first ten.
        """
        columns = {} if result.detail is None else result.detail.values
        values = columns.get(self.key.removeprefix("macro_").removeprefix("micro_"))
        if values is None:
            return [], ""
        defined = np.flatnonzero(~np.isnan(values)).tolist()
        places = [one for one in defined if (among is None or one in among) and not self.holds(values[one])]
        places.sort(key=lambda place: values[place], reverse=self.sign.startswith("<"))
        ids = None if result.detail is None else result.detail.query_ids
        names = [f"query {one}" if ids is None else one_line(str(ids[one])) for one in places[:_MOST_NAMED]]
        more = len(places) - len(names)
        return places, ", ".join(names) + (f" and {more} more" if more > 0 else "")


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
_GATE_KEYS = ("require", "never", "no_drop", "inconclusive", "cluster", "confidence", "nights", "seed")
_SCORING_KEYS = ("level", "doc_key", "proxy")


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """A gate's policy.

    Attributes:
        demands: For all queries.
        slices: For slices, by field and value: `("type", "literal")`.
        inconclusive: What becomes of checks that the queries cannot decide: `"report"` (exit code 3), `"fail"` or
            `"pass"`.
        cluster: What makes questions depend on each other: a field such as `"source"`, `"gold"` or `"id"`, as
            `intervals_of` takes it.
        confidence: Of the intervals. Half of 1 minus it is how often a requirement that is missed may pass, and how
            often the gate may fail although every requirement is met.
        nights: For how many runs of the gate in a row that holds, such as 365 for a nightly job.
        seed: Of the random numbers in a report that begins with the gate; the gate itself draws none.
        scoring: How runs are scored: the settings of `evaluate_run`.
        SCORING_KEYS: The names of these settings.
    """

    SCORING_KEYS: ClassVar[tuple[str, ...]] = (*ScoringSettings.__annotations__, *_SCORING_KEYS)

    demands: Demands = field(default_factory=Demands)
    slices: Mapping[tuple[str, str], Demands] = field(default_factory=dict)
    inconclusive: str = "report"
    cluster: str | None = None
    confidence: float = 0.95
    nights: int = 1
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
        cluster = gate.get("cluster")
        if not isinstance(cluster, str | None):
            refuse("cluster", "a field of the questions", cluster, "Give a string.")
        scoring = _scoring(_table(tables.get("scoring", {}), "scoring"))
        level = scoring.get("relevance_level")
        policy = cls(
            demands=_demands(gate, "[gate]", level),
            slices=_slices(_table(tables.get("slices", {}), "slices"), level),
            inconclusive=one_of("inconclusive", gate.get("inconclusive", "report"), INCONCLUSIVE),
            cluster=cluster,
            confidence=check_confidence(gate.get("confidence", 0.95)),
            nights=check_count("nights", gate.get("nights", 1)),
            seed=check_count("seed", gate.get("seed", 0), least=0),
            scoring=scoring,
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
        text = read_whole(path).decode("utf-8")
        _check_toml(text, str(path))
        tables = tomllib.loads(text)
    except InvalidInputError:
        raise
    except RecursionError:
        raise InvalidInputError(f"{path}: not valid TOML: nested too deep to be read. Correct the file.") from None
    except ValueError as error:  # of TOML, of UTF-8, of an integer with thousands of digits
        raise InvalidInputError(f"{path}: not valid TOML: {error}. Correct the file.") from None
    with errors_at(str(path)):
        return Policy.from_dict(tables)


# The strings and comments of TOML; one without an end takes the rest of its line, or of the text.
_QUOTED = re.compile(
    r'"""(?:[^"\\]++|\\.|"(?!""))*+(?:""")?|"(?:[^"\\\n]++|\\.)*+"?'
    r"|'''(?:[^']++|'(?!''))*+(?:''')?|'[^'\n]*+'?|#[^\n]*+",
    re.DOTALL,
)
_MOST_PARTS = 100  # of the keys on a line


def _check_toml(text: str, path: str) -> None:
    """Refuse what would take `tomllib` a thousand times its size: parts of keys one by one, deep keys squared."""
    bare, n_quoted = _QUOTED.subn("", text)
    # A number of a million digits takes 130 times its size: a long text counts as many things.
    n_things = max(n_quoted + sum(map(bare.count, ".=,[{")), len(text) // 25)
    if n_things > limit("policy"):
        raise InvalidInputError(
            f"{path}: has {n_things:,} keys, tables and values, and a policy has at most {shown('policy')}. ",
            *to_allow("policy", n_things),
        )
    if max(line.count(".") for line in bare.split("\n")) > _MOST_PARTS:
        raise InvalidInputError(
            f"{path}: has a line whose keys have more than {_MOST_PARTS} parts. Keys of a policy have at most four, "
            "such as slices.type.literal.require."
        )


def _demands(table: Mapping[str, Any], place: str, level: float | None) -> Demands:
    require = table.get("require", [])
    if not isinstance(require, list):
        refuse("require", "a list of requirements", require, at=place)
    drops = _table(table.get("no_drop", {}), f"{place} no_drop")
    never = table.get("never", [])
    if not isinstance(never, list) or not all(isinstance(key, str) for key in never):
        refuse("never", 'a list of values that must be 0, such as ["leak@10"]', never, at=place)
    parsed = [*map(Requirement.parse, require), *(Requirement.parse(f"{key} <= 0") for key in never)]
    sizes = {key: check_number(f"no_drop.{key}", size, least=0, most=1) for key, size in drops.items()}
    return Demands(
        require=tuple(replace(one, key=at_level(one.key, level)) for one in parsed),
        no_drop={at_level(as_key(key), level): size for key, size in sizes.items()},
    )


def _slices(table: Mapping[str, Any], level: float | None) -> dict[tuple[str, str], Demands]:
    slices = {}
    for name, values in table.items():
        for value, demands in _table(values, f"slices.{name}").items():
            place = f"[slices.{name}.{value}]"
            _check_keys(_table(demands, place), ("require", "never", "no_drop"), place)
            slices[name, value] = _demands(demands, place, level)
    return slices


def _scoring(table: Mapping[str, Any]) -> Mapping[str, Any]:
    _check_keys(table, Policy.SCORING_KEYS, "[scoring]")
    make_settings(**{name: value for name, value in table.items() if name not in _SCORING_KEYS})
    as_tokenizer(table.get("tokenizer", "words"))
    if not isinstance(table.get("doc_key", ""), str):
        refuse("doc_key", "a metadata key", table["doc_key"], "Give a string.")
    return table


def _table(given: object, name: str) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        refuse(name, "a table", given)
    return given


def _check_keys(table: Mapping[str, Any], known: tuple[str, ...], place: str) -> None:
    for key in table:
        if key not in known:
            raise InvalidInputError(
                f"{place} has no {key!r}.{did_you_mean(key, known)} Its keys are: {', '.join(known)}."
            )


@dataclass(frozen=True, slots=True, repr=False)
class GateReport(Printed):
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
        if Status.FAIL not in found and any(check.is_empty for check in self.checks):
            return Status.INCONCLUSIVE
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
        names = ("status", "exit_code", "run", "baseline", "n_queries", "inconclusive", "checks", "signature")
        return plain_fields(self, *names)

    def sorted_checks(self) -> list[Check]:
        """Return the checks, those that failed first, then the undecided ones."""
        order = [Status.FAIL, Status.INCONCLUSIVE, Status.PASS]
        return sorted(self.checks, key=lambda check: order.index(check.status))

    def __str__(self) -> str:
        against = f" against {one_line(self.baseline)}" if self.baseline else ""
        title = f"Gate: {str(self.status).upper()}, {one_line(self.run)}{against}, {self.n_queries} questions"
        rows = []
        for check in self.sorted_checks():
            what = one_line(check.requirement).partition(": no drop")[0].removesuffix(check.allowed).strip()
            where = f"{what} ({one_line(check.where)})" if check.where else what
            deciding = f"about {check.questions:,} questions" if check.questions else check.note
            measured = one_line(check.measured).removeprefix(f"{what} = ")
            rows.append([where, measured, check.allowed, str(check.status), deciding])
        table = aligned([["requirement", "measured", "allowed", "verdict", "what would decide it"], *rows], n_left=5)
        leaks = [f"  leaked: {one_line(leak)}" for check in self.sorted_checks() for leak in check.leaks]
        return "\n".join([title, *(line.rstrip() for line in table), *leaks, self.signature])

    def to_markdown(self) -> str:
        """Return a Markdown summary for a comment on a pull request."""
        text: str = load("krag_eval.reports", "summary")(self)
        return text


FIGURES = ("error_rate", "missing_rate", "latency_p50", "latency_p95", "latency_p99", "no_answer_empty_share")


@gold_first()
def check_gate(evalset: object, run: Run, policy: Policy, *, baseline: Run | None = None) -> GateReport:
    """Check a run against a policy. Needs scipy (extra `stats`), unless the policy has only plain bounds.

    Args:
        evalset: The evaluation set, or what one can be made of.
        run: What the retriever returned.
        policy: The requirements: see `read_policy` and `Policy.from_dict`.
        baseline: The run that `no_drop` compares with; needed if the policy has any.

    Returns:
        The report: `status` is `"pass"`, `"fail"` or `"inconclusive"`, and each of its `checks` has a status of its own
        and says what was found.

    Raises:
        InvalidInputError: A baseline is missing, a slice has no question, clusters are missing for some questions, or
            something cannot be scored.
        UnknownMetricError: The policy names a metric that does not exist.
    """
    check_run(run)
    questions = as_evalset(evalset)
    check_kind(
        "policy", policy, Policy, "Read a file with `read_policy(path)`; for one result call `assert_retrieval`."
    )
    if policy.needs_baseline and baseline is None:
        raise InvalidInputError("The policy forbids drops, and there is no baseline. Give one, or leave out `no_drop`.")
    check_count("nights", policy.nights)
    labels, doc_key = None, policy.scoring.get("doc_key", DOC_KEY)
    if policy.cluster is not None:
        require = [one for demands in (policy.demands, *policy.slices.values()) for one in demands.require]
        scored = _evaluate(questions, run, _keys(require), policy, None)
        labels = labels_of(scored, policy.cluster, questions, doc_key)
    changes = None if baseline is None else _Changes.of(questions, run, baseline, policy, labels)
    found: list[Claim] = []
    signature = "" if changes is None else changes.signature
    may_warn = policy.cluster is None and changes is None  # `_Changes.of` has warned
    for (name, value), demands in ((("", ""), policy.demands), *policy.slices.items()):
        where = f"{name}={value}" if name else None
        inside = np.array([not name or str(question.value(name)) == value for question in questions], dtype=bool)
        if not inside.any():
            raise InvalidInputError(
                f"The policy has a slice {where}, and no question of the set has that. Correct the policy."
            )
        if demands.require:
            part = EvalSet([questions[i] for i in np.flatnonzero(inside).tolist()], name=questions.name)
            result = _evaluate(part, run, _keys(demands.require), policy, where)
            signature = signature or result.signature
            figures = _figures(part, _rows_of(run, part), result)
            if may_warn and result.detail is not None:
                warn_of_shared_gold(result, result.detail.values, part, doc_key)
                may_warn = False
            within = None if labels is None else labels[inside]
            found += _claims(result, demands.require, where, figures, within)
        if changes is not None:
            found += [changes.claim(*drop, where, inside) for drop in demands.no_drop.items()]
    return GateReport(
        run.name,
        None if baseline is None else baseline.name,
        signature,
        len(questions),
        tuple(_decide(found, policy.confidence, policy.nights)),
        policy.inconclusive,
    )


def _keys(require: Sequence[Requirement]) -> list[str]:
    return [requirement.key for requirement in require if requirement.key not in FIGURES]


def _evaluate(part: EvalSet, run: Run, keys: Sequence[str], policy: Policy, where: str | None) -> EvaluationResult:
    """Score with just the metrics and cut-offs that the policy asks for; warnings name the slice."""
    names = [key.removeprefix("macro_").removeprefix("micro_") for key in keys]
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
        **{f"latency_{share}": getattr(latency, share, None) for share in ("p50", "p95", "p99")},
        "no_answer_empty_share": result.no_answer.empty_share,
    }


@dataclass(frozen=True)
class _Claim:
    """A requirement on a mean of which the questions are a sample.

    Attributes:
        requirement: What has to hold.
        where: The slice it is about.
        measured: What was measured, in words, but for the interval.
        mean: What is proven about the value that has to meet the bound.
        allowed: What it has to be, in words.
        n_clusters: Of how many clusters it is; None if the questions are independent.
        sign: "+" where numbers are shown with their sign.
        is_turned: Whether less is better, so that the interval is shown with its sign turned.
    """

    requirement: Requirement
    where: str | None
    measured: str
    mean: ProvenMean
    allowed: str
    n_clusters: int | None = None
    sign: str = ""
    is_turned: bool = False

    @cached_property
    def p_values(self) -> tuple[float, float]:
        """The p-values of "the requirement is missed" and of "it is met"."""
        is_lower, bound = self.requirement.strict_end == "lower", self.requirement.bound
        if self.requirement.holds(self.mean.least if is_lower else self.mean.most):
            return 0.0, 1.0  # it cannot be missed
        above, below = self.mean.p_at_most(bound), self.mean.p_at_least(bound)
        return (above, below) if is_lower else (below, above)


Claim = Check | _Claim

FEWEST_CLUSTERS = 20
_MOST_ASKED = 10**9  # so many questions are no plan
"""With fewer clusters nothing passes: nothing then shows whether the next one is like them."""


def _decide(found: Sequence[Claim], confidence: float, nights: int = 1) -> list[Check]:
    """Decide all requirements of a gate as one family.

    Of those that are met, any is called missed with a probability of at most (1 - confidence) / 2, over all of them and
    all nights together. One that is missed passes with a probability of at most as much. That needs no correction, for
    the gate passes only if all requirements do.

    Source: Holm (1979), Scandinavian Journal of Statistics 6(2), for the failures; Berger (1982), Technometrics 24(4),
    for tests that must all succeed.
    """
    claims = [claim for claim in found if isinstance(claim, _Claim)]
    if claims:
        need_scipy("intervals")
    adjusted = [min(p * nights, 1.0) for p in holm([claim.p_values[1] for claim in claims])]
    p_fail = dict(zip(map(id, claims), adjusted, strict=True))
    family = number_of(len(claims), "requirement") + (f" over {nights} nights" if nights > 1 else "")
    return [one if isinstance(one, Check) else _decided(one, confidence, p_fail[id(one)], family) for one in found]


def _decided(claim: _Claim, confidence: float, p_fail: float, family: str) -> Check:
    requirement, tail, (p_pass, p_alone) = claim.requirement, (1 - confidence) / 2, claim.p_values
    low, high = claim.mean.interval(tail)
    low, high = (-high, -low) if claim.is_turned else (low, high)
    decided = partial(
        Check,
        requirement.text,
        claim.where,
        measured=f"{claim.measured} ({low:{claim.sign}.4f} to {high:{claim.sign}.4f})",
        allowed=claim.allowed,
        p_pass=p_pass,
        p_fail=p_fail,
        procedure=claim.mean.procedure,
    )
    if p_fail <= tail:
        return decided(Status.FAIL)
    if requirement.end not in (None, requirement.strict_end):  # the end nearer to the bound is all that is asked for
        p_pass = 0.0 if p_alone > tail else 1.0
    if p_pass <= tail and claim.n_clusters is not None and claim.n_clusters < FEWEST_CLUSTERS:
        return decided(
            Status.INCONCLUSIVE,
            note=f"{number_of(claim.n_clusters, 'cluster')} are too few to pass: it takes {FEWEST_CLUSTERS}",
        )
    if p_pass <= tail:
        return decided(Status.PASS)
    note = f"it misses the bound alone, but one of {family} may do so by chance; " if p_alone <= tail else ""
    needed = claim.mean.needed(requirement.bound, tail, 0.8) if isinstance(claim.mean, BoundedMean) else None
    if needed is None or needed > _MOST_ASKED or not isinstance(claim.mean, BoundedMean):
        return decided(Status.INCONCLUSIVE, note=f"{note}it takes more questions, but these do not show how many")
    questions = math.ceil(max(needed, claim.mean.n + 1))
    note += f"about {questions:,} such questions would decide it"
    return decided(Status.INCONCLUSIVE, note=note, questions=questions)


@dataclass(frozen=True, slots=True)
class _Changes:
    """The values of a run and its baseline for all questions.

    Attributes:
        signature: The settings behind them.
        values: The values of the run, by key; shape (n,), NaN where undefined.
        before: The same of the baseline.
        labels: The clusters of the questions; None if they are independent.
    """

    signature: str
    values: Mapping[str, FloatArray]
    before: Mapping[str, FloatArray]
    labels: IntArray | None = None

    @classmethod
    def of(
        cls, questions: EvalSet, run: Run, baseline: Run, policy: Policy, labels: IntArray | None = None
    ) -> _Changes | None:
        """Score both; None where no drop is forbidden.

        Raises:
            InvalidInputError: The policy forbids a drop of what no query has, or of what has no limits.
        """
        keys = list(dict.fromkeys(key for one in (policy.demands, *policy.slices.values()) for key in one.no_drop))
        if not keys:
            return None
        results = [_evaluate(questions, one, keys, policy, None) for one in (run, baseline)]
        values, before = (result.detail.values if result.detail else {} for result in results)
        for key in keys:
            if key not in values:
                raise InvalidInputError(f"`no_drop` names {key!r}, which no query has. They have: {', '.join(values)}.")
            refuse_own_ideal(key, results[0].signature)
            _need_limits(key, values[key], before[key])
        if policy.cluster is None:
            columns = {key: values[key] - before[key] for key in keys}
            warn_of_shared_gold(results[0], columns, questions, policy.scoring.get("doc_key", DOC_KEY))
        return cls(results[0].signature, values, before, labels)

    def claim(self, key: str, size: float, where: str | None, inside: BoolArray) -> Claim:
        """Return the requirement that the questions inside a slice have dropped by no more than this size."""
        # A drop of just as much as is allowed may be off in the last bit.
        requirement = Requirement(f"{key}: no drop larger than {size:g}", key, None, ">=", -size - 1e-12)
        changes = self.values[key] - self.before[key]
        inside = inside & ~np.isnan(changes)
        if not inside.any():
            undefined = f"{key} is undefined: no query has a value in both"
            return Check(requirement.text, where, Status.INCONCLUSIVE, undefined)
        is_turned = is_lower_better(key)
        was, is_now = self.before[key][inside], self.values[key][inside]
        measured = f"{format_value(_mean(was))} → {format_value(_mean(is_now))}, difference {_mean(is_now - was):+.4f}"
        labels = None if self.labels is None else self.labels[inside]
        allowed = f"a {'rise' if is_turned else 'drop'} of at most {size:g}"
        if _is_one(labels):
            return _of_one_cluster(requirement, where, measured, allowed, int(inside.sum()))
        gains = -changes[inside] if is_turned else changes[inside]
        mean = BoundedMean.of(gains, least=-1.0, most=1.0, labels=labels)
        return _Claim(requirement, where, measured, mean, allowed, _n_clusters(labels), "+", is_turned)


def _need_limits(key: str, *values: FloatArray) -> None:
    """Refuse to decide about a mean without limits.

    Raises:
        InvalidInputError: The metric has none, or one of its values lies outside 0 and 1.
    """
    if is_share(key) is False or any(np.nanmin(v, initial=0.0) < 0 or np.nanmax(v, initial=1.0) > 1 for v in values):
        raise InvalidInputError(
            f"{key!r} is not limited to 0 to 1, and no number of questions proves where the mean of such values lies: "
            f"one more may change it by any amount. Write a plain bound such as 'observed({key}) <= 3' in `require`."
        )


def _mean(values: FloatArray) -> float:
    return math.fsum(values.tolist()) / len(values)


def _n_clusters(labels: IntArray | None) -> int | None:
    """Return how many clusters there are; None if each question is one of its own."""
    n = 0 if labels is None else len(np.unique(labels))
    return None if labels is None or n == len(labels) else n


def _is_one(labels: IntArray | None) -> bool:
    """Return whether all of several questions are in one cluster."""
    return labels is not None and len(labels) > 1 and len(np.unique(labels)) == 1


def _of_one_cluster(requirement: Requirement, where: str | None, measured: str, allowed: str, n: int) -> Check:
    note = f"all {n} questions are in one cluster, which says nothing about others"
    return Check(requirement.text, where, Status.INCONCLUSIVE, measured, allowed, note)


def _claims(
    result: EvaluationResult,
    require: Sequence[Requirement],
    where: str | None = None,
    figures: Mapping[str, float | None] | None = None,
    labels: IntArray | None = None,
) -> list[Claim]:
    """Return what is to be decided about a result, and plain bounds with what they come to.

    Raises:
        UnknownMetricError: The result has no such key.
        InvalidInputError: A figure of a run, which has no interval, is bounded by one, or so is what has no limits.
    """
    proven = proven_means(result, labels)
    return [_claim(result, requirement, where, figures or {}, proven, labels) for requirement in require]


def _claim(
    result: EvaluationResult,
    requirement: Requirement,
    where: str | None,
    figures: Mapping[str, float | None],
    proven: Callable[[str], ProvenMean],
    labels: IntArray | None,
) -> Claim:
    key, is_figure = requirement.key, requirement.key in figures
    refuse_own_ideal(key, result.signature)
    value = figures[key] if is_figure else result[key]
    is_leak = _base(key) in LEAK_METRICS
    if value is None and is_leak:
        undefined = f"{key} is undefined: {NOTHING_FORBIDDEN}"
        return Check(requirement.text, where, Status.INCONCLUSIVE, undefined, is_empty=True)
    if value is None:
        return Check(requirement.text, where, Status.INCONCLUSIVE, f"{key} is undefined: no query has a value")
    if not is_figure and is_share(key) and not 0 <= requirement.bound <= 1:
        raise InvalidInputError(
            f"{requirement.text!r:.80}: {key} lies between 0 and 1, and {requirement.bound:g} does not. Write a bound "
            "that does, such as 0.8."
        )
    measured, allowed = f"{key} = {format_value(value)}", f"{requirement.sign} {requirement.bound:g}"
    if is_figure and requirement.end in ("lower", "upper"):
        raise InvalidInputError(f"{key!r} has no interval. Write {key} {requirement.sign} {requirement.bound:g}.")
    if is_leak and (requirement.end == "observed" or requirement.bound == 0):
        return _of_leaks(result, requirement, where, value)
    if is_figure or requirement.end == "observed":
        status = Status.PASS if requirement.holds(value) else Status.FAIL
        return Check(requirement.text, where, status, measured, allowed, "a plain bound without statistics")
    columns = {} if result.detail is None else result.detail.values
    column = columns.get(key.removeprefix("macro_").removeprefix("micro_"), np.array([value]))
    _need_limits(key, column)
    within = None if labels is None else labels[~np.isnan(column)]
    if _is_one(within):
        return _of_one_cluster(requirement, where, measured, allowed, result.n_queries)
    return _Claim(requirement, where, measured, proven(key.removeprefix("macro_")), allowed, _n_clusters(within))


def _base(key: str) -> str:
    return key.partition("@")[0]


def _of_leaks(result: EvaluationResult, requirement: Requirement, where: str | None, value: float) -> Check:
    """Return what a plain bound on forbidden documents comes to: a statement about these questions alone."""
    cut_off = requirement.key.partition("@")[2]
    review = result.leaks(int(cut_off) if cut_off.isdecimal() else None)
    status = Status.PASS if requirement.holds(value) else Status.FAIL
    measured, allowed = (
        f"{requirement.key} = {format_value(value)}: {review.title}",
        f"{requirement.sign} {requirement.bound:g}",
    )
    named = tuple(map(str, review.rows[:_MOST_LEAKS])) if status is Status.FAIL else ()
    note = "a statement about these questions alone"
    return Check(requirement.text, where, status, measured, allowed, note, leaks=named)


_MOST_LEAKS = 5


def assert_retrieval(
    result: EvaluationResult,
    *requirements: str,
    confidence: float = 0.95,
    cluster: Clusters = None,
    evalset: EvalSet | None = None,
) -> None:
    """Fail a test with a readable message unless a result is shown to meet the requirements.

    Args:
        result: What `evaluate` or `evaluate_run` returned.
        *requirements: Such as `"recall@5 >= 0.8"`, which has to hold for the whole confidence interval (needs scipy,
            extra `stats`), or `"observed(recall@5) >= 0.8"`, a plain bound on these queries without statistics.
        confidence: Of the intervals. If all requirements are met, any of them is called failed with a probability of
            at most half of 1 minus it.
        cluster: What makes queries depend on each other, as `intervals_of` takes it.
        evalset: The questions, if `cluster` is one of their fields.

    Raises:
        AssertionError: A requirement is not met, or cannot be decided with so many queries.
        InvalidInputError: One is no requirement, or there is none.
        UnknownMetricError: The result has no such key.
        MissingDependencyError: An interval is needed, and scipy is not installed.

    >>> from krag_eval import evaluate
    >>> assert_retrieval(evaluate([["a"]] * 40, [["a"]] * 40, k=5), "recall@5 >= 0.8", "observed(mrr@5) > 0.99")
    """
    if not isinstance(result, EvaluationResult):
        refuse("result", "what `evaluate` returned", result)
    if not requirements:
        raise InvalidInputError("There is no requirement. Give at least one, such as 'recall@5 >= 0.8'.")
    check_confidence(confidence)
    if cluster is None and result.detail is not None:
        warn_of_shared_gold(result, result.detail.values, None, DOC_KEY)
    labels = labels_of(result, cluster, evalset)
    parsed = [Requirement.parse(text) for text in requirements]
    checks = _decide(_claims(result, parsed, labels=labels), confidence)
    missed = [(check, one) for check, one in zip(checks, parsed, strict=True) if check.status != Status.PASS]
    if missed:
        leaked = next((leak for check, _ in missed for leak in check.leaks), None)
        lines = [f"{len(missed)} of {len(checks)} requirements not met on {result.n_queries} queries:"]
        lines[:0] = [f"leaked: {leaked}"] if leaked else []
        lines += [f"  {check.status}: {check.requirement} ({check.found})" for check, _ in missed]
        for check, requirement in missed:
            lines += [f"  {leak}" for leak in check.leaks]
            failing, named = requirement.missed_by(result)
            if failing:
                lines.append(f"  {number_of(len(failing), 'query')} with {requirement.key} out of bounds: {named}")
        raise AssertionError("\n".join([*lines, str(result)]))
