"""What the wheel says it was tested with, how known vulnerabilities are looked up, and who may publish."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
SBOM_FILE = ROOT / "requirements" / "sbom.cdx.json"
SBOM: dict[str, Any] = json.loads(SBOM_FILE.read_text(encoding="utf-8"))
COMPONENTS: dict[str, dict[str, Any]] = {component["name"]: component for component in SBOM["components"]}
WORKFLOW = ROOT / ".github" / "workflows" / "publish.yml"
ENGINES = ("local-llm", "ray", "spark")  # not in the extra `all`


def locked() -> dict[str, tuple[str, set[str]]]:
    """The version and the hashes of each package of the lock."""
    text = (ROOT / "requirements" / "dev.txt").read_text(encoding="utf-8").replace("\\\n", " ")
    found = (re.match(r"([a-z0-9._-]+)==(\S+)", line) for line in text.splitlines())
    return {line[1]: (line[2], set(re.findall(r"sha256:(\w+)", line.string))) for line in found if line is not None}


def test_each_component_has_the_version_and_the_hashes_of_the_lock() -> None:
    lock = locked()
    assert len(COMPONENTS) == len(SBOM["components"]) > 100
    for name, component in COMPONENTS.items():
        hashes = {one["content"] for one in component["hashes"]}
        assert (component["version"], hashes) == lock[name], f"{name}: run `make lock`"
        assert {one["alg"] for one in component["hashes"]} == {"SHA-256"}
        assert component["purl"] == component["bom-ref"] == f"pkg:pypi/{name}@{component['version']}"


def test_what_the_package_and_its_extras_need_is_in_it() -> None:
    extras = [lines for name, lines in PROJECT["optional-dependencies"].items() if name not in {"pytest", *ENGINES}]
    needed = {canonicalize_name(Requirement(line).name) for lines in extras for line in lines} - {"krag-eval"}
    core = {canonicalize_name(Requirement(line).name) for line in PROJECT["dependencies"]}
    assert needed | core <= set(COMPONENTS)
    assert core <= {name for name, component in COMPONENTS.items() if component["scope"] == "required"}
    assert not {"pytest", "mypy", "pip-audit"} & set(COMPONENTS)
    (ours,) = (one for one in SBOM["dependencies"] if one["ref"] == f"pkg:pypi/krag-eval@{PROJECT['version']}")
    assert {ref.removeprefix("pkg:pypi/").partition("@")[0] for ref in ours["dependsOn"]} == core


def test_licences_are_named_and_nothing_changes_from_one_build_to_the_next() -> None:
    assert SBOM["metadata"]["component"]["version"] == PROJECT["version"]
    assert SBOM["metadata"].keys() == {"component"}  # no time
    assert "serialNumber" not in SBOM
    assert sum("licenses" in component for component in COMPONENTS.values()) > 0.9 * len(COMPONENTS)


@pytest.mark.full
def test_it_is_valid_cyclonedx() -> None:
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    text = SBOM_FILE.read_text(encoding="utf-8")
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text.replace("SHA-256", "SHA-0", 1)) is not None


def build(folder: Path) -> Path:
    """The wheel of a copy of the tree."""
    for name in ("krag_eval", "adapters"):
        shutil.copytree(
            ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"), copy_function=shutil.copy
        )
    (folder / "requirements").mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE", "requirements/sbom.cdx.json"):
        shutil.copy(ROOT / name, folder / name)
    environment = {name: value for name, value in os.environ.items() if name != "SOURCE_DATE_EPOCH"}
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", "out"]
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    (wheel,) = (folder / "out").glob("*.whl")
    return wheel


@pytest.mark.full
def test_the_wheel_carries_it_and_is_the_same_from_two_trees(tmp_path: Path) -> None:
    wheels = []
    for name in ("one", "another place"):
        (tmp_path / name).mkdir()
        wheels.append(build(tmp_path / name))
    one, other = (hashlib.sha256(wheel.read_bytes()).hexdigest() for wheel in wheels)
    assert one == other
    with zipfile.ZipFile(wheels[0]) as wheel:
        (held,) = (name for name in wheel.namelist() if "/sboms/" in name)
        assert held == f"krag_eval-{PROJECT['version']}.dist-info/sboms/sbom.cdx.json"
        assert wheel.read(held) == SBOM_FILE.read_bytes()
        assert "sboms/sbom.cdx.json,sha256=" in wheel.read(held.replace("sboms/sbom.cdx.json", "RECORD")).decode()


@pytest.mark.parametrize(
    ("is_reached", "is_vulnerable", "passes"), [(True, False, True), (True, True, False), (False, True, True)]
)
def test_the_audit_fails_on_a_vulnerability_and_says_where_it_could_not_look(
    tmp_path: Path, is_reached: bool, is_vulnerable: bool, passes: bool
) -> None:
    """The commands that `make audit` calls are stand-ins: they say whether the service answers, and what it knows."""
    for name, fails in (("python", not is_reached), ("pip-audit", is_vulnerable)):
        (tmp_path / name).write_text(f"#!/bin/sh\necho {name} ran\nexit {int(fails)}\n", encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    done = subprocess.run(
        ["make", "audit", "READY=", f"RUN='{tmp_path}'"],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode == 0) == passes
    assert ("pip-audit ran" in done.stdout) == is_reached
    assert ("NOT AUDITED" in done.stderr) == (not is_reached)


def test_ci_audits() -> None:
    assert re.search(r"^ *make audit$", (ROOT / ".ci" / "run").read_text(encoding="utf-8"), re.MULTILINE)


def test_only_the_job_that_publishes_may_ask_for_a_token_and_it_runs_nothing_of_ours() -> None:
    text = WORKFLOW.read_text(encoding="utf-8")
    head, build_job, publish_job = re.split(r"^  (?:build|publish):$", text, flags=re.MULTILINE)
    assert "\npermissions: {}\n" in head
    assert re.findall(r"^      ([\w-]+: (?:read|write))$", build_job, re.MULTILINE) == ["contents: read"]
    assert re.findall(r"^      ([\w-]+: (?:read|write))$", publish_job, re.MULTILINE) == ["id-token: write"]
    assert "run:" not in publish_job
    assert "checkout" not in publish_job
    assert "environment: pypi" in publish_job
    assert "attestations: true" in publish_job
    assert "persist-credentials: false" in build_job


def test_nothing_is_built_or_published_before_the_tests_have_passed() -> None:
    jobs = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))["jobs"]
    orders = [step.get("run", step.get("uses", "").partition("@")[0]) for step in jobs["build"]["steps"]]
    assert orders.index("make test") < orders.index("make build") < orders.index("actions/upload-artifact")
    assert [key for job in jobs.values() for step in job["steps"] for key in step if key == "continue-on-error"] == []
    assert jobs["publish"]["needs"] == "build"


def test_the_workflow_has_no_secret_and_each_action_is_pinned_by_its_commit() -> None:
    text = WORKFLOW.read_text(encoding="utf-8")
    assert re.search("secrets|password|token:(?! write)|pull_request", text.replace("id-token", "")) is None
    uses = re.findall(r"uses: (.*)", text)
    assert len(uses) == 5
    assert [one for one in uses if not re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v[\d.]+", one)] == []
