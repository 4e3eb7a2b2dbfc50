"""Whatever a policy or the name of a metric says, it is read or refused: exit code 1 is kept for a gate that fails."""

from __future__ import annotations

import contextlib
import datetime as dt
import math
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import krag_eval
import krag_eval_live
from krag_eval import InvalidInputError, KragEvalError
from krag_eval.analysis.gate import FIGURES, GateReport, Policy, Requirement, check_gate, read_policy
from krag_eval.metrics import ALL_METRICS
from tests.support.command_line import Runner
from tests.support.gate_cases import make_run, make_set

SET = make_set(4)
RUN = make_run("run", SET, range(2))
DIGITS = "1" * 5000
NUMBERS = [
    DIGITS,
    DIGITS + "tok",
    f"{DIGITS[:299]}tok",
    "0",
    "-1",
    "1e9",
    "٥",
    "²",
    "5" * 301,
    "all",
    "k",
    "",
    "2.0",
    "1_0",
    "0005",
    "5tok",
]
CUT_OFFS = [f"@{number}" for number in NUMBERS] + [
    "@",
    "@@",
    "@5@5",
    "_5",
    "_cut_5",
    "(p=0.5)",
    "(p=9)",
    "(",
    "(p=" + DIGITS + ")",
]
NAMES = sorted(
    {
        f"{mean}{name}{at}"
        for at in CUT_OFFS
        for mean in ("", "micro_", "macro_", "Mean ")
        for name in ("recall", "ndcg", "rbp", "hit_rate", "nDCG", "")
    }
)
keys = st.builds(
    "{}{}{}".format,
    st.sampled_from(["", "micro_", "macro_"]),
    st.sampled_from([*ALL_METRICS, *FIGURES, "P", "R"]),
    st.one_of(st.sampled_from(CUT_OFFS), st.text(max_size=5)),
)
requirements = st.one_of(
    st.text(max_size=30),
    st.builds(
        "{}{}{} {} {}".format,
        st.sampled_from(["", "lower(", "upper(", "lower (", "("]),
        keys,
        st.sampled_from(["", ")"]),
        st.sampled_from([">=", "<=", ">", "<", "=", "=>", ">>="]),
        st.one_of(
            st.floats().map(repr),
            st.integers(),
            st.sampled_from(["1e999", "-1e999", "1.2.3", ".", "1" * 5000, "٥", "0x1"]),
        ),
    ),
)
simple = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=9),
    st.sampled_from([10**400, dt.date(2026, 1, 1), math.inf]),
)
values = st.recursive(
    simple,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=5,
)
demands = st.fixed_dictionaries(
    {},
    optional={
        "require": st.one_of(st.lists(requirements, max_size=3), values),
        "no_drop": st.one_of(st.dictionaries(keys, simple, max_size=2), values),
    },
)
SCORING = [
    "match_method",
    "threshold",
    "level",
    "doc_key",
    "proxy",
    "gain",
    "normalize",
    "tokenizer",
    "id_key",
    "k",
    "metrics",
]
SETTINGS = dict.fromkeys(("inconclusive", "confidence", "seed", "x"), values)
GATES = st.builds(dict.__or__, demands, st.fixed_dictionaries({}, optional=SETTINGS))
SLICES = st.dictionaries(st.sampled_from(["literal", "x"]), demands, max_size=2)
policies = st.fixed_dictionaries(
    {},
    optional={
        "gate": st.one_of(demands, GATES),
        "slices": st.one_of(values, st.dictionaries(st.sampled_from(["type", "x"]), SLICES, max_size=2)),
        "scoring": st.one_of(values, st.dictionaries(st.sampled_from(SCORING), values, max_size=2)),
    },
)


@given(st.one_of(st.binary(max_size=200), st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace"))))
@example(b"[gate]\nrequire = [" + b"[" * 20_000)
@example(b"x = " + b"1" * 5000)
@example(b"x = 2026-13-45T99:99:99+99:99")
@example(b"[a]\n[a]\n")
@example(b'"\\ud800" = 1')
def test_any_file_is_a_policy_or_refused(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "gate.toml"
    path.write_bytes(content)
    with pytest.raises(InvalidInputError, match=r"gate\.toml: "):  # none of these has a requirement
        read_policy(path)


@pytest.mark.filterwarnings("ignore")
@given(policies)
@example({"gate": {"require": [f"recall@{DIGITS} >= 0.8"]}})
@example({"gate": {"require": [f"recall@{DIGITS}tok >= 0.8"]}})
@example({"gate": {"no_drop": {f"recall@{DIGITS}": 0.1}}})
@example({"gate": {"require": ["recall@5 >= 1e999"]}})
def test_any_policy_is_checked_or_refused(tables: dict[str, Any]) -> None:
    with contextlib.suppress(KragEvalError):
        assert isinstance(check_gate(SET, RUN, Policy.from_dict(tables), baseline=RUN), GateReport)


def test_no_number_is_too_long_to_be_refused() -> None:
    require = {"require": ["recall@5 >= 0.1"]}
    for number in (10**5000, -(10**5000)):
        tables: list[dict[str, Any]] = [{"gate": {**require, name: number}} for name in ("confidence", "inconclusive")]
        tables += [{"gate": require, "scoring": {name: number}} for name in SCORING]
        tables += [{"gate": number}, {"gate": {"require": [number]}}, {"gate": {"no_drop": {"recall@5": number}}}]
        tables += [{"gate": require, "scoring": {"threshold": {"rougeL": number}, "match_method": [number]}}]
        for given_ in tables:
            with pytest.raises(InvalidInputError):
                check_gate(SET, RUN, Policy.from_dict(given_), baseline=RUN)


@given(requirements)
def test_a_bound_is_a_finite_number(text: str) -> None:
    with contextlib.suppress(InvalidInputError):
        assert math.isfinite(Requirement.parse(text).bound)


MISTAKES = {
    "five thousand digits": f'require = ["recall@{DIGITS} >= 0.8"]',
    "a budget of five thousand digits": f'require = ["recall@{DIGITS}tok >= 0.8"]',
    "in an interval": f'require = ["lower(recall@{DIGITS}) >= 0.8"]',
    "in a drop": f'no_drop = {{"recall@{DIGITS}" = 0.1}}',
    "no rank": 'require = ["recall@0 >= 0.8"]',
    "below zero": 'require = ["recall@-1 >= 0.8"]',
    "no integer": 'require = ["recall@1e9 >= 0.8"]',
    "digits of another script": 'require = ["recall@٥ >= 0.8"]',
    "nothing after the sign": 'require = ["recall@ >= 0.8"]',
    "no metric": 'require = ["@5 >= 0.8"]',
    "unknown": 'require = ["recal@5 >= 0.8"]',
    "beyond all numbers": 'require = ["recall@5 >= 1e999"]',
    "a bound of many digits": f'require = ["recall@5 >= {DIGITS}"]',
    "not a number": 'require = ["recall@5 >= nan"]',
    "no list": 'require = "recall@5 >= 0.8"',
    "a list of numbers": "require = [0.8]",
    "a number of many digits": f"seed = {DIGITS}",
    "no sign": 'require = ["recall@5"]',
    "no TOML": "require = [",
    "levels": "require = " + "[" * 5000,
    "a date": "confidence = 2026-01-01",
    "unknown setting": 'require = ["recall@5 >= 0.1"]\n[scoring]\nmatch_method = 7',
    "a level": 'require = ["recall@5 >= 0.1"]\n[scoring]\nlevel = ["chunk"]',
    "a hexadecimal number of many digits": "seed = -0x" + "f" * 5000,
    "the same in a setting": f'require = ["recall@5 >= 0.1"]\n[scoring]\nuse_stemmer = 0x{"f" * 5000}',
    "a key": 'require = ["recall@5 >= 0.1"]\n[scoring]\ndoc_key = 5',
    "a tokenizer": 'require = ["recall@5 >= 0.1"]\n[scoring]\ntokenizer = "wrods"',
    "a proxy": 'require = ["recall@5 >= 0.1"]\n[scoring]\nproxy = "maybe"',
    "a slice": 'require = ["recall@5 >= 0.1"]\n[slices]\ntype = 3',
}  # fmt: skip


@pytest.fixture
def gate(command: Runner) -> Runner:
    krag_eval.write_evalset(SET, "set.jsonl")
    krag_eval.write_run(RUN, "run.jsonl")
    return command


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_in_a_policy_is_exit_2_in_one_line(gate: Runner, name: str) -> None:
    Path("gate.toml").write_text(f"[gate]\n{MISTAKES[name]}\n", encoding="utf-8")
    code, out, err = gate("gate set.jsonl run.jsonl --policy gate.toml --baseline run.jsonl")
    assert (code, out, err.count("\n")) == (2, "", 1), err
    assert len(err) < 900


def test_an_unexpected_error_is_exit_70_with_its_traceback(gate: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*given: object, **settings: object) -> None:
        raise RuntimeError("a mistake of ours\x1b[2J")

    Path("gate.toml").write_text('[gate]\nrequire = ["recall@5 >= 0.1"]\n', encoding="utf-8")
    monkeypatch.setattr("krag_eval_cli.commands.gate.check_gate", broken)
    monkeypatch.setattr("krag_eval_cli.commands.compare.compare_runs", broken, raising=False)
    code, out, err = gate("gate set.jsonl run.jsonl --policy gate.toml")
    assert (code, out) == (70, "")
    assert "Traceback" in err
    assert "RuntimeError: a mistake of ours\\u001b[2J\n" in err
    assert "\x1b" not in err
    assert err.splitlines()[-1].startswith("This error was not expected. Please report it")


@pytest.mark.full
def test_a_gate_whose_reader_has_gone_does_not_say_that_it_fails(gate: Runner, tmp_path: Path) -> None:
    Path("gate.toml").write_text('[gate]\nrequire = ["recall@5 >= 0.1"]\n', encoding="utf-8")
    read_end, write_end = os.pipe()
    os.close(read_end)
    line = ["gate", "set.jsonl", "run.jsonl", "--policy", "gate.toml"]
    for unbuffered in ([], ["-u"]):
        done = subprocess.run(
            [sys.executable, *unbuffered, "-c", "from krag_eval_cli import main; main()", *line],
            stdout=write_end, stderr=subprocess.PIPE, cwd=tmp_path, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (141, b"")
    os.close(write_end)


ACTUAL, PREDICTED = [["a", "b"]], [["b", "x"]]


def ways() -> dict[str, Callable[[str], object]]:
    """Every call of Python that reads the name of a metric or a cut-off."""
    result = krag_eval.evaluate(ACTUAL, PREDICTED, k=(1, 5))
    return {
        "metrics": lambda name: krag_eval.evaluate(ACTUAL, PREDICTED, metrics=name),
        "metrics with k": lambda name: krag_eval.evaluate(ACTUAL, PREDICTED, 5, metrics=[name]),
        "metrics of ids": lambda name: krag_eval.evaluate_ids(ACTUAL, PREDICTED, metrics=[name]),
        "k": lambda name: krag_eval.evaluate(ACTUAL, PREDICTED, name.rpartition("@")[2]),
        "a key": lambda name: result[name],
        "is in": lambda name: name in result,
        "worst": lambda name: result.worst(1, name),
        "compare": lambda name: krag_eval.compare({"a": result, "b": result}, keys=[name]),
        "leaderboard": lambda name: krag_eval.leaderboard({"a": result}, keys=[name]),
        "assert": lambda name: krag_eval.assert_retrieval(result, f"{name} >= 0"),
        "live": lambda name: krag_eval_live.LiveScorer([], metrics=[name]),
    }


@pytest.mark.full
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("way", ways())
def test_a_name_is_a_metric_or_refused_wherever_it_is_read(way: str) -> None:
    call = ways()[way]
    for name in NAMES:
        with contextlib.suppress(KragEvalError, AssertionError):
            call(name)


def test_a_cut_off_that_is_none_is_refused() -> None:
    wrong: list[Any] = [10**5000, -(10**5000), 10**400, True, 0, 1.5, math.nan, "5", b"5", [[5]], {}, object()]
    for k in wrong:
        with pytest.raises(InvalidInputError):
            krag_eval.evaluate(ACTUAL, PREDICTED, k)


GIVEN = {
    "digits": f"--k={DIGITS}",
    "a budget": f"--k={DIGITS}tok",
    "another script": "--k=٥,0",
    "a metric": f"--metrics=recall@{DIGITS}",
    "no metric": "--metrics=@",
}


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    "line", ["evaluate set.jsonl run.jsonl", "compare set.jsonl run.jsonl run.jsonl", "score-logs x --out y"]
)
@pytest.mark.parametrize("given", GIVEN)
def test_no_command_takes_such_a_name_or_cut_off(gate: Runner, line: str, given: str) -> None:
    code, _, err = gate(line, GIVEN[given])
    assert (code, err.count("\n")) == (2, 1), err
