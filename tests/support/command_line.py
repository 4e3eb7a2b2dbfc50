"""A fixture that calls `krag-eval` in this process, in an empty folder."""

from __future__ import annotations

import functools
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from krag_eval._utils.limits import LIMITS_VARIABLE

if TYPE_CHECKING:
    import click


class Outcome(NamedTuple):
    code: int | str | None
    out: str
    err: str


Runner = Callable[..., Outcome]


@functools.cache
def cached_maker() -> Callable[[str, Callable[..., None]], click.Command]:
    """`made` of ours, cached: making a command takes most of the time of a call, and it keeps nothing between calls."""
    from krag_eval_cli.app import made  # some environments have no command line

    return functools.cache(made)


@functools.cache
def all_commands() -> dict[str, click.Command]:
    """The commands by name, all of them imported."""
    from krag_eval_cli.app import Program

    program = Program()
    found = {name: program.get_command(None, name) for name in program.list_commands(None)}
    return {name: command for name, command in found.items() if command is not None}


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Runner]:
    """Calls `krag-eval` with a line, read as a shell reads it, and with further arguments just as they are."""
    from krag_eval_cli import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr("krag_eval_cli.app.made", cached_maker())
    for name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "PYTHONIOENCODING"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")  # a dumb terminal has no colours

    def call(line: str, *arguments: str) -> Outcome:
        monkeypatch.delenv(LIMITS_VARIABLE, raising=False)  # a process has one command
        monkeypatch.setattr(sys, "argv", ["krag-eval", *shlex.split(line), *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as exit_:
            main()
        return Outcome(exit_.value.code, *capsys.readouterr())

    yield call
    for name in [name for name, module in sys.modules.items() if str(tmp_path) in str(getattr(module, "__file__", ""))]:
        del sys.modules[name]
