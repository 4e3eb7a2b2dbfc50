"""Test a retriever with pytest: `@pytest.mark.retrieval(k=5, min_recall=0.8)`.

pytest loads this module in every run, so that it imports the rest of the package when a test needs it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from krag_eval.toolkit import refuse

if TYPE_CHECKING:
    from krag_eval import EvalSet, EvaluationResult, Policy, Run

_FILES = {"retrieval_evalset": "the question set", "retrieval_run": "the run, which holds what was retrieved"}
_PART = "retrieval_part"
_RESULT = "retrieval_result"
_MOST_EXPLAINED = 3
_SIGNS = {"min_": ">=", "max_": "<="}
_READ = pytest.StashKey[dict[Any, Any]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options and the settings of the ini file."""
    group = parser.getgroup("retrieval", "retrieval (krag-eval)")
    for name, what in _FILES.items():
        group.addoption(f"--{name.replace('_', '-')}", metavar="FILE", help=f"File of {what}.")
        parser.addini(name, f"File of {what}, relative to the ini file.")
    group.addoption(
        "--retrieval-per-question",
        action="store_true",
        help="Make each question a test of its own in tests marked with `retrieval`.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.stash[_READ] = {}
    config.addinivalue_line(
        "markers",
        "retrieval(k, min_METRIC, max_METRIC, by=None, **settings): score the run, and fail if a mean misses a bound.",
    )


@pytest.fixture(scope="session")
def retrieval_evalset(pytestconfig: pytest.Config) -> EvalSet:
    """Return the question set that `retrieval_evalset` or `--retrieval-evalset` names."""
    return _evalset_of(pytestconfig)


@pytest.fixture(scope="session")
def retrieval_run(pytestconfig: pytest.Config, retrieval_evalset: EvalSet) -> Run:
    """Return the run that `retrieval_run` or `--retrieval-run` names."""
    from krag_eval import read_run

    path = _path_of(pytestconfig, "retrieval_run")
    run: Run = _or_fail(read_run, path, evalset=retrieval_evalset)
    return run


@pytest.fixture
def retrieval_result(
    request: pytest.FixtureRequest, retrieval_evalset: EvalSet, retrieval_run: Run
) -> EvaluationResult:
    """Return the scores of the run, as the marker of the test asks for them."""
    from krag_eval import evaluate_run

    marker = request.node.get_closest_marker("retrieval")
    if marker is None:
        pytest.fail("`retrieval_result` needs @pytest.mark.retrieval(k=5, min_recall=0.8) on the test.", pytrace=False)
    settings, policy = _or_fail(_read_marker, marker)
    settings["metrics"] = list(dict.fromkeys(bound.key.partition("@")[0] for bound in policy.demands.require))
    cached = request.config.stash[_READ]
    key = (id(retrieval_evalset), id(retrieval_run), repr(settings))
    if key not in cached:  # the set and the run are kept too, so that their ids stay theirs
        result = _or_fail(evaluate_run, retrieval_evalset, retrieval_run, **settings)
        cached[key] = retrieval_evalset, retrieval_run, result
    scored: EvaluationResult = cached[key][2]
    return scored


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make each question, or each value of the field `by`, a test of its own where that is asked for."""
    marker = next(metafunc.definition.iter_markers("retrieval"), None)
    if marker is None:
        return
    from krag_eval.toolkit import escape_controls

    settings, _ = _or_fail(_read_marker, marker, keep_by=True)
    by = "id" if metafunc.config.getoption("retrieval_per_question") else settings.get("by")
    if by is None:
        return
    parts: dict[str, list[int]] = {}
    for index, question in enumerate(_evalset_of(metafunc.config)):
        parts.setdefault(str(_or_fail(question.value, by)), []).append(index)
    metafunc.fixturenames.append(_PART)
    names = [name if by == "id" else f"{by}={name}" for name in parts]
    metafunc.parametrize(_PART, list(zip(names, parts.values(), strict=True)), ids=list(map(escape_controls, names)))


def pytest_itemcollected(item: pytest.Item) -> None:
    """Let a marked test have the scores, also where it has no argument for them."""
    if item.get_closest_marker("retrieval") and isinstance(item, pytest.Function) and _RESULT not in item.fixturenames:
        item.fixturenames.append(_RESULT)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> None:
    """Check the bounds of the marker before the body of the test runs."""
    marker = pyfuncitem.get_closest_marker("retrieval")
    if marker is None:
        return
    funcargs: dict[str, Any] = pyfuncitem.funcargs
    callspec = getattr(pyfuncitem, "callspec", None)
    part = None if callspec is None else callspec.params.get(_PART)
    _check(funcargs[_RESULT], _read_marker(marker)[1], part)


def _check(result: EvaluationResult, policy: Policy, part: tuple[str, list[int]] | None) -> None:
    import numpy as np

    from krag_eval.toolkit import format_value, number_of, one_line

    name, indices = part or ("all questions", list(range(result.n_queries)))
    where = one_line(name)
    messages, missed = [], dict[int, None]()
    for bound in policy.demands.require:
        values = _or_fail(_values_of, result, bound.key)[indices]
        values = values[~np.isnan(values)]
        if not len(values):
            pytest.skip(f"{bound.key} is undefined for {where}: no question has a value, for example without gold.")
        mean = float(values.mean())
        if not bound.holds(mean):
            these, named = bound.missed_by(result, {*indices})
            missed.update(dict.fromkeys(these))
            messages.append(
                f"{where}: {bound.key} = {format_value(mean)}, but {bound.key} {bound.sign} {bound.bound:g} is "
                f"required. {number_of(len(these), 'question')} of {len(values)} miss it: {named}"
            )
    if messages:
        shown = [str(result.explain(index)) for index in list(missed)[:_MOST_EXPLAINED]]
        pytest.fail("\n\n".join([*messages, *shown]), pytrace=False)


def _values_of(result: EvaluationResult, key: str) -> Any:
    from krag_eval import InvalidInputError

    result[key]  # raises the error that names the closest key
    values = None if result.detail is None else result.detail.values.get(key)
    if values is None:
        raise InvalidInputError(
            f"{key} has no value per question, which @pytest.mark.retrieval needs. Bound it in the test itself, "
            "with the fixture `retrieval_result`."
        )
    return values


def _read_marker(marker: pytest.Mark, *, keep_by: bool = False) -> tuple[dict[str, Any], Policy]:
    """Return the settings of `evaluate_run` and the policy that a marker gives."""
    from krag_eval import InvalidInputError, Policy
    from krag_eval.toolkit import as_number, did_you_mean

    if marker.args:
        raise InvalidInputError("@pytest.mark.retrieval takes keywords only, such as k=5, min_recall=0.8.")
    settings: dict[str, Any] = {}
    bounds = []
    for name, value in marker.kwargs.items():
        sign = _SIGNS.get(name[:4])
        if sign is None:
            if name not in (known := ["k", "by", *Policy.SCORING_KEYS]):
                near = did_you_mean(name, [*known, "min_recall", "max_redundancy"])
                raise InvalidInputError(
                    f"@pytest.mark.retrieval has no setting {name!r}.{near} A bound is min_METRIC or max_METRIC; "
                    f"the settings are: {', '.join(known)}."
                )
            settings[name] = value
            continue
        number = as_number(value)
        if number is None:
            refuse(name, "a number", value)
        key = name[4:] if "@" in name else f"{name[4:]}@{marker.kwargs.get('k')}"
        bounds.append(f"observed({key}) {sign} {number!r}")
    if type(settings.get("k")) not in (int, str):
        raise InvalidInputError(
            f"`k` of @pytest.mark.retrieval must be one cut-off such as 5, got {settings.get('k')!r}."
        )
    if not bounds:
        raise InvalidInputError("@pytest.mark.retrieval has no bound. Give one, such as min_recall=0.8.")
    if not keep_by:
        settings.pop("by", None)
    level = {"relevance_level": settings["relevance_level"]} if "relevance_level" in settings else {}
    return settings, Policy.from_dict({"gate": {"require": bounds}, "scoring": level})


def _evalset_of(config: pytest.Config) -> EvalSet:
    from krag_eval import read_evalset

    path = _path_of(config, "retrieval_evalset")
    cached = config.stash[_READ]
    if path not in cached:
        cached[path] = _or_fail(read_evalset, path)
    evalset: EvalSet = cached[path]
    return evalset


def _path_of(config: pytest.Config, name: str) -> Path:
    given, option = config.getoption(name), f"--{name.replace('_', '-')}"
    named = given or config.getini(name)
    if not named:
        pytest.fail(
            f"No file of {_FILES[name]} is named. Give {option} FILE, write `{name} = FILE` in the ini file of pytest, "
            f"or define a fixture `{name}`.",
            pytrace=False,
        )
    base = config.invocation_params.dir if given else (config.inipath or config.rootpath / "ini").parent
    path = Path(base, named)
    if not path.exists():
        pytest.fail(f"{option if given else name}: there is no file {path}. Correct the path.", pytrace=False)
    return path


def _or_fail(function: Any, *args: Any, **settings: Any) -> Any:
    """Call a function; what it refuses fails the test, or its collection, without a traceback."""
    from krag_eval import KragEvalError

    try:
        return function(*args, **settings)
    except KragEvalError as error:
        message = str(error)
    pytest.fail(message, pytrace=False)  # out of the handler, whose error would be shown again
