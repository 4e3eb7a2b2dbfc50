"""What all tests share: the data beside the checkout, the rule about skips, and how hard hypothesis tries."""

from __future__ import annotations

import functools
import gc
import importlib.metadata
import os
import re
import signal
import ssl
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from typing import TypeVar

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import HealthCheck, settings

# Before any test imports numpy or a framework: tests share the cores, and nothing that runs here reports home.
os.environ.update(
    OPENBLAS_NUM_THREADS="1",
    DO_NOT_TRACK="1",
    HAYSTACK_TELEMETRY_ENABLED="False",
    LANGSMITH_TRACING="false",
    LANGSMITH_TRACING_V2="false",
    MLFLOW_DISABLE_TELEMETRY="true",
)
for name in ("GITHUB_ACTIONS", "GITLAB_CI", "TF_BUILD", "TEAMCITY_VERSION"):  # where standard output may be a log
    os.environ.pop(name, None)

pytest_plugins = ["tests.support.browser", "tests.support.command_line", "tests.support.plugins"]

DATA = Path(os.environ.get("KRAG_EVAL_DATA") or Path(__file__).parents[2] / "shared" / "data")
REQUIRE_ALL = os.environ.get("KRAG_EVAL_REQUIRE_ALL", "") not in {"", "0"}

# These take long, or need what a machine may not have: real data, a browser.
FIXTURES_OF_THE_FULL_SUITE = {"shared_data", "browser"}

# On CI the same examples each time, so that a red build belongs to the change that it stands beside.
settings.register_profile(
    "moderate",
    deadline=None,
    max_examples=40,
    derandomize=bool(os.environ.get("CI")),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("quick", settings.get_profile("moderate"), max_examples=10)
settings.register_profile("thorough", settings.get_profile("moderate"), max_examples=3000, derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or "moderate")

# A shell ignores it for what it starts in the background, and so would every process that a test starts.
signal.signal(signal.SIGINT, signal.default_int_handler)

_ALL_FULL = re.compile(r"^pytestmark = \[?pytest\.mark\.(peer, pytest\.mark\.)?full\b", re.MULTILINE)

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)


@pytest.fixture(scope="session", autouse=True)
def _read_once() -> Generator[None]:
    """Each client of a server would read all certificates of this machine, and none here speaks TLS.

    The entry points of all packages that are installed would be read for each command that comes by one, and what was
    frozen after the collection would be counted, object by object, for each file that is read in bulk.
    """
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(ssl, "create_default_context", functools.cache(ssl.create_default_context))
        patched.setattr(gc, "get_freeze_count", functools.cache(gc.get_freeze_count))
        patched.setattr(importlib.metadata, "entry_points", functools.cache(importlib.metadata.entry_points))
        yield


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data that is not part of the project."""
    if DATA.is_dir():
        return DATA
    if os.environ.get("KRAG_EVAL_DATA"):
        pytest.fail(f"KRAG_EVAL_DATA names {DATA}, which is no folder.")
    pytest.skip(f"need real data (there is no folder {DATA}; name one with KRAG_EVAL_DATA=/path/to/data)")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import no file for `make test` of which it runs no test."""
    if _is_quick(config) and collection_path.name.startswith("test_") and collection_path.suffix == ".py":
        return True if _ALL_FULL.search(collection_path.read_text(encoding="utf-8")) else None
    return None


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(collector: pytest.Collector, obj: object) -> list[pytest.Item] | None:
    """Make no cases for `make test` of a test that it does not run."""
    marks = getattr(obj, "pytestmark", []) if callable(obj) else []
    return [] if _is_quick(collector.config) and any(mark.name == "full" for mark in marks) else None


def _is_quick(config: pytest.Config) -> bool:
    return bool(config.getoption("markexpr") == "not full")


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Look for no examples in the docstrings of tests."""
    is_test = file_path.name.startswith("test_")
    return [collector for collector in (yield) if not (is_test and isinstance(collector, DoctestModule))]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave to `make test-full` what needs real data or a browser, and of many cases all but a sample."""
    n_cases: Counter[str] = Counter()
    for item in items:
        of_sample = item.get_closest_marker("sample")
        if of_sample is not None:
            function = item.nodeid.partition("[")[0]
            n_cases[function] += 1
            if (n_cases[function] - 1) % of_sample.args[0]:
                item.add_marker(pytest.mark.full)
        if FIXTURES_OF_THE_FULL_SUITE.intersection(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.full)


def pytest_sessionstart() -> None:
    """Keep the garbage collector from walking over ten thousand tests while they are collected, and afterwards."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Collect once what came up, and leave what stays."""
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_report_header() -> list[str]:
    """Say at the top what this run can and cannot see."""
    return [
        f"shared data: {DATA if DATA.is_dir() else f'ABSENT ({DATA}), tests on real data cannot run'}",
        f"skips: {'count as failures' if REQUIRE_ALL else 'allowed'} (KRAG_EVAL_REQUIRE_ALL)",
    ]


@pytest.hookimpl(wrapper=True, tryfirst=True)  # the last to write, below the list of what was skipped where
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> Generator[None]:
    """Count in one line the tests that this machine cannot run, by what they need."""
    yield
    reasons = Counter(_reason(report).removeprefix("Skipped: ") for report in terminalreporter.stats.get("skipped", []))
    if reasons:
        counts = "; ".join(f"{count} {reason}" for reason, count in reasons.most_common())
        terminalreporter.write_line(f"{reasons.total()} tests skipped on this machine: {counts}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Where everything is required, a test that is skipped has failed."""
    return _without_skip((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """The same for a module that skips itself, as `pytest.importorskip` does."""
    return _without_skip((yield))


def _without_skip(report: Report) -> Report:
    # An expected failure is also reported as skipped, and is none.
    if REQUIRE_ALL and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"KRAG_EVAL_REQUIRE_ALL is set, so nothing may be skipped. {_reason(report)}"
    return report


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    return str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)
