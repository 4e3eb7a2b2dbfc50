"""Completion in a shell: the options that set it up, and what a real bash gets from it."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from krag_eval_cli.app import SUMMARIES
from tests.support.command_line import Runner

FOLDER = str(Path(sys.executable).parent)
# Bash fills COMPREPLY with a function, and calls it as it would when somebody presses Tab.
TAB = """
source {script}
COMP_WORDS=({typed})
COMP_CWORD={at}
compopt() {{ :; }}
_krag_eval_completion krag-eval
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home, and a shell that only `SHELL` tells."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(os, "getppid", lambda: -1)
    return tmp_path


def pressed(home: Path, typed: str, at: int) -> list[str]:
    script = home / ".bash_completions" / "krag-eval.sh"
    line = TAB.format(script=shlex.quote(str(script)), typed=typed, at=at)
    variables = os.environ | {"PATH": f"{FOLDER}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True, env=variables)
    return done.stdout.split()


def test_what_is_installed_completes_in_bash(command: Runner, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELL", "/bin/bash")
    (home / ".bashrc").write_text("alias ll='ls -l'\n")
    for _ in range(2):
        outcome = command("--install-completion")
        assert (outcome.code, outcome.err) == (0, "")
        assert "bash completion installed in" in outcome.out
    lines = (home / ".bashrc").read_text().split("\n")
    assert [line for line in lines if line] == ["alias ll='ls -l'", "source ~/.bash_completions/krag-eval.sh"]
    assert pressed(home, "krag-eval eva", 1) == ["evaluate"]
    assert set(pressed(home, "krag-eval ''", 1)) == set(SUMMARIES)
    assert pressed(home, "krag-eval evaluate --relev", 2) == ["--relevance-level"]


@pytest.mark.parametrize(
    ("shell", "script", "profile"),
    [("zsh", ".zfunc/_krag-eval", ".zshrc"), ("fish", ".config/fish/completions/krag-eval.fish", None)],
)
def test_other_shells_have_places_of_their_own(
    command: Runner, home: Path, monkeypatch: pytest.MonkeyPatch, shell: str, script: str, profile: str | None
) -> None:
    monkeypatch.setenv("SHELL", f"/usr/bin/{shell}")
    assert command("--install-completion").code == 0
    assert (home / script).read_text() == command("--show-completion").out
    assert f"_KRAG_EVAL_COMPLETE={shell}_complete" in (home / script).read_text()
    assert profile is None or "fpath" in (home / profile).read_text()


@pytest.mark.parametrize("option", ["--install-completion", "--show-completion"])
@pytest.mark.parametrize("shell", ["", "/bin/ash"])
def test_a_shell_that_is_not_known_is_named(
    command: Runner, home: Path, monkeypatch: pytest.MonkeyPatch, shell: str, option: str
) -> None:
    monkeypatch.setenv("SHELL", shell)
    outcome = command(option)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("InvalidInputError: The shell ")
    assert list(home.iterdir()) == []
