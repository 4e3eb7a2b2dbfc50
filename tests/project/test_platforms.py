"""The recipes of docs/platforms.md are short, and each has a check that names the versions of the page."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.platforms.run import PAGE, checks, main, recipes, requirements

LONGEST = 10


def test_each_recipe_has_a_check_and_each_check_a_recipe() -> None:
    assert recipes().keys() == checks().keys()
    assert PAGE.read_text(encoding="utf-8").count("make test-platforms does") == len(recipes())


@pytest.mark.parametrize("name", recipes())
def test_a_recipe_has_at_most_ten_lines_and_the_versions_of_the_table(name: str) -> None:
    lines = [line for line in recipes()[name].splitlines() if line.strip()]
    assert len(lines) <= LONGEST
    pinned = [one.removeprefix("npm:").split("==") for one in requirements(checks()[name]) if "==" in one]
    assert pinned
    table = PAGE.read_text(encoding="utf-8").partition("## MLflow")[0]
    versions = [f"{package} {version}" for package, version in pinned]
    assert all(version in table for version in versions)
    named = re.findall(r'read_field\([^)]*"([\w-]+ [\d.]+)"\)', recipes()[name])
    assert 0 < recipes()[name].count("read_field(") == len(named)
    assert set(named) <= set(versions)
    assert "assert_names_field(" in checks()[name].read_text(encoding="utf-8")


@pytest.mark.full
@pytest.mark.parametrize("name", [pytest.param("haystack", marks=pytest.mark.full), "promptfoo"])
def test_a_recipe_runs_whose_platform_is_in_this_environment(name: str) -> None:
    done = subprocess.run([sys.executable, str(checks()[name])], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_only_what_fails_with_the_named_versions_is_a_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def passes(check: Path, packages: list[str], folder: Path) -> bool:
        named = bool(re.search("==", " ".join(packages)))
        return named != (check == checks()["dspy"])  # dspy fails with the named version, the others with the newest

    monkeypatch.setattr("tests.platforms.run._passes", passes)
    assert main(["opik"]) == 0
    assert "opik with opik: FAILED\nFailed with the named versions: none." in capsys.readouterr().out
    assert main(["opik", "dspy"]) == 1
    assert "Failed with the named versions: dspy." in capsys.readouterr().out
